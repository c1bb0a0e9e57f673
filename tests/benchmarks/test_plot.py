"""The plot is well-formed, says what it shows, and puts points where they belong."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from benchmarks.plot import STYLE, Axis, Line, apart, around, draw, duration, thousands

SVG = "{http://www.w3.org/2000/svg}"
PROPORTIONAL = Line("ours & co", "ours", [(1_000, 0.1), (10_000, 1.0), (100_000, 10.0)])
FLAT = Line("theirs", "theirs warm", [(1_000, 0.2), (100_000, 0.2)])


def polylines(picture: str) -> list[list[tuple[float, float]]]:
    root = ElementTree.fromstring(picture)
    written = [line.attrib["points"].split() for line in root.iter(f"{SVG}polyline")]
    return [[(float(x), float(y)) for x, _, y in (point.partition(",") for point in points)] for points in written]


def test_proportional_cost_is_a_straight_line_and_constant_cost_a_level_one() -> None:
    ours, theirs = polylines(draw([PROPORTIONAL, FLAT], "title"))

    (x0, y0), (x1, y1), (x2, y2) = ours
    assert (x1 - x0, y0 - y1) == pytest.approx((x2 - x1, y1 - y2), abs=0.2)
    assert x0 < x1
    assert y0 > y1
    assert theirs[0][1] == theirs[1][1]
    assert theirs[0][0] == x0


def test_dotted_diagonal_ends_in_the_last_point_and_lies_on_a_proportional_line() -> None:
    picture = draw([PROPORTIONAL, FLAT], "title")
    drawn = next(
        line for line in ElementTree.fromstring(picture).iter(f"{SVG}line") if line.attrib["class"] == "proportional"
    )
    x1, y1, x2, y2 = (float(drawn.attrib[name]) for name in ("x1", "y1", "x2", "y2"))
    (from_x, from_y), *_, (to_x, to_y) = polylines(picture)[0]

    assert (x2, y2) == (to_x, to_y)
    assert (y1 - y2) / (x2 - x1) == pytest.approx((from_y - to_y) / (to_x - from_x), rel=0.01)


def test_every_line_is_named_and_every_point_marked() -> None:
    root = ElementTree.fromstring(draw([PROPORTIONAL, FLAT], "cost < size"))
    said = [element.text for element in root.iter(f"{SVG}text")]

    assert {"ours & co", "theirs", "1k", "10k", "100k", "100 ms", "1 s", "10 s", "CPU time"} <= set(said)
    assert root.findtext(f"{SVG}title") == "cost < size"
    assert len(list(root.iter(f"{SVG}circle"))) == 5


def test_dark_colours_are_given_for_everything_that_has_light_ones() -> None:
    light, _, dark = STYLE.partition("@media (prefers-color-scheme: dark)")
    coloured = (".paper", "text", ".grid", ".proportional", ".ours", ".theirs")

    assert all(f"{name} {{" in light and f"{name} {{" in dark for name in coloured)


def test_labels_keep_their_distance_and_their_order() -> None:
    moved = apart([50.0, 52.0, 10.0, 51.0], 17)

    assert moved == [50.0, 84.0, 10.0, 67.0]
    assert all(high - low >= 17 for low, high in pairwise(sorted(moved)))


def test_axis_has_its_values_inside_and_ticks_at_powers_of_ten() -> None:
    axis = around([990, 2_500_000], 0, 100)

    assert axis.ticks == [3, 4, 5, 6]
    assert 0 < axis.at(990) < axis.at(2_500_000) < 100
    assert Axis(0, 2, 0, 100).at(10) == 50


@pytest.mark.parametrize(("power", "lines", "time"), [(0, "1", "1 s"), (-2, "", "10 ms"), (4, "10k", "10000 s")])
def test_ticks_are_written_as_people_write_them(power: int, lines: str, time: str) -> None:
    assert duration(power) == time
    if lines:
        assert thousands(power) == lines
