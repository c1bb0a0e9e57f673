"""What the metavariables of a match stand for."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeGuard

Bound = ast.AST | str | tuple[ast.AST, ...]
"""An expression or other node, an identifier, or what `$...X` took."""

_FOR_A_PLACE = 20_000
_FOR_A_FILE = 400_000


class Exhausted(Exception):
    """There are more ways to compare a place with a pattern than anybody should wait for."""


class Fuel:
    """Comparisons of two nodes that are left, for one place and for one file.

    A snippet with several `...` can be laid on code in very many ways.
    """

    __slots__ = ("file", "place")

    def __init__(self) -> None:
        self.file = _FOR_A_FILE
        self.place = _FOR_A_PLACE

    def at_next_place(self) -> None:
        """Begin with another place."""
        self.place = min(_FOR_A_PLACE, self.file)

    def spend(self) -> None:
        """Take one comparison. Raises Exhausted."""
        if self.place <= 0:
            raise Exhausted
        self.place -= 1
        self.file -= 1


class State:
    """A match on its way: the bindings so far, its certainty, and what of it is not known. Never changed."""

    __slots__ = ("bound", "certainty", "fuel", "unsure")

    def __init__(self, bound: Mapping[str, Bound], fuel: Fuel, certainty: float = 1.0, unsure: str = "") -> None:
        self.bound = bound
        self.fuel = fuel
        self.certainty = certainty
        self.unsure = unsure

    def bind(self, name: str, value: Bound) -> State | None:
        """The state in which a metavariable stands for `value`; None if it already stands for something else.

        `...` (no name) and `$_` stand for anything each time.
        """
        if name in ("", "_"):
            return self
        known = self.bound.get(name)
        if known is None:
            return State({**self.bound, name: value}, self.fuel, self.certainty, self.unsure)
        return self if same(known, value) else None

    def lowered(self, certainty: float) -> State:
        """The state with at most this certainty."""
        return self if certainty >= self.certainty else State(self.bound, self.fuel, certainty, self.unsure)

    def doubted(self, reason: str) -> State:
        """The state of a match that may be none. `reason` ends a sentence."""
        return State(self.bound, self.fuel, self.certainty, self.unsure or reason)

    def afresh(self) -> State:
        """The bindings alone, for a question beside the match."""
        return State(self.bound, self.fuel)


def same(first: object, second: object) -> bool:
    """Whether two bindings are the same code, whatever their layout. A name is the same wherever it stands."""
    pending: list[tuple[object, object]] = [(first, second)]
    while pending:
        one, other = (_plain(side) for side in pending.pop())
        if _is_sequence(one) and _is_sequence(other):
            if len(one) != len(other):
                return False
            pending += zip(one, other, strict=True)
        elif isinstance(one, ast.AST) and isinstance(other, ast.AST):
            if one.__class__ is not other.__class__:
                return False
            fields = [field for field in one._fields if field not in ("ctx", "type_comment", "kind")]
            pending += [(getattr(one, field, None), getattr(other, field, None)) for field in fields]
        elif one.__class__ is not other.__class__ or one != other:
            return False
    return True


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, (list, tuple))


def _plain(side: object) -> object:
    """A name as its text, so that `def f` and a call of `f` are the same."""
    if isinstance(side, ast.Name):
        return side.id
    if isinstance(side, ast.arg) and side.annotation is None:
        return side.arg
    return side
