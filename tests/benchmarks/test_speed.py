"""Every figure is measured, and a bound that is not held is said and fails the run."""

import os
import sys
from pathlib import Path

import pytest

from benchmarks.measure import Command
from benchmarks.speed import FIGURES, WATCHED, TreeCosts, in_seconds, libcst_and_read, measure, other_work, rows

HELD: TreeCosts = {
    "name": "pkg 1.0",
    "whole": False,
    "files": 1_000,
    "lines": 200_000,
    "strays": 10,
    "other_work": [],
    "libcst": 0.01,
    "seconds": {
        "cold": 2.0,
        "cold, local rules alone": 3.0,
        "first run": 9.0,
        "warm": 0.1,
        "three files": 0.06,
        "cold, 50 constraints": 2.6,
        "warm, 50 constraints": 0.105,
        "ruff cold": 1.0,
        "ruff F cold": 0.5,
        "ruff warm": 1.0,
        "ruff F warm": 0.2,
        "ruff three files": 0.01,
        "ruff F three files": 0.01,
        "python -c pass": 0.02,
    },
    "peaks": {run: 200_000_000 for pair in WATCHED.values() for run in pair},
}
"""Every bound is just held, on one package and on the whole corpus."""


def broken(costs: TreeCosts) -> list[str]:
    return [f"{row.name}/{row.beside}".rstrip("/") for row in rows(costs) if not row.held]


def changed(costs: TreeCosts, run: str, seconds: float) -> TreeCosts:
    return {**costs, "seconds": costs["seconds"] | {run: seconds}}


@pytest.mark.parametrize("whole", [False, True])
def test_bound_is_held_up_to_its_value(whole: bool) -> None:
    assert broken({**HELD, "whole": whole}) == []


def test_bounds_on_one_package() -> None:
    assert broken(changed(HELD, "cold", 5.01)) == ["cold/ruff cold"]
    assert broken(changed(HELD, "cold, local rules alone", 3.01)) == ["cold, local rules alone/ruff cold"]
    assert broken(changed(HELD, "warm", 0.21)) == ["warm/ruff F warm"]
    assert broken(changed(HELD, "three files", 0.061)) == ["three files/python -c pass"]
    assert broken(changed(HELD, "cold, 50 constraints", 2.61)) == ["cold, 50 constraints/cold"]
    assert broken(changed(HELD, "warm, 50 constraints", 0.106)) == ["warm, 50 constraints/warm"]
    assert broken({**HELD, "peaks": HELD["peaks"] | {"warm": 200_000_001}}) == ["memory, warm/ruff F warm"]


def test_bounds_on_the_whole_corpus() -> None:
    whole: TreeCosts = {**HELD, "whole": True}

    assert broken(changed(whole, "cold", 2.01)) == ["cold/ruff cold"]
    assert broken(changed(whole, "warm", 0.101)) == ["warm/ruff F warm"]


@pytest.mark.parametrize("whole", [False, True])
def test_bounds_on_what_is_done(whole: bool) -> None:
    costs: TreeCosts = {**HELD, "whole": whole}

    assert broken({**costs, "libcst": 0.011}) == ["parsed by LibCST"]
    assert broken({**costs, "strays": 11}) == ["files that one tool reads"]
    assert broken({**costs, "other_work": ["some-rule"]}) == ["rules that run on the three files"]


def test_costs_have_about_three_digits() -> None:
    assert [in_seconds(value) for value in (0.0254, 0.504, 1.234, 43.21, 2119.5)] == [
        "0.025 s",
        "0.504 s",
        "1.23 s",
        "43.2 s",
        "2,120 s",
    ]


def saying(text: str) -> Command:
    return Command([sys.executable, "-c", f"print({text!r})"], Path.cwd(), dict(os.environ))


TIMINGS = "stages\n  1.00 ms  files\nrules, inside of the stage `files`\n{}\nlibcst: 0 of {} bytes"


def test_work_besides_three_files_is_named(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.py", "b.py", "c.py")]
    for path in files:
        path.write_bytes(b"x" * 100)

    assert other_work(saying(TIMINGS.format("  none ran", 300)), files) == []
    assert other_work(saying(TIMINGS.format("  0.25 ms  some-rule\n  10.00 ms  other-rule", 300)), files) == [
        "some-rule",
        "other-rule",
    ]
    assert other_work(saying(TIMINGS.format("  none ran", 345)), files) == ["45 bytes of other files"]


def test_output_that_does_not_say_it_ends_the_benchmark() -> None:
    with pytest.raises(SystemExit, match="does not say which rules ran"):
        other_work(saying("stages\nlibcst: 0 of 0 bytes"), [])
    with pytest.raises(SystemExit, match="does not say how many bytes"):
        libcst_and_read(b"no findings")


def test_a_round_on_a_small_tree_gives_every_figure(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(3):
        (tree / f"quiet_{number}.py").write_text("x = 1\n" * 1_000)
    (tree / "train.py").write_text("import torch\n\nstate = torch.load('a.pt', weights_only=False)\n")
    for path in tree.iterdir():
        os.utime(path, (0, 0))  # a file that changed a moment ago is read again, whatever a cache says of it

    costs = measure(tree, "small", False, tmp_path, 1)

    assert (costs["files"], costs["lines"], costs["strays"], costs["other_work"]) == (4, 3_003, 0, [])
    assert costs["seconds"].keys() >= {name for figure in FIGURES for name in (figure.ours, figure.theirs)}
    assert all(cost > 0 for cost in costs["seconds"].values())
    assert costs["peaks"].keys() == {run for pair in WATCHED.values() for run in pair}
    assert [row.name for row in rows(costs)][-1] == "rules that run on the three files"
