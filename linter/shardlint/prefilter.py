"""Which files a rule can fire in, from the words that its query needs. Bytes in, no parser.

A filter is an over-approximation: a file that it drops holds no match. It is built from plain tuples, so that it can
lie in the session table and a run without suspects loads no rule.
"""

from __future__ import annotations

from shardlint.facts.rank_vocabulary import WORDS
from shardlint.source import plain_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from re import Pattern
    from typing import Any

    from shardlint.access import Imports
    from shardlint.environment import Environment


_LETTERS = frozenset(bytes([code]) for code in range(128) if bytes([code]).isalnum() or code == 95)
"""Bytes that are part of an identifier. Those above 127 may be, or belong to a quotation mark: such a file is kept."""

_APART = bytes(code if bytes([code]) in _LETTERS else 32 for code in range(256))
"""All other bytes as blanks."""

_COMPILED: dict[str, Pattern[bytes]] = {}


def spells(data: bytes, word: bytes) -> bool:
    """Whether a text has the identifier `word`. Ten times as fast as a regular expression."""
    length, found = len(word), data.find
    at = found(word)
    while at >= 0:
        end = at + length
        if data[end : end + 1] not in _LETTERS and (at == 0 or data[at - 1 : at] not in _LETTERS):
            return True
        at = found(word, end)
    return False


class Words:
    """The bytes of one file with the answers already given for it."""

    __slots__ = ("_environment", "_imports", "_matched", "_rank", "_spelled", "_texts", "data", "path")

    def __init__(self, data: bytes, environment: Callable[[], Environment] | None = None, path: str = "") -> None:
        self.data = plain_lines(data)
        self.path = path
        self._environment = environment
        self._texts: dict[str, bool] = {}
        self._spelled: frozenset[str] | None = None
        self._matched: dict[str, bool] = {}
        self._rank: bool | None = None
        self._imports: Imports | None = None

    def has(self, text: str) -> bool:
        """Whether the file holds `text` anywhere."""
        answer = self._texts.get(text)
        if answer is None:
            answer = self._texts[text] = text.encode() in self.data
        return answer

    def spells(self, word: str) -> bool:
        """Whether the file has the identifier `word`, not only a longer one that holds it.

        The rules ask for some forty words of each file: to take it apart once costs less than to search it so often.
        """
        if self._spelled is None:
            self._spelled = frozenset(self.data.translate(_APART).decode().split())
        return word in self._spelled or (not word.isascii() and spells(self.data, word.encode()))

    def pinned(self, package: str, below: tuple[int, ...]) -> bool:
        """Whether the project's version of a package may be below a bound."""
        return self._environment is not None and self._environment().may_be_below(package, *below) is not None

    def reaches(self, package: str, members: tuple[str, ...]) -> bool:
        """Whether the file can take one of `members` from `package`."""
        return self._read_imports().reach(package, members)

    def owns(self, package: str, members: tuple[str, ...]) -> bool:
        """Whether the file is the one that `package` is, or takes one of `members` from it by a relative import.

        Then it need not spell the whole name of the member.
        """
        if not self.path:
            return True
        stem = "." + self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        parts = package.split(".")
        inside = any(stem.endswith("." + ".".join(parts[:count])) for count in range(1, len(parts) + 1))
        return inside or self._read_imports().near(self.path, package, members)

    def imports(self, path: str) -> bool:
        """Whether the file imports a module or something of it."""
        return self._read_imports().has(path)

    def _read_imports(self) -> Imports:
        if self._imports is None:
            from shardlint.access import Imports

            self._imports = Imports(self.data)
        return self._imports

    def patches(self, packages: tuple[str, ...]) -> bool:
        """Whether the file can assign to an attribute of one of the packages that are installed."""
        if self._environment is None:
            return False
        present = [package for package in packages if self.has(package)]
        if not present:
            return False
        imports = self._read_imports()
        if not imports.patch(present):
            return False
        known = self._environment().packages
        return imports.patch([package for package in present if known.installed(package)])

    def matches(self, pattern: str) -> bool:
        """Whether a regular expression matches somewhere."""
        answer = self._matched.get(pattern)
        if answer is None:
            regex = _COMPILED.get(pattern)
            if regex is None:
                import re

                regex = _COMPILED[pattern] = re.compile(pattern.encode())
            answer = self._matched[pattern] = regex.search(self.data) is not None
        return answer

    def rank(self) -> bool:
        """Whether the file can hold a rank test."""
        if self._rank is None:
            self._rank = False
            present = [word for word in WORDS if self.has(word)]
            if present:
                from shardlint.facts.rank_conditions import RankConditions

                conditions = RankConditions(self.data.decode("latin-1"), present)
                self._rank = conditions.test_in(0, len(conditions.text))
        return self._rank


def passes(needs: tuple[Any, ...], words: Words) -> bool:
    """Whether a file meets what a query needs. Plain loops: this runs for every rule on every file."""
    kind = needs[0]
    if kind == "word":
        return words.spells(needs[1])
    if kind in ("all", "any"):
        enough = kind == "any"
        for part in needs[1:]:
            if passes(part, words) is enough:
                return enough
        return not enough
    if kind == "text":
        return words.has(needs[1])
    if kind == "pinned":
        return words.pinned(needs[1], needs[2])
    if kind == "reach":
        return words.reaches(needs[1], needs[2])
    if kind == "patch":
        return words.patches(needs[1])
    if kind == "regex":
        return words.matches(needs[1])
    if kind == "imports":
        return words.imports(needs[1])
    if kind == "own":
        return words.owns(needs[1], needs[2])
    return words.rank()
