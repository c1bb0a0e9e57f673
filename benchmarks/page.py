"""The report: sections of `README.md` and a picture, both written from `measured.json` and never by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from benchmarks.growth import GROWTH_AT_MOST, RUNS, SETTLED, Point, growth
from benchmarks.peers import Peers
from benchmarks.plot import Line, draw
from benchmarks.speed import Row, TreeCosts, in_digits, in_seconds, megabytes, rows

HERE = Path(__file__).parent
README = HERE / "README.md"
PICTURE = HERE / "growth.svg"
KEPT = HERE / "measured.json"
"""Everything that the last runs measured."""

TITLE = "CPU time against lines of Python, shardlint and ruff"
NAMES = {
    "cold": "shardlint",
    "ruff cold": "ruff",
    "warm": "shardlint, warm",
    "ruff F warm": "ruff --select F, warm",
}


class Rounds(TypedDict):
    """What `make bench` measured: on which machine, the trees, and the samples by size."""

    machine: str
    rounds: int
    trees: list[TreeCosts]
    points: list[Point]


class Once(TypedDict):
    """What `make bench-peers` measured."""

    machine: str
    peers: Peers


class Measured(TypedDict, total=False):
    """`rounds` and `peers` are measured apart; either may be older than the other."""

    rounds: Rounds
    peers: Once


class NoSection(Exception):
    """The page lacks the marks between which a section is written."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{README} has no `{opening(name)}` with a `{CLOSING}` after it")


CLOSING = "<!-- end of what was measured -->"


def opening(name: str) -> str:
    return f"<!-- measured: {name} -->"


def read(path: Path = KEPT) -> Measured:
    kept: Measured = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return kept


def table(head: Sequence[str], words: Sequence[int], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the columns at `words`, counted from zero, are set as words and all others as numbers."""
    lines = [head, ["---" if index in words else "---:" for index in range(len(head))], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bound(row: Row) -> str:
    return row.at_most if row.held else f"{row.at_most}, **not held**"


def beside(name: str) -> str:
    """How the page calls a run of ruff: `F` is a choice of rules, not a word."""
    return name.replace("ruff F", "ruff `--select F`").replace("python -c pass", "`python -c pass`")


def tree_section(costs: TreeCosts) -> str:
    body = [(row.name, row.ours, beside(row.beside), row.theirs, row.ratio, bound(row)) for row in rows(costs)]
    head = ("", "shardlint", "beside it", "", "ratio", "at most")
    return f"### {costs['name']}: {costs['files']:,} files, {costs['lines']:,} lines\n\n{table(head, (0, 2), body)}"


def growth_rows(points: Sequence[Point]) -> list[Row]:
    """For each larger tree, how a line there compares with one of the settled sample, cold, and the same of ruff."""
    theirs = growth(points, "ruff cold")
    return [
        Row(
            f"{lines:,}",
            in_digits(factor),
            "ruff",
            in_digits(theirs[lines]),
            "",
            f"{GROWTH_AT_MOST:.2f}",
            factor <= GROWTH_AT_MOST,
        )
        for lines, factor in growth(points, "cold").items()
    ]


def growth_section(points: Sequence[Point]) -> str:
    head = ("lines of Python", "files", *(beside(NAMES[run]) for run in RUNS), "shardlint, each 1,000 lines")
    body = [
        (
            f"{point['lines']:,}",
            f"{point['files']:,}",
            *(in_seconds(point["seconds"][run]) for run in RUNS),
            f"{1e6 * point['seconds']['cold'] / point['lines']:.1f} ms",
        )
        for point in points
    ]
    compared = [(row.name, row.ours, row.theirs, bound(row)) for row in growth_rows(points)]
    growing = table(("lines of Python", "shardlint", "ruff", "at most"), (), compared)
    return (
        f"![{TITLE}]({PICTURE.name})\n\n{table(head, (), body)}\n\n"
        f"The cost of a line in a larger tree, cold, as a multiple of its cost at {SETTLED:,} lines:\n\n{growing}"
    )


def rounds_section(found: Rounds) -> str:
    rounds = "One round" if found["rounds"] == 1 else f"Medians of {found['rounds']} rounds"
    parts = [f"{found['machine']}. {rounds}, CPU seconds."]
    parts += [tree_section(costs) for costs in found["trees"]]
    return "\n\n".join([*parts, "### Cost against size", growth_section(found["points"])])


def peers_section(found: Once) -> str:
    peers = found["peers"]
    body = [
        (run["tool"], in_seconds(run["seconds"]), megabytes(run["peak"]), str(run["findings"]), run["about"])
        for run in peers["runs"]
    ]
    head = ("", "CPU", "memory", "findings", "what it looks for")
    return (
        f"{found['machine']}. **One run each**, on {peers['folder']} alone: {peers['files']} files, "
        f"{peers['lines']:,} lines.\n\n{table(head, (0, 4), body)}"
    )


def picture(found: Rounds) -> str:
    lines = [
        Line(
            NAMES[run],
            ("theirs" if run.startswith("ruff") else "ours") + (" warm" if run.endswith("warm") else ""),
            [(point["lines"], point["seconds"][run]) for point in found["points"]],
        )
        for run in RUNS
    ]
    return draw(lines, TITLE)


def replaced(page: str, name: str, section: str) -> str:
    """The page with a new text between the marks of a section.

    Raises:
        NoSection: it has no such marks.
    """
    before, mark, rest = page.partition(opening(name))
    _, closing, after = rest.partition(CLOSING)
    if not mark or not closing:
        raise NoSection(name)
    return f"{before}{mark}\n\n{section}\n\n{closing}{after}"


def sections(measured: Measured) -> dict[str, str]:
    """The text of each section that something was measured for."""
    written: dict[str, str] = {}
    if "rounds" in measured:
        written["rounds"] = rounds_section(measured["rounds"])
    if "peers" in measured:
        written["peers"] = peers_section(measured["peers"])
    return written


def write(measured: Measured) -> None:
    """Writes what was measured, the sections and the picture."""
    page = README.read_text(encoding="utf-8")
    for name, section in sections(measured).items():
        page = replaced(page, name, section)
    README.write_text(page, encoding="utf-8")
    if "rounds" in measured:
        PICTURE.write_text(picture(measured["rounds"]), encoding="utf-8")
    KEPT.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


def held(found: Rounds) -> bool:
    """Whether every bound of every tree is held, and that on growth."""
    of_trees = [row for costs in found["trees"] for row in rows(costs)]
    return all(row.held for row in [*of_trees, *growth_rows(found["points"])])
