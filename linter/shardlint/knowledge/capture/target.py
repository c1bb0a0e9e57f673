"""The file that a constraint is written to: which one, what it becomes, and that it says then what was meant."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from shardlint.atomic import replace_file
from shardlint.errors import CaptureRefused
from shardlint.knowledge.capture.formatting import block_text
from shardlint.knowledge.capture.writing import Placed, add_to_markdown, add_to_yaml, is_markdown
from shardlint.knowledge.constraint_file import YAML, read_constraints
from shardlint.knowledge.files import read_knowledge
from shardlint.knowledge.places import KNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shardlint.knowledge.constraint import Constraint

_BEGINNING = "# Constraints\n\nWhat must stay true in this repository.\n"


class Target:
    """A constraint file, present or not yet. `file`: relative to the root."""

    def __init__(self, root: str, file: str) -> None:
        self.root = root
        self.file = file
        self.path = os.path.join(root, file)
        self.old = self._read()

    def _read(self) -> str:
        try:
            with open(self.path, encoding="utf-8", newline="") as file:
                return file.read()
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise CaptureRefused(f"{self.file} cannot be read: {error}") from None

    def with_constraint(
        self, mapping: Mapping[str, Any], title: str, prose: Sequence[str], *, section: str, number: str
    ) -> Placed:
        """The file with the constraint in it. Nothing is written yet.

        Raises CaptureRefused if the constraint would not be read back as it was meant, or another would change.
        """
        if is_markdown(self.file):
            block = block_text(mapping)
            placed = add_to_markdown(self.old or _BEGINNING, title, prose, block, section=section, number=number)
        else:
            if section or number:
                raise CaptureRefused(f"{self.file} is YAML, which has no sections and numbers: leave these out")
            placed = add_to_yaml(self.old, block_text({"id": mapping["id"], "title": title, **mapping}))
        self._check(placed.text, str(mapping["id"]))
        return placed

    def _check(self, text: str, name: str) -> None:
        before = read_constraints(self.file, self.old.encode())
        after = read_constraints(self.file, text.encode())
        if after.problems != before.problems and after.problems:
            raise CaptureRefused(f"{self.file} would not be read back: {after.problems[0].message}")
        kept = [_without_place(one) for one in after.constraints if one.id != name]
        if kept != [_without_place(one) for one in before.constraints] or len(kept) + 1 != len(after.constraints):
            raise CaptureRefused(f"{self.file}: the new block would change how others are read: add it by hand")

    def write(self, text: str) -> None:
        """Replace the file. Raises CaptureRefused when that cannot be done."""
        if os.path.realpath(self.path) != os.path.join(os.path.realpath(self.root), *self.file.split("/")):
            raise CaptureRefused(f"{self.file} is reached through a link: name the file itself with `--to`")
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            replace_file(self.path, text.encode())
        except OSError as error:
            raise CaptureRefused(f"{self.file} cannot be written: {error.strerror}") from None


def target_of(root: str, named: Sequence[str], wanted: str | None) -> Target:
    """The file to write to: the one that is wanted, else the first that the project has, else the customary one.

    `wanted` is relative to the working directory; `named` is the setting `knowledge`.

    Raises CaptureRefused for a file that constraints are not read from.
    """
    files = list(read_knowledge(root, named).contents)
    if wanted is None:
        return Target(root, files[0] if files else KNOWN)
    file = os.path.relpath(os.path.realpath(wanted), os.path.realpath(root)).replace(os.sep, "/")
    if file.startswith("../"):
        raise CaptureRefused(f"{wanted} lies outside of the project {root}")
    found_by_itself = file == KNOWN or (
        file.startswith("constraints/") and file.count("/") == 1 and file.endswith(YAML)
    )
    if file not in files and not found_by_itself:
        raise CaptureRefused(
            f'no run would read {file}: add it to the settings, `knowledge = ["{file}"]`, or write to {KNOWN}'
        )
    return Target(root, file)


def _without_place(constraint: Constraint) -> Constraint:
    return constraint._replace(line=0, lines={})
