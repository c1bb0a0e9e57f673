"""Scalars as config rules see them: which are offered, what they say of themselves and of their document."""

from __future__ import annotations

from shardlint.configs.document import read_document
from shardlint.configs.site import Asked, Scalar, scalars
from shardlint.finding import Evidence, Fix
from shardlint.query import Scalars
from shardlint.voice import Voice

FIX = Fix(True, "the same number")
VOICE = Voice("some-rule", "config", "error", Evidence("observation"), 0.9, FIX)


def found(text: str, pattern: str = r"\d+e-\d+", path: str = "train.yaml") -> list[Scalar]:
    return list(scalars(read_document(path, text.encode()), Scalars(pattern), VOICE))


def test_only_plain_scalars_that_match_in_full_are_offered() -> None:
    assert [s.pointer for s in found("a: 1e-5\nb: '1e-5'\nc: 1e-5 or so\nd: |\n  1e-5\n")] == ["a"]


def test_an_anchor_is_offered_once_where_it_is_written() -> None:
    assert [s.pointer for s in found("a: &lr 1e-5\nb: *lr\n")] == ["a"]


def test_documents_of_another_kind_are_not_offered() -> None:
    assert found('{"lr": "1e-5"}', path="train.json") == []


def test_a_scalar_carries_its_text_and_what_the_loader_makes_of_it() -> None:
    (scalar,) = found("lr: 1.0e-5", pattern=".*e.*")
    assert (scalar.text, scalar.value) == ("1.0e-5", 1e-5)


def test_the_name_of_an_item_is_the_key_of_its_sequence() -> None:
    (item,) = found("optim:\n  betas: [0.9, 1e-2]\n")
    assert (item.key, item.name, item.pointer) == ("", "betas", "optim.betas[1]")


def test_the_name_of_a_value_in_a_mapping_is_its_key() -> None:
    (scalar,) = found("groups: [{lr: 1e-3}]\n")
    assert (scalar.key, scalar.name) == ("lr", "lr")


def test_an_item_of_a_sequence_at_the_top_has_no_name() -> None:
    (item,) = found("- 1e-5\n")
    assert item.name == ""


def test_the_keys_of_a_document_are_those_of_every_depth() -> None:
    (scalar,) = found("train:\n  optimizer: {lr: 1e-5}\nlist: [{_target_: x}]\n1: y\n")
    assert scalar.keys == {"train", "optimizer", "lr", "list", "_target_", "1"}


def test_a_finding_lies_on_the_value_and_names_its_key() -> None:
    (scalar,) = found("train:\n  lr: 1e-5  # slow\n")
    finding = scalar.finding("wrong", help="right")
    assert (finding.path, finding.span.line, finding.span.column, finding.key) == ("train.yaml", 2, 7, "train.lr")


def test_a_finding_that_the_fix_does_not_suit_has_no_fix() -> None:
    (scalar,) = found("lr: 1e-5")
    assert scalar.finding("wrong", help="right").fix == FIX
    assert scalar.finding("wrong", help="right", fixable=False).fix is None


def test_a_scalar_shows_what_the_settings_say_of_modalities() -> None:
    modality = {"templates": {"ours": "text audio"}}
    document = read_document("train.yaml", b"lr: 1e-5")
    (scalar,) = scalars(document, Scalars(r"\d+e-\d+"), VOICE, project=Asked(modality=modality))
    assert (scalar.modality("templates"), scalar.modality("models")) == ({"ours": "text audio"}, {})


def at(text: str, *pointers: str) -> list[Scalar]:
    query = Scalars(r".+", at=dict.fromkeys(pointers, ("b",)))
    return list(scalars(read_document("train.yaml", text.encode()), query, VOICE))


def test_scalars_asked_for_by_pointer_are_offered_quoted_or_not_and_no_others() -> None:
    assert [s.pointer for s in at("a: 'x'\nb: {c: y, d: z}\n", "a", "b.c")] == ["a", "b.c"]


def test_a_query_by_pointer_needs_the_last_key_and_one_word_beside_it() -> None:
    one: tuple[object, ...] = ("all", ("word", "c"), ("any", ("word", "x"), ("word", "y")))
    assert Scalars(".+", at={"b.c": ("x", "y")}).needs() == ("all", ("all",), ("any", one))


def test_a_scalar_finds_its_neighbours_by_pointer() -> None:
    (scalar,) = at("a: x\nb: {c: y}\nd: [1, 2]\n", "a")
    neighbours = [scalar.other(pointer) for pointer in ("b.c", "b", "d", "d[1]", "e")]
    assert [other.value if other else other for other in neighbours] == ["y", {"c": "y"}, [1, 2], 2, None]


def test_a_mapping_is_reported_at_its_key_and_an_alias_where_it_is_written() -> None:
    (scalar,) = at("a: x\nbase: &base\n  c: 1\nb:\n  d: 2\ne: *base\nf: &f z\ng: *f\n", "a")
    lines = [other.span.line for pointer in ("b", "e.c", "g") if (other := scalar.other(pointer))]
    assert lines == [4, 6, 8]


def test_in_a_stream_of_documents_a_pointer_finds_nothing() -> None:
    first, second = at("a: x\n---\na: y\nb: z\n", "a")
    assert first.other("b") is None
    assert second.other("b") is None


def test_a_note_carries_the_place_of_the_value() -> None:
    (scalar,) = at("a:  x\n", "a")
    note = scalar.note("see here")
    assert (note.path, note.line, note.column, note.message) == ("train.yaml", 1, 5, "see here")
