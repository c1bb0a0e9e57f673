"""How the keys of a file are read: values of the usual loader, and what is unknown or absent."""

from __future__ import annotations

import datetime
import gc

import pytest

from shardlint.configs.document import read_document
from shardlint.finding import Span
from shardlint.knowledge.key_path import key_path, key_pattern
from shardlint.knowledge.key_source import DocumentSource, PlainSource
from shardlint.knowledge.operations import MAX_ITEMS
from shardlint.knowledge.unknown import ABSENT, UNKNOWN

TEXT = """\
base: &base
  lr: 0.1
  steps: 5
train:
  <<: *base
  steps: 6
  lr_text: 1e-5
  quoted: "1e-5"
  open: ${model.x}
  jinja: "{{ x }}"
  missing: ???
  tagged: !env HOME
  empty:
  day: 2024-01-02
  on: yes
  twice: 1
  twice: 2
layers: [{dim: 64}, {dim: "${y}"}]
again: *base
"""


def source(text: str, path: str = "a.yaml") -> DocumentSource:
    (one,) = DocumentSource.of(read_document(path, text.encode()))
    return one


DOCUMENT = source(TEXT)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("train.lr", 0.1),
        ("train.steps", 6),
        ("train.lr_text", UNKNOWN),
        ("train.quoted", "1e-5"),
        ("train.open", UNKNOWN),
        ("train.open.below", UNKNOWN),
        ("train.jinja", UNKNOWN),
        ("train.missing", UNKNOWN),
        ("train.tagged", UNKNOWN),
        ("train.tagged.below", UNKNOWN),
        ("train.lr_text.below", ABSENT),
        ("train.empty", None),
        ("train.empty.below", ABSENT),
        ("train.steps.below", ABSENT),
        ("train.day", datetime.date(2024, 1, 2)),
        ("train.on", True),
        ("train.twice", 2),
        ("train.absent", ABSENT),
        ("absent.below", ABSENT),
        ("layers", [{"dim": 64}, {"dim": UNKNOWN}]),
        ("layers[0].dim", 64),
        ("layers[2]", ABSENT),
        ("layers.dim", ABSENT),
        ("again", {"lr": 0.1, "steps": 5}),
    ],
)
def test_a_key_has_the_value_of_the_loader_or_is_unknown_or_absent(key: str, value: object) -> None:
    assert DOCUMENT.look(key_path(key, ())) == value


def test_a_merged_mapping_is_read_whole() -> None:
    text = "base: &b {x: 1, y: 2}\ntrain: {<<: *b, y: 3}\n"
    assert source(text).look(("train",)) == {"x": 1, "y": 3}


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("train.empty", True),
        ("train.open", True),
        ("train.lr", True),
        ("train.absent", False),
        ("train.open.below", UNKNOWN),
        ("layers[1].dim", True),
        ("layers[9]", False),
    ],
)
def test_whether_a_key_is_written(key: str, written: object) -> None:
    assert DOCUMENT.has(key_path(key, ())) is written


@pytest.mark.parametrize("head", ["defaults: [base]\n", "_base_: ../base.yaml\n"])
def test_what_a_composed_file_lacks_may_stand_elsewhere(head: str) -> None:
    composed = source(head + "train: {lr: 0.1}\n")
    assert composed.look(("train", "lr")) == 0.1
    assert composed.look(("train", "steps")) is UNKNOWN
    assert composed.has(("train", "steps")) is UNKNOWN
    assert "may stand in a file" in composed.why(("train", "steps"))
    assert source("defaults: {lr: 1}\n").has(("train",)) is False


@pytest.mark.parametrize(
    ("key", "span"),
    [
        ("train.steps", Span(6, 3, 6, 8)),
        ("train.lr", Span(5, 3, 5, 5)),
        ("train.absent.below", Span(4, 1, 4, 6)),
        ("nothing", Span(1, 1, 1, 5)),
        ("again.lr", Span(19, 1, 19, 6)),
        ("layers[0].dim", Span(18, 11, 18, 14)),
        ("train.twice", Span(17, 3, 17, 8)),
    ],
)
def test_a_key_is_reported_where_it_is_written_or_nearest(key: str, span: Span) -> None:
    assert DOCUMENT.span(key_path(key, ())) == span


@pytest.mark.parametrize(
    ("pattern", "keys"),
    [
        ("train.lr*", ["lr_text", "lr"]),
        ("train.t*", ["tagged", "twice"]),
        ("layers[*].dim", ["dim", "dim"]),
        ("layers[*].x*", []),
        ("nothing.*", []),
        ("*.steps", ["steps", "steps", "steps"]),
    ],
)
def test_the_keys_that_fit_a_pattern(pattern: str, keys: list[str]) -> None:
    assert [path[-1] for path in DOCUMENT.matching(key_pattern(pattern, ()))] == keys


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("train.absent", "`train.absent` is not in the file, and its default is not known"),
        ("train.open", "`train.open` is `${model.x}`, which only a run can tell"),
        ("train.open.below", "`train.open.below` is `${model.x}`, which only a run can tell"),
        ("train.lr_text", "`train.lr_text` is `1e-5`, which only a run can tell"),
    ],
)
def test_why_a_value_is_not_known(key: str, reason: str) -> None:
    assert DOCUMENT.why(key_path(key, ())) == reason


