"""What a value is: its literal, the class it was made from, and whether two expressions are the same object."""

from __future__ import annotations

import ast

from shardlint.facts.module import FUNCTIONS, Binding, Module
from shardlint.facts.names import INFERRED, NOTHING, Resolved, bindings_at, merge, resolve, self_class, self_values

_DEPTH = 30


class Missing:
    """The absence of a literal value: the expression is not a constant."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()


def literal(module: Module, node: ast.AST | None, depth: int = 0) -> object:
    """The Python value of a constant expression, through names that hold one constant; MISSING otherwise."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and depth < _DEPTH:
        value = literal(module, node.operand, depth + 1)
        if isinstance(node.op, ast.Not) and isinstance(value, bool):
            return not value
        return -value if isinstance(node.op, ast.USub) and isinstance(value, (int, float)) else MISSING
    if isinstance(node, ast.Name) and depth < _DEPTH:
        found = bindings_at(module, node)
        if found is not None and len(found[0]) == 1 and not found[1]:
            binding = found[0][0]
            if binding.kind in ("assign", "walrus") and binding.exact:
                return literal(module, binding.value, depth + 1)
    return MISSING


def made_from(module: Module, node: ast.AST | None, depth: int = 0) -> Resolved:
    """The classes or factories that the value of an expression came from: `GradScaler()` gives its class.

    Follows names through reaching definitions, `self.x` through every assignment of the class, parameters through
    their annotations, and `with f() as x` through `f`.
    """
    if node is None or depth > _DEPTH:
        return NOTHING
    known = module.memo.get(("made", node))
    if isinstance(known, Resolved):
        return known
    # As in `resolve`: a value that comes from itself adds nothing.
    module.memo["made", node] = NOTHING
    answer = module.memo["made", node] = _made(module, node, depth)
    return answer


def _made(module: Module, node: ast.AST, depth: int) -> Resolved:
    if isinstance(node, ast.Call):
        called = resolve(module, node.func)
        if "functools.partial" in called.names:
            return NOTHING
        if "builtins.getattr" in called.names:
            key = node.args[1] if len(node.args) > 1 else None
            text = key.value if isinstance(key, ast.Constant) else None
            return _attribute(module, node.args[0], text, depth) if isinstance(text, str) else NOTHING
        return called
    if isinstance(node, ast.Name):
        return _name(module, node, depth)
    if isinstance(node, ast.Attribute):
        return _attribute(module, node.value, node.attr, depth)
    if isinstance(node, (ast.Await, ast.NamedExpr)):
        return made_from(module, node.value, depth + 1)
    if isinstance(node, ast.IfExp):
        arms = [arm for arm in (node.body, node.orelse) if not _is_none(arm)]
        return merge([made_from(module, arm, depth + 1) for arm in arms])
    if isinstance(node, ast.BoolOp):
        return merge([made_from(module, value, depth + 1) for value in node.values if not _is_none(value)])
    return NOTHING


def _attribute(module: Module, owner: ast.expr, name: str, depth: int) -> Resolved:
    """What `self.x` was made from; of other owners that is not known."""
    own = self_class(module, owner) if isinstance(owner, ast.Name) else None
    if own is None:
        return NOTHING
    values = [value for value in self_values(module, own, name) if not _is_none(value)]
    return merge([made_from(module, value, depth + 1) for value in values])


def _name(module: Module, node: ast.Name, depth: int) -> Resolved:
    found = bindings_at(module, node)
    if found is None:
        return NOTHING
    bindings, unknown = found
    kept = [binding for binding in bindings if not (binding.exact and _is_none(binding.value))]
    return merge([_bound(module, binding, depth) for binding in kept], unknown=unknown)


