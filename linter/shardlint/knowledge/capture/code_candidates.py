"""Patterns that may tell bad code from good: what the fix changed is kept, everything else is generalised.

The order is that of preference: what says exactly what the fix put right comes first.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from shardlint.knowledge.capture.candidate import Candidate
from shardlint.knowledge.capture.difference import Change, Compound, changes, head_of, is_list, same, smallest
from shardlint.knowledge.capture.generalise import Generaliser, rest, root_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_MOST = 40
"""Candidates that are tried: a fix that gives more than that changed several things at once."""


def code_candidates(bad: str, good: str) -> list[Candidate]:
    """Candidates from the two snippets. Raises SyntaxError for what is not Python."""
    before, after = ast.parse(bad), ast.parse(good)
    differences = changes(before, after)
    writer = _Candidates(before, after)
    found: dict[str, Candidate] = {}
    for way in (writer.relocated, writer.rewritten, writer.added, writer.removed):
        for change in differences:
            for candidate in way(change):
                found.setdefault(repr(candidate.check), candidate)
    # An import changes with what it is imported for: alone, it tells the least.
    ordered = sorted(found.values(), key=lambda one: one.kind == "forbidden" and "guards" not in one.check)
    return ordered[:_MOST]


class _Candidates:
    """The ways in which a change can be told."""

    def __init__(self, bad: ast.Module, good: ast.Module) -> None:
        self.bad = bad
        self.good = good
        self.general = Generaliser(bad, good)

    def rewritten(self, change: Change) -> Iterator[Candidate]:
        """A statement that reads otherwise after the fix."""
        if len(change.removed) != len(change.added):
            return
        for bad, good in zip(change.removed, change.added, strict=True):
            if isinstance(bad, (ast.Import, ast.ImportFrom)):
                continue
            pairs = smallest(bad, good)
            calls = [(one, other) for one, other in pairs if isinstance(one, ast.Call) and isinstance(other, ast.Call)]
            if calls:
                yield from self._call(*calls[-1])
            yield from self._expression([one for one, _ in pairs])

    def _call(self, bad: ast.Call, good: ast.Call) -> Iterator[Candidate]:
        """A call that is given something else, or calls something else."""
        if not same(bad.func, good.func):
            called = self.general.pattern(ast.Call(bad.func, [rest()], []))
            yield Candidate("pattern", {"match": called}, f"the fix no longer calls `{ast.unparse(bad.func)}` here")
            return
        before = {keyword.arg: keyword for keyword in bad.keywords if keyword.arg}
        after = {keyword.arg: keyword for keyword in good.keywords if keyword.arg}
        anyhow = self._with(bad, [])
        for name, keyword in after.items():
            if name not in before:
                wanted = self._with(bad, [keyword], keep=True)
                yield Candidate(
                    "pattern", {"match": anyhow, "not": wanted}, f"the fix gives it `{ast.unparse(keyword)}`"
                )
                given = self._with(bad, [ast.keyword(name, ast.Name("$VALUE", ast.Load()))])
                yield Candidate("pattern", {"match": anyhow, "not": given}, f"the fix gives it `{name}`")
            elif not same(before[name], keyword):
                wrong = self._with(bad, [before[name]], keep=True)
                yield Candidate(
                    "pattern", {"match": wrong}, f"the fix no longer gives it `{ast.unparse(before[name])}`"
                )
                wanted = self._with(bad, [keyword], keep=True)
                yield Candidate(
                    "pattern", {"match": anyhow, "not": wanted}, f"the fix gives it `{ast.unparse(keyword)}`"
                )
        for name, keyword in before.items():
            if name not in after:
                kept = self._with(bad, [keyword], keep=True)
                yield Candidate("pattern", {"match": kept}, f"the fix no longer gives it `{ast.unparse(keyword)}`")
        yield from self._arguments(bad, good)

    def _with(self, call: ast.Call, keywords: list[ast.keyword], *, keep: bool = False) -> str:
        """A call with these keywords and whatever else."""
        kept = [node for keyword in keywords for node in ast.walk(keyword.value)] if keep else []
        return self.general.pattern(ast.Call(call.func, [rest()], keywords), kept)

    def _arguments(self, bad: ast.Call, good: ast.Call) -> Iterator[Candidate]:
        """A call with another positional argument, or one more or less."""
        for number, argument in enumerate(bad.args):
            if number < len(good.args) and same(argument, good.args[number]):
                continue
            kept = list(ast.walk(argument))
            text = self.general.pattern(ast.Call(bad.func, [*bad.args[: number + 1], rest()], []), kept)
            yield Candidate("pattern", {"match": text}, f"the fix no longer gives it `{ast.unparse(argument)}`")
        if len(good.args) > len(bad.args):
            exact = self.general.pattern(ast.Call(bad.func, bad.args, []))
            yield Candidate("pattern", {"match": exact}, "the fix gives it a further argument")

    def _expression(self, chain: Sequence[ast.AST]) -> Iterator[Candidate]:
        """The smallest expression in which the difference lies, then larger ones around it, then the statement."""
        kept = list(ast.walk(chain[-1]))
        telling = [node for node in reversed(chain) if isinstance(node, ast.expr) and not _says_nothing(node)]
        for node in telling[:3]:
            text = self.general.pattern(node, kept)
            yield Candidate("pattern", {"match": text}, f"the fix no longer says `{_short(node)}`")
        statement = chain[0]
        if isinstance(statement, ast.stmt) and not isinstance(statement, Compound):
            text = self.general.pattern(statement, kept)
            yield Candidate("pattern", {"match": text}, f"the fix no longer says `{_short(statement)}`")

    def added(self, change: Change) -> Iterator[Candidate]:
        """A statement that the fix put in before or after another."""
        fresh = [one for one in change.added if _statement_in(self.bad, one) is None]
        for statement in fresh:
            for missing in _calls(statement):
                wanted = self._loosely(missing)
                for site in _sites(change.after, missing):
                    check = {"match": self._loosely(site), "not_after": wanted}
                    why = f"the fix calls `{ast.unparse(missing.func)}` before it"
                    for user in _with_receiver(change.after, missing):
                        if user is not site:
                            later = self._loosely(user)
                            yield Candidate(
                                "pattern", {"match": check["match"], "before": later, "not_after": wanted}, why
                            )
                    yield Candidate("pattern", check, why)
                for site in _sites(tuple(reversed(change.before)), missing):
                    yield Candidate(
                        "pattern",
                        {"match": self._loosely(site), "not_before": wanted},
                        f"the fix calls `{ast.unparse(missing.func)}` after it",
                    )

    def _loosely(self, call: ast.Call) -> str:
        """A call with what it is given for certain: its receiver, and nothing of its arguments."""
        return self.general.pattern(ast.Call(call.func, [rest()], []))

    def removed(self, change: Change) -> Iterator[Candidate]:
        """A statement that the fix took away."""
        for statement in change.removed:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                yield Candidate("forbidden", {"imports": _modules(statement)}, "the fix no longer imports it here")
                continue
            for call in _calls(statement):
                yield Candidate("pattern", {"match": self._loosely(call)}, f"the fix took `{_short(call)}` away")
            if not isinstance(statement, Compound):
                text = self.general.pattern(statement)
                yield Candidate("pattern", {"match": text}, f"the fix took `{_short(statement)}` away")

    def relocated(self, change: Change) -> Iterator[Candidate]:
        """A statement that is still there after the fix, but in another order or in other hands."""
        if _same_bodies(change):
            return  # what they begin with reads otherwise: nothing has moved
        for statement in _simple(change.removed):
            moved = _statement_in(self.good, statement)
            if moved is None:
                continue
            old, new = _parents(self.bad, statement), _parents(self.good, moved)
            lost = [one for one in old if not any(same(head_of(one), head_of(other)) for other in new)]
            gained = [one for one in new if not any(same(head_of(one), head_of(other)) for other in old)]
            calls: list[ast.Call | None] = [*_calls(statement)]
            for call in calls or [None]:
                text = self.general.pattern(statement) if call is None else self._loosely(call)
                if isinstance(statement, (ast.Import, ast.ImportFrom)):
                    yield from self._guarded_import(statement, gained)
                    continue
                yield from self._around(text, lost, gained)
                if not lost and not gained:
                    yield from self._reordered(text, statement, moved)

    def _around(self, text: str, lost: Sequence[ast.stmt], gained: Sequence[ast.stmt]) -> Iterator[Candidate]:
        for parent in reversed(lost):
            head = self._head(parent)
            if head:
                yield Candidate("pattern", {"match": text, "inside": head}, f"the fix takes it out of `{_first(head)}`")
        for parent in reversed(gained):
            head = self._head(parent)
            if isinstance(parent, ast.If):
                guard = self.general.pattern(parent.test)
                yield Candidate(
                    "pattern", {"match": text, "not_within_guard": guard}, f"the fix guards it with `{guard}`"
                )
            elif head:
                yield Candidate(
                    "pattern", {"match": text, "not_inside": head}, f"the fix puts it into `{_first(head)}`"
                )

    def _guarded_import(
        self, statement: ast.Import | ast.ImportFrom, gained: Sequence[ast.stmt]
    ) -> Iterator[Candidate]:
        guards = [
            "try" if isinstance(one, ast.Try) else ast.unparse(one.test)
            for one in gained
            if isinstance(one, (ast.If, ast.Try))
        ]
        if guards:
            check = {"imports": _modules(statement), "guards": guards}
            yield Candidate("forbidden", check, f"the fix guards it with `{guards[0]}`")

    def _reordered(self, text: str, statement: ast.stmt, moved: ast.stmt) -> Iterator[Candidate]:
        """Statements that ran before the moved one and now run after it, or the other way round."""
        before, after = _before(self.bad, statement), _before(self.good, moved)
        for other in _siblings(self.bad, statement):
            there = _statement_in(self.good, other)
            if there is None or other is statement:
                continue
            for call in _calls(other)[:1]:
                ran, runs = other in before, there in after
                if not ran and runs:
                    yield Candidate(
                        "pattern",
                        {"match": text, "not_after": self._loosely(call)},
                        f"the fix calls `{_short(call)}` before it",
                    )
                elif ran and not runs:
                    yield Candidate(
                        "pattern",
                        {"match": self._loosely(call), "not_after": text},
                        f"the fix puts `{_short(statement)}` before it",
                    )

    def _head(self, parent: ast.stmt) -> str:
        """A compound statement with whatever in it; empty for one that says nothing by itself."""
        body: list[ast.stmt] = [ast.Expr(rest())]
        if isinstance(parent, ast.If):
            return self.general.pattern(ast.If(parent.test, body, []))
        if isinstance(parent, (ast.With, ast.AsyncWith)):
            return self.general.pattern(type(parent)([ast.withitem(one.context_expr) for one in parent.items], body))
        if isinstance(parent, (ast.For, ast.AsyncFor)):
            anything = ast.Name("$ITEM", ast.Store())
            return self.general.pattern(type(parent)(anything, ast.Name("$ITEMS", ast.Load()), body, []))
        return ""


def _says_nothing(node: ast.expr) -> bool:
    """Whether a pattern of this alone would match nearly everything."""
    if isinstance(node, (ast.Constant, ast.Name, ast.Starred, ast.JoinedStr, ast.FormattedValue)):
        return True
    return isinstance(node, ast.Attribute) and root_of(node) is None


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _first(head: str) -> str:
    return head.partition("\n")[0]


def _calls(statement: ast.AST) -> list[ast.Call]:
    """The calls of a simple statement, outermost first."""
    return [node for node in ast.walk(statement) if isinstance(node, ast.Call)]


def _sites(statements: Sequence[ast.stmt], missing: ast.Call) -> Iterator[ast.Call]:
    """Calls near an added one that it may be meant for: those with the same objects first, then the next one."""
    objects = {ast.unparse(node) for node in ast.walk(missing) if isinstance(node, (ast.Name, ast.Attribute))}
    near = [call for statement in statements for call in _calls(statement)[:1] if not isinstance(statement, Compound)]
    related = [
        call
        for call in near
        if objects & {ast.unparse(n) for n in ast.walk(call) if isinstance(n, (ast.Name, ast.Attribute))}
    ]
    yield from dict.fromkeys([*related[:2], *near[:1]])


def _with_receiver(statements: Sequence[ast.stmt], missing: ast.Call) -> list[ast.Call]:
    """Calls of other methods on the object that an added call is made on: without such an object nothing is missing."""
    if not isinstance(missing.func, ast.Attribute) or isinstance(missing.func.value, ast.Call):
        return []
    receiver = missing.func.value
    calls = [call for statement in statements for call in _calls(statement)]
    return [one for one in calls if isinstance(one.func, ast.Attribute) and same(one.func.value, receiver)][:1]


def _same_bodies(change: Change) -> bool:
    """Whether one compound statement became another of its kind with the same statements in it."""
    if len(change.removed) != 1 or len(change.added) != 1:
        return False
    bad, good = change.removed[0], change.added[0]
    if not isinstance(bad, Compound) or type(bad) is not type(good):
        return False
    return [ast.dump(one) for one in bad.body] == [ast.dump(one) for one in getattr(good, "body", ())]


def _modules(statement: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(statement, ast.ImportFrom):
        return [f"{'.' * statement.level}{statement.module or ''}"]
    return [alias.name for alias in statement.names]


def _simple(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that hold no others, those inside of compound ones too."""
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.stmt) and not isinstance(node, Compound):
                yield node


def _statement_in(tree: ast.Module, statement: ast.stmt) -> ast.stmt | None:
    """The statement of a tree that reads like another one."""
    return next((node for node in ast.walk(tree) if isinstance(node, ast.stmt) and same(node, statement)), None)


def _parents(tree: ast.Module, statement: ast.stmt) -> list[ast.stmt]:
    """The compound statements around one, outermost first."""
    around = [node for node in ast.walk(tree) if isinstance(node, Compound) and node is not statement]
    return [node for node in around if any(inner is statement for inner in ast.walk(node))]


def _siblings(tree: ast.Module, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of the block that a statement stands in."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block: object = getattr(node, name, [])
            if is_list(block) and any(one is statement for one in block):
                return block
    return []


def _before(tree: ast.Module, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of its block that come before it."""
    block = _siblings(tree, statement)
    return block[: next((at for at, one in enumerate(block) if one is statement), 0)]
