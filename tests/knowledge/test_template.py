"""Messages with values in them."""

from __future__ import annotations

import pytest

from shardlint.knowledge.compiler import Scope
from shardlint.knowledge.expression import define
from shardlint.knowledge.key_source import PlainSource
from shardlint.knowledge.problem import CheckProblem
from shardlint.knowledge.template import Template, literal, shown
from shardlint.knowledge.trial import Trial
from shardlint.knowledge.unknown import UNKNOWN

VALUES: dict[str, object] = {
    "a": 3,
    "t": {"x": None, "y": True},
    "l": [1, "b", "${x}"],
    "s": "two\nlines",
    "long": "x" * 500,
}


def filled(text: str, *sizes: int | None, feasible: tuple[int, ...] = ()) -> str:
    scope = Scope()
    define({"double": "a * 2"}, scope)
    trials = [Trial(PlainSource(VALUES), world=size) for size in sizes or (None,)]
    return Template(text, ("message",), scope).filled(trials, "t.x", feasible)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("", ""),
        ("a is {a}, twice {double}, {a * 2 + 1}", "a is 3, twice 6, 7"),
        ("{{a}} {{{a}}}", "{a} {3}"),
        ("{t.x} {t.y} {t}", "null true {x: null, y: true}"),
        ("{l}", "[1, b, `?`]"),
        ("{s}", "two lines"),
        ("{nowhere} {nowhere + 1} {a / 0}", "`nowhere` `nowhere + 1` `a / 0`"),
        ("{'}' + '{'}", "}{"),
        ("{at} {feasible.world_size}", "t.x none"),
        ("{[1, 2]}", "[1, 2]"),
    ],
)
def test_fields_are_filled(text: str, expected: str) -> None:
    assert filled(text) == expected


def test_values_that_differ_between_world_sizes_are_all_given() -> None:
    assert filled("{a * world_size} {a}", 2, 4) == "6 or 12 3"
    assert filled("{world_size}", 1, 2, 3, 4, 5, 6) == "1 or 2 or 3 or 4 or ..."
    assert filled("{feasible.world_size}", 2, feasible=(4, 8)) == "4, 8"


def test_a_long_value_is_cut() -> None:
    assert len(filled("{long}")) == 120
    assert shown(list(range(50))).endswith("19, ...]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not closed"),
        ("{a", "not closed"),
        ("a}", "stands alone"),
        ("{}", "an expression is a text"),
        ("{a!r}", "is no expression"),
        ("{a:>9}", "is no expression"),
        ("{__class__}", "may not begin with `_`"),
        ("{a.__class__}", "may not begin with `_`"),
        ("{a}" * 21, "at most 20"),
        ("x" * 4_001, "at most 4,000"),
    ],
)
def test_a_text_that_is_no_template_is_refused(text: str, message: str) -> None:
    with pytest.raises(CheckProblem, match=message) as caught:
        filled(text)
    assert caught.value.where == ("message",)


def test_a_literal_comes_out_unchanged() -> None:
    assert filled(literal("a {b} }{")) == "a {b} }{"
    assert shown(UNKNOWN, " a.b ") == "`a.b`"
