"""Growth compares what a line costs in a large and in a smaller sample."""

from pathlib import Path

import pytest

from benchmarks.growth import RUNS, Point, growth, measure


def point(lines: int, cold: float) -> Point:
    return {"files": 1, "lines": lines, "seconds": {"cold": cold}}


def test_proportional_cost_grows_by_one() -> None:
    assert growth([point(1_000, 0.3), point(99_000, 0.99), point(990_000, 9.9)], "cold") == pytest.approx(1)


def test_cost_that_outruns_the_lines_grows_by_more() -> None:
    assert growth([point(100_000, 1.0), point(1_000_000, 25.0)], "cold") == pytest.approx(2.5)


def test_growth_without_one_of_the_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="no sample of 1000000 lines was measured"):
        growth([point(100_000, 1.0), point(3_000_000, 25.0)], "cold")


def test_only_sizes_that_the_tree_has_are_measured(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(30):
        (tree / f"module_{number}.py").write_text("x = 1\n" * 50)

    points = measure(tree, tmp_path, 1)

    assert [(found["files"], found["lines"]) for found in points] == [(19, 950)]
    assert points[0]["seconds"].keys() == set(RUNS)