def _bound(module: Module, binding: Binding, depth: int) -> Resolved:
    if binding.kind == "param" and isinstance(binding.node, ast.arg):
        return annotated(module, binding.node.annotation)
    if binding.kind == "annotation" and isinstance(binding.node, ast.AnnAssign):
        return annotated(module, binding.node.annotation)
    if binding.kind in ("assign", "walrus") and binding.exact:
        made = made_from(module, binding.value, depth + 1)
        if not made and isinstance(binding.node, ast.AnnAssign):
            return annotated(module, binding.node.annotation)
        return made
    if binding.kind == "with":
        made = made_from(module, binding.value, depth + 1)
        return Resolved(made.names, min(made.certainty, INFERRED))
    return NOTHING


def annotated(module: Module, annotation: ast.expr | None) -> Resolved:
    """The classes that an annotation names; `Optional[X]`, `X | None` and quoted names are seen through."""
    if annotation is None:
        return NOTHING
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        known = module.memo.get(("quoted", annotation))
        if not isinstance(known, Resolved):
            known = module.memo["quoted", annotation] = _quoted(module, annotation)
        return known
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        sides = [side for side in (annotation.left, annotation.right) if not _is_none(side)]
        return merge([annotated(module, side) for side in sides])
    if isinstance(annotation, ast.Subscript):
        outer = resolve(module, annotation.value)
        if any(name.rpartition(".")[2] in ("Optional", "Annotated", "Union") for name in outer.names):
            inner = annotation.slice
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return merge([annotated(module, part) for part in parts if not _is_none(part)])
        return outer
    return resolve(module, annotation)


def _quoted(module: Module, annotation: ast.Constant) -> Resolved:
    """A quoted annotation is resolved at module level: its names are almost always imports or classes."""
    try:
        inner = ast.parse(str(annotation.value), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return NOTHING
    for node in ast.walk(inner):
        module.parents[node] = annotation
    return annotated(module, inner)


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def identity(module: Module, node: ast.AST, depth: int = 0) -> tuple[object, ...] | None:
    """A key that two expressions share when they are the same object; None where that cannot be said.

    Follows aliases (`m = self.model`), keeps re-bound names apart (`model = FSDP(model)` makes another object).
    """
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.NamedExpr):
        return identity(module, node.value, depth + 1)
    if isinstance(node, ast.Name):
        return _name_identity(module, node, depth)
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name):
            owner = self_class(module, node.value)
            if owner is not None:
                return ("self", owner, node.attr)
        base = identity(module, node.value, depth + 1)
        return ("attribute", base, node.attr) if base is not None else None
    if isinstance(node, ast.Subscript):
        base = identity(module, node.value, depth + 1)
        key = literal(module, node.slice)
        if base is not None and key is not MISSING:
            return ("item", base, repr(key))
    return None


def _name_identity(module: Module, node: ast.Name, depth: int) -> tuple[object, ...] | None:
    found = bindings_at(module, node)
    if found is None:
        return None
    bindings, _ = found
    if len(bindings) == 1 and bindings[0].kind in ("assign", "walrus") and bindings[0].exact:
        value = bindings[0].value
        if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
            same = identity(module, value, depth + 1)
            if same is not None:
                return same
    return ("name", node.id, frozenset(id(binding) for binding in bindings))


def parameter_default(module: Module, node: ast.Name) -> ast.expr | None:
    """The default of the parameter that `node` reads, when it reads a parameter that has one."""
    found = bindings_at(module, node)
    if found is None or len(found[0]) != 1 or not isinstance(found[0][0].node, ast.arg):
        return None
    arg = found[0][0].node
    function = next((at for at in module.ancestors(arg) if isinstance(at, FUNCTIONS)), None)
    if function is None:
        return None
    positional = [*function.args.posonlyargs, *function.args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(function.args.defaults))
    table = dict(zip([a.arg for a in positional], [*defaults, *function.args.defaults], strict=True))
    table.update(zip([a.arg for a in function.args.kwonlyargs], function.args.kw_defaults, strict=True))
    return table.get(arg.arg)
