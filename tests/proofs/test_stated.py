"""What the rules state of their proofs is true: the test modules exist, and name the rules. Needs no torch."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from shardlint.proof import proof_of

from .conftest import rules

FOLDER = Path(__file__).parent
MODULES = {path.stem: path for path in sorted(FOLDER.glob("test_*.py"))}
OWN = {"test_stated", "test_examples", "test_ranks", "test_collective_tables"}
"""Modules that prove no rule by themselves."""


def proved_by(path: Path) -> dict[str, set[str]]:
    """Test function -> the rules that it proves, by its mark `proves` or that of its module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    everywhere: set[str] = set()
    tests: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            everywhere |= named(node.value)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            tests[node.name] = set[str]().union(*map(named, node.decorator_list))
    return {name: everywhere | own for name, own in tests.items()}


def named(mark: ast.expr) -> set[str]:
    """The rules that a mark `proves` names."""
    if not isinstance(mark, ast.Call) or ast.unparse(mark.func) != "pytest.mark.proves":
        return set()
    return {ast.literal_eval(argument) for argument in mark.args}


PROVED = {stem: proved_by(path) for stem, path in MODULES.items() if stem not in OWN}


@pytest.mark.parametrize("name", [name for name, rule in rules().items() if rule.proof is not None])
def test_the_module_that_a_rule_states_has_a_test_that_names_the_rule(name: str) -> None:
    module, _ = rules()[name].proof or ("", "")
    assert module in PROVED
    assert name in set[str]().union(*PROVED[module].values())


@pytest.mark.parametrize("stem", PROVED)
def test_every_test_proves_a_rule_that_states_it(stem: str) -> None:
    stating = {name for name, rule in rules().items() if rule.proof is not None and rule.proof[0] == stem}
    assert PROVED[stem]
    for test, names in PROVED[stem].items():
        assert names, f"{test} has no mark `proves`"
        assert names <= stating


def test_rules_that_were_seen_to_fail_are_proved_or_say_why_not() -> None:
    silent = [name for name, rule in rules().items() if not proof_of(rule).proved and not rule.unproved]
    assert [name for name in silent if rules()[name].voice.evidence.kind == "observation"] == []
