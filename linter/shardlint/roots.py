"""The functions of one file where ranks may part: those that can hold a rank test, or a test of local data."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from shardlint.facts.local_words import local_words
from shardlint.facts.module import FUNCTIONS, Module
from shardlint.facts.rank_conditions import RankConditions
from shardlint.loading import Row
from shardlint.source import Source

_LONGEST = 10_000
"""Characters of a line. No line written by hand is longer."""


class Roots:
    """What a file can tell of its functions without a parser, for some program rules.

    In a minified file every word is near every other, so all of its functions are roots.
    """

    def __init__(self, source: Source, rows: Iterable[Row]) -> None:
        needs = [row["needs"] for row in rows]
        self.minified = max(map(len, source.lines)) > _LONGEST
        self._text = "\n".join(source.lines)
        ranks = any(need[0] == "rank" for need in needs)
        self._conditions = RankConditions(self._text) if ranks and not self.minified else None
        self._asks_ranks = ranks
        kinds = tuple(sorted({kind for need in needs if need[0] == "local" for kind in need[1]}))
        self._words = local_words(kinds) if kinds else None
        self._renamed = self._words.renamed(self._text) if self._words else {}

    def keep(self, _: str, text: str) -> bool:
        """Whether a function, by its text, may be a root."""
        ranked = self._conditions is not None and self._conditions.speaks(text)
        return ranked or (self._words is not None and bool(self._words.found(text, self._renamed)))

    def ranked(self, module: Module) -> list[str]:
        """The functions that can hold a rank test; the empty name is the module's own body."""
        conditions = self._conditions
        if conditions is None:
            return self._found(module, lambda _: True) if self._asks_ranks else []
        return self._found(module, lambda parts: any(conditions.test_in(first, last) for first, last in parts))

    def local(self, module: Module) -> dict[str, list[str]]:
        """The functions that can hold a test of local data, by its kind; the empty name is the module's own body."""
        words, text = self._words, self._text
        kinds: dict[str, list[str]] = {}
        if words is not None:
            for name, parts in self._functions(module):
                for kind in words.found("\n".join(text[first:last] for first, last in parts), self._renamed):
                    kinds.setdefault(kind, []).append(name)
        return kinds

    def _found(self, module: Module, wanted: Callable[[list[tuple[int, int]]], bool]) -> list[str]:
        """The functions of which `wanted` holds, given where their text begins and ends."""
        return [name for name, parts in self._functions(module) if wanted(parts)]

    @cached_property
    def _starts(self) -> list[int]:
        """The offset of each line, and of the end."""
        starts = [0]
        at = self._text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self._text.find("\n", at + 1)
        return [*starts, len(self._text)]

    def _functions(self, module: Module) -> Iterator[tuple[str, list[tuple[int, int]]]]:
        """Each function, and the module's own body, with where their text begins and ends."""
        starts = self._starts
        for function in module.functions:
            first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
            yield module.qualified(function), [(starts[first - 1], starts[function.end_lineno or first])]
        outside = [statement for statement in module.tree.body if not isinstance(statement, (*FUNCTIONS, ast.ClassDef))]
        yield "", [(starts[s.lineno - 1], starts[s.end_lineno or s.lineno]) for s in outside]
