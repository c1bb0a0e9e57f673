"""The second reader sees a fifth of the findings, no verdict, and answers each once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpus.blind import ANSWERS, BadAnswer, drawn, identified, read_answers, sheet
from corpus.labels import ENGINE
from corpus.running import Found
from corpus.tables import Evidence, evidence


def answered(file: Path, *lines: dict[str, str]) -> Path:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def test_a_fifth_of_each_rule_is_drawn_rounded_up(known: Evidence) -> None:
    rules = [known.places[name].label.rule for name in drawn(known.places)]

    # 13 findings of bad-load, hidden and repeated ones among them, and one of rare
    assert sorted(rules) == ["bad-load"] * 3 + ["rare"]


def test_the_draw_does_not_depend_on_lines_or_verdicts(known: Evidence) -> None:
    moved = {
        slug: [label._replace(line=label.line + 7, verdict="false") for label in labels]
        for slug, labels in known.labels.items()
    }

    assert drawn(identified(known.packages, moved)) == drawn(known.places)


def test_lines_that_look_alike_have_identifiers_of_their_own(known: Evidence) -> None:
    twice = {"thing": [known.labels["thing"][0], known.labels["thing"][0]._replace(line=99)]}

    assert len(identified(known.packages, twice)) == 2


def test_the_engine_is_not_drawn(known: Evidence) -> None:
    assert {place.label.rule for place in known.places.values()}.isdisjoint(ENGINE)


def test_the_sheet_holds_source_and_message_and_no_verdict(known: Evidence, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").write_text("".join(f"line_{number}\n" for number in range(1, 100)), encoding="utf-8")
    name = next(name for name, place in known.places.items() if place.label.rule == "rare")
    place = known.places[name]
    found = Found(place.label.path, 41, place.label.hash, "rare", "error", True, "`x` is wrong here")

    text = sheet([name], known.places, {"some--thing": (tmp_path, [found])})

    assert "`x` is wrong here" in text
    assert ">   41 line_41" in text
    assert place.label.reason not in text
    assert '"verdict": "true"' in text.partition("## ")[0], "the form, in the head alone"
    assert "true" not in text.partition("## ")[2]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([{"id": "X", "verdict": "yes", "reason": "It is so."}], "needs a verdict"),
        ([{"id": "X", "verdict": "true", "reason": ""}], "needs a verdict"),
        ([{"id": "unknown", "verdict": "true", "reason": "It is so."}], "not there any more"),
        ([{"id": "X", "verdict": "true", "reason": "It is so."}] * 2, "a second time"),
        ([{"id": "X", "verdict": "true"}], "must be an object with the keys"),
    ],
)
def test_an_answer_that_is_not_complete_is_refused(
    lines: list[dict[str, str]], said: str, known: Evidence, tmp_path: Path
) -> None:
    name = next(iter(known.places))
    lines = [line | {"id": name} if line["id"] == "X" else line for line in lines]

    with pytest.raises(BadAnswer, match=said):
        read_answers(known.places, answered(tmp_path / "blind.jsonl", *lines))


def test_every_finding_drawn_here_is_repeated() -> None:
    known = evidence()

    assert ANSWERS.is_file()
    assert set(drawn(known.places)) <= known.answers.keys()
