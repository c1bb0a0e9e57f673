"""Every example of the page on patterns is run."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import shardlint.syntax.patterns
from shardlint.facts.module import Module
from shardlint.fixes import apply_edits
from shardlint.prefilter import Words, passes
from shardlint.syntax.patterns import Forbidden, Match, Pattern
from shardlint.syntax.patterns.conditions import KEYS

PAGE = (Path(shardlint.syntax.patterns.__file__).parent / "README.md").read_text(encoding="utf-8")
SHORT = re.findall(r"^```(pattern|forbidden)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
WORKED: list[dict[str, Any]] = [
    yaml.safe_load(block) for block in re.findall(r"^```yaml constraint\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
]
PATH = "mine/train.py"


def taken_apart(block: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The mapping of a short block, and its examples: sign and code."""
    head, *_ = re.split(r"^[+-] ", block, maxsplit=1, flags=re.MULTILINE)
    examples = re.findall(r"^([+>-]) (.*(?:\n  .*)*)", block[len(head) :], re.MULTILINE)
    return yaml.safe_load(head), [(sign, code.replace("\n  ", "\n")) for sign, code in examples]


def matches(check: Pattern | Forbidden, source: str) -> tuple[Module, list[Match]]:
    """What a check finds in a file. One that the needs do not let through has no match in any case."""
    module = Module(PATH, source, ast.parse(source))
    found = [answer for answer in check.matches(module) if isinstance(answer, Match)]
    assert not found or passes(check.needs(), Words(source.encode(), None, PATH))
    return module, found


@pytest.mark.parametrize(("kind", "block"), SHORT)
def test_a_short_example(kind: str, block: str) -> None:
    plain, examples = taken_apart(block)
    check = Pattern(plain) if kind == "pattern" else Forbidden(plain)
    before = ""
    assert any(sign == "-" for sign, _ in examples) or "replace" in plain or "any" in plain or len(examples) > 1
    for sign, source in examples:
        if sign == ">":
            module, found = matches(check, before)
            edits = [edit for match in found for edit in check.edits(module, match)]
            assert apply_edits(before, edits) == source
            continue
        _, found = matches(check, source)
        assert bool(found) is (sign == "+"), source
        before = source


@pytest.mark.parametrize("constraint", WORKED, ids=[str(constraint["id"]) for constraint in WORKED])
def test_a_worked_pattern(constraint: dict[str, Any]) -> None:
    check = Pattern(constraint["pattern"])
    for kind in ("bad", "good"):
        for source in constraint["tests"][kind]:
            marked = [number for number, line in enumerate(source.split("\n"), 1) if "# error" in line]
            assert bool(marked) is (kind == "bad")
            assert [match.span.line for match in matches(check, source)[1]] == marked


def test_the_page_has_what_it_promises() -> None:
    assert len(WORKED) == 10
    assert len(SHORT) > 25
    keys = {key for kind, block in SHORT if kind == "pattern" for key in taken_apart(block)[0]}
    keys |= {key for constraint in WORKED for key in constraint["pattern"]}
    assert keys == {"match", "any", "where", "replace", "safe", *KEYS}
