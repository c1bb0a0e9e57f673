"""What surely holds where a place runs: the conditions around it and before it, taken apart into plain ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shardlint.facts.guards import guards
from shardlint.facts.module import FUNCTIONS, Module
from shardlint.facts.names import bindings_at, resolve, self_class, self_values

Literal = tuple[ast.expr, bool]
"""A plain condition, and whether it is true."""

Clause = tuple[Literal, ...]
"""Conditions of which one holds."""

_TESTS = frozenset(("if", "while", "and", "or", "comprehension", "match", "exit"))
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.NotEq: ast.Eq,
    ast.IsNot: ast.Is,
    ast.NotIn: ast.In,
    ast.GtE: ast.Lt,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.Is: ast.IsNot,
    ast.In: ast.NotIn,
    ast.Lt: ast.GtE,
    ast.Gt: ast.LtE,
}
_IMPORT_ERRORS = frozenset(
    f"builtins.{name}" for name in ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
)
_SKIPS = {"skipif": False, "skipIf": False, "skipUnless": True}
"""Decorators of tests with the answer of their first argument for which the test runs."""

_DEPTH = 8
"""Names followed from one condition to the one that it was given."""


def holding(module: Module, node: ast.AST) -> Iterator[Clause]:
    """What holds where `node` runs. Definitions around it exist only where what holds for them does."""
    at = node
    while True:
        for guard in guards(module, at):
            if guard.kind in _TESTS and guard.test is not None:
                yield from _implied(module, guard.test, guard.holds)
        child, inner = at, at
        for outer in module.ancestors(at):
            yield from _asserted(module, outer, child)
            inner, child = outer, outer
            if isinstance(outer, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
                break
        if inner is at or not isinstance(inner, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            return
        at = inner
        for decorator in () if isinstance(at, ast.Lambda) else at.decorator_list:
            yield from _decorated(module, decorator)


def may_fail_to_import(module: Module, node: ast.AST) -> bool:
    """Whether an ImportError at a place is caught where it stands: by `try`, or by `contextlib.suppress`."""
    child = node
    for at in module.ancestors(node):
        if isinstance(at, (*FUNCTIONS, ast.Lambda)) and isinstance(child, ast.stmt):
            return False
        if isinstance(at, ast.stmt) and child in getattr(at, "body", ()):
            caught: list[ast.expr | None] = [handler.type for handler in getattr(at, "handlers", ())]
            for item in at.items if isinstance(at, (ast.With, ast.AsyncWith)) else ():
                call = item.context_expr
                if isinstance(call, ast.Call) and "contextlib.suppress" in resolve(module, call.func).names:
                    caught += call.args
            if any(_is_import_error(module, place) for place in caught):
                return True
        child = at
    return False


def _is_import_error(module: Module, place: ast.expr | None) -> bool:
    if isinstance(place, ast.Tuple):
        return any(_is_import_error(module, part) for part in place.elts)
    return place is None or not _IMPORT_ERRORS.isdisjoint(resolve(module, place).names)


def _asserted(module: Module, outer: ast.AST, child: ast.AST) -> Iterator[Clause]:
    """What is asserted before a statement in its block."""
    for name in ("body", "orelse", "finalbody"):
        block: list[ast.AST] = getattr(outer, name, None) or []
        if block.__class__ is list and child in block:
            for statement in block[: block.index(child)]:
                if isinstance(statement, ast.Assert):
                    yield from _implied(module, statement.test, True)


def _decorated(module: Module, decorator: ast.expr) -> Iterator[Clause]:
    """A decorator may be a guard itself; one that skips a test holds a condition."""
    yield ((decorator, True),)
    if isinstance(decorator, ast.Call):
        yield ((decorator.func, True),)
        called = decorator.func
        word = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if word in _SKIPS and decorator.args:
            yield from _implied(module, decorator.args[0], _SKIPS[word])


def _implied(module: Module, test: ast.expr, truth: bool, depth: int = 0) -> Iterator[Clause]:
    """What follows from a condition being true, or false."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _implied(module, test.operand, not truth, depth)
        return
    if isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) is truth:
            for part in test.values:
                yield from _implied(module, part, truth, depth)
        else:
            yield tuple(_literal(part, truth) for part in test.values)
        return
    if isinstance(test, ast.NamedExpr):
        yield from _implied(module, test.value, truth, depth)
        return
    yield (_literal(test, truth),)
    value = _value(module, test)
    if value is not None and depth < _DEPTH:
        yield from _implied(module, value, truth, depth + 1)


def _literal(test: ast.expr, truth: bool) -> Literal:
    """`not a` is `a` that is false; `a != b` that is false is `a == b`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _literal(test.operand, not truth)
    if not truth and isinstance(test, ast.Compare) and len(test.ops) == 1:
        opposite = _OPPOSITE[test.ops[0].__class__]()
        return ast.copy_location(ast.Compare(test.left, [opposite], test.comparators), test), True
    return test, truth


def _value(module: Module, test: ast.expr) -> ast.expr | None:
    """The one condition whose answer a name or `self.x` holds."""
    if isinstance(test, ast.Name):
        found = bindings_at(module, test)
        if found is None or found[1] or len(found[0]) != 1:
            return None
        binding = found[0][0]
        return binding.value if binding.kind in ("assign", "walrus") and binding.exact else None
    if isinstance(test, ast.Attribute) and isinstance(test.value, ast.Name):
        owner = self_class(module, test.value)
        values = self_values(module, owner, test.attr) if owner is not None else []
        return values[0] if len(values) == 1 and not isinstance(values[0], ast.Starred) else None
    return None
