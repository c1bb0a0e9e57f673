"""What a name stands for: aliases, star and relative imports, local imports, shadowing, re-assignment, `self`.

An answer is a `Resolved`: the dotted names that an expression may stand for, and how certain that is
(1.0 every value it may have here is one of the names; 0.8 some value is not known).
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from shardlint.facts.module import FUNCTIONS, Binding, FunctionNode, Module, Scope, pairs
from shardlint.facts.order import flow

BUILTINS = frozenset(dir(builtins))
CERTAIN, INFERRED, BY_NAME = 1.0, 0.8, 0.6
_DEPTH = 30


class Resolved:
    """The dotted names an expression may stand for, with the certainty of the answer."""

    __slots__ = ("certainty", "names")

    def __init__(self, names: tuple[str, ...] = (), certainty: float = CERTAIN) -> None:
        self.names = names
        self.certainty = certainty

    def __bool__(self) -> bool:
        return bool(self.names)

    def __repr__(self) -> str:
        return f"Resolved({self.names}, {self.certainty})"

    def with_suffix(self, suffix: str) -> Resolved:
        """Each name followed by `.suffix`."""
        return Resolved(tuple(f"{name}.{suffix}" for name in self.names), self.certainty)


NOTHING = Resolved()


def merge(answers: list[Resolved], *, unknown: bool = False) -> Resolved:
    """One answer from several possible values; `unknown` says that there are others besides."""
    names: list[str] = []
    certainty = CERTAIN
    for answer in answers:
        names += [name for name in answer.names if name not in names]
        if answer.names:
            certainty = min(certainty, answer.certainty)
    if not names:
        return NOTHING
    if unknown or any(not answer.names for answer in answers):
        certainty = min(certainty, INFERRED)
    return Resolved(tuple(names), certainty)


def resolve(module: Module, node: ast.AST, depth: int = 0) -> Resolved:
    """The dotted names that an expression stands for: `dist.get_rank` is `torch.distributed.get_rank`."""
    known = module.memo.get(("name", node))
    if isinstance(known, Resolved):
        return known
    if depth > _DEPTH:
        return NOTHING
    # A name whose value comes from itself adds nothing; this mark keeps a loop of names from being walked for ever.
    module.memo["name", node] = answer = NOTHING
    if isinstance(node, ast.Name):
        answer = _name(module, node, depth)
    elif isinstance(node, ast.Attribute):
        answer = _attribute(module, node, depth)
    elif isinstance(node, ast.Call):
        answer = _call_value(module, node, depth)
    elif isinstance(node, ast.NamedExpr):
        answer = resolve(module, node.value, depth + 1)
    elif isinstance(node, ast.IfExp):
        answer = merge([resolve(module, node.body, depth + 1), resolve(module, node.orelse, depth + 1)])
    elif isinstance(node, ast.BoolOp):
        answer = merge([resolve(module, value, depth + 1) for value in node.values])
    module.memo["name", node] = answer
    return answer


def lookup(module: Module, name: str, at: ast.AST) -> tuple[Scope, list[Binding]] | None:
    """The scope that binds `name` as seen from `at`, with all of its bindings there."""
    scope: Scope | None = module.scope(at)
    first = True
    while scope is not None:
        if name in scope.globals or name in scope.nonlocals:
            scope = scope.home(name)
        if name in scope.bindings and (first or not isinstance(scope.node, ast.ClassDef)):
            return scope, scope.bindings[name]
        first = False
        scope = scope.parent
    return None


def bindings_at(module: Module, node: ast.Name) -> tuple[list[Binding], bool] | None:
    """The bindings that may give `node` its value, for a target the one that it is; the flag: others are possible too.

    In its own function the order of statements decides; a name of an outer scope may hold any of its bindings.
    """
    known = module.bindings.get(node)
    if known is not None:
        return known
    found = lookup(module, node.id, node)
    if found is None:
        return None
    answer = module.bindings[node] = _reaching(module, node, *found)
    return answer


def _reaching(module: Module, node: ast.Name, scope: Scope, bindings: list[Binding]) -> tuple[list[Binding], bool]:
    if len(bindings) == 1 or scope.node is not module.function(node):
        return bindings, False
    assert isinstance(scope.node, (*FUNCTIONS, ast.Module))
    if isinstance(node.ctx, ast.Store):
        statement = module.statement(node)
        written = [binding for binding in bindings if module.statement(binding.node) is statement]
        return (written, False) if written else (bindings, True)
    reaching = flow(module, scope.node).reaching(node, bindings)
    return (reaching, False) if reaching else (bindings, True)


def _name(module: Module, node: ast.Name, depth: int) -> Resolved:
    found = bindings_at(module, node)
    if found is None:
        return _unbound(module, node)
    bindings, unknown = found
    answers: list[Resolved] = []
    for binding in bindings:
        if _is_none(binding):
            continue
        answers.append(_binding(module, binding, depth))
    return merge(answers, unknown=unknown)


def _is_none(binding: Binding) -> bool:
    """`dist = None` in an `except ImportError` is no other function: calling it would fail."""
    value = binding.value
    return isinstance(value, ast.Constant) and value.value is None and binding.exact


def _unbound(module: Module, node: ast.Name) -> Resolved:
    stars: list[str] = []
    scope: Scope | None = module.scope(node)
    while scope is not None:
        stars += scope.stars
        scope = scope.parent
    stars = [star for star in stars if star]
    if stars and node.id not in BUILTINS:
        return Resolved(tuple(f"{star}.{node.id}" for star in stars), CERTAIN if len(stars) == 1 else INFERRED)
    if node.id in BUILTINS:
        return Resolved((f"builtins.{node.id}",))
    return NOTHING


def _binding(module: Module, binding: Binding, depth: int) -> Resolved:
    if binding.kind == "import" and binding.target is not None:
        return Resolved((binding.target,))
    if isinstance(binding.node, (*FUNCTIONS, ast.ClassDef)) and binding.kind in ("def", "class"):
        return Resolved((f"{module.dotted}.{module.qualified(binding.node)}",))
    if binding.kind in ("assign", "walrus") and binding.exact and binding.value is not None:
        return resolve(module, binding.value, depth + 1)
    return NOTHING


def _attribute(module: Module, node: ast.Attribute, depth: int) -> Resolved:
    if isinstance(node.value, ast.Name):
        owner = self_class(module, node.value)
        if owner is not None:
            return _self_attribute(module, owner, node, depth)
    base = resolve(module, node.value, depth + 1)
    return base.with_suffix(node.attr) if base else NOTHING


def _self_attribute(module: Module, owner: ast.ClassDef, node: ast.Attribute, depth: int) -> Resolved:
    """`self.f` is the method `f` of the class, unless an instance attribute of that name holds a known function."""
    values = self_values(module, owner, node.attr)
    answers = [resolve(module, value, depth + 1) for value in values if value is not node]
    if any(answers):
        return merge(answers)
    if values:
        return NOTHING
    return Resolved((f"{module.dotted}.{module.qualified(owner)}.{node.attr}",))


def _call_value(module: Module, node: ast.Call, depth: int) -> Resolved:
    """`partial(f, ...)`, `getattr(m, "f")` and `super()` stand for something that can be called or read."""
    func = node.func
    if isinstance(func, ast.Name) and func.id == "super" and len(node.args) in (0, 2):
        owner = module.enclosing_class(node)
        if owner is not None:
            return merge([resolve(module, base, depth + 1) for base in owner.bases])
        return NOTHING
    called = resolve(module, func, depth + 1)
    if "functools.partial" in called.names and node.args:
        return resolve(module, node.args[0], depth + 1)
    if "builtins.getattr" in called.names and len(node.args) >= 2:
        attribute = _text(module, node.args[1])
        base = resolve(module, node.args[0], depth + 1) if attribute else NOTHING
        return base.with_suffix(attribute) if base else NOTHING
    if "importlib.import_module" in called.names and node.args:
        imported = _text(module, node.args[0])
        return Resolved((imported,)) if imported and not imported.startswith(".") else NOTHING
    return NOTHING


def _text(module: Module, node: ast.expr) -> str:
    """A constant text, given as it is or through a name that holds only it; empty for anything else."""
    if isinstance(node, ast.Name):
        found = bindings_at(module, node)
        if found is None or len(found[0]) != 1 or found[1] or not found[0][0].exact or found[0][0].value is None:
            return ""
        node = found[0][0].value
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def self_class(module: Module, node: ast.Name) -> ast.ClassDef | None:
    """The class that `node` is an instance of (or is, in a class method) by being a method's first parameter."""
    for at in module.ancestors(node):
        if not isinstance(at, FUNCTIONS):
            continue
        owner = module.parent(at)
        if isinstance(owner, ast.ClassDef):
            return owner if _first_parameter(at) == node.id else None
        if node.id in module.scopes[at].bindings:
            return None
    return None


