"""What the Python files of the linted project spell: for a rule that asks whether anything else knows a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from shardlint.environment import Environment

if TYPE_CHECKING:
    from shardlint.facts.project_modules import ProjectModules


class ProjectWords:
    """The text of all Python files of the project, read when a rule asks."""

    def __init__(self, read: Callable[[], Iterable[tuple[str, bytes]]], environment: Environment | None = None) -> None:
        self._read = read
        self._environment = environment or Environment({})
        self._counts: dict[str, int] = {}

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The content of each Python file by its path."""
        return dict(self._read())

    @cached_property
    def paths(self) -> frozenset[str]:
        """The paths of all Python files."""
        return frozenset(self.files)

    @cached_property
    def modules(self) -> ProjectModules:
        """The same files as parsed modules."""
        from shardlint.facts.project_modules import ProjectModules

        return ProjectModules(self, self._environment)

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
