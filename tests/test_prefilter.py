"""The prefilter drops only files in which no rule can fire."""

from __future__ import annotations

import pytest

from shardlint.loading import make
from shardlint.prefilter import Words, passes
from shardlint.registry import load_rows
from shardlint.trial import findings_of


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        (("word", "save"), True),
        (("word", "load"), False),
        (("all",), True),
        (("any",), False),
        (("all", ("word", "save"), ("word", "dcp")), True),
        (("all", ("word", "save"), ("word", "load")), False),
        (("any", ("word", "load"), ("word", "dcp")), True),
        (("any", ("word", "load"), ("all", ("word", "x"))), False),
        (("rank",), False),
        (("any", ("rank",), ("word", "save")), True),
    ],
)
def test_needs_are_met_by_words(needs: tuple[object, ...], expected: bool) -> None:
    assert passes(needs, Words(b"import dcp\ndcp.save(state)\n")) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if dist.get_rank() == 0:", True),
        ("if self.is_main_process:", True),
        ("if rank == 0:", True),
        ("match rank:", True),
        ("LoraConfig(rank=8)", False),
        ("rank = 8", False),
        ("frankly = 1", False),
        ("x = 1", False),
    ],
)
def test_rank_words_are_found(text: str, expected: bool) -> None:
    assert passes(("rank",), Words(text.encode())) is expected


def test_a_text_in_another_encoding_is_searched_too() -> None:
    assert passes(("rank",), Words("# é\nif dist.get_rank() == 0: pass".encode("latin-1")))
    assert Words("größe = 1".encode()).has("größe")


def test_a_word_between_typographic_quotes_is_spelled() -> None:
    assert passes(("word", "images"), Words("prompt = '“images” first'".encode()))
    assert not passes(("word", "images"), Words(b"all_images = 1"))


def test_the_same_question_gets_the_same_answer() -> None:
    words = Words(b"if rank == 0: pass")
    assert words.rank() is words.rank() is True
    assert words.has("rank") is words.has("rank") is True


def test_the_look_for_rank_conditions_leaves_no_function_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for row in load_rows()[0] if row["kind"] == "program"]
    cases = [(row, example) for row in rows for example in (*make(row).bad, *make(row).good)]
    shown = [findings_of(row, example) for row, example in cases]
    assert any(shown)
    monkeypatch.setattr("shardlint.roots._LONGEST", -1)
    assert [findings_of(row, example, prefilter=False) for row, example in cases] == shown


@pytest.mark.parametrize(
    "line", ["os_, comm = os, dist", "comm = dist if ready else None", "(comm := dist)", "x = [dist]"]
)
def test_a_package_under_another_name_is_still_reached(line: str) -> None:
    needs = ("reach", "torch.distributed", ("barrier",))
    data = f"import os\nimport torch.distributed as dist\n{line}\ncomm.barrier()\n".encode()
    assert passes(needs, Words(data)) is (line != "x = [dist]")
