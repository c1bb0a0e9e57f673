"""The report is what was measured: nobody edits a figure, and a bound that is not held is said."""

import json
from pathlib import Path

import pytest

from benchmarks import page
from benchmarks.page import NoSection, Rounds, replaced, table
from benchmarks.speed import FIGURES


def kept() -> Rounds:
    """What was measured last, as a copy that may be changed."""
    rounds: Rounds = json.loads(page.KEPT.read_text(encoding="utf-8"))["rounds"]
    return rounds


def all_held() -> Rounds:
    """The same with costs of shardlint that hold every bound."""
    found = kept()
    for costs in found["trees"]:
        bounded = {figure.ours for figure in FIGURES if figure.one is not None or figure.whole is not None}
        costs["seconds"] |= dict.fromkeys(bounded & costs["seconds"].keys(), 0.001)
        costs["peaks"] = dict.fromkeys(costs["peaks"], 1_000_000)
        costs |= {"strays": 0, "other_work": [], "libcst": 0.0}
    for point in found["points"]:
        point["seconds"]["cold"] = point["lines"] / 1e6
    return found


def test_both_benchmarks_have_been_run() -> None:
    assert page.sections(page.read()).keys() == {"rounds", "peers"}


@pytest.mark.parametrize("name", ["rounds", "peers"])
def test_section_of_the_page_is_what_was_measured(name: str) -> None:
    written = page.README.read_text(encoding="utf-8")

    assert replaced(written, name, page.sections(page.read())[name]) == written


def test_picture_is_what_was_measured() -> None:
    assert page.PICTURE.read_text(encoding="utf-8") == page.picture(kept())


def test_bounds_that_are_held_are_shown_as_numbers() -> None:
    assert page.held(all_held())
    assert "not held" not in page.rounds_section(all_held())


def test_each_broken_bound_is_said_and_fails_the_run() -> None:
    slow, growing = all_held(), all_held()
    slow["trees"][1]["seconds"]["cold"] = 2.5 * slow["trees"][1]["seconds"]["ruff cold"]
    growing["points"][-1]["seconds"]["cold"] *= 1.3

    for found, said in ((slow, "| 2.50 | 2.00, **not held** |"), (growing, "| 1.25, **not held** |")):
        assert not page.held(found)
        assert said in page.rounds_section(found)
        assert page.rounds_section(found).count("not held") == 1


def test_section_is_replaced_between_its_marks_alone() -> None:
    text = f"above\n{page.opening('one')}\nold\n{page.CLOSING}\nbelow {page.opening('two')} kept {page.CLOSING}"

    assert replaced(text, "one", "new") == text.replace("\nold\n", "\n\nnew\n\n")
    with pytest.raises(NoSection, match="has no `<!-- measured: three -->`"):
        replaced(text, "three", "new")
    with pytest.raises(NoSection):
        replaced(f"{page.opening('one')} without an end", "one", "new")


def test_words_stand_left_and_numbers_right() -> None:
    assert table(("a", "b", "c"), (0, 2), [("x", "1", "y")]) == "| a | b | c |\n| --- | ---: | --- |\n| x | 1 | y |"


def test_writing_changes_page_picture_and_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = all_held()
    for name, path in (("README", "page.md"), ("PICTURE", "growth.svg"), ("KEPT", "measured.json")):
        monkeypatch.setattr(page, name, tmp_path / path)
    marks = "\n".join(f"{page.opening(name)}\n{page.CLOSING}" for name in ("rounds", "peers"))
    page.README.write_text(marks, encoding="utf-8")

    page.write({"rounds": found})

    written = page.README.read_text(encoding="utf-8")
    assert page.rounds_section(found) in written
    assert written.endswith(f"{page.opening('peers')}\n{page.CLOSING}")
    assert page.PICTURE.read_text(encoding="utf-8") == page.picture(found)
    assert page.read(page.KEPT) == {"rounds": found}
