"""Where a project keeps its constraints, and reading all of them."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, NamedTuple

from shardlint.knowledge.constraint_file import (
    MARKDOWN,
    MOST_BYTES,
    YAML,
    Contents,
    Problem,
    is_constraint_document,
    read_constraints,
)
from shardlint.knowledge.places import FOLDER, KNOWN, constraint_places, is_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shardlint.knowledge.constraint import Constraint


class Knowledge(NamedTuple):
    """All constraints of a project in the order of files and lines, and what is wrong with others.

    `contents`: file -> what it holds. `watched`: absolute paths of every file and folder that decided this answer.
    """

    contents: dict[str, Contents]
    watched: tuple[str, ...]

    @property
    def constraints(self) -> list[Constraint]:
        return [constraint for held in self.contents.values() for constraint in held.constraints]

    @property
    def problems(self) -> list[Problem]:
        return [problem for held in self.contents.values() for problem in held.problems]


def read_knowledge(root: str, named: Sequence[str]) -> Knowledge:
    """Read the constraint files of a project.

    Args:
        root: the root folder.
        named: the setting `knowledge`: files, or patterns of files in one folder, relative to the root.
    """
    contents: dict[str, Contents] = {}
    watched = constraint_places(root, named)
    for file, sure in _files(root, named):
        path = os.path.join(root, file)
        watched.append(path)
        data = _content(path)
        if isinstance(data, str):
            contents[file] = Contents((), (Problem(file, 1, data),))
        elif sure or is_constraint_document(data):
            contents[file] = read_constraints(file, data)
    return Knowledge(_without_doubles(contents), tuple(dict.fromkeys(watched)))


def _files(root: str, named: Sequence[str]) -> Iterable[tuple[str, bool]]:
    """The files to read, and whether they surely hold constraints."""
    found: dict[str, bool] = {}
    if os.path.isfile(os.path.join(root, KNOWN)):
        found[KNOWN] = True
    for name in named:
        matching = sorted(glob.glob(name, root_dir=root)) if is_pattern(name) else [name]
        found.update((file.replace(os.sep, "/"), True) for file in matching if file.endswith((*MARKDOWN, *YAML)))
        if not is_pattern(name) and not name.endswith((*MARKDOWN, *YAML)):
            found[name] = True
    folder = os.path.join(root, FOLDER)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.endswith(YAML):
            found.setdefault(f"{FOLDER}/{name}", False)
    return found.items()


def _content(path: str) -> bytes | str:
    """The bytes of a file, or why it cannot be read."""
    if not path.endswith((*MARKDOWN, *YAML)):
        return "constraints are read from Markdown (.md) and YAML (.yaml, .yml): name such a file in `knowledge`"
    if not os.path.isfile(path):
        return "`knowledge` names this file, and it is not there: correct the path, or create the file"
    try:
        with open(path, "rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        return f"the file cannot be read: {(error.strerror or str(error)).lower()}"


def _without_doubles(contents: dict[str, Contents]) -> dict[str, Contents]:
    """An id names one rule, so the second constraint of that id is a problem."""
    seen: dict[str, Constraint] = {}
    kept: dict[str, Contents] = {}
    for file, held in contents.items():
        problems = list(held.problems)
        constraints: list[Constraint] = []
        for constraint in held.constraints:
            first = seen.setdefault(constraint.id, constraint)
            if first is constraint:
                constraints.append(constraint)
            else:
                where = f"{first.file}:{first.line}"
                message = f"`{constraint.id}` is the id of the constraint at {where} already: choose another"
                problems.append(Problem(file, constraint.line_of(("id",)), message))
        kept[file] = Contents(tuple(constraints), tuple(problems), held.items)
    return kept