def test_large_values_are_unknown_and_what_is_below_them_is_not() -> None:
    large = source(f"n: {10**60}\nl: [{', '.join(['1'] * (MAX_ITEMS + 1))}]\ns: {'a' * 10_001}\n")
    assert [large.look((key,)) for key in "nls"] == [UNKNOWN] * 3
    assert large.look(("l", 5)) == 1
    plain = PlainSource({"n": 10**60, "l": [1] * (MAX_ITEMS + 1), "s": "a" * 10_001, "o": object(), "b": b"x"})
    assert [plain.look((key,)) for key in "nlsob"] == [UNKNOWN] * 5
    assert plain.look(("l", 5)) == 1


@pytest.mark.parametrize(("text", "path"), [('{"lr": "1e-5", "x": 1}', "a.json"), ('lr = "1e-5"\nx = 1\n', "a.toml")])
def test_a_text_of_json_and_toml_is_a_text(text: str, path: str) -> None:
    assert source(text, path).look(("lr",)) == "1e-5"
    assert source(text, path).look(("x",)) == 1


def test_each_document_of_a_stream_is_a_source_and_an_empty_file_has_none() -> None:
    stream = read_document("a.yaml", b"a: 1\n---\na: 2\n")
    assert [one.look(("a",)) for one in DocumentSource.of(stream)] == [1, 2]
    assert DocumentSource.of(stream) is DocumentSource.of(stream)
    assert DocumentSource.of(read_document("a.yaml", b"# nothing\n")) == ()
    (scalar,) = DocumentSource.of(read_document("a.yaml", b"just text\n"))
    assert (scalar.look(("a",)), scalar.span(("a",))) == (ABSENT, Span(1, 1, 1, 1))


def test_a_document_that_nobody_holds_is_forgotten() -> None:
    from shardlint.knowledge import key_source

    document = read_document("a.yaml", b"a: 1\n")
    DocumentSource.of(document)
    gc.collect()
    before = len(key_source._SOURCES)  # pyright: ignore[reportPrivateUsage]
    del document
    gc.collect()
    assert len(key_source._SOURCES) == before - 1  # pyright: ignore[reportPrivateUsage]


PLAIN = PlainSource(
    {"train": {"lr": 0.1, "open": "${x}", "lr_text": "1e-5", "none": None, 3: "three"}, "l": [{"a": 1}]}
)


@pytest.mark.parametrize(
    ("key", "value", "written"),
    [
        ("train.lr", 0.1, True),
        ("train.open", UNKNOWN, True),
        ("train.open.x", UNKNOWN, UNKNOWN),
        ("train.lr_text", UNKNOWN, True),
        ("train.none", None, True),
        ("train.none.x", ABSENT, False),
        ("train.absent", ABSENT, False),
        ("train.3", "three", True),
        ("l[0].a", 1, True),
        ("l[1]", ABSENT, False),
    ],
)
def test_a_plain_mapping_is_read_alike(key: str, value: object, written: object) -> None:
    path = key_path(key, ())
    assert PLAIN.look(path) == value
    assert PLAIN.has(path) is written
    assert PLAIN.span(path) == Span(1, 1, 1, 1)
    if value is UNKNOWN or value is ABSENT:
        assert f"`{key}` is " in PLAIN.why(path)


def test_the_keys_of_a_plain_mapping_that_fit() -> None:
    assert PLAIN.matching(key_pattern("train.lr*", ())) == [("train", "lr"), ("train", "lr_text")]
    assert PLAIN.matching(key_pattern("l[*].a", ())) == [("l", 0, "a")]


OPEN = 'm: {a: "${x}", b: 1e-5, c: {d: 1}}\nl: [{a: 1}, "${y}"]\nt: !load w.yaml\n'


@pytest.mark.parametrize(
    ("pattern", "hiding"),
    [
        ("m.*", None),
        ("m.a.*", "m.a"),
        ("m.*.d", "m.a"),
        ("m.b.*", None),
        ("m.c.*", None),
        ("l[*].a", "l[1]"),
        ("l[0].*", None),
        ("t.*", "t"),
        ("none.*", None),
    ],
)
def test_where_more_keys_may_come_in_a_run(pattern: str, hiding: str | None) -> None:
    wanted = None if hiding is None else key_path(hiding, ())
    assert source(OPEN).hiding(key_pattern(pattern, ())) == wanted
    plain = {"m": {"a": "${x}", "b": "1e-5", "c": {"d": 1}}, "l": [{"a": 1}, "${y}"], "t": "${t}"}
    assert PlainSource(plain).hiding(key_pattern(pattern, ())) == wanted


def test_other_files_may_add_keys_but_to_no_list_that_is_written() -> None:
    composed = source("defaults: [base]\nm: {a: 1}\nl: [{a: 1}]\n")
    assert composed.hiding(key_pattern("m.*", ())) == ("m", "*")
    assert composed.hiding(key_pattern("k[*].a", ())) == ("k", "[*]", "a")
    assert composed.hiding(key_pattern("l[*].a", ())) is None
    assert composed.hiding(key_pattern("m.a", ())) is None
    assert composed.why(("m", "*")) == "`m.*` may stand in a file that this one takes keys from"