def _first_parameter(method: FunctionNode) -> str | None:
    for decorator in method.decorator_list:
        if isinstance(decorator, ast.Name) and decorator.id == "staticmethod":
            return None
    args = [*method.args.posonlyargs, *method.args.args]
    return args[0].arg if args else None


def self_values(module: Module, owner: ast.ClassDef, attribute: str) -> list[ast.expr]:
    """Every expression that the class gives `self.attribute`, in its body and methods, bases in the same file included.

    Where it gets a part of something (`self.a, self.b = f()`), the expression is `*f()`: it stands for nothing known.
    """
    return list(_self_table(module, owner).get(attribute, ()))


def _self_table(module: Module, owner: ast.ClassDef) -> dict[str, list[ast.expr]]:
    done = module.self_values.get(owner)
    if done is not None:
        return done
    if module.own_values is None:
        module.own_values = _own_tables(module)
    # Kept before the bases are asked: a class that derives from itself must not go round.
    own = module.self_values[owner] = module.own_values.get(owner, {})
    table = {name: list(values) for name, values in own.items()}
    for base in owner.bases:
        for name in resolve(module, base).names:
            local = local_definition(module, name)
            if isinstance(local, ast.ClassDef) and local is not owner:
                for attribute, values in _self_table(module, local).items():
                    table.setdefault(attribute, []).extend(values)
    module.self_values[owner] = table
    return table


