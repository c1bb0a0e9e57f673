"""A place in healthy code where a defect can be put, and what comes of it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from .package import Package
from .python_file import PythonFile


class Place(NamedTuple):
    """Where the finding must lie: a path, first and last line of the mutated file."""

    path: str
    first: int
    last: int


class Injection(NamedTuple):
    """The defect: the new text of each changed file (None: deleted), and the places where it may be reported."""

    files: Mapping[str, str | None]
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Site:
    """A healthy place. `what` says in a few words what is changed; `copy` is alike for two copies of one code."""

    package: str
    path: str
    line: int
    what: str
    copy: str
    inject: Callable[[], Injection]

    @property
    def order(self) -> bytes:
        """Sites are drawn in this order: at random, and the same in every run."""
        return hashlib.sha256(f"{self.package}\0{self.path}\0{self.line}".encode()).digest()


def in_place(file: PythonFile, text: str, *nodes: ast.stmt | ast.expr) -> Injection:
    """A new text of a file, whose finding must lie on some nodes; lines that the text lost were above all of them."""
    moved = text.count("\n") - file.text.count("\n")
    places = [Place(file.path, node.lineno + moved, (node.end_lineno or node.lineno) + moved) for node in nodes]
    return Injection({file.path: text}, tuple(places))


class Mutator(Protocol):
    """Puts the defect of one rule into code.

    `versioned`: the rule compares two states of a repository, so the healthy state is committed first. `beside`: rules
    that are on in the same runs, because they share the facts of the whole program.
    """

    rule: str
    versioned: bool
    beside: tuple[str, ...]

    def sites(self, package: Package) -> Iterator[Site]:
        """Every place in a package where the defect can be put and surely is one."""
        ...
