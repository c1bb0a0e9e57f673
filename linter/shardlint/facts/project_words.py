"""What the Python files of the linted project spell: for a rule that asks whether anything else knows a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from shardlint.facts.path_roles import in_tests
from shardlint.prefilter import spells

if TYPE_CHECKING:
    from shardlint.facts.project_modules import ProjectModules

_BASES = re.compile(rb"class\s+\w+\s*\(([^)]*)")
_WORD = re.compile(rb"\w+")
_STAR = re.compile(rb"import\s*\*")


class ProjectWords:
    """The text of all Python files of the project, each read when a rule asks for it.

    `configs`: the paths of its `config.json` files, which describe a model. `memo`: what facts about the project as a
    whole keep between the files that ask.
    """

    def __init__(self, paths: Iterable[str], read: Callable[[str], bytes], configs: Iterable[str] = ()) -> None:
        self.paths = frozenset(paths)
        self.configs = tuple(configs)
        self.memo: dict[object, object] = {}
        self._read = read
        self._texts: dict[str, bytes] = {}
        self._counts: dict[str, int] = {}
        self._holding: dict[str, list[str]] = {}
        self._common: set[str] = set()
        self._stars: dict[str, bool] = {}
        self._extending: dict[bytes, dict[str, None]] | None = None

    def text(self, path: str) -> bytes:
        """The content of one Python file; empty when the project has none there, or it cannot be read."""
        return self._content(path) if path in self.paths else b""

    def has_star(self, path: str) -> bool:
        """Whether a file takes over all names of another one."""
        if path not in self._stars:
            self._stars[path] = _STAR.search(self.text(path)) is not None
        return self._stars[path]

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The content of each Python file by its path."""
        return {path: self._content(path) for path in sorted(self.paths)}

    @cached_property
    def config_texts(self) -> list[bytes]:
        """The content of each `config.json`."""
        return [self._content(path) for path in self.configs]

    @cached_property
    def modules(self) -> ProjectModules:
        """The same files as parsed modules."""
        from shardlint.facts.project_modules import ProjectModules

        return ProjectModules(self)

    def holding(self, word: str) -> list[str]:
        """The files that spell an identifier, sorted."""
        if word not in self._holding:
            text = word.encode()
            self._holding[word] = [path for path, data in self.files.items() if spells(data, text)]
        return self._holding[word]

    def naming(self, word: str, most: int) -> list[str] | None:
        """The files outside of tests that spell an identifier, sorted; None if there are more than `most`."""
        if word in self._common:
            return None
        if word not in self._holding:
            found, text, outside = list[str](), word.encode(), 0
            for path, data in self.files.items():
                if spells(data, text):
                    found.append(path)
                    outside += not in_tests(path)
                    if outside > most:
                        self._common.add(word)
                        return None
            self._holding[word] = found
        named = [path for path in self._holding[word] if not in_tests(path)]
        return named if len(named) <= most else None

    def extending(self, word: str) -> list[str]:
        """The files with a class among whose bases an identifier stands, sorted."""
        if self._extending is None:
            self._extending = {}
            for path, data in self.files.items():
                for bases in _BASES.findall(data):
                    for name in _WORD.findall(bases):
                        self._extending.setdefault(name, {})[path] = None
        return list(self._extending.get(word.encode(), ()))

    def sets(self, owner: str, attribute: str) -> bool:
        """Whether a file that spells the name of a class sets an attribute of an object, other than by `self.`."""
        text = attribute.encode()
        regex = re.compile(rb"(?<!\bself)\." + text + rb"\s*=(?!=)")
        return any(text in data and regex.search(data) for data in map(self.text, self.holding(owner)))

    def reads(self, name: str) -> int:
        """How often `.name` is read, or `"name"` written as a text, in all files together."""
        return self.count(name, rf"\.\s*{name}\b(?!\s*=[^=])|(['\"]){name}\1")

    def count(self, word: str, pattern: str) -> int:
        """How often a regular expression, whose matches all hold `word`, matches in all files together."""
        if pattern not in self._counts:
            regex, text = re.compile(pattern.encode(), re.MULTILINE), word.encode()
            holding = (data for data in self.files.values() if text in data)
            self._counts[pattern] = sum(1 for data in holding for _ in regex.finditer(data))
        return self._counts[pattern]

    def _content(self, path: str) -> bytes:
        if path not in self._texts:
            try:
                self._texts[path] = self._read(path)
            except OSError:
                self._texts[path] = b""
        return self._texts[path]
