"""Speed and memory of shardlint beside ruff on one source tree."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, TypedDict

from benchmarks.constraints import constrained
from benchmarks.measure import Command, Watched, cpu_seconds, medians, peak_bytes, watched
from benchmarks.tools import RUFF_RULES, USUAL, ruff, shardlint
from benchmarks.trees import Touch, copy, quiet_files, size
from shardlint.registry import load_rows

LIBCST_AT_MOST = 0.01
STRAY_AT_MOST = 0.01
"""Share of the Python files that only one of the two tools may read: above it they do not do the same work."""
MEMORY_AT_MOST = 200_000_000
"""Bytes, for any run of shardlint on one package, all its processes together."""
WATCHED = {
    "cold": ("cold", "ruff cold"),
    "first run": ("first run", "ruff cold"),
    "warm": ("warm", "ruff F warm"),
    "three files": ("three files", "ruff three files"),
}
"""Whose memory is sampled: a run of shardlint, and the run of ruff that stands beside it."""


class TreeCosts(TypedDict):
    """What was measured on one tree.

    `seconds` are medians of CPU seconds by run, `peaks` bytes by run, `libcst` the share of the bytes that LibCST
    parsed in a first run, `strays` the Python files that only one of the two tools reads, and `other_work` what the
    run of three changed files does besides reading them.
    """

    name: str
    whole: bool
    files: int
    lines: int
    strays: int
    other_work: list[str]
    libcst: float
    seconds: dict[str, float]
    peaks: dict[str, int]


class Figure(NamedTuple):
    """Two costs side by side, and the highest ratio that is accepted, if any: on one package, on the whole corpus."""

    name: str
    ours: str
    theirs: str
    one: float | None = None
    whole: float | None = None


FIGURES = (
    Figure("cold", "cold", "ruff cold", one=5.0, whole=2.0),
    Figure("cold, local rules alone", "cold, local rules alone", "ruff cold", one=3.0),
    Figure("cold", "cold", "ruff F cold"),
    Figure("first run", "first run", "ruff cold"),
    Figure("warm", "warm", "ruff warm"),
    Figure("warm", "warm", "ruff F warm", one=1.0, whole=0.5),
    Figure("three files", "three files", "python -c pass", one=3.0),
    Figure("three files", "three files", "ruff three files"),
    Figure("three files", "three files", "ruff F three files"),
    Figure("cold, 50 constraints", "cold, 50 constraints", "cold", one=1.3),
    Figure("warm, 50 constraints", "warm, 50 constraints", "warm", one=1.05),
)


class Row(NamedTuple):
    """A line of a table: what, our figure, whose figure stands beside it, that figure, their ratio, and the bound."""

    name: str
    ours: str
    beside: str
    theirs: str
    ratio: str
    at_most: str
    held: bool


def timings(command: Command) -> Watched:
    return watched(command._replace(argv=[*command.argv, "--timings"]))


def libcst_and_read(said: bytes) -> tuple[int, int]:
    """How many bytes LibCST parsed, and how many were read at all, as `--timings` tells."""
    found = re.search(rb"libcst: (\d+) of (\d+) bytes", said)
    if found is None:
        sys.exit("`shardlint check --timings` does not say how many bytes LibCST parsed")
    return int(found[1]), int(found[2])


def other_work(command: Command, files: list[Path]) -> list[str]:
    """What a run does beyond reading these files: the rules that ran, and the bytes of other files that it read."""
    said = timings(command).said
    _, read = libcst_and_read(said)
    _, _, ran = said.decode().partition("\nrules, inside of the stage `files`\n")
    rules = re.findall(r"^ +[\d.]+ ms  (\S+)$", ran, re.MULTILINE)
    if not rules and "none ran" not in ran:
        sys.exit("`shardlint check --timings` does not say which rules ran")
    others = read - sum(path.stat().st_size for path in files)
    return rules + ([f"{others} bytes of other files"] if others else [])


def python_files(command: Command) -> set[Path]:
    """The Python files that a command names in its output, one a line."""
    run = subprocess.run(command.argv, cwd=command.cwd, env=command.environment, capture_output=True, check=True)
    named = (Path(line) for line in run.stdout.decode().splitlines() if line.endswith(".py"))
    return {command.cwd / path for path in named}


def strays(tree: Path, scratch: Path) -> int:
    """How many Python files only one of the two tools reads."""
    ours = python_files(shardlint(tree, scratch / "cache-shown", "--show-files"))
    theirs = python_files(ruff(tree, None, "--show-files", "."))
    return len(ours ^ theirs)


def three_files(changing: Path, three: list[Path], scratch: Path) -> dict[str, Command]:
    """A commit of three changed files, when each tool knows all the others."""
    named = [str(path.relative_to(changing)) for path in three]
    cache = scratch / "cache-changing"
    cpu_seconds(shardlint(changing, cache))
    runs = {"three files": shardlint(changing, cache, *named, prepare=Touch(three))}
    for name, rules in RUFF_RULES.items():
        cache = scratch / f"cache-changing-{len(runs)}"
        cpu_seconds(ruff(changing, cache, *rules, "."))
        runs[f"{name} three files"] = ruff(changing, cache, *rules, *named, prepare=Touch(three))
    return runs


def with_constraints(tree: Path, scratch: Path) -> dict[str, Command]:
    """The two runs to which fifty constraints of the project may add something."""
    cache = scratch / "cache-constrained"
    return {
        "cold, 50 constraints": shardlint(tree, cache, "--no-cache"),
        "warm, 50 constraints": shardlint(tree, cache, primed=True),
    }


def commands(tree: Path, scratch: Path) -> dict[str, Command]:
    """Every run that is measured; all work on copies, with caches of their own."""
    emptied = scratch / "cache-emptied"

    def empty() -> None:
        shutil.rmtree(emptied, ignore_errors=True)

    program = ",".join(row["name"] for row in load_rows()[0] if row["kind"] == "program")
    runs = {
        "cold": shardlint(tree, scratch / "cache-kept", "--no-cache"),
        "cold, local rules alone": shardlint(tree, scratch / "cache-kept", "--no-cache", "--ignore", program),
        "first run": shardlint(tree, emptied, prepare=empty),
        "warm": shardlint(tree, scratch / "cache-kept", primed=True),
    }
    for name, rules in RUFF_RULES.items():
        runs[f"{name} cold"] = ruff(tree, None, *rules, ".")
        runs[f"{name} warm"] = ruff(tree, scratch / f"cache-{len(runs)}", *rules, ".", primed=True)
    return runs | {"python -c pass": Command([sys.executable, "-c", "pass"], tree, USUAL)}


def measure(tree: Path, name: str, whole: bool, scratch: Path, rounds: int) -> TreeCosts:
    """Costs on a tree that nobody else writes to; `scratch` is a folder for copies and caches."""
    print(f"{name}: preparing", file=sys.stderr, flush=True)
    changing = copy(tree, scratch / "changing")
    three = quiet_files(changing)
    runs = commands(tree, scratch) | three_files(changing, three, scratch)
    if not whole:
        runs |= with_constraints(constrained(tree, scratch / "constrained"), scratch)
    first = timings(runs["warm"])  # its cache folder is still empty, so this is a first run
    parsed, read = libcst_and_read(first.said)
    seconds = medians(runs, rounds)
    print("  memory", file=sys.stderr, flush=True)
    beside = dict.fromkeys(run for pair in WATCHED.values() for run in pair if run != "first run")
    peaks = {run: peak_bytes(runs[run]) for run in beside}
    files, lines = size(tree)
    return {
        "name": name,
        "whole": whole,
        "files": files,
        "lines": lines,
        "strays": strays(tree, scratch),
        "other_work": other_work(runs["three files"], three),
        "libcst": parsed / read,
        "seconds": seconds,
        "peaks": peaks | {"first run": first.peak},
    }


def figure_row(costs: TreeCosts, figure: Figure) -> Row:
    ours, theirs = costs["seconds"][figure.ours], costs["seconds"][figure.theirs]
    bound = figure.whole if costs["whole"] else figure.one
    ratio = ours / theirs
    return Row(
        figure.name,
        in_seconds(ours),
        figure.theirs,
        in_seconds(theirs),
        in_digits(ratio),
        "" if bound is None else f"{bound:.2f}",
        bound is None or ratio <= bound,
    )


def rows(costs: TreeCosts) -> list[Row]:
    """The figures of one tree, each with its bound if it has one."""
    table = [figure_row(costs, figure) for figure in FIGURES if figure.ours in costs["seconds"]]
    for name, (ours, theirs) in WATCHED.items():
        mine, other = costs["peaks"][ours], costs["peaks"][theirs]
        bound = None if costs["whole"] else MEMORY_AT_MOST
        at_most = "" if bound is None else megabytes(bound)
        held = bound is None or mine <= bound
        ratio = in_digits(mine / other) if other else ""
        table.append(Row(f"memory, {name}", megabytes(mine), theirs, megabytes(other), ratio, at_most, held))
    share, apart, beyond = costs["libcst"], costs["strays"] / costs["files"], costs["other_work"]
    parsed = ("parsed by LibCST", f"{share:.2%}", "", "", "", f"{LIBCST_AT_MOST:.0%}", share <= LIBCST_AT_MOST)
    read = ("files that one tool reads", f"{apart:.2%}", "", "", "", f"{STRAY_AT_MOST:.0%}", apart <= STRAY_AT_MOST)
    ran = ("rules that run on the three files", f"{len(beyond)}", "", "", "", "0", not beyond)
    return [*table, Row(*parsed), Row(*read), Row(*ran)]


def in_digits(value: float) -> str:
    """About three digits, which is more than a measurement repeats."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:,.{digits}f}"


def in_seconds(value: float) -> str:
    return f"{in_digits(value)} s"


def megabytes(value: float) -> str:
    return f"{value / 1e6:.0f} MB"
