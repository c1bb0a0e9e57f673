"""The rules that CONTRIBUTING.md builds are real: together they make a pack whose examples hold."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from shardlint.loading import Row, make
from shardlint.registry import describe, pack_rules
from shardlint.trial import problems_of

PAGE = Path(__file__).resolve().parent.parent / "CONTRIBUTING.md"
BLOCK = re.compile(r"```python\n# (my_rules/\S+\.py)\n(.*?)```", re.DOTALL)
KINDS = {"local", "program", "config", "change", "plan"}
LONGEST = 130


def blocks() -> dict[str, str]:
    """The path and the text of each rule of the page."""
    return dict(BLOCK.findall(PAGE.read_text(encoding="utf-8")))


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    for path, text in blocks().items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        (file.parent / "__init__.py").touch()
        file.write_text(text, encoding="utf-8")
    (tmp_path / "my_rules" / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield importlib.import_module("my_rules")
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_rules"]:
        del sys.modules[name]


def rows(pack: ModuleType) -> list[Row]:
    return [describe(rule, "mine") for rule in pack_rules(pack, "mine")]


def test_the_page_builds_a_rule_of_each_kind(pack: ModuleType) -> None:
    assert {row["kind"] for row in rows(pack)} == KINDS


def test_each_rule_of_the_page_is_short() -> None:
    assert {path: lines for path, text in blocks().items() if (lines := text.count("\n")) > LONGEST} == {}


def test_every_example_of_the_page_holds(pack: ModuleType) -> None:
    problems: list[str] = []
    for row in rows(pack):
        rule = make(row)
        for example in (*rule.bad, *rule.good):
            problems += [f"{row['name']}: {problem}" for problem in problems_of(row, example)]
    assert problems == []
