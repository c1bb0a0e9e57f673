"""`examples/constraints.md`: the 27 constraints of a training repository, as its maintainers could take them over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardlint.knowledge.constraint_file import read_constraints

from ..conftest import Lint

PAGE = Path(__file__).parents[2] / "examples" / "constraints.md"
CONTENTS = read_constraints("constraints.md", PAGE.read_bytes())
LEAST_ENFORCED = 16


@pytest.fixture
def team(lint: Lint) -> Lint:
    """A project that has taken the file over."""
    lint.project.write(".agents/knowledge/constraints.md", PAGE.read_text(encoding="utf-8"))
    return lint


def test_every_block_can_be_taken(team: Lint) -> None:
    answer = team("constraints", "check")

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.endswith("all can be taken\n")


def test_every_test_holds(team: Lint) -> None:
    answer = team("constraints", "test")

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.endswith("all hold\n")


def test_most_statements_are_enforced(team: Lint) -> None:
    covered = json.loads(team("constraints", "coverage", "--output-format", "json").out)
    enforced = [one["number"] for one in covered if one["enforced_by"]]

    assert [one["number"] for one in covered] == [str(number) for number in range(1, 28)]
    assert len(enforced) >= LEAST_ENFORCED


def test_the_readme_shows_what_is_covered(team: Lint) -> None:
    readme = (PAGE.parents[1] / "README.md").read_text(encoding="utf-8")
    shown = readme.split("$ shardlint constraints coverage examples/constraints.md\n")[1].split("```")[0].splitlines()
    printed = team("constraints", "coverage").out.splitlines()

    assert [line for line in shown if line != "  ..." and line not in printed] == []


def test_every_constraint_shows_a_mistake_and_its_repair() -> None:
    assert [one.id for one in CONTENTS.constraints if not (one.bad and one.good)] == []


def test_every_finding_of_a_constraint_says_what_to_write_instead() -> None:
    own = [one for one in CONTENTS.constraints if one.kind in ("pattern", "forbidden", "config")]

    # The short forms of a config constraint have words of their own.
    assert [one.id for one in own if not one.help and "kind" not in one.check] == []
    assert [one.id for one in own if not one.message and "kind" not in one.check] == []


def test_what_a_constraint_rests_on_is_named() -> None:
    own = [one for one in CONTENTS.constraints if one.kind in ("pattern", "forbidden", "config")]

    assert [one.id for one in own if not one.evidence[1]] == []


def test_what_is_only_prose_says_what_it_waits_for() -> None:
    enforced = {one.number for one in CONTENTS.constraints}
    prose = [item for item in CONTENTS.items if item.number not in enforced]

    assert [item.number for item in prose if not item.text.rpartition(". ")[2].startswith("This waits for a ")] == []