def _own_tables(module: Module) -> dict[ast.ClassDef, dict[str, list[ast.expr]]]:
    """What each class of the file keeps, without its bases."""
    tables: dict[ast.ClassDef, dict[str, list[ast.expr]]] = {}
    for node, scope in module.scopes.items():
        if isinstance(node, ast.ClassDef):
            for name, bindings in scope.bindings.items():
                values = [b.value for b in bindings if b.kind == "assign" and b.exact and b.value is not None]
                if values:
                    tables.setdefault(node, {})[name] = values
    for statement in module.kept:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets if statement.value is not None else ():
            for place, value in _stores(module, target, statement.value):
                owner = self_class(module, place.value) if isinstance(place.value, ast.Name) else None
                if owner is not None:
                    tables.setdefault(owner, {}).setdefault(place.attr, []).append(value)
    return tables


def _stores(module: Module, target: ast.expr, value: ast.expr | None) -> Iterator[tuple[ast.Attribute, ast.expr]]:
    if value is None:
        return
    if isinstance(target, ast.Attribute):
        yield target, value
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part, given in pairs(target, value):
            if given is None:
                given = ast.copy_location(ast.Starred(value=value, ctx=ast.Load()), value)
                module.parents[given] = module.parents[value]
            yield from _stores(module, part, given)


def local_definition(module: Module, name: str) -> FunctionNode | ast.ClassDef | None:
    """The function or class of this file that a dotted name means, if it means one."""
    if not name.startswith(module.dotted + "."):
        return None
    if module.definitions is None:
        nodes = [node for node in module.scopes if isinstance(node, (*FUNCTIONS, ast.ClassDef))]
        # Of two definitions of one name the last is the one that stays.
        module.definitions = {module.qualified(node): node for node in sorted(nodes, key=lambda node: node.lineno)}
    return module.definitions.get(name[len(module.dotted) + 1 :])
