"""A source tree that defects are put into: its files, read once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from .python_file import PythonFile

_TESTS = re.compile(r"(^|/)(tests?|testing|unit_tests|test_\w+|tests_\w+)(/|$)|(^|/)(test_|conftest)[^/]*$|_test\.py$")
_NEVER = frozenset((".git", "node_modules", "site-packages", "__pycache__", "build", "dist", ".venv", "venv"))
_LARGEST = 400_000
"""Bytes. Larger files are generated tables, and LibCST would take a minute for one."""


_GENERATED = re.compile(r"(?i)auto-?generated|automatically generated|generated (file|by|from)")


def is_generated(text: str) -> bool:
    """Whether a file says in its first lines that something writes it."""
    return _GENERATED.search(text[:2000]) is not None


class Package:
    """One folder of sources.

    `of`: the package that it is a repository of, where that is looked at too; then only its documents are taken, since
    its code is that of the package.

    Files of tests are left out: they set up what a job never would (ranks that skip a call on purpose, a checkpoint
    that the test wrote), so that a change in them is not surely a defect.
    """

    def __init__(self, name: str, root: Path, of: str = "") -> None:
        self.name = name
        self.of = of
        self.root = root
        self._parsed: dict[str, PythonFile | None] = {}
        self._held: dict[tuple[str, ...], bool] = {}

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """All files below the root, relative to it, sorted."""
        found: list[str] = []
        folders = [self.root]
        while folders:
            for entry in folders.pop().iterdir():
                if entry.is_symlink() or entry.name in _NEVER:
                    continue
                if entry.is_dir():
                    folders.append(entry)
                else:
                    found.append(entry.relative_to(self.root).as_posix())
        return tuple(sorted(found))

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word that its Python files spell."""
        found: set[str] = set()
        for path in self.ending(".py"):
            found.update(re.findall(r"\w+", self.text(path) or ""))
        return frozenset(found)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """The paths that are no tests, with their sizes in bytes."""
        return {path: (self.root / path).stat().st_size for path in self.paths if not _TESTS.search(path)}

    def ending(self, *endings: str) -> list[str]:
        """The paths of files with one of some endings that are no tests and not too large."""
        return [path for path, size in self._sizes.items() if path.endswith(endings) and size <= _LARGEST]

    def text(self, path: str) -> str | None:
        """The text of a file; None if it is none in UTF-8, or is not there."""
        try:
            return (self.root / path).read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def python(self, *patterns: str) -> Iterator[PythonFile]:
        """The Python files in whose text some regular expressions are all found, parsed, in the order of their paths.

        Generated ones are left out: what is wrong in them is wrong in what they are made from. They are not kept: the
        trees of all packages together would fill the memory.
        """
        wanted = [re.compile(pattern) for pattern in patterns]
        for path in self.ending(".py") if not self.of else ():
            text = self.text(path)
            if text is not None and all(one.search(text) for one in wanted) and not is_generated(text):
                file = PythonFile.parsed(path, text)
                if file is not None:
                    yield file

    def file(self, path: str) -> PythonFile | None:
        """One parsed Python file, kept until another folder is asked for; None if it is not there or no Python."""
        folder = path.rpartition("/")[0]
        if any(kept.rpartition("/")[0] != folder for kept in self._parsed):
            self._parsed.clear()
        if path not in self._parsed:
            text = self.text(path)
            self._parsed[path] = PythonFile.parsed(path, text) if text is not None else None
        return self._parsed[path]

    def holds(self, pattern: str, *endings: str) -> bool:
        """Whether a regular expression is found in any file with one of some endings."""
        key = pattern, *endings
        if key not in self._held:
            wanted = re.compile(pattern)
            self._held[key] = any(wanted.search(self.text(path) or "") for path in self.ending(*endings))
        return self._held[key]
