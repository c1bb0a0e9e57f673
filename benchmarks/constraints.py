"""Fifty constraints on code, of the kind that a project writes: what they add to a run is one of the figures."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benchmarks.trees import copy
from corpus.capture import captured

FIFTY = 50
_HERE = Path(__file__).parent.parent
_PAGES = (
    "examples/constraints.md",
    "linter/shardlint/syntax/patterns/README.md",
    "linter/shardlint/knowledge/README.md",
)
_BLOCK = re.compile(r"^( *)```yaml constraint\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_KINDS = ("pattern", "forbidden")


def on_code() -> Iterator[dict[str, Any]]:
    """The checks on code of the example file, of the documentation and of the captured incidents, in this order.

    The first are the constraints of VeOmni, so on that package many files hold what they ask for.
    """
    for page in _PAGES:
        for _, block in _BLOCK.findall((_HERE / page).read_text(encoding="utf-8")):
            stated = yaml.safe_load(textwrap.dedent(block))
            yield from ({kind: stated[kind]} | _where(stated) for kind in _KINDS if kind in stated)
    for one in captured():
        if one.first is not None and one.first.kind in _KINDS:
            yield {one.first.kind: one.first.check}


def _where(stated: dict[str, Any]) -> dict[str, Any]:
    return {"paths": stated["paths"]} if "paths" in stated else {}


def constrained(tree: Path, into: Path) -> Path:
    """A copy of a tree in which the first fifty of them hold. What JSON writes is YAML, too."""
    checks = list(on_code())[:FIFTY]
    assert len(checks) == FIFTY
    given = {"severity": "warning"}
    stated = [given | {"id": f"constraint-{at}", "title": f"Constraint {at}"} | one for at, one in enumerate(checks)]
    copied = copy(tree, into)
    (copied / "constraints").mkdir(exist_ok=True)
    whole = {"version": 1, "constraints": stated}
    (copied / "constraints" / "fifty.yaml").write_text(json.dumps(whole), encoding="utf-8")
    return copied
