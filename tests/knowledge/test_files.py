"""Which files of a project hold constraints, and when that is looked up again."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from ..conftest import Lint


def block(name: str) -> str:
    return f"id: {name}\nenforced_by: {{rule: rank-guarded-checkpoint}}\n"


def statement(name: str) -> str:
    inside = "".join(f"   {line}\n" for line in block(name).splitlines())
    return f"1. Title\n\n   ```yaml constraint\n{inside}   ```\n"


def in_yaml(name: str) -> str:
    first, *others = block(name).splitlines()
    return "version: 1\nconstraints:\n" + f"  - {first}\n    title: T\n" + "".join(f"    {line}\n" for line in others)


def listed(lint: Lint) -> list[tuple[str, str]]:
    answer = lint("constraints", "list", "--output-format", "json")
    assert answer.code == 0, answer.err
    found: list[dict[str, Any]] = json.loads(answer.out)
    return [(one["path"], one["id"]) for one in found]


def test_customary_places_are_found_by_themselves(lint: Lint) -> None:
    lint.project.write(".agents/knowledge/constraints.md", statement("in-agents"))
    lint.project.write("constraints/b.yaml", in_yaml("in-folder"))
    lint.project.write("constraints/pins.yaml", "torch: 2.6\n")
    lint.project.write("constraints/readme.md", statement("not-read"))
    lint.project.write("constraints/deeper/c.yaml", in_yaml("not-read-either"))

    assert listed(lint) == [(".agents/knowledge/constraints.md", "in-agents"), ("constraints/b.yaml", "in-folder")]


def test_settings_name_further_files_and_patterns(lint: Lint) -> None:
    lint.project.write("pyproject.toml", '[tool.shardlint]\nknowledge = ["docs/rules.md", "teams/*.md"]\n')
    lint.project.write("docs/rules.md", statement("named"))
    lint.project.write("teams/a.md", statement("by-pattern"))
    lint.project.write("teams/a.txt", "nothing")

    assert listed(lint) == [("docs/rules.md", "named"), ("teams/a.md", "by-pattern")]


@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        ("gone.md", "gone.md:1: `knowledge` names this file, and it is not there"),
        ("notes.txt", "notes.txt:1: constraints are read from Markdown (.md) and YAML"),
        ("../up.md", "`knowledge` must lie inside of the project"),
    ],
)
def test_a_wrong_name_in_the_settings_stops_the_run(lint: Lint, named: str, sentence: str) -> None:
    lint.project.write("pyproject.toml", f'[tool.shardlint]\nknowledge = ["{named}"]\n')
    answer = lint("check")

    assert answer.code == 2
    assert sentence in answer.err


def test_an_id_is_given_once(lint: Lint) -> None:
    lint.project.write(".agents/knowledge/constraints.md", statement("same"))
    lint.project.write("constraints/b.yaml", in_yaml("same"))
    answer = lint("constraints", "check")

    assert answer.code == 1
    assert answer.out.splitlines() == [
        "constraints/b.yaml:3: `same` is the id of the constraint at .agents/knowledge/constraints.md:4 already: "
        "choose another",
        "2 files, 1 constraint: 1 problem",
    ]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("rank-guarded-checkpoint", "is the name of a rule already"),
        ("syntax-error", "is the name of a rule already"),
        ("constraint", "is the name of a rule already"),
    ],
)
def test_an_id_is_no_name_of_a_rule(lint: Lint, name: str, sentence: str) -> None:
    lint.project.write(".agents/knowledge/constraints.md", statement(name))

    assert sentence in lint("check").err


def test_a_new_an_edited_and_a_removed_file_are_noticed(lint: Lint) -> None:
    """The table of a run is kept; each state of the files must be seen in it."""
    lint.project.write("a.py", "x = 1\n")
    assert lint("check").code == 0
    path = lint.project.write(".agents/knowledge/constraints.md", statement("NOT A NAME"))
    assert lint("check").code == 2
    lint.project.write(".agents/knowledge/constraints.md", statement("a-name"))
    os.utime(path, (1_600_000_100, 1_600_000_100))
    assert lint("check").code == 0
    assert "a-name" in lint("check", "--show-settings").out or lint("explain", "a-name").code in (0, 2)
    path.unlink()
    assert listed(lint) == []
    lint.project.write("constraints/late.yaml", "version: 1\nconstraints: 7\n")
    assert lint("check").code == 2
