"""Where a project keeps its constraints. Imports nothing: every project is asked, and most have none."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

KNOWN = ".agents/knowledge/constraints.md"
"""The file that is found by itself."""

FOLDER = "constraints"
"""The folder whose YAML files are found by themselves, as far as they say that they hold constraints."""


def constraint_places(root: str, named: Sequence[str]) -> list[str]:
    """The files and folders whose change can change which constraints there are, present or absent (absolute).

    `named`: the setting `knowledge`: files, or patterns of files in one folder.
    """
    places = [os.path.join(root, KNOWN), os.path.join(root, FOLDER)]
    return [*places, *(os.path.join(root, os.path.dirname(name) if is_pattern(name) else name) for name in named)]


def is_pattern(name: str) -> bool:
    """Whether an entry of `knowledge` stands for several files."""
    return any(sign in name for sign in "*?[")
