"""TOML: what is particular to it."""

from __future__ import annotations

import datetime

import pytest

from shardlint.configs.document import BrokenDocument, Document, RefusedDocument, read_document
from shardlint.finding import Span

SAMPLE = """\
title = "a # b"  # one
[train]
lr = 1e-3
optim.name = 'adam'
optim.betas = [0.9, # two
  0.95,
]

[train.data] # three
when = 1979-05-27 07:32:00
[[layers]]
dim = 1
[[layers]]
dim = 2
inner = { x.y = 1 }
"""


def read(text: str) -> Document:
    return read_document("config.toml", text.encode())


def test_every_place_is_reported_at_its_key() -> None:
    assert [(place.pointer, place.span.line, place.span.column) for place in read(SAMPLE).places()] == [
        *(("title", 1, 1), ("train", 2, 2), ("train.lr", 3, 1), ("train.optim", 4, 1), ("train.optim.name", 4, 7)),
        *(("train.optim.betas", 5, 7), ("train.optim.betas[0]", 5, 16), ("train.optim.betas[1]", 6, 3)),
        *(("train.data", 9, 8), ("train.data.when", 10, 1), ("layers", 11, 3), ("layers[0]", 11, 1)),
        *(("layers[0].dim", 12, 1), ("layers[1]", 13, 1), ("layers[1].dim", 14, 1), ("layers[1].inner", 15, 1)),
        *(("layers[1].inner.x", 15, 11), ("layers[1].inner.x.y", 15, 13)),
    ]


def test_a_table_runs_from_its_header_to_its_last_value() -> None:
    spans = {place.pointer: place.value.span for place in read(SAMPLE).places()}
    assert spans["train"] == Span(2, 1, 7, 2)
    assert spans["train.data"] == Span(9, 1, 10, 27)
    assert spans["train.optim"] == Span(4, 1, 7, 2)
    assert spans["layers"] == Span(11, 1, 15, 20)


def test_values_come_from_tomllib() -> None:
    places = {place.pointer: place.value for place in read(SAMPLE).places()}
    assert places["train.data.when"].value == datetime.datetime(1979, 5, 27, 7, 32)
    assert places["train.data.when"].text == "1979-05-27 07:32:00"
    assert places["train.optim.betas"].value == [0.9, 0.95]
    assert (places["title"].style, places["train.lr"].style) == ("quoted", "plain")


def test_comments_are_found_and_strings_are_none() -> None:
    text = SAMPLE + 'a = \'\'\'\n# no\'\'\'\nb = """\\" # no\n# no"""\n# end'
    assert read(text).comments() == ((1, "# one"), (5, "# two"), (9, "# three"), (20, "# end"))


def test_a_header_after_its_subtable_is_where_the_table_is_written() -> None:
    document = read("[a.b]\nx = 1\n[a]\ny = 2\n")
    spans = {place.pointer: (place.span, place.value.span) for place in document.places()}
    assert spans["a"] == (Span(3, 2, 3, 3), Span(3, 1, 4, 6))


@pytest.mark.parametrize("text", ['"a.b" = 1', "'a.b' = 1", '"a\\u002eb" = 1'])
def test_quoted_keys_are_one_step(text: str) -> None:
    (place,) = read(text).places()
    assert (place.path, place.pointer) == (("a.b",), '"a.b"')


def test_an_empty_file_is_an_empty_table() -> None:
    assert read("").roots[0].value == {}


@pytest.mark.parametrize(
    ("text", "sentence", "line"),
    [
        ("a = 1\nb = 2\na = 3\n", "`a` is already set on line 1", 3),
        ("[t]\na = 1\n[u]\na = 1\na.b = 2\n", "`a` is already set on line 4", 5),
        ("x = 1\n[t]\na = 1\n  [ t ]\n", "`t` is already set on line 2", 4),
        ("[[t]]\na = 1\na = 2\n", "`a` is already set on line 2", 3),
        ("a = [1, 2\n", "unclosed array", 2),
        ("a = nope\n", "not valid TOML: invalid value", 1),
    ],
)
def test_what_tomllib_refuses_is_broken_with_place_and_reason(text: str, sentence: str, line: int) -> None:
    with pytest.raises(BrokenDocument, match=sentence) as caught:
        read(text)
    assert caught.value.span.line == line


@pytest.mark.parametrize("key", ["a." * 200_000 + "a", '"a".' * 200_000 + "a"])
def test_an_endless_dotted_key_is_refused_at_once(key: str) -> None:
    for text in (f"{key} = 1", f"[{key}]"):
        with pytest.raises(RefusedDocument, match="50 parts"):
            read(text)


def test_depth_counts_dotted_keys_within_inline_tables() -> None:
    with pytest.raises(RefusedDocument, match="200 levels"):
        read("a.b.c.d.e.f.g = {" * 40 + "}" * 40)
