"""Documents: what the three formats share."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from shardlint.configs.document import (
    MAX_BYTES,
    BrokenDocument,
    Document,
    Lines,
    Node,
    RefusedDocument,
    pointer_of,
    read_document,
    suffix_kind,
)
from shardlint.finding import Span

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT
DATA = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4))


def read(text: str, kind: str) -> Document:
    return read_document(f"config.{kind}", text.encode(), kind=kind)


def same(left: object, right: object) -> bool:
    """Equal in type, order of keys and value; `1` is not `True` and NaN is NaN."""
    return repr(left) == repr(right)


def slice_of(document: Document, span: Span) -> str:
    lines = Lines(document.text)
    start, end = lines.offset(span.line, span.column), lines.offset(span.end_line, span.end_column)
    assert 0 <= start <= end <= len(document.text)
    return document.text[start:end]


def written(document: Document) -> list[Node]:
    """Every key and value that is written at its place."""
    places = [place for place in document.places() if place.via is None]
    return [*document.roots, *(node for place in places for node in (place.key, place.value) if node is not None)]


def assert_honest(document: Document) -> None:
    """Each range holds the text of its node, and each child lies in its parent."""
    for node in written(document):
        source = slice_of(document, node.span)
        if node.kind == "scalar" or node.alias_of is not None:
            assert source == node.text
        elif document.kind == "json" or (document.kind == "yaml" and source[0] in "{["):
            assert source[-1] in "}]"
        if document.kind != "toml" and node.alias_of is None:
            children = [*node.items, *(x for entry in node.entries if not entry.via for x in (entry.key, entry.value))]
            ends = [(child.span.end_line, child.span.end_column) for child in children]
            starts = [(child.span.line, child.span.column) for child in children]
            assert starts == sorted(starts)
            assert all(start >= (node.span.line, node.span.column) for start in starts)
            assert all(end <= (node.span.end_line, node.span.end_column) for end in ends)


def load(text: str, kind: str) -> list[Any]:
    """The values that the usual loader gives; the pure one of PyYAML differs in what it allows around tabs."""
    if kind == "json":
        return [json.loads(text)]
    return [tomllib.loads(text)] if kind == "toml" else list(yaml.load_all(text, Loader=yaml.CSafeLoader))


FRAGMENTS = {
    "yaml": [
        *("a", "b", "k: ", "- ", "? ", ": ", "\n", "\n  ", "\r\n  ", " # c\n", "#x", "[", "]", "{", "}", ", ", "---\n"),
        *(
            "&a ",
            "*a",
            "!!int ",
            '"q#"',
            "'s'",
            "|\n  t\n\n",
            ">+ # h\n  t\n\n",
            "1",
            "1e5",
            "~",
            "yes",
            "<<: ",
            "é",
            "😀",
        ),
        *("...\n", "\t", "=", "0x1F", "12:30", "2001-01-01", "\u2028", "<<: *a\n", "!!set ", "x y"),
    ],
    "json": [
        *("{", "}", "[", "]", ",", ":", '"a"', '"b"', "1", "-1.5e3", "true", "null", "NaN", "-Infinity", " ", "\r\n"),
        *('"\\u00e9"', '"\\ud800"', '"é😀"', "0", '"', "//", ".", "-", '"\\x"', '{"a":', "[1,"),
    ],
    "toml": [
        *(
            "a",
            "b",
            ".",
            " = ",
            "1",
            '"x"',
            '"""m\n""""',
            "'''n\r\n'''",
            "[",
            "]",
            "[a]\n",
            "[a.b]\n",
            "[[a]]\n",
            "\r\n",
        ),
        *("[[c.d]]\n", "\n", "# c\n", "{", "}", ", ", "1979-05-27 07:32:00Z", "07:32:00", "a = 1\n", "b.c = 2 # d\n"),
        *("d = [1, # x\n 2,]\n", "e = {x.y = 1, z = [{}]}\n", '"a.b"', '"\\u0061"', " ", "inf", "'é😀'", "\t"),
    ],
}


@pytest.mark.parametrize("kind", ["yaml", "json", "toml"])
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_any_text_is_read_as_its_loader_reads_it_or_is_broken(kind: str, data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(FRAGMENTS[kind]), max_size=14)))
    try:
        expected = load(text, kind)
    except (ValueError, LookupError, AttributeError, TypeError, yaml.YAMLError):
        expected = None
    try:
        document = read(text, kind)
    except BrokenDocument:
        assert expected is None
        return
    assert_honest(document)
    if expected is None:
        # `=` and `<<` as values: PyYAML has no constructor for its own tags.
        assert {node.tag for node in written(document)} & {"!!value", "!!merge"}
    else:
        assert same([root.value for root in document.roots], expected)


@settings(max_examples=200, deadline=None)
@given(value=DATA, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
def test_dumped_json_keeps_values_and_positions(value: Any, indent: int | None, ascii_only: bool) -> None:
    document = read(json.dumps(value, indent=indent, ensure_ascii=ascii_only), "json")
    assert same(document.roots[0].value, value)
    assert_honest(document)


@settings(max_examples=200, deadline=None)
@given(
    value=DATA, flow=st.booleans(), style=st.sampled_from([None, "'", '"', "|", ">"]), width=st.sampled_from([20, 80])
)
def test_dumped_yaml_keeps_values_and_positions(value: Any, flow: bool, style: str | None, width: int) -> None:
    dump = yaml.safe_dump  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # incomplete stubs
    text: str = dump(value, default_flow_style=flow, default_style=style, width=width, allow_unicode=True)
    document = read(text, "yaml")
    assert same([document.roots[0].value], load(text, "yaml"))
    assert_honest(document)


def test_pointers_walk_keys_and_items_in_the_order_of_the_source() -> None:
    document = read("train:\n  lr: 1\nlayers:\n  - dim: 2\n  - {dim: 3, 'a.b': 4}\n1: x\n", "yaml")
    assert [place.pointer for place in document.places()] == [
        *("train", "train.lr", "layers", "layers[0]", "layers[0].dim", "layers[1]", "layers[1].dim"),
        *('layers[1]."a.b"', "1"),
    ]


def test_a_pointer_quotes_a_step_that_is_not_a_plain_name() -> None:
    assert pointer_of(("", 0, 'a"b', "c\nd")) == '""[0]."a\\"b"."c\\nd"'


def test_a_place_in_a_mapping_is_reported_at_its_key_and_an_item_at_itself() -> None:
    places = list(read('{"a": [1,\n 2]}', "json").places())
    assert [place.span for place in places] == [Span(1, 2, 1, 5), Span(1, 8, 1, 9), Span(2, 2, 2, 3)]


@pytest.mark.parametrize(
    ("path", "kind"), [("a/b.yaml", "yaml"), ("b.YML", "yaml"), ("x.json", "json"), ("p.toml", "toml")]
)
def test_the_suffix_names_the_kind(path: str, kind: str) -> None:
    assert suffix_kind(path) == kind


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=r"run\.sh: a document is yaml, json or toml"):
        read_document("run.sh", b"")


@pytest.mark.parametrize("kind", ["yaml", "json", "toml"])
def test_a_file_over_the_limit_is_refused_unread(kind: str) -> None:
    with pytest.raises(RefusedDocument, match="2,000,001 bytes"):
        read_document("config", b"x" * (MAX_BYTES + 1), kind=kind)


@pytest.mark.parametrize("kind", ["yaml", "json", "toml"])
def test_bytes_that_are_not_utf8_are_broken_where_they_stand(kind: str) -> None:
    with pytest.raises(BrokenDocument, match="not UTF-8") as caught:
        read_document("config", "a\né".encode() + b"\xff", kind=kind)
    assert caught.value.span == Span(2, 2, 2, 2)


@pytest.mark.parametrize("kind", ["yaml", "json", "toml"])
def test_a_nul_is_broken_where_it_stands(kind: str) -> None:
    with pytest.raises(BrokenDocument, match="NUL") as caught:
        read_document("config", b"a\r\nb\0", kind=kind)
    assert caught.value.span == Span(2, 2, 2, 3)


@pytest.mark.parametrize(("kind", "text"), [("yaml", "a: 1"), ("json", '{"a": 1}'), ("toml", "a = 1")])
def test_a_byte_order_mark_is_no_part_of_the_text(kind: str, text: str) -> None:
    document = read_document("config", b"\xef\xbb\xbf" + text.encode(), kind=kind)
    assert document.text == text
    assert document.roots[0].value == {"a": 1}


@pytest.mark.parametrize("break_", ["\n", "\r\n"])
@pytest.mark.parametrize(("kind", "lines"), [("yaml", ["é: 1", "b: 2"]), ("toml", ["'é' = 1", "b = 2"])])
def test_lines_and_columns_count_characters_whatever_the_line_ends(kind: str, lines: list[str], break_: str) -> None:
    document = read(break_.join(lines), kind)
    value = document.roots[0].entries[1].value
    assert (value.span.line, value.span.column) == (2, len(lines[1]))


@pytest.mark.parametrize("kind", ["yaml", "json", "toml"])
def test_nesting_over_the_limit_is_refused_however_deep(kind: str) -> None:
    for depth in (201, 400, 100_000):
        with pytest.raises(RefusedDocument, match="200 levels"):
            read(("a = " if kind == "toml" else "") + "[" * depth, kind)


@pytest.mark.parametrize("kind", ["yaml", "json", "toml"])
def test_nesting_up_to_the_limit_is_read(kind: str) -> None:
    depth = 199
    document = read(("a = " if kind == "toml" else "") + "[" * depth + "]" * depth, kind)
    assert len(list(document.places())) == depth - (kind != "toml")


@pytest.mark.parametrize(("kind", "text"), [("yaml", "a: {}"), ("json", "{}"), ("toml", "a = {}")])
def test_an_integer_of_any_length_ends_in_a_value_or_a_sentence(kind: str, text: str) -> None:
    assert read(text.format("9" * 4000), kind).roots[0].value
    with pytest.raises(BrokenDocument, match=r"more .*than Python reads") as caught:
        read(text.format("9" * 500_000), kind)
    assert caught.value.span == Span(1, text.index("{") + 1, 1, text.index("{") + 500_001)


@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_too_many_values_are_refused(kind: str) -> None:
    with pytest.raises(RefusedDocument, match="100,000"):
        read("[" + "1," * 100_000 + "1]", kind)


def test_get_finds_the_entry_that_decides_the_value() -> None:
    document = read("base: &b {x: 1, y: 2}\nrun:\n  <<: *b\n  x: 3\n  x: 4\n", "yaml")
    run = document.roots[0].entries[1].value
    own, merged = run.get("x"), run.get("y")
    assert own is not None
    assert (own.value.value, own.span.line) == (4, 5)
    assert merged is not None
    assert (merged.value.value, merged.span.line, merged.key.span.line) == (2, 3, 1)
    assert run.get("<<") is None
