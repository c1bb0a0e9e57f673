"""What a run costs on trees from a thousand to a million lines: samples of whole files of one large tree."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from benchmarks.measure import Command, medians
from benchmarks.tools import RUFF_RULES, ruff, shardlint
from benchmarks.trees import copy_files, lengths, sample

SIZES = (1_000, 10_000, 100_000, 1_000_000)
"""Lines."""
SETTLED = 100_000
"""From this size on start-up no longer counts, so a line must cost the same in every larger tree."""
GROWTH_AT_MOST = 1.25
"""How many times the cost of a line in the sample of that size a line of a larger tree may cost, cold."""
RUNS = ("cold", "ruff cold", "warm", "ruff F warm")


class Point(TypedDict):
    """Medians of CPU seconds by run, on a tree with this many Python files and lines in them."""

    files: int
    lines: int
    seconds: dict[str, float]


def commands(tree: Path, scratch: Path) -> dict[str, Command]:
    rules = RUFF_RULES["ruff F"]
    runs = (
        shardlint(tree, scratch / "cache", "--no-cache"),
        ruff(tree, None, "."),
        shardlint(tree, scratch / "cache", primed=True),
        ruff(tree, scratch / "cache-ruff", *rules, ".", primed=True),
    )
    return dict(zip(RUNS, runs, strict=True))


def measure(tree: Path, scratch: Path, rounds: int) -> list[Point]:
    """A point for each size that the tree can give.

    Args:
        tree: a large tree.
        scratch: a folder for the samples and caches.
        rounds: how many to take the median of.
    """
    found = lengths(tree)
    points: list[Point] = []
    for wanted in SIZES:
        if sum(found.values()) < wanted:
            break
        chosen = sample(found, wanted)
        lines = sum(found[path] for path in chosen)
        print(f"sample of {lines:,} lines", file=sys.stderr, flush=True)
        here = scratch / str(wanted)
        sampled = copy_files(tree, chosen, here / "tree")
        seconds = medians(commands(sampled, here), rounds)
        points.append({"files": len(chosen), "lines": lines, "seconds": seconds})
    return points


def growth(points: Sequence[Point], run: str) -> dict[int, float]:
    """By lines of each larger tree: how many times the cost of a line in the settled sample a line costs there.

    Raises:
        ValueError: no sample of the settled size was measured, or nothing larger.
    """
    settled = [point for point in points if 0.9 * SETTLED <= point["lines"] <= SETTLED]
    larger = [point for point in points if point["lines"] > SETTLED]
    if not settled or not larger:
        raise ValueError(f"no sample of {SETTLED} lines was measured, or nothing larger")
    base = settled[0]["seconds"][run] / settled[0]["lines"]
    return {point["lines"]: point["seconds"][run] / point["lines"] / base for point in larger}
