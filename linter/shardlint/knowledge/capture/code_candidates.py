"""Patterns that may tell bad code from good: what the fix changed is kept, everything else is generalised.

The order is that of preference: what says exactly what the fix put right comes first.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from shardlint.knowledge.capture.candidate import Candidate
from shardlint.knowledge.capture.difference import Change, Compound, changes, paired, same, smallest
from shardlint.knowledge.capture.generalise import Generaliser, rest, root_of
from shardlint.knowledge.capture.relevance import by_relevance
from shardlint.knowledge.capture.relocation import relocated
from shardlint.knowledge.capture.surroundings import (
    calls_in,
    following,
    given,
    is_quiet,
    modules,
    objects,
    same_receiver,
    short,
    sites,
    statements_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def code_candidates(bad: str, good: str, told: str = "") -> list[Candidate]:
    """Candidates from the two snippets; those come first that `told`, the words of the incident, speaks of.

    Raises SyntaxError for what is not Python.
    """
    before, after = ast.parse(bad), ast.parse(good)
    differences = changes(before, after)
    writer = _Candidates(before, after)
    found: dict[str, Candidate] = {}
    for way in (writer.relocated, writer.replaced, writer.rewritten, writer.added, writer.removed):
        for change in differences:
            for candidate in way(change):
                found.setdefault(repr(candidate.check), candidate)
    return sorted(by_relevance(list(found.values()), told), key=_reserve)


def _reserve(candidate: Candidate) -> int:
    """How late a candidate comes: an import changes with what it is imported for, a log line with anything, and a match
    of several calls is a copy of one incident's code."""
    check = candidate.check
    if candidate.kind == "forbidden":
        return 0 if "guards" in check or "calls" in check else 2
    told = [check[name] for name in ("match", "not_after", "not_before") if name in check]
    quiet = any(is_quiet(text.partition("(")[0]) for text in told if "(" in text)
    return 1 if quiet or check["match"].count("(") > 1 else 0


