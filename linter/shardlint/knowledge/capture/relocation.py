"""Patterns for what a fix moved: out of a block or into one, before another call, or into another function."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from shardlint.knowledge.capture.candidate import Candidate
from shardlint.knowledge.capture.difference import Change, Compound, head_of, same
from shardlint.knowledge.capture.generalise import Generaliser, rest
from shardlint.knowledge.capture.surroundings import (
    DEFINITIONS,
    Parent,
    before,
    calls_in,
    following,
    is_quiet,
    modules,
    neighbours,
    parents,
    same_receiver,
    short,
    siblings,
    simple,
    statements_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FOLLOWERS = 2
"""Calls that a moved one no longer runs before, the nearest first."""

_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}


def relocated(change: Change, bad: ast.Module, good: ast.Module, general: Generaliser) -> Iterator[Candidate]:
    """Candidates for the statements of a change that are still there after the fix."""
    if _same_bodies(change):
        return  # what they begin with reads otherwise: nothing has moved
    for statement in simple(change.removed):
        for moved in statements_in(good, statement):
            yield from _Move(statement, moved, bad, good, general).candidates()


class _Move:
    """A statement of the bad code and one of the good code that reads like it.

    lost, gained, kept: what stood around it before and no longer does, what does now, and what does still; each
    outermost first.
    """

    def __init__(
        self, statement: ast.stmt, moved: ast.stmt, bad: ast.Module, good: ast.Module, general: Generaliser
    ) -> None:
        self.statement = statement
        self.moved = moved
        self.bad = bad
        self.good = good
        self.general = general
        old, new = parents(bad, statement), parents(good, moved)
        self.lost = [one for one in old if not _among(one, new)]
        self.gained = [one for one in new if not _among(one, old)]
        self.kept = [one for one in old if _among(one, new)]

    def candidates(self) -> Iterator[Candidate]:
        if isinstance(self.statement, (ast.Import, ast.ImportFrom)):
            yield from self._import(self.statement)
            return
        calls: list[ast.Call | None] = [*calls_in(self.statement)]
        for call in calls or [None]:
            text = self.general.pattern(self.statement) if call is None else self._loosely(call)
            if call is not None and any(isinstance(one.statement, DEFINITIONS) for one in self.lost):
                yield from self._left_function(text, call)
            yield from self._around(text)
            if not self.lost and not self.gained:
                yield from self._reordered(text)

    def _loosely(self, call: ast.Call) -> str:
        return self.general.pattern(ast.Call(call.func, [rest()], []))

    def _left_function(self, text: str, call: ast.Call) -> Iterator[Candidate]:
        """It ran before some call, and now runs in another function, next to another method of its object."""
        still = {ast.unparse(one) for later in following(self.good, self.moved) for one in calls_in(later)}
        later = [one for statement in following(self.bad, self.statement) for one in calls_in(statement)]
        left = [one for one in later if ast.unparse(one) not in still and not is_quiet(ast.unparse(one.func))]
        beside = [one for other in neighbours(self.good, self.moved) for one in calls_in(other)]
        beside = [one for one in beside if same_receiver(one, call) and not same(one.func, call.func)]
        if self.general.fixed(call.func):
            beside = []  # a module is no object that its functions work on
        for follower in reversed(left[-_FOLLOWERS:]):
            check = {"match": text, "before": self._loosely(follower)}
            why = f"the fix no longer does it before `{short(follower)}`"
            for companion in beside[:1]:
                wanted = self._loosely(companion)
                apart = {**check, "not_after": wanted, "not_before": wanted}
                yield Candidate("pattern", apart, f"{why}, but with `{short(companion)}`")
            yield Candidate("pattern", check, why)

    def _around(self, text: str) -> Iterator[Candidate]:
        for parent in reversed(self.lost):
            head = self._head(parent)
            if head:
                yield Candidate("pattern", {"match": text, "inside": head}, f"the fix takes it out of `{_first(head)}`")
        around = next((head for parent in reversed(self.kept) if (head := self._head(parent))), "")
        for parent in reversed(self.gained):
            for condition, said in self._condition(parent):
                yield Candidate("pattern", {"match": text, **condition}, f"the fix {said}")
                if around:
                    check = {"match": text, "inside": around, **condition}
                    yield Candidate("pattern", check, f"the fix {said}, in `{_first(around)}`")

    def _condition(self, parent: Parent) -> Iterator[tuple[dict[str, str], str]]:
        """What does not hold around the bad code, and what the fix did about it."""
        if isinstance(parent.statement, ast.If):
            guard = self._guard(parent)
            yield {"not_within_guard": guard}, f"guards it with `{guard}`"
        else:
            head = self._head(parent)
            if head:
                yield {"not_inside": head}, f"puts it into `{_first(head)}`"

    def _guard(self, parent: Parent) -> str:
        """The condition under which the block of an `if` runs."""
        assert isinstance(parent.statement, ast.If)
        test = parent.statement.test
        return self.general.condition(test if parent.block == "body" else _negated(test))

    def _import(self, statement: ast.Import | ast.ImportFrom) -> Iterator[Candidate]:
        """An import that is guarded now, or that only runs when a function does."""
        guards = [
            "try" if isinstance(one.statement, ast.Try) else self._written_guard(one)
            for one in self.gained
            if isinstance(one.statement, (ast.If, ast.Try))
        ]
        guarded = Candidate(
            "forbidden",
            {"imports": modules(statement), "guards": guards},
            f"the fix guards it with `{guards[0]}`" if guards else "",
        )
        known = any("(" in guard or guard == "try" for guard in guards)
        if known:
            yield guarded
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        if any(isinstance(one.statement, functions) for one in self.gained):
            check = {"match": _import_of(statement), "not_inside": "def $FUNCTION(...):\n    ..."}
            yield Candidate("pattern", check, "the fix imports it only when the function runs that needs it")
        if guards and not known:
            yield guarded

    def _written_guard(self, parent: Parent) -> str:
        assert isinstance(parent.statement, ast.If)
        test = parent.statement.test
        return ast.unparse(test if parent.block == "body" else _negated(test))

    def _reordered(self, text: str) -> Iterator[Candidate]:
        """Statements that ran before the moved one and now run after it, or the other way round."""
        ahead, now = before(self.bad, self.statement), before(self.good, self.moved)
        for other in siblings(self.bad, self.statement):
            there = next(iter(statements_in(self.good, other)), None)
            if there is None or other is self.statement:
                continue
            for call in calls_in(other)[:1]:
                ran, runs = other in ahead, there in now
                if not ran and runs:
                    check = {"match": text, "not_after": self._loosely(call)}
                    yield Candidate("pattern", check, f"the fix calls `{short(call)}` before it")
                elif ran and not runs:
                    check = {"match": self._loosely(call), "not_after": text}
                    yield Candidate("pattern", check, f"the fix puts `{short(self.statement)}` before it")

    def _head(self, parent: Parent) -> str:
        """A compound statement with whatever in it; empty for one that says nothing by itself."""
        statement = parent.statement
        if parent.block != "body":
            return ""
        body: list[ast.stmt] = [ast.Expr(rest())]
        if isinstance(statement, ast.If):
            return f"if {self.general.condition(statement.test)}:\n    ..."
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            return self.general.pattern(
                type(statement)([ast.withitem(one.context_expr) for one in statement.items], body)
            )
        if isinstance(statement, (ast.For, ast.AsyncFor)):
            anything = ast.Name("$ITEM", ast.Store())
            return self.general.pattern(type(statement)(anything, ast.Name("$ITEMS", ast.Load()), body, []))
        return ""


def _among(parent: Parent, others: Sequence[Parent]) -> bool:
    return any(parent.block == one.block and same(head_of(parent.statement), head_of(one.statement)) for one in others)


def _negated(test: ast.expr) -> ast.expr:
    """The condition that holds where another one does not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return ast.Compare(test.left, [_OPPOSITE[type(test.ops[0])]()], test.comparators)
    return ast.UnaryOp(ast.Not(), test)


def _import_of(statement: ast.Import | ast.ImportFrom) -> str:
    """An import of anything from the same module."""
    if isinstance(statement, ast.Import):
        return ast.unparse(statement)
    return f"from {modules(statement)[0]} import ..."


def _same_bodies(change: Change) -> bool:
    """Whether one compound statement became another of its kind with the same statements in it."""
    if len(change.removed) != 1 or len(change.added) != 1:
        return False
    bad, good = change.removed[0], change.added[0]
    if not isinstance(bad, Compound) or type(bad) is not type(good):
        return False
    return [ast.dump(one) for one in bad.body] == [ast.dump(one) for one in getattr(good, "body", ())]


def _first(head: str) -> str:
    return head.partition("\n")[0]
