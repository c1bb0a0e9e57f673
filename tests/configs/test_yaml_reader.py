"""YAML: what is particular to it."""

from __future__ import annotations

import datetime

import pytest
import yaml

from shardlint.configs.document import BrokenDocument, Document, Node, RefusedDocument, read_document
from shardlint.finding import Span


def read(text: str) -> Document:
    return read_document("config.yaml", text.encode())


def value(text: str, *keys: str) -> Node:
    node = read(text).roots[0]
    for key in keys:
        entry = node.get(key)
        assert entry is not None
        node = entry.value
    return node


def broken(text: str) -> BrokenDocument:
    with pytest.raises(BrokenDocument) as caught:
        read(text)
    return caught.value


@pytest.mark.parametrize("break_", ["\n", "\r\n"])
def test_a_block_mapping_ends_at_its_last_value(break_: str) -> None:
    text = break_.join(["a:", "  b: 1", "  c: xy  # note", "", "# tail", "d: 2", ""])
    assert value(text, "a").span == Span(2, 3, 3, 8)
    assert value(text).span == Span(1, 1, 6, 5)


def test_an_empty_value_stands_behind_its_colon() -> None:
    node = value("a:\n  b:   # nothing\n\nc: 1\n", "a")
    assert node.span == Span(2, 3, 2, 5)
    assert (node.entries[0].value.span, node.entries[0].value.value) == (Span(2, 5, 2, 5), None)


@pytest.mark.parametrize("text", ["{a: , b}", "? a\n# c\n\n? b\n", "- \n-   # c\n- x", "[? : , a]"])
def test_both_parsers_put_empty_values_at_one_place(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = [(place.pointer, place.value.span) for place in read(text).places()]
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert [(place.pointer, place.value.span) for place in read(text).places()] == fast


def test_the_pure_parser_stands_in_for_the_missing_c_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    monkeypatch.delattr(yaml, "CParser", raising=False)
    assert value("a: [1, é]\n").value == {"a": [1, "é"]}


def test_a_range_leaves_out_anchor_and_tag() -> None:
    text = "a: &x !!str # why\n  12\nb: !new &y {k: 1}\nc: &z\n  # c\n  k: v\n"
    assert (value(text, "a").text, value(text, "a").span, value(text, "a").value) == ("12", Span(2, 3, 2, 5), "12")
    assert (value(text, "b").span, value(text, "b").tag, value(text, "b").anchor) == (Span(3, 12, 3, 18), "!new", "y")
    assert value(text, "c").span == Span(6, 3, 6, 7)


@pytest.mark.parametrize(
    ("source", "style", "loaded"),
    [
        ("12", "plain", 12),
        ("'a'", "single", "a"),
        ('"a"', "double", "a"),
        ("|\n  x\n  y", "literal", "x\ny\n"),
        (">-\n  x\n  y  ", "folded", "x y  "),
        ("|+\n  x\n\n", "literal", "x\n\n"),
    ],
)
def test_text_and_style_are_those_of_the_source(source: str, style: str, loaded: object) -> None:
    node = value(f"a: {source}" + ("" if source.endswith("\n") else "\n"), "a")
    assert (node.style, node.value) == (style, loaded)
    assert node.text == source


@pytest.mark.parametrize(
    ("source", "loaded", "tag"),
    [
        ("1e5", "1e5", "!!str"),
        ("1.0e+5", 100000.0, "!!float"),
        ("yes", True, "!!bool"),
        ("012", 10, "!!int"),
        ("1:30", 90, "!!int"),
        ("~", None, "!!null"),
        ("2001-02-03", datetime.date(2001, 2, 3), "!!timestamp"),
        ("!!set {a, b}", {"a", "b"}, "!!set"),
        ("!!omap [a: 1]", [("a", 1)], "!!omap"),
    ],
)
def test_values_follow_yaml_1_1_as_pyyaml_does(source: str, loaded: object, tag: str) -> None:
    node = value(f"a: {source}\n", "a")
    assert (node.value, node.tag) == (loaded, tag)


def test_unknown_tags_are_kept_as_text_and_nothing_is_constructed() -> None:
    text = 'a: !!python/object/apply:os.system ["x"]\nb: !foo 1e3\nc: !<tag:x.org,2000:y> {k: 1}\n'
    assert read(text).roots[0].value == {"a": ["x"], "b": "1e3", "c": {"k": 1}}
    tags = [value(text, key).tag for key in "abc"]
    assert tags == ["!!python/object/apply:os.system", "!foo", "!<tag:x.org,2000:y>"]


def test_an_alias_has_its_own_place_and_the_content_of_its_anchor() -> None:
    document = read("base: &b\n  x: 1\nrun: *b\nlist: [*b]\n")
    alias = document.roots[0].entries[1].value
    assert (alias.text, alias.span, alias.value) == ("*b", Span(3, 6, 3, 8), {"x": 1})
    assert alias.alias_of is document.roots[0].entries[0].value
    spans = {place.pointer: place.span for place in document.places()}
    assert spans["run"] == spans["run.x"] == Span(3, 1, 3, 4)
    assert spans["list[0]"] == spans["list[0].x"] == Span(4, 8, 4, 10)


def test_what_a_merge_key_brings_in_is_reported_there_and_can_be_overridden() -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nrun:\n  <<: [*b, *a]\n  z: 3\n"
    document = read(text)
    assert document.roots[0].value == yaml.safe_load(text)
    run = {place.pointer: place for place in document.places() if place.path[0] == "run"}
    assert list(run) == ["run", "run.z", "run.x", "run.y"]
    assert run["run.y"].value.value == 2
    assert run["run.y"].span == run["run.x"].span == Span(4, 3, 4, 5)
    assert (run["run.z"].span, run["run.z"].via) == (Span(5, 3, 5, 4), None)


def test_a_quoted_merge_key_is_an_ordinary_key() -> None:
    assert [place.pointer for place in read('"<<": {a: 1}\n').places()] == ["<<", "<<.a"]


def test_a_key_that_is_written_twice_is_a_duplicate_with_both_places() -> None:
    document = read("t: &t\n  lr: 1\n  lr: 2\n  'lr': 3\nu: *t\nv: {<<: *t, lr: 4}\n")
    assert [(found.pointer, found.first.line, found.second.line) for found in document.duplicates] == [
        ("t.lr", 2, 3),
        ("t.lr", 3, 4),
    ]


def test_keys_that_the_loader_takes_for_one_are_duplicates() -> None:
    found = read("yes: 1\ntrue: 2\n").duplicates
    assert [(each.pointer, each.first, each.second) for each in found] == [("true", Span(1, 1, 1, 4), Span(2, 1, 2, 5))]


def test_several_documents_are_several_roots() -> None:
    document = read("a: 1\n---\nb: 2\n---\n")
    assert [root.value for root in document.roots] == [{"a": 1}, {"b": 2}, None]
    assert [place.pointer for place in document.places()] == ["a", "b"]


def test_a_file_of_comments_has_no_root() -> None:
    document = read("# nothing\n")
    assert (document.roots, document.comments()) == ((), ((1, "# nothing"),))


def test_comments_are_found_and_strings_are_none() -> None:
    text = (
        "# top\na: 'x # no' # one  \nb: y#no\nc: | # two\n  # no\n\n# three\n"
        'd: [1, #four\n  "# no"]\ne: &n !t # five\n  k: z # six\n'
    )
    assert read(text).comments() == (
        *((1, "# top"), (2, "# one"), (4, "# two"), (7, "# three")),
        *((8, "#four"), (10, "# five"), (11, "# six")),
    )


def test_utf16_with_a_byte_order_mark_is_read() -> None:
    assert read_document("c.yaml", "a: é\n".encode("utf-16")).roots[0].value == {"a": "é"}


def test_an_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 40)]
    with pytest.raises(RefusedDocument, match="aliases expanded"):
        read("\n".join(lines))


