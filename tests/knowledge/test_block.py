"""The YAML of a block: plain values, the line of each place, and one sentence for what is refused."""

from __future__ import annotations

import pytest

from shardlint.knowledge.block import Unreadable, read_block, schema_problem


def test_values_are_plain_and_every_place_has_its_line() -> None:
    written = read_block("id: a\ncheck:\n  list:\n    - 1\n    - yes\n  1: 2.5\nnothing:\n")

    assert written.value == {"id": "a", "check": {"list": [1, True], 1: 2.5}, "nothing": None}
    assert written.lines[("check", "list", 1)] == 5
    assert written.lines[("check", 1)] == 6
    assert written.lines[("nothing",)] == 7


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("a: [1", 1, "not valid YAML"),
        ("a: 1\na: 2\n", 2, "stands here and on line 1"),
        ("a: &x 1\n", 1, "anchors and aliases"),
        ("a: &x [1]\nb: *x\n", 1, "anchors and aliases"),
        ("base: {k: 1}\na:\n  <<: {k: 1}\n", 3, "`<<` is not read here"),
        ("a: 2024-01-01\n", 1, "quote it"),
        ("a: !!binary aGk=\n", 1, "quote it"),
        ("a: !mine 1\n", 1, "quote it"),
        (f"a: {'9' * 41}\n", 1, "a number of 41 characters"),
        ("a: 1\n---\nb: 2\n", 3, "one YAML document"),
        ("", 1, "one YAML document"),
        ("a: " + "[" * 30 + "]" * 30, 1, "nested more than 20 levels"),
        ("a: " + "[" * 100_000, 1, "64,000"),
        ("a: \0\n", 1, "NUL"),
    ],
)
def test_what_is_no_block_is_said_in_one_sentence_with_its_line(text: str, line: int, sentence: str) -> None:
    with pytest.raises(Unreadable, match=sentence) as error:
        read_block(text)

    assert error.value.line == line


def test_aliases_that_multiply_are_refused_at_once() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{c}: &{c} [*{b}, *{b}]\n" for b, c in zip("abcdefghi", "bcdefghij", strict=True)
    )

    with pytest.raises(Unreadable):
        read_block(bomb * 1)


def test_an_unknown_key_is_said_before_anything_else() -> None:
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": ["title"],
        "properties": {"title": {"type": "string"}, "number": {"type": "integer"}},
    }

    problem = schema_problem(schema, {"titel": "x", "number": "one"})

    assert problem is not None
    assert problem.where == ("titel",)
    assert str(problem) == "`titel` is no key of a constraint; did you mean `title`?"
    assert str(schema_problem(schema, {"title": "x", "number": "one"})) == "`number` must be a whole number"
    assert schema_problem(schema, {"title": "x"}) is None
