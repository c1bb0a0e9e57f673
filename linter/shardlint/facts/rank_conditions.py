"""Which texts can hold a rank *test*: a word of rank in a place where Python decides something.

Most files that speak of ranks only log or pass them. This looks at the line around each such word, without a parser,
and lets a file go when none of them can be part of a condition. A name that is given a rank, and a function that
returns one, count as such words themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from shardlint.facts.rank_vocabulary import WORDS
from shardlint.facts.rank_words import is_rank_identifier

_IDENTIFIER = re.compile(r"\w+")
_BEFORE = re.compile(
    r"(?:\b(?:if|elif|while|and|or|not|match|case|range)\b[\s(]*(?:not\b[\s(]*)*|@)[\w.]*(?:\(\))?\.?$"
)
_COMPARES = re.compile(r"==|!=|<|>|\bin\b")
_DECIDES = re.compile(r"\b(?:if|elif|while|and|or|not|match|case)\b")
_TARGETS = re.compile(r"[ \t]*((?:[\w.]+[ \t]*,[ \t]*)*[\w.]+)[ \t]*(?::[^=]*)?=(?!=)")
_WALRUS = re.compile(r"(\w+)[ \t]*:=")
_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_OPENER = re.compile(r"([\w.]*)[ \t]*([(\[{])|[)\]}]")
_SEEN_THROUGH = (
    "",
    "if",
    "and",
    "or",
    "not",
    "else",
    "return",
    "int",
    "str",
    "bool",
    "getattr",
    "getenv",
    "get",
    "environ",
    "in",
)
_OPEN = ("(", "[", "\\", " and", " or", " not")
_ROUNDS = 4
_MOST_USES = 2_000
"""Uses of rank words that are looked at before one of them is believed to decide something."""
_WIDEST = 4000
"""Characters to each side of a word that are looked at: a minified line would cost its length for each of its words."""
_NEAR = 120
"""Characters before a word in which the keyword that asks for its truth must stand: a dotted name fits in between."""


class RankConditions:
    """The names of one file that stand for a rank, and whether a part of the file can hold a test of one.

    `present`: those of the rank words that the text holds, where that is known already.
    """

    def __init__(self, text: str, present: Iterable[str] | None = None) -> None:
        self.text = text
        self._present = {word for word in WORDS if word in text} if present is None else set(present)

    @cached_property
    def names(self) -> set[str]:
        """The names that stand for a rank."""
        names = set[str]()
        fresh = self._present
        for _ in range(_ROUNDS):
            learned = {name for line, at, start in self._uses(fresh, names) for name in self._named(line, at, start)}
            fresh = learned - names
            if not fresh:
                break
            names |= fresh
        return names

    def speaks(self, text: str) -> bool:
        """Whether a text has a rank word, or one of the names that stand for a rank in this file."""
        return any(word in text for word in self._present) or any(name in text for name in self.names)

    def test_in(self, first: int, last: int) -> bool:
        """Whether the text from offset `first` to `last` can hold a rank test."""
        # Most tests ask for a word of rank itself, and the names need not be learned for those.
        if _any_decided(self._uses(self._present, set(), first, last)):
            return True
        names = self.names
        if not names:
            return False
        return _any_decided(self._uses(self._present | names, names, first, last))

    def _named(self, line: str, at: int, start: int) -> list[str]:
        """The names that one line gives the value of the word at `at`."""
        targets = _TARGETS.match(line)
        if targets is not None and targets.end() <= at:
            if not _handed_on(line[targets.end() : at]):
                return []
            return [target.strip().rpartition(".")[2] for target in targets.group(1).split(",")]
        if line.lstrip().startswith("return") and _handed_on(line[line.index("return") + 6 : at]):
            return [match.group(1) for match in _DEFINED.finditer(self.text, 0, start)][-1:]
        return _WALRUS.findall(line) if ":=" in line else []

    def _uses(
        self, words: set[str], names: set[str], first: int = 0, last: int | None = None
    ) -> Iterator[tuple[str, int, int]]:
        """Each use of one of the words as a whole rank identifier: its line, its place in the line, the line's start.

        A line that continues an open condition comes with the lines that open it. `names` are such identifiers, too.
        """
        text = self.text
        stop = len(text) if last is None else last
        for word in words:
            at = text.find(word, first, stop)
            while at >= 0:
                start, end = self._around(at, len(word))
                whole = text[start:end]
                if whole in names or whole in words or is_rank_identifier(whole):
                    line_start = text.rfind("\n", 0, start) + 1
                    line_end = text.find("\n", end)
                    line_end = len(text) if line_end < 0 else line_end
                    if not text[line_start:start].lstrip().startswith("#"):
                        opened = self._opened(line_start)
                        first_shown = max(opened, start - _WIDEST)
                        shown = text[first_shown : min(line_end, end + _WIDEST)]
                        yield shown, start - first_shown, line_start
                at = text.find(word, end, stop)

    def _around(self, at: int, length: int) -> tuple[int, int]:
        text, start = self.text, at
        while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        found = _IDENTIFIER.match(text, start)
        return start, max(found.end() if found else at, at + length)

    def _opened(self, start: int) -> int:
        """The start of the line that opens the condition which goes on at `start`."""
        text = self.text
        while start > 0:
            previous = text.rfind("\n", 0, start - 1) + 1
            line = text[previous : start - 1].partition(" #")[0].rstrip()
            if not line.endswith(_OPEN) and not line.lstrip().startswith("#"):
                break
            start = previous
        return start


def _any_decided(uses: Iterable[tuple[str, int, int]]) -> bool:
    """Whether one of some uses is decided by; of very many it is believed, since each is looked for in a long line."""
    return any(number >= _MOST_USES or _decided(line, at) for number, (line, at, _) in enumerate(uses))


def _decided(line: str, at: int) -> bool:
    """Whether the word at `at` is asked for its truth, or stands in a line that both compares and decides."""
    if _BEFORE.search(line, max(at - _NEAR, 0), at) is not None:
        return True
    return _COMPARES.search(line) is not None and _DECIDES.search(line) is not None


def _handed_on(before: str) -> bool:
    """Whether a value that follows `before` is what the expression gives, not an argument of some other call."""
    inside: list[str] = []
    for match in _OPENER.finditer(before):
        if match.group(2):
            inside.append(match.group(1).rpartition(".")[2])
        elif inside:
            inside.pop()
    return all(name in _SEEN_THROUGH for name in inside)
