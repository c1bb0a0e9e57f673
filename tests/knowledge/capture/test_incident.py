"""What an incident file tells, and one sentence with its line for what it tells wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardlint.errors import CaptureRefused
from shardlint.knowledge.capture.incident import Incident, read_incident

HEAD = """\
---
title: T
symptom: s
cause: c
evidence: observation
verification: v
---
"""


def read(tmp_path: Path, text: str) -> Incident:
    file = tmp_path / "i.md"
    file.write_text(text)
    return read_incident(str(file))


def test_snippets_come_from_the_head_or_from_fences(tmp_path: Path) -> None:
    body = "Prose.\n\n```python bad\nf(1)\n```\n\n```python\nnot_taken()\n```\n\n```python good\nf(2)\n```\n"
    fenced = read(tmp_path, HEAD + body)
    inside = read(tmp_path, HEAD.replace("title: T", "title: T\nbad: f(1)\ngood: f(3)") + body)

    assert (fenced.bad, fenced.good) == ("f(1)\n", "f(2)\n")
    assert (inside.bad, inside.good) == ("f(1)", "f(3)")
    assert fenced.missing() == []


def test_configs_are_documents(tmp_path: Path) -> None:
    told = read(tmp_path, HEAD + "```yaml bad\na: {b: 1}\n```\n\n```yml good\na: {b: 2}\n```\n")

    assert (told.bad, told.good) == ({"a": {"b": 1}}, {"a": {"b": 2}})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# An incident\n", "i.md:1: an incident file begins with a head"),
        ("---\ntitle: T\n", "i.md:1: an incident file begins with a head"),
        ("---\ntitle: [\n---\n", "i.md:3: this is not valid YAML"),
        ("---\ntitle: T\ncuase: c\n---\n", "i.md:3: `cuase` is no key of an incident; did you mean `cause`?"),
        ("---\ntitle: T\nseverity: fatal\n---\n", "i.md:3: `severity` must be one of `error`"),
        ("---\ntitle: T\npattern: {}\nconfig: {}\n---\n", "a constraint has one check"),
        ("---\ntitle: T\nevidence: rumour\n---\n", "must be `inference`, `research` or `observation`"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(CaptureRefused) as error:
        read(tmp_path, text)

    assert sentence in str(error.value)


def test_what_is_not_told_is_named() -> None:
    assert Incident(title="T", cause="c").missing() == ["bad", "good", "evidence", "verification"]


def test_an_option_counts_more_than_the_file() -> None:
    merged = Incident(title="mine", paths=("a",)).over(Incident(title="theirs", cause="c", paths=("b",)))

    assert (merged.title, merged.cause, merged.paths) == ("mine", "c", ("a",))
