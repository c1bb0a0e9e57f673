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
COMPARED = (100_000, 1_000_000)
"""Between these sizes start-up no longer counts, so a line must cost the same."""
GROWTH_AT_MOST = 1.25
"""How many times the cost of a line in the smaller of these samples a line of the larger one may cost, cold."""
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


def growth(points: Sequence[Point], run: str) -> float:
    """How many times the cost of a line in the smaller compared sample a line of the larger one costs.

    Raises:
        ValueError: the points have no sample of one of these sizes.
    """
    small, large = (nearest(points, wanted) for wanted in COMPARED)
    return (large["seconds"][run] / large["lines"]) / (small["seconds"][run] / small["lines"])


def nearest(points: Sequence[Point], wanted: int) -> Point:
    for point in points:
        if 0.9 * wanted <= point["lines"] <= wanted:
            return point
    raise ValueError(f"no sample of {wanted} lines was measured")