def test_a_merge_bomb_is_refused() -> None:
    lines = ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 60))]
    with pytest.raises(RefusedDocument, match="aliases expanded"):
        read("\n".join(lines))


def test_depth_counts_through_aliases() -> None:
    lines = ["a0: &a0 " + "[" * 20 + "]" * 20, *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 200))]
    with pytest.raises(RefusedDocument, match="200 levels"):
        read("\n".join(lines))


@pytest.mark.parametrize(
    ("text", "sentence", "span"),
    [
        ("a: &a [*a]\n", "contains itself", Span(1, 8, 1, 10)),
        ("a: &a\n  <<: *a\n", "contains itself", Span(2, 7, 2, 9)),
        ("a: *b\n", "no anchor `&b`", Span(1, 4, 1, 6)),
        ("a: &x 1\nb: &x 2\n", "defined twice", Span(2, 4, 2, 8)),
        ("a: {<<: 1}\n", "merges a mapping or a list of mappings", Span(1, 9, 1, 10)),
        ("a: 2001-13-45\n", "`2001-13-45` as timestamp", Span(1, 4, 1, 14)),
        ("a: !!bool x\n", "`x` as bool", Span(1, 11, 1, 12)),
        ("a: !!str {b: 1}\n", "`!!str` does not fit a mapping", Span(1, 10, 1, 16)),
        ("a: !!omap [{b: 1, c: 2}]\n", "one key", Span(1, 11, 1, 25)),
        ("? [1, 2]\n: 3\n", "a sequence cannot be a key", Span(1, 3, 1, 9)),
        ("a:\n\tb: 1\n", "a tab stands where YAML allows only spaces", Span(2, 1, 2, 2)),
        ("a: b: c\n", "mapping values are not allowed", Span(1, 5, 1, 6)),
        ("a: \x01\n", r"no control character such as U\+0001", Span(1, 4, 1, 5)),
        ("a: 1" + ":00" * 50_000, "than Python reads", Span(1, 4, 1, 150_005)),
    ],
)
def test_what_the_loader_fails_on_is_broken_with_place_and_reason(text: str, sentence: str, span: Span) -> None:
    with pytest.raises(BrokenDocument, match=sentence) as caught:
        read(text)
    assert caught.value.span == span


@pytest.mark.parametrize(
    "text",
    [
        "lr: {{ lr }}\n",
        "{% if x %}\na: 1\n{% endif %}\n",
        "a: 1\nb: {{ x }}-{{ y }}\n",
        "{{ body }}\n",
        "a: x-{{ b }}: c\n",
    ],
)
def test_a_template_is_named_as_one(text: str) -> None:
    assert "looks like a template" in str(broken(text))


def test_a_chat_template_in_a_sound_string_is_no_template() -> None:
    assert value('t: "{% if x %}{{ y }}"\nu: |\n  {{ z }}\n').value == {"t": "{% if x %}{{ y }}", "u": "{{ z }}\n"}
    assert "template" not in str(broken('t: "{{ y }}"\nu: [1\n'))
