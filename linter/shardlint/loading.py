"""A row of plain values -> the rule. Apart from `registry`: a run can do without its look at installed packs."""

from __future__ import annotations

import importlib
from typing import Any

from shardlint.finding import Evidence, Fix
from shardlint.rule import Rule
from shardlint.voice import Voice

Row = dict[str, Any]
"""name, family, pack, module, kind, severity, since, evidence, confidence, fix, preview; from its query: needs, words
of effects, documents, all_documents, suffixes, generated, keys; of the project's constraints: where (the expressions of
paths that it holds in and of those that it does not; None for everywhere), constraint (`knowledge.rows.as_plain`; None
for a rule of a pack), enforces (of a rule of a pack: the constraints that leave their check to it)."""


def make(row: Row) -> Rule:
    """The rule of a row, with its voice; a constraint is no rule class, see `knowledge.rules`."""
    module = importlib.import_module(row["module"])
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == module.__name__
    ]
    fix = None if row["fix"] is None else Fix(row["fix"][0], row["fix"][1])
    kind, references = row["evidence"]
    voice = Voice(
        row["name"], row["family"], row["severity"], Evidence(kind, tuple(references)), row["confidence"], fix
    )
    return found[0](voice)
