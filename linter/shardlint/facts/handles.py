"""What becomes of the handle of work that goes on in the background: who may wait for it, and what runs before that."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from shardlint.facts.module import COMPREHENSIONS, FUNCTIONS, Module
from shardlint.facts.names import local_definition, lookup, resolve
from shardlint.facts.site import Expression, Site

if TYPE_CHECKING:
    from typing import TypeGuard

_Place = TypeVar("_Place", bound=Expression)
_COLLECTS = frozenset(("append", "add", "extend", "insert"))
_HOLDING = (ast.List, ast.Tuple, *COMPREHENSIONS, ast.IfExp, ast.BoolOp, ast.Await)


class Handle:
    """The handle that a call returns.

    `mentions`: the places of the function that may wait for it; None where it is not followed (returned, handed on, of
    a nested function). `shared`: other functions can see it, too.
    """

    def __init__(self, start: Site, mentions: list[Expression] | None, *, shared: bool = False) -> None:
        self.start = start
        self.mentions = mentions
        self.shared = shared

    @property
    def dropped(self) -> bool:
        """Whether nothing that runs after the call can wait for it."""
        if self.mentions is None or self.shared:
            return False
        return not any(self.start.reaches(mention) for mention in self.mentions)

    def early(self, places: Iterable[_Place]) -> list[_Place]:
        """Those of some places that run after the call while nothing that may wait for it has run."""
        return [place for place in places if self.runs_before_wait(place)]

    def runs_before_wait(self, place: Expression) -> bool:
        """Whether a place runs after the call while nothing that may wait for it can have run in between."""
        flow, start = self.start.function.flow, self.start.ast
        if self.mentions is None:
            return False
        if not flow.between(start, place.ast, [mention.ast for mention in self.mentions]):
            return False
        here = place.module.statement(place.ast)
        for mention in self.mentions:
            if mention.module.statement(mention.ast) is here or flow.between(mention.ast, place.ast, [start]):
                return False
        return True


def handle(start: Site) -> Handle:
    """What becomes of the handle that a call returns: dropped, in a name, an attribute or a list, or kept."""
    module = start.module
    node: ast.AST = start.call
    parent = module.parent(node)
    while isinstance(parent, _HOLDING):
        node, parent = parent, module.parent(parent)
    if isinstance(parent, ast.Expr):
        return Handle(start, [])
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr in _COLLECTS:
        return _held(start, parent.func.value)
    targets = parent.targets if isinstance(parent, ast.Assign) else [getattr(parent, "target", None)]
    assigned = isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and len(targets) == 1
    return _held(start, targets[0]) if assigned and targets[0] is not None else Handle(start, None)


def _held(start: Site, target: ast.expr) -> Handle:
    """The handle in a name of the function, or in an attribute of its object."""
    module, owner = start.module, start.function.ast
    if isinstance(target, ast.Name):
        found = lookup(module, target.id, start.call)
        if found is None or found[0].node is not owner or any(one.kind != "assign" for one in found[1]):
            return Handle(start, None)
        reads = [node for node in ast.walk(owner) if _reads(node, target.id) and not _collects(module, node)]
        if any(module.function(node) is not owner or _in_lambda(module, node) for node in reads):
            return Handle(start, None)
        return Handle(start, [Expression(module, node, start.voice) for node in reads])
    if isinstance(target, ast.Attribute):
        places = [*_attributes(owner, target), *_callers(start, target)]
        return Handle(start, [Expression(module, node, start.voice) for node in places], shared=True)
    return Handle(start, None)


def _reads(node: ast.AST, name: str) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def _collects(module: Module, node: ast.AST) -> bool:
    """Whether a list is only mentioned to take another handle in."""
    around = module.parent(node)
    return isinstance(around, ast.Attribute) and around.attr in _COLLECTS


def _in_lambda(module: Module, node: ast.AST) -> bool:
    return any(isinstance(at, ast.Lambda) for at in module.ancestors(node))


def _attributes(owner: ast.AST, target: ast.Attribute) -> Iterator[ast.expr]:
    text = ast.unparse(target)
    for node in ast.walk(owner):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and ast.unparse(node) == text:
            yield node


def _callers(start: Site, target: ast.Attribute) -> Iterator[ast.expr]:
    """The calls in the function of functions of the file that speak of the attribute."""
    for call in start.function.every_call:
        for name in resolve(start.module, call.func).names:
            called = local_definition(start.module, name)
            if isinstance(called, FUNCTIONS) and next(_attributes(called, target), None) is not None:
                yield call


__all__ = ["Handle", "handle"]
