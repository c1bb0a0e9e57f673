"""Every built-in rule is a short page, read from top to bottom."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from shardlint.loading import make
from shardlint.registry import load_rows

PACK = Path(__file__).parents[2] / "rules" / "shardlint_rules"
FILES = sorted(path for path in PACK.glob("*/*.py") if path.name != "__init__.py")
ORDER = ("severity", "evidence", "suspects", "bad", "good", "judge")
LONGEST = 136


def test_every_built_in_rule_is_looked_at() -> None:
    names = {row["name"] for row in load_rows()[0] if row["pack"] == "builtin"}
    assert {path.stem.replace("_", "-") for path in FILES} == names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_rule_fits_its_page_and_names_itself(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    name = path.stem.replace("_", "-")
    assert len(text.splitlines()) <= LONGEST
    assert name in (ast.get_docstring(ast.parse(text)) or "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_rule_reads_from_why_to_how(path: Path) -> None:
    (rule,) = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]
    places: dict[str, int] = {}
    for node in rule.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            places |= {part.id: node.lineno for part in ast.walk(target) if isinstance(part, ast.Name)}
        if isinstance(node, ast.FunctionDef):
            places[node.name] = node.lineno
    lines = [places[name] for name in ORDER]
    assert lines == sorted(lines)


@pytest.mark.parametrize("row", load_rows()[0], ids=lambda row: str(row["name"]))
def test_a_rule_says_what_a_user_sees(row: dict[str, object]) -> None:
    assert make(row).symptoms


@pytest.mark.parametrize(
    "row", [row for row in load_rows()[0] if row["family"] == "collectives"], ids=lambda row: str(row["name"])
)
def test_a_rule_about_collectives_says_what_two_ranks_do(row: dict[str, object]) -> None:
    assert make(row).ranks
