"""The command lines of the two tools that are compared in rounds: shardlint and ruff, each with a cache of its own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import Command

RUFF_RULES = {"ruff": (), "ruff F": ("--select", "F")}
"""Two choices of rules: the default set, and the one whose results its cache can answer in any tree."""

# As after `pip install`, which compiles: else an editable install would be compiled anew by every run.
USUAL = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def beside_python(name: str) -> str:
    """The executable installed with this interpreter, else the one on PATH."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        sys.exit(f"`{name}` is not installed: run `make dev` first")
    return found


def shardlint(
    tree: Path,
    cache: Path,
    *arguments: str,
    prepare: Callable[[], None] = lambda: None,
    primed: bool = False,
) -> Command:
    argv = [beside_python("shardlint"), "check", "--output-format", "concise", *arguments]
    return Command(argv, tree, USUAL | {"XDG_CACHE_HOME": str(cache)}, prepare, primed)


def ruff(
    tree: Path,
    cache: Path | None,
    *arguments: str,
    prepare: Callable[[], None] = lambda: None,
    primed: bool = False,
) -> Command:
    """`ruff check` without settings and in its cheapest output; its full output costs more than its linting."""
    kept = ["--no-cache"] if cache is None else ["--cache-dir", str(cache)]
    argv = [beside_python("ruff"), "check", "--isolated", "--output-format", "concise", *kept, *arguments]
    return Command(argv, tree, USUAL, prepare, primed)
