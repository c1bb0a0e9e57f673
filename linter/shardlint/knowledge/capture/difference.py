"""What a fix did to a piece of code: the statements that it took away, put in, moved, wrapped or rewrote."""

from __future__ import annotations

import ast
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeGuard

Compound = (
    ast.If | ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith | ast.Try | ast.FunctionDef
    | ast.AsyncFunctionDef | ast.ClassDef
)  # fmt: skip
"""Statements that hold others."""

BODIES = ("body", "orelse", "finalbody")
"""The blocks of a compound statement."""

_ALIKE = 0.6
"""How much of two statements is the same where one became the other."""


class Change(NamedTuple):
    """Neighbouring statements that a fix changed.

    removed, added: what stood there before and after, one of them possibly empty. parents: the statements around them
    in the bad code, outermost first. before, after: the unchanged statements beside them, in the order of the text.
    """

    removed: tuple[ast.stmt, ...]
    added: tuple[ast.stmt, ...]
    parents: tuple[ast.stmt, ...]
    before: tuple[ast.stmt, ...]
    after: tuple[ast.stmt, ...]


def same(first: ast.AST, second: ast.AST) -> bool:
    """Whether two pieces of code read the same, layout and comments apart."""
    return ast.dump(first) == ast.dump(second)


def changes(bad: ast.Module, good: ast.Module) -> list[Change]:
    """What changed from the bad code to the good one, in the order of the text."""
    return _changed(bad.body, good.body, ())


def _changed(bad: list[ast.stmt], good: list[ast.stmt], parents: tuple[ast.stmt, ...]) -> list[Change]:
    found: list[Change] = []
    before, after = [ast.dump(one) for one in bad], [ast.dump(one) for one in good]
    for tag, start, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        removed, added = bad[start:end], good[first:last]
        while removed and added and _alike(removed[0], added[0]):
            found += _inside(removed.pop(0), added.pop(0), parents)
            start += 1
        tail: list[Change] = []
        while removed and added and _alike(removed[-1], added[-1]):
            tail = [*_inside(removed.pop(), added.pop(), parents), *tail]
            end -= 1
        if removed or added:
            found.append(Change(tuple(removed), tuple(added), parents, tuple(bad[:start]), tuple(bad[end:])))
        found += tail
    return found


def _alike(bad: ast.stmt, good: ast.stmt) -> bool:
    """Whether the change lies inside of two statements, because what they begin with is the same."""
    return isinstance(bad, Compound) and type(bad) is type(good) and same(head_of(bad), head_of(good))


def head_of(statement: ast.stmt) -> ast.AST:
    """A compound statement without the statements in it."""
    made: Any = type(statement)
    head: ast.AST = made(**{name: [] if name in BODIES else value for name, value in ast.iter_fields(statement)})
    return head


def _inside(bad: ast.stmt, good: ast.stmt, parents: tuple[ast.stmt, ...]) -> list[Change]:
    found: list[Change] = []
    for name in BODIES:
        before: list[ast.stmt] = getattr(bad, name, [])
        after: list[ast.stmt] = getattr(good, name, [])
        found += _changed(before, after, (*parents, bad))
    return found


def paired(removed: Sequence[ast.stmt], added: Sequence[ast.stmt]) -> list[tuple[ast.stmt, ast.stmt]]:
    """The removed statements that became another one, each with that one; as many on both sides belong together."""
    if len(removed) == len(added):
        return list(zip(removed, added, strict=True))
    found: list[tuple[ast.stmt, ast.stmt]] = []
    rest = list(added)
    for bad in removed:
        near = [(_likeness(bad, one), one) for one in rest if type(one) is type(bad)]
        best = max(near, key=lambda pair: pair[0], default=(0.0, bad))
        if best[0] >= _ALIKE:
            found.append((bad, best[1]))
            del rest[: rest.index(best[1]) + 1]
    return found


def _likeness(bad: ast.stmt, good: ast.stmt) -> float:
    return SequenceMatcher(None, ast.dump(bad), ast.dump(good), autojunk=False).ratio()


def smallest(bad: ast.AST, good: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    """The pairs of nodes, outermost first, in which two statements differ: each the only difference in the one before.

    The list ends where a node differs in more than one of its parts, or in its own kind or name.
    """
    pairs = [(bad, good)]
    while type(bad) is type(good):
        differing = _parts(bad, good)
        if differing is None or len(differing) != 1:
            break
        bad, good = differing[0]
        pairs.append((bad, good))
    return pairs


def _parts(bad: ast.AST, good: ast.AST) -> list[tuple[ast.AST, ast.AST]] | None:
    """The parts in which two nodes of a kind differ; None where something else than a part does."""
    found: list[tuple[ast.AST, ast.AST]] = []
    for (_, before), (_, after) in zip(ast.iter_fields(bad), ast.iter_fields(good), strict=True):
        left, right = _listed(before), _listed(after)
        if len(left) != len(right):
            return None
        for one, other in zip(left, right, strict=True):
            if isinstance(one, ast.AST) and isinstance(other, ast.AST):
                if not same(one, other):
                    found.append((one, other))
            elif one != other:
                return None
    return found


def _listed(value: Any) -> list[Any]:
    return value if is_list(value) else [value]


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a field of a node holds several."""
    return isinstance(value, list)
