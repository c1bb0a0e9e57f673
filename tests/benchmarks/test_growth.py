"""Growth compares what a line costs in a large and in a smaller sample."""

from pathlib import Path

import pytest

from benchmarks.growth import RUNS, Point, growth, measure


def point(lines: int, cold: float) -> Point:
    return {"files": 1, "lines": lines, "seconds": {"cold": cold}}


def test_proportional_cost_grows_by_one() -> None:
    assert growth([point(1_000, 0.3), point(99_000, 0.99), point(990_000, 9.9)], "cold") == {990_000: pytest.approx(1)}


def test_cost_that_outruns_the_lines_grows_by_more_in_each_larger_tree() -> None:
    points = [point(100_000, 1.0), point(1_000_000, 10.0), point(3_000_000, 75.0)]

    assert growth(points, "cold") == {1_000_000: pytest.approx(1), 3_000_000: pytest.approx(2.5)}


@pytest.mark.parametrize("lines", [(1_000, 3_000_000), (1_000, 100_000)])
def test_growth_without_the_settled_sample_or_a_larger_tree_is_refused(lines: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="no sample of 100000 lines was measured, or nothing larger"):
        growth([point(each, 1.0) for each in lines], "cold")


def test_only_sizes_that_the_tree_has_are_measured(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(30):
        (tree / f"module_{number}.py").write_text("x = 1\n" * 50)

    points = measure(tree, tmp_path, 1)

    assert [(found["files"], found["lines"]) for found in points] == [(19, 950)]
    assert points[0]["seconds"].keys() == set(RUNS)
