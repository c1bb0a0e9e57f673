"""Which files a rule can fire in, from the words that its query needs. Bytes in, no parser.

A filter is an over-approximation: a file that it drops holds no match. It is built from plain tuples, so that it can lie
in the session table and a run without suspects loads no rule.
"""

from __future__ import annotations

from shardlint.facts.rank_vocabulary import WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Words:
    """The bytes of one file with the answers already given for it."""

    __slots__ = ("_found", "_rank", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._found: dict[str, bool] = {}
        self._rank: bool | None = None

    def has(self, word: str) -> bool:
        """Whether the file spells `word` anywhere."""
        answer = self._found.get(word)
        if answer is None:
            answer = self._found[word] = word.encode() in self.data
        return answer

    def rank(self) -> bool:
        """Whether the file can hold a rank test."""
        if self._rank is None:
            self._rank = False
            if any(self.has(word) for word in WORDS):
                from shardlint.facts.rank_conditions import RankConditions

                conditions = RankConditions(self.data.decode("latin-1"))
                self._rank = conditions.test_in(0, len(conditions.text))
        return self._rank


def passes(needs: tuple[Any, ...], words: Words) -> bool:
    """Whether a file meets what a query needs."""
    kind = needs[0]
    if kind == "word":
        return words.has(needs[1])
    if kind == "all":
        return all(passes(part, words) for part in needs[1:])
    if kind == "any":
        return any(passes(part, words) for part in needs[1:])
    return words.rank()