class _Candidates:
    """The ways in which a change can be told."""

    def __init__(self, bad: ast.Module, good: ast.Module) -> None:
        self.bad = bad
        self.good = good
        self.general = Generaliser(bad, good)

    def relocated(self, change: Change) -> Iterator[Candidate]:
        """A statement that is still there after the fix, but in another order or in other hands."""
        yield from relocated(change, self.bad, self.good, self.general)

    def replaced(self, change: Change) -> Iterator[Candidate]:
        """Several functions that the fix no longer calls: they belong together."""
        del change  # it takes the whole snippet to see that a function is called nowhere
        gone = _functions(self.bad, self.general)
        gone = [name for name in gone if name not in _functions(self.good, self.general)]
        if len(gone) > 1:
            yield Candidate("forbidden", {"calls": gone}, f"the fix no longer calls {', '.join(map(_quoted, gone))}")

    def rewritten(self, change: Change) -> Iterator[Candidate]:
        """A statement that reads otherwise after the fix."""
        for bad, good in paired(change.removed, change.added):
            if isinstance(bad, (ast.Import, ast.ImportFrom)):
                continue
            pairs = smallest(bad, good)
            calls = [(one, other) for one, other in pairs if isinstance(one, ast.Call) and isinstance(other, ast.Call)]
            if calls:
                for candidate in self._call(*calls[-1]):
                    yield candidate
                    yield from self._for_its_user(candidate, bad)
            yield from self._expression([one for one, _ in pairs])

    def _for_its_user(self, candidate: Candidate, statement: ast.stmt) -> Iterator[Candidate]:
        """The same, only where the value goes to the call that it went to here."""
        if isinstance(statement, ast.Assign):
            targets = {one for target in statement.targets for one in objects(target)}
            for user in self._users(statement, targets)[:1]:
                check = {**candidate.check, "before": self._loosely(user)}
                yield Candidate("pattern", check, f"{candidate.why}, and it goes to `{ast.unparse(user.func)}`")

    def _users(self, statement: ast.stmt, made: set[str]) -> list[ast.Call]:
        """The calls after a statement that are given something of it."""
        later = following(self.bad, statement)
        return [call for one in later for call in calls_in(one) if given(call) & made]

    def _call(self, bad: ast.Call, good: ast.Call) -> Iterator[Candidate]:
        """A call that is given something else, or calls something else."""
        if not same(bad.func, good.func):
            called = self._loosely(bad)
            if any(same(bad, argument) for argument in good.args):
                check = {"match": called, "not_inside": self._loosely(good)}
                yield Candidate("pattern", check, f"the fix hands it to `{ast.unparse(good.func)}`")
            yield Candidate("pattern", {"match": called}, f"the fix no longer calls `{ast.unparse(bad.func)}` here")
            return
        before = {keyword.arg: keyword for keyword in bad.keywords if keyword.arg}
        after = {keyword.arg: keyword for keyword in good.keywords if keyword.arg}
        anyhow = self._with(bad, [])
        for name, keyword in after.items():
            if name not in before:
                yield from self._keyword_put_in(bad, name, keyword)
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

    def _keyword_put_in(self, bad: ast.Call, name: str, keyword: ast.keyword) -> Iterator[Candidate]:
        """A keyword that was missing. Of yes and no, one is right; any other value is one of several that may be."""
        anyhow = self._with(bad, [])
        exact = self._with(bad, [keyword], keep=True)
        given = self._with(bad, [ast.keyword(name, ast.Name("$VALUE", ast.Load()))])
        found = [
            Candidate("pattern", {"match": anyhow, "not": exact}, f"the fix gives it `{ast.unparse(keyword)}`"),
            Candidate("pattern", {"match": anyhow, "not": given}, f"the fix gives it `{name}`"),
        ]
        decided = isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool)
        yield from found if decided else reversed(found)

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
            yield Candidate("pattern", {"match": text}, f"the fix no longer says `{short(node)}`")
        statement = chain[0]
        if isinstance(statement, ast.stmt) and not isinstance(statement, Compound):
            text = self.general.pattern(statement, kept)
            yield Candidate("pattern", {"match": text}, f"the fix no longer says `{short(statement)}`")

    def added(self, change: Change) -> Iterator[Candidate]:
        """A statement that the fix put in before or after another."""
        became = [good for _, good in paired(change.removed, change.added)]
        fresh = [one for one in change.added if one not in became and not statements_in(self.bad, one)]
        for statement in fresh:
            for missing in calls_in(statement):
                yield from self._between(change, missing)
                yield from self._before_loop(change, missing)
                yield from self._beside(change, missing)

    def _beside(self, change: Change, missing: ast.Call) -> Iterator[Candidate]:
        """The next call that needs it first, and the last one that needs it then."""
        wanted = self._loosely(missing)
        called = ast.unparse(missing.func)
        for site in sites(change.after, missing):
            check = {"match": self._loosely(site), "not_after": wanted}
            why = f"the fix calls `{called}` before it"
            for user in self._users_of_receiver(change, missing):
                if user is not site:
                    later = self._loosely(user)
                    yield Candidate("pattern", {"match": check["match"], "before": later, "not_after": wanted}, why)
            yield Candidate("pattern", check, why)
        for site in sites(tuple(reversed(change.before)), missing):
            check = {"match": self._loosely(site), "not_before": wanted}
            yield Candidate("pattern", check, f"the fix calls `{called}` after it")

    def _users_of_receiver(self, change: Change, missing: ast.Call) -> list[ast.Call]:
        """The next call of another method of the object of an added one; a module is no such object."""
        if self.general.fixed(missing.func):
            return []
        calls = [call for one in change.after for call in calls_in(one)]
        return [call for call in calls if same_receiver(call, missing)][:1]

    def _between(self, change: Change, missing: ast.Call) -> Iterator[Candidate]:
        """Two calls that are given the same thing, and that the fix keeps apart."""
        if given(missing):
            return
        for first in [call for one in reversed(change.before) for call in calls_in(one)]:
            shared = given(first)
            for second in [call for one in change.after for call in calls_in(one)]:
                common = sorted(shared & given(second), key=len)
                if common and not is_quiet(ast.unparse(first.func)) and not is_quiet(ast.unparse(second.func)):
                    yield Candidate(
                        "pattern",
                        {
                            "match": self._with_argument(first, common[-1]),
                            "before": self._with_argument(second, common[-1]),
                            "not_before": self._loosely(missing),
                        },
                        f"the fix calls `{ast.unparse(missing.func)}` between `{short(first)}` and `{short(second)}`",
                    )

    def _with_argument(self, call: ast.Call, wanted: str) -> str:
        """A call with one of its arguments and whatever else."""
        at = next((n for n, one in enumerate(call.args) if ast.unparse(one) == wanted), None)
        if at is None:
            named = [one for one in call.keywords if ast.unparse(one.value) == wanted]
            return self._with(call, named)
        skipped = [rest()] if at else []
        return self.general.pattern(ast.Call(call.func, [*skipped, call.args[at], rest()], []))

    def _before_loop(self, change: Change, missing: ast.Call) -> Iterator[Candidate]:
        """A loop that is run again and again, over something that has to be told so first."""
        loop = next(iter(change.after), None)
        around = next((one for one in reversed(change.parents) if isinstance(one, (ast.For, ast.While))), None)
        if (
            not isinstance(loop, (ast.For, ast.AsyncFor))
            or around is None
            or not isinstance(missing.func, ast.Attribute)
        ):
            return
        receiver = missing.func.value
        if root_of(receiver) is None or not same(receiver, loop.iter):
            return
        over = self.general.variable(receiver, ast.unparse(receiver).rpartition(".")[2])
        body: list[ast.stmt] = [ast.Expr(rest())]
        heads = [ast.For(ast.Name("$ITEM"), over, body, []), _again(around)]
        loops = [ast.unparse(ast.fix_missing_locations(head)) for head in heads]
        # Any loop reads something: without the name of what it is here, this would say nothing.
        word = ast.unparse(receiver).rpartition(".")[2].strip("_")
        yield Candidate(
            "pattern",
            {
                "match": loops[0],
                "inside": loops[1],
                "not_before": self._loosely(missing),
                "where": {over.id.lstrip("$"): {"regex": word}},
            },
            f"the fix calls `{ast.unparse(missing.func)}` each time before `{ast.unparse(receiver)}` is read again",
        )

    def _loosely(self, call: ast.Call) -> str:
        """A call with what it is given for certain: its receiver, and nothing of its arguments."""
        return self.general.pattern(ast.Call(call.func, [rest()], []))

    def removed(self, change: Change) -> Iterator[Candidate]:
        """A statement that the fix took away."""
        for statement in change.removed:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                yield Candidate("forbidden", {"imports": modules(statement)}, "the fix no longer imports it here")
                continue
            for call in calls_in(statement):
                yield Candidate("pattern", {"match": self._loosely(call)}, f"the fix took `{short(call)}` away")
            if not isinstance(statement, Compound):
                text = self.general.pattern(statement)
                why = f"the fix took `{short(statement)}` away"
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
                    for user in self._users(statement, objects(statement.targets[0].value))[:1]:
                        yield Candidate("pattern", {"match": text, "before": self._loosely(user)}, why)
                yield Candidate("pattern", {"match": text}, why)


def _functions(tree: ast.Module, general: Generaliser) -> list[str]:
    """The functions that a snippet calls and that are imported from elsewhere, by dotted names."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    imported = [call.func for call in calls if isinstance(call.func, ast.Attribute) and general.fixed(call.func)]
    return [*dict.fromkeys(ast.unparse(general.whole(func)) for func in imported)]


def _again(loop: ast.For | ast.While) -> ast.stmt:
    """Any loop of the kind."""
    body: list[ast.stmt] = [ast.Expr(rest())]
    if isinstance(loop, ast.While):
        return ast.While(ast.Name("$TEST", ast.Load()), body, [])
    return ast.For(ast.Name("$TURN", ast.Store()), ast.Name("$TURNS", ast.Load()), body, [])


def _says_nothing(node: ast.expr) -> bool:
    """Whether a pattern of this alone would match nearly everything."""
    if isinstance(node, (ast.Constant, ast.Name, ast.Starred, ast.JoinedStr, ast.FormattedValue)):
        return True
    return isinstance(node, ast.Attribute) and root_of(node) is None


def _quoted(text: str) -> str:
    return f"`{text}`"
