"""Source trees to measure on: copies of packages, samples of a given size, and files that look harmless."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

LEFT_OUT = shutil.ignore_patterns(".ruff_cache", "__pycache__", ".git", "shardlint.toml")
NEAR_ENOUGH = 0.05
"""A sample stops this close below the size asked for: looking on for a file that fits would collect the tiny ones."""
QUIET_WORDS = (b"barrier", b"distributed", b"grad", b"load", b"optim", b"rank", b"save")
"""A file without any of these gives no rule a reason to look closer."""
QUIET_BYTES = range(4_000, 20_000)


class Size(NamedTuple):
    files: int
    lines: int


def lengths(tree: Path) -> dict[str, int]:
    """Lines of each Python file, by its path below the tree."""
    return {path.relative_to(tree).as_posix(): path.read_bytes().count(b"\n") for path in tree.rglob("*.py")}


def size(tree: Path) -> Size:
    found = lengths(tree)
    return Size(len(found), sum(found.values()))


def in_order(path: str) -> tuple[bytes, str]:
    """An order that has nothing to do with names or folders, and is the same on every machine."""
    return hashlib.blake2b(path.encode(), digest_size=8).digest(), path


def sample(found: Mapping[str, int], wanted: int) -> list[str]:
    """Whole files with about `wanted` lines together, never more; what a small sample has, a larger one mostly has too.

    Raises:
        ValueError: there are not that many lines.
    """
    if sum(found.values()) < wanted:
        raise ValueError(f"no sample of {wanted} lines: there are {sum(found.values())}")
    chosen: list[str] = []
    left = wanted
    for path in sorted(found, key=in_order):
        if found[path] <= left:
            chosen.append(path)
            left -= found[path]
        if left <= NEAR_ENOUGH * wanted:
            break
    return chosen


def copy(tree: Path, into: Path) -> Path:
    shutil.copytree(tree, into, ignore=LEFT_OUT)
    return into


def copy_files(tree: Path, paths: list[str], into: Path) -> Path:
    for path in paths:
        target = into / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tree / path, target)
    return into


def size_and_name(path: Path) -> tuple[int, str]:
    return path.stat().st_size, str(path)


def quiet_files(tree: Path) -> list[Path]:
    """Three files of middling size in which no rule has anything to look at."""
    fitting = sorted((path for path in tree.rglob("*.py") if path.stat().st_size in QUIET_BYTES), key=size_and_name)
    quiet = [path for path in fitting if not any(word in path.read_bytes() for word in QUIET_WORDS)]
    if len(quiet) < 3:
        sys.exit(f"{tree} has fewer than three files without suspects: take a larger tree")
    middle = len(quiet) // 2
    return quiet[middle - 1 : middle + 2]


class Touch:
    """Makes files differ from what a cache remembers, anew at each call."""

    def __init__(self, files: list[Path]) -> None:
        self.originals = {path: path.read_bytes() for path in files}
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        for path, original in self.originals.items():
            path.write_bytes(original + b"\n# changed %d\n" % self.calls)
