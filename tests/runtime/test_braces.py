"""Brace patterns stand for the names that they spell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlint.errors import PlanError
from shardlint.runtime.braces import LIMIT, expand

LITERALS = st.text("ab._*[]", max_size=5)
RANGES = st.tuples(st.integers(0, 99), st.integers(0, 9)).map(lambda at: (at[0], at[0] + at[1]))
WORDS = st.lists(st.text("qkv_1", min_size=1, max_size=3), min_size=2, max_size=4)


@given(LITERALS)
def test_text_without_braces_stands_for_itself(text: str) -> None:
    assert expand(text, 1) == [text]


@given(LITERALS, RANGES, LITERALS, WORDS)
def test_a_pattern_stands_for_the_product_of_its_braces(
    start: str, at: tuple[int, int], middle: str, words: list[str]
) -> None:
    first, last = at
    names = expand(f"{start}{{{first}..{last}}}{middle}{{{','.join(words)}}}", 1)
    assert names == [f"{start}{number}{middle}{word}" for number in range(first, last + 1) for word in words]


@given(st.text("a{}.,0123", max_size=12))
def test_any_text_is_expanded_within_the_limit_or_refused_with_its_line(text: str) -> None:
    try:
        names = expand(text, 7)
    except PlanError as error:
        names, refusal = [], str(error)
    else:
        refusal = ""
    assert refusal.startswith("line 7: ") or 1 <= len(names) <= LIMIT
    assert not any("{" in name or "}" in name for name in names)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a.{0..3", "do not pair up"),
        ("a.0..3}", "do not pair up"),
        ("{{0..3}}", "do not pair up"),
        ("a.{}", "neither a range"),
        ("a.{q}", "neither a range"),
        ("a.{q,}", "neither a range"),
        ("a.{0...3}", "neither a range"),
        ("a.{-1..3}", "neither a range"),
        ("a.{3..0}", "runs backwards; write `{0..3}`"),
        ("a.{0..999999999}", "more than 20000 names"),
        ("{0..999}.{0..999}", "more than 20000 names"),
    ],
)
def test_what_stands_for_nothing_is_refused(text: str, reason: str) -> None:
    with pytest.raises(PlanError) as caught:
        expand(text, 3)
    assert reason in str(caught.value)
