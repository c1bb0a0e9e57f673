"""JSON: what is particular to it."""

from __future__ import annotations

import math

import pytest

from shardlint.configs.document import BrokenDocument, read_document
from shardlint.finding import Span


def test_ranges_hold_the_source_of_every_node() -> None:
    root = read_document("ds.json", b'{\n  "zero": {"stage": 3},\n  "ids": [1, "x"]\n}\n').roots[0]
    assert root.span == Span(1, 1, 4, 2)
    zero, ids = (entry.value for entry in root.entries)
    assert (zero.span, zero.entries[0].key.text, zero.entries[0].value.text) == (Span(2, 11, 2, 23), '"stage"', "3")
    assert [(item.text, item.style) for item in ids.items] == [("1", "plain"), ('"x"', "quoted")]


def test_the_numbers_that_python_adds_to_json_are_read() -> None:
    value = read_document("a.json", b"[NaN, Infinity, -Infinity, 1E2, -0]").roots[0].value
    assert math.isnan(value[0])
    assert value[1:] == [math.inf, -math.inf, 100.0, 0]


def test_the_last_of_two_equal_keys_wins_and_both_are_reported() -> None:
    document = read_document("a.json", b'{"x": {"a": 1,\n "\\u0061": 2}}')
    assert document.roots[0].value == {"x": {"a": 2}}
    (found,) = document.duplicates
    assert (found.pointer, found.first, found.second) == ("x.a", Span(1, 8, 1, 11), Span(2, 2, 2, 10))


def test_json_has_no_comments() -> None:
    assert read_document("a.json", b'{"a": "# text // text"}').comments() == ()


@pytest.mark.parametrize(
    ("text", "sentence", "span"),
    [
        ('{"a": 1,\n}', r"no comma before `\}`", Span(1, 8, 1, 9)),
        ("[1, ]", r"no comma before `\]`", Span(1, 3, 1, 4)),
        ('{"a": 1} // end', "no comments", Span(1, 10, 1, 11)),
        ("/* x */ {}", "no comments", Span(1, 1, 1, 2)),
        ("{\n# x\n}", "no comments", Span(2, 1, 2, 2)),
        ('{"a": True}', "`True` is Python; JSON writes `true`", Span(1, 7, 1, 11)),
        ("{'a': 1}", "double quotes", Span(1, 2, 1, 3)),
        ("{a: 1}", "expected a key in double quotes but found `a`", Span(1, 2, 1, 3)),
        ('{"a" 1}', "expected a `:` after the key", Span(1, 6, 1, 7)),
        ("[1 2]", r"expected a `,` or `\]` but found `2`", Span(1, 4, 1, 5)),
        ("[01]", r"expected a `,` or `\]`", Span(1, 3, 1, 4)),
        ("{} {}", "the end of the file", Span(1, 4, 1, 5)),
        ('{"a":', "the file ends before a value", Span(1, 6, 1, 6)),
        (" \n", "the file is empty", Span(2, 1, 2, 1)),
        ('["a\n"]', "not closed on its line", Span(1, 2, 1, 4)),
        ('["a', "not closed on its line", Span(1, 2, 1, 4)),
        ('["a\tb"]', "raw control character", Span(1, 4, 1, 5)),
        ('["\\q"]', "escape that JSON does not know", Span(1, 3, 1, 4)),
        ('{"a": {{ x }}}', "looks like a template", Span(1, 8, 1, 9)),
        ("{% if x %}\n{}", "looks like a template", Span(1, 2, 1, 3)),
    ],
)
def test_what_json_refuses_is_broken_with_place_and_reason(text: str, sentence: str, span: Span) -> None:
    with pytest.raises(BrokenDocument, match=sentence) as caught:
        read_document("a.json", text.encode())
    assert caught.value.span == span
