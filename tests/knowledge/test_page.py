"""The page about constraints is true: its blocks can be taken, and their tests hold."""

from __future__ import annotations

import re
from pathlib import Path

from ..conftest import Lint

PAGE = Path(__file__).parents[2] / "linter" / "shardlint" / "knowledge" / "README.md"


def test_every_block_of_the_page_holds(lint: Lint) -> None:
    lint.project.write(".agents/knowledge/constraints.md", PAGE.read_text(encoding="utf-8"))
    lint.project.write("state-keys.json", "{}")

    assert lint("constraints", "check").out == "1 file, 6 constraints: all can be taken\n"
    answer = lint("constraints", "test")
    assert (answer.code, answer.out) == (0, "6 constraints, 8 tests: all hold; 2 constraints without a test\n")


def test_the_incident_of_the_page_becomes_a_constraint(lint: Lint) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (incident,) = re.findall(r"````markdown\n(.*?)````", text, re.DOTALL)
    lint.project.write("incident.md", incident)
    answer = lint("capture", "incident.md")

    assert answer.code == 0, answer.err
    assert lint("constraints", "test").code == 0


def test_the_page_names_every_key() -> None:
    from shardlint.knowledge.constraint_file import schema

    text = PAGE.read_text(encoding="utf-8")
    keys = schema()["$defs"]["constraint"]["properties"]
    assert [key for key in keys if f"`{key}`" not in text] == []
