"""What a name stands for: aliases, star and relative imports, local imports, shadowing, re-assignment, `self`.

An answer is a `Resolved`: the dotted names that an expression may stand for, and how certain that is
(1.0 every value it may have here is one of the names; 0.8 some value is not known).
"""

from __future__ import annotations

import ast
import builtins

from shardlint.facts.module import COMPREHENSIONS, FUNCTIONS, Binding, FunctionNode, Module, Scope
from shardlint.facts.order import flow

BUILTINS = frozenset(dir(builtins))
CERTAIN, INFERRED, BY_NAME = 1.0, 0.8, 0.6
_DEPTH = 12


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
    answer = NOTHING
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
        if name in scope.bindings and (first or not isinstance(scope.node, ast.ClassDef)):
            if name not in scope.foreign:
                return scope, scope.bindings[name]
        first = False
        scope = scope.parent
    return None


def bindings_at(module: Module, node: ast.Name) -> tuple[list[Binding], bool] | None:
    """The bindings that may give `node` its value; the flag says whether another value is possible.

    In its own function the order of statements decides; a name of an outer scope may hold any of its bindings.
    """
    found = lookup(module, node.id, node)
    if found is None:
        return None
    scope, bindings = found
    own = _home(module.scope(node))
    if scope is own and isinstance(scope.node, (*FUNCTIONS, ast.Module)):
        reaching, entry = flow(module, scope.node).reaching(node.id, node, bindings)
        if reaching:
            return reaching, entry and isinstance(scope.node, FUNCTIONS)
        return bindings, True
    return bindings, False


def _home(scope: Scope) -> Scope:
    while isinstance(scope.node, (*COMPREHENSIONS, ast.Lambda)) and scope.parent is not None:
        scope = scope.parent
    return scope


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
    if isinstance(func, ast.Name) and func.id == "super" and not node.args:
        owner = module.enclosing_class(node)
        if owner is not None:
            return merge([resolve(module, base, depth + 1) for base in owner.bases])
        return NOTHING
    called = resolve(module, func, depth + 1)
    if "functools.partial" in called.names and node.args:
        return resolve(module, node.args[0], depth + 1)
    if "builtins.getattr" in called.names and len(node.args) >= 2:
        name = node.args[1]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            base = resolve(module, node.args[0], depth + 1)
            return base.with_suffix(name.value) if base else NOTHING
    if "importlib.import_module" in called.names and node.args:
        name = node.args[0]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            return Resolved((name.value,))
    return NOTHING


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
    """Every expression that the class assigns to `self.attribute`, bases in the same file included."""
    table = module.memo.get(("self", owner))
    if not isinstance(table, dict):
        table = _self_table(module, owner)
        module.memo["self", owner] = table
    values = table.get(attribute)
    return list(values) if isinstance(values, list) else []


def _self_table(module: Module, owner: ast.ClassDef, depth: int = 0) -> dict[str, list[ast.expr]]:
    table: dict[str, list[ast.expr]] = {}
    for base in owner.bases if depth < 5 else ():
        for name in resolve(module, base).names:
            local = local_definition(module, name)
            if isinstance(local, ast.ClassDef) and local is not owner:
                for attribute, values in _self_table(module, local, depth + 1).items():
                    table.setdefault(attribute, []).extend(values)
    for node in ast.walk(owner):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            for single, bound in _pairs(target, value):
                if isinstance(single, ast.Attribute) and isinstance(single.value, ast.Name):
                    if self_class(module, single.value) is owner:
                        table.setdefault(single.attr, []).append(bound)
    return table


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    if isinstance(target, ast.Tuple):
        return []
    return [(target, value)]


def local_definition(module: Module, name: str) -> FunctionNode | ast.ClassDef | None:
    """The function or class of this file that a dotted name means, if it means one."""
    if not name.startswith(module.dotted + "."):
        return None
    table = module.memo.get("definitions")
    if not isinstance(table, dict):
        table = {}
        for scope_node in module.scopes:
            if isinstance(scope_node, (*FUNCTIONS, ast.ClassDef)):
                table.setdefault(module.qualified(scope_node), scope_node)
        module.memo["definitions"] = table
    found = table.get(name[len(module.dotted) + 1 :])
    return found if isinstance(found, (*FUNCTIONS, ast.ClassDef)) else None
