"""A plot of cost against size as SVG text: both axes logarithmic, so that proportional growth is a diagonal.

Written here rather than by a plotting library, because a committed picture must be small, the same on every machine,
and follow the reader's light or dark colours, which takes a style sheet inside of the picture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 760, 430
LEFT, RIGHT, TOP, BOTTOM = 76, 180, 24, 52
MARGIN = 0.12
"""Powers of ten between the frame and the outermost points."""
LABEL_APART = 17
"""Pixels between the labels at the ends of two lines."""

STYLE = """
.paper { fill: #ffffff } text { fill: #1f2328; font: 13px system-ui, sans-serif }
.grid { stroke: #d1d9e0 } .proportional { stroke: #818b98; stroke-dasharray: 2 5 }
.ours { stroke: #0969da; fill: #0969da } .theirs { stroke: #bc4c00; fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117 } text { fill: #f0f6fc } .grid { stroke: #3d444d } .proportional { stroke: #9198a1 }
  .ours { stroke: #4493f8; fill: #4493f8 } .theirs { stroke: #f0883e; fill: #f0883e }
}
.line { fill: none; stroke-width: 2.5 } .warm { stroke-dasharray: 7 5 }
"""


class Line(NamedTuple):
    """A named line through points (lines of code, CPU seconds); classes of the style sheet say how it looks."""

    name: str
    classes: str
    points: Sequence[tuple[float, float]]


class Axis(NamedTuple):
    """A logarithmic axis: the powers of ten (with fractions) at its ends, and the pixels where these lie."""

    first: float
    last: float
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (math.log10(value) - self.first) / (self.last - self.first) * (self.end - self.start)

    @property
    def ticks(self) -> list[int]:
        """The whole powers of ten on the axis."""
        return list(range(math.ceil(self.first), math.floor(self.last) + 1))


def around(values: Sequence[float], start: float, end: float) -> Axis:
    """The axis over some values, with a margin on both sides."""
    return Axis(math.log10(min(values)) - MARGIN, math.log10(max(values)) + MARGIN, start, end)


def apart(heights: Sequence[float], distance: float) -> list[float]:
    """The same heights, moved down as little as keeps every two at a distance."""
    moved = list(heights)
    lowest = -math.inf
    for index in sorted(range(len(moved)), key=lambda one: moved[one]):
        lowest = moved[index] = max(moved[index], lowest + distance)
    return moved


def thousands(power: int) -> str:
    """A number of lines, as people write it: 100, 1k, 10M."""
    unit = ("", "k", "M", "G")[power // 3]
    return f"{10 ** (power % 3)}{unit}"


def duration(power: int) -> str:
    return f"{10**power} s" if power >= 0 else f"{10 ** (power + 3)} ms"


def text(x: float, y: float, said: str, anchor: str = "start") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(said)}</text>'


def stroke(classes: str, x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line class="{classes}" x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"/>'


def frame(across: Axis, up: Axis) -> list[str]:
    """Grid, its numbers, and what the axes mean."""
    drawn: list[str] = []
    for power in across.ticks:
        x = across.at(10**power)
        drawn += [stroke("grid", x, up.start, x, up.end), text(x, up.start + 20, thousands(power), "middle")]
    for power in up.ticks:
        y = up.at(10**power)
        drawn += [stroke("grid", across.start, y, across.end, y), text(across.start - 8, y + 4, duration(power), "end")]
    middle = (across.start + across.end) / 2
    return [*drawn, text(middle, up.start + 42, "lines of Python", "middle"), text(8, TOP - 8, "CPU time")]


def proportional(across: Axis, up: Axis, line: Line) -> str:
    """A dotted diagonal through the last point of a line: along it, ten times the lines cost ten times the time."""
    size, cost = line.points[-1]
    start = max(10.0**across.first, size / cost * 10.0**up.first)
    return stroke("proportional", across.at(start), up.at(cost / size * start), across.at(size), up.at(cost))


def draw(lines: Sequence[Line], title: str) -> str:
    """The picture; the dotted diagonal belongs to the first line.

    Args:
        lines: what to draw, each with two points or more; sizes and costs are above zero.
        title: what a screen reader says of the picture.
    """
    across = around([size for line in lines for size, _ in line.points], LEFT, WIDTH - RIGHT)
    up = around([cost for line in lines for _, cost in line.points], HEIGHT - BOTTOM, TOP)
    drawn = [*frame(across, up), proportional(across, up, lines[0])]
    ends = apart([up.at(line.points[-1][1]) for line in lines], LABEL_APART)
    for line, height in zip(lines, ends, strict=True):
        spots = [(across.at(size), up.at(cost)) for size, cost in line.points]
        drawn.append(
            f'<polyline class="line {line.classes}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in spots)}"/>'
        )
        drawn += [f'<circle class="{line.classes.split()[0]}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in spots]
        drawn.append(text(across.end + 10, height + 4, line.name))
    body = "\n".join(drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n"
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}" rx="6"/>\n{body}\n</svg>\n'
    )
