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


_IN_A_WORD: dict[str, bool] = {}


def _is_word(text: str) -> bool:
    """Whether a text is part of one word wherever it stands."""
    known = _IN_A_WORD.get(text)
    if known is None:
        known = _IN_A_WORD[text] = text.isascii() and text.replace("_", "a").isalnum()
    return known


class Words:
    """The bytes of one file with the answers already given for it."""

    __slots__ = (
        "_environment",
        "_imports",
        "_joined",
        "_local",
        "_matched",
        "_module",
        "_rank",
        "_spelled",
        "_texts",
        "data",
        "path",
    )

    def __init__(self, data: bytes, environment: Callable[[], Environment] | None = None, path: str = "") -> None:
        self.data = plain_lines(data)
        self.path = path
        self._environment = environment
        self._texts: dict[str, bool] = {}
        self._spelled: frozenset[str] | None = None
        self._matched: dict[str, bool] = {}
        self._local: dict[tuple[str, ...], bool] = {}
        self._rank: bool | None = None
        self._imports: Imports | None = None
        self._module: str | None = None
        self._joined: str | None = None

    def has(self, text: str) -> bool:
        """Whether the file holds `text` anywhere."""
        answer = self._texts.get(text)
        if answer is None:
            answer = self._texts[text] = text in self.joined() if _is_word(text) else text.encode() in self.data
        return answer

    def joined(self) -> str:
        """The words of the file, each once: a part of a word is found there four times as fast as in the file."""
        if self._joined is None:
            self._joined = " ".join(self.identifiers())
        return self._joined

    def spells(self, word: str) -> bool:
        """Whether the file has the identifier `word`, not only a longer one that holds it.

        The rules ask for some forty words of each file: to take it apart once costs less than to search it so often.
        """
        return word in self.identifiers() or (not word.isascii() and spells(self.data, word.encode()))

    def identifiers(self) -> frozenset[str]:
        """The words of the file in ASCII: identifiers, numbers and what its texts and comments say."""
        if self._spelled is None:
            self._spelled = frozenset(self.data.translate(_APART).decode().split())
        return self._spelled

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
        if self._module is None:
            self._module = "." + self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        part = package
        while part:
            if self._module.endswith(part) and self._module[-len(part) - 1] == ".":
                return True
            part = part.rpartition(".")[0]
        return self._read_imports().near(self.path, package, members)

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

    def local(self, kinds: tuple[str, ...]) -> bool:
        """Whether the file can hold a test of local data of one of these kinds, and a call that needs all ranks."""
        answer = self._local.get(kinds)
        if answer is None:
            from shardlint.facts.local_words import local_words

            answer = self._local[kinds] = local_words(kinds).in_file(self.data, self.identifiers())
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
    if kind == "local":
        return words.local(needs[1])
    return words.rank()
