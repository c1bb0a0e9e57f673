"""A pattern: what code to look for, under which conditions, and what to write instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from shardlint.facts.module import Module
from shardlint.finding import Span, TextEdit
from shardlint.knowledge.problem import CheckProblem
from shardlint.not_judged import NotJudged as Unjudged
from shardlint.query import Needs
from shardlint.syntax.patterns.bindings import Bound, Exhausted, Fuel, State
from shardlint.syntax.patterns.candidates import candidates, place
from shardlint.syntax.patterns.comparison import Comparison
from shardlint.syntax.patterns.conditions import KEYS, MOST, Condition, Is, Unless, read_conditions
from shardlint.syntax.patterns.match import Match, header, written
from shardlint.syntax.patterns.needs import conjunction, disjunction, holds_texts, needs, says_something
from shardlint.syntax.patterns.plain import items
from shardlint.syntax.patterns.replacement import Replacement, read_replacement
from shardlint.syntax.patterns.requirements import Requirement, read_requirements
from shardlint.syntax.patterns.snippet import Snippet, many, one, read, trimmed

_KEYS = ("match", "any", *KEYS, "where", "replace", "safe")
_TOO_MANY = "it can be compared with the pattern in too many ways"
_BY_HAND = "the replacement is one that a constraint gives: whether it does the same is for you to say"


class Pattern:
    """A compiled pattern. It says which files it can match in, where it matches, and what a fix would write.

    Args:
        plain: the mapping as it stands in a constraint: `match` or `any`, conditions, `where`, `replace` and `safe`.

    Raises:
        CheckProblem: the mapping cannot be taken; `where` is the place in it.
    """

    def __init__(self, plain: Mapping[str, object]) -> None:
        for key in plain:
            if key not in _KEYS:
                raise CheckProblem((key,), f"`{key}` is no part of a pattern: it has {', '.join(_KEYS)}")
        self.requirements = read_requirements(plain["where"], ("where",)) if "where" in plain else []
        typed = frozenset(asked.name for asked in self.requirements if asked.types)
        self.typed = typed
        self.alternatives = _alternatives(plain)
        self.conditions = read_conditions(plain, (), typed)
        self._refuse_everything()
        bound = self._bound_everywhere()
        for asked in self.requirements:
            if asked.name not in bound:
                raise CheckProblem(("where", asked.name), f"`${asked.name}` is not in what is looked for")
        self._replacement = self._read_replacement(plain, bound)
        self.fix: tuple[bool, str] | None = None
        """Whether the replacement is safe, and why; None without one."""
        if self._replacement is not None:
            safe = plain.get("safe")
            self.fix = (True, safe) if isinstance(safe, str) else (False, _BY_HAND)

    def needs(self) -> Needs:
        """What a file must hold for the pattern to match in it, for the prefilter."""
        return conjunction([disjunction(map(needs, self.alternatives)), *(one.needs() for one in self.conditions)])

    def matches(self, module: Module) -> Iterator[Match | Unjudged]:
        """The matches in a file, in the order of the text, and the places of which it cannot be told."""
        if not all(condition.holds_texts(module.text) for condition in self.conditions):
            return
        found: dict[ast.AST, Match | Unjudged] = {}
        fuel = Fuel()
        for snippet in self.alternatives:
            if not holds_texts(snippet, module.text):
                continue
            comparison = Comparison(module, snippet, typed=self.typed)
            for node in candidates(module, snippet):
                if isinstance(found.get(node), Match):
                    continue
                fuel.at_next_place()
                judged = self._judged(module, comparison, node, fuel)
                if judged is not None:
                    found[node] = judged
                if fuel.file <= 0:
                    break
        for node in sorted(found, key=place):
            yield found[node]

    def edits(self, module: Module, match: Match) -> tuple[TextEdit, ...]:
        """What a fix of a match writes; nothing where there is no replacement, or where it could spoil something."""
        return self._replacement.edits(module, match) if self._replacement is not None else ()

    def _judged(self, module: Module, comparison: Comparison, node: ast.AST, fuel: Fuel) -> Match | Unjudged | None:
        doubt = ""
        try:
            for state, last in comparison.at(node, State({}, fuel)):
                for final in self._held(module, node, state, (*self.conditions, *self.requirements)):
                    if not final.unsure:
                        return _match(module, node, last, final)
                    doubt = doubt or final.unsure
        except Exhausted:
            doubt = _TOO_MANY
        if not doubt:
            return None
        return Unjudged(module.qualified(module.function(node)), getattr(node, "lineno", 1), doubt)

    def _held(
        self, module: Module, node: ast.AST, state: State, asked: tuple[Condition | Requirement, ...]
    ) -> Iterator[State]:
        """Each state in which all that is asked holds."""
        if not asked:
            yield state
            return
        first, rest = asked[0], asked[1:]
        if isinstance(first, Requirement):
            met = first.met(module, state)
            after = iter(() if met is None else (met,))
        else:
            after = first.holds(module, node, state)
        for found in after:
            yield from self._held(module, node, found, rest)

    def _refuse_everything(self) -> None:
        """Raises CheckProblem for a pattern that would match wherever there is code."""
        elsewhere = any(condition.says_something() for condition in self.conditions)
        for snippet in self.alternatives:
            asked = [one for one in self.requirements if one.name in snippet.variables and one.says_something]
            root = snippet.expression
            bare = root is not None and (one(root) is not None or _is_any_text(root))
            if bare or not (says_something(snippet) or asked or elsewhere):
                raise CheckProblem(
                    ("match",),
                    f"`{snippet.text[:60]}` matches nearly everything: name a function, an attribute or a value",
                )

    def _bound_everywhere(self) -> frozenset[str]:
        """The metavariables that stand for something in every match."""
        bound = self.alternatives[0].variables
        for snippet in self.alternatives:
            bound &= snippet.variables
        return bound.union(*(condition.variables for condition in self.conditions))

    def _read_replacement(self, plain: Mapping[str, object], bound: frozenset[str]) -> Replacement | None:
        if "replace" not in plain:
            if "safe" in plain:
                raise CheckProblem(("safe",), "`safe` says why a replacement changes nothing else, and there is none")
            return None
        if not isinstance(plain.get("safe", ""), str):
            raise CheckProblem(("safe",), "`safe` is a sentence: why nothing else changes")
        replacement = read_replacement(plain["replace"], ("replace",), bound, self.alternatives)
        if self._matches_again(replacement.module()):
            raise CheckProblem(
                ("replace",), "the pattern matches its own replacement, so a fix would never end: add a `not:` to it"
            )
        return replacement

    def _matches_again(self, module: Module) -> bool:
        """Whether the pattern surely matches where its replacement stands."""
        decided = [one for one in self.conditions if isinstance(one, Unless)]
        if self.requirements or any(not isinstance(one.condition, Is) for one in decided):
            return False
        for snippet in self.alternatives:
            comparison = Comparison(module, snippet)
            for node in candidates(module, snippet):
                for state, _ in comparison.at(node, State({}, Fuel())):
                    if any(True for _ in self._held(module, node, state, tuple(decided))):
                        return True
        return False


def _alternatives(plain: Mapping[str, object]) -> list[Snippet]:
    if ("match" in plain) == ("any" in plain):
        raise CheckProblem((), "a pattern has either `match`, or `any` with a list of alternatives")
    if "match" in plain:
        return [_looked_for(read(plain["match"], ("match",)), ("match",))]
    return [_looked_for(read(text, where), where) for where, text in items(plain["any"], ("any",), "patterns", MOST)]


def _looked_for(snippet: Snippet, where: tuple[str | int, ...]) -> Snippet:
    found = trimmed(snippet)
    if found is None:
        raise CheckProblem(where, f"`{snippet.text[:60]}` matches everything: name a function, an attribute or a value")
    return found


def _is_any_text(node: ast.AST) -> bool:
    return many(node) is not None or (isinstance(node, ast.Constant) and node.value == "...")


def _match(module: Module, node: ast.AST, last: ast.AST, state: State) -> Match:
    start, end = module.span(node), module.span(last)
    whole = Span(start.line, start.column, end.end_line, end.end_column)
    span = header(module, node) if node is last else whole
    bound: Mapping[str, Bound] = state.bound
    bindings = {name: written(module, value) for name, value in bound.items()}
    return Match(node, span, bindings, state.certainty, bound, last)
