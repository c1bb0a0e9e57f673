"""The matchers agree with the frameworks, name for name.

`matches.json` holds what the frameworks' own code answered, on models built with torch 2.13.0. For VeOmni 0.1.12: its
`check_fqn_match` over `named_parameters()`, as `ParallelPlan.apply` calls it. For torch 2.13.0: `parallelize_module`
with a style that records the modules that it is applied to (of a shared module the table holds the first name). For
Transformers 5.24.0: `_expand_parallel_plan` with all patterns as one plan, and with each alone (`hf_alone`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlint.runtime.matchers import MATCHERS, starred
from shardlint.runtime.model_facts import ModelFacts

TABLES: dict[str, Any] = json.loads(Path(__file__).with_name("matches.json").read_text(encoding="utf-8"))
MODELS = {name: ModelFacts.from_json(model["facts"]) for name, model in TABLES["models"].items()}


def cases() -> list[Any]:
    """One case for each model and table."""
    return [(model, table) for model, made in TABLES["models"].items() for table in made["tables"]]


@pytest.mark.parametrize(("model", "table"), cases())
def test_matches_are_those_of_the_framework(model: str, table: str) -> None:
    facts, expected = MODELS[model], TABLES["models"][model]["tables"][table]
    matcher = MATCHERS[table.removesuffix("_alone")]
    got: dict[str, list[str]] = {}
    for pattern in expected:
        patterns = [pattern] if table == "hf_alone" else list(expected)
        names = matcher.names(pattern, facts, patterns)
        if table == "torch":
            names = tuple({facts.modules[name].same_as or name for name in names})
        got[pattern] = sorted(names)
    assert got == expected


@pytest.mark.parametrize("table", ["veomni", "torch", "hf"])
def test_tables_hold_patterns_of_both_fates(table: str) -> None:
    found = [bool(names) for made in TABLES["models"].values() for names in made["tables"][table].values()]
    assert min(found.count(True), found.count(False)) >= 8


def test_numbers_become_stars_as_in_transformers() -> None:
    assert {name: starred(name) for name in TABLES["starred"]} == TABLES["starred"]


@given(st.text("ab.*", max_size=8), st.text("ab.", max_size=10))
def test_veomni_star_is_any_text(pattern: str, name: str) -> None:
    import re

    wanted = re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), name) is not None
    assert MATCHERS["veomni"].covers(pattern, name) == wanted


@pytest.mark.parametrize("table", ["veomni", "torch", "hf"])
@pytest.mark.parametrize("model", MODELS)
def test_covers_says_of_each_match_that_it_is_one(model: str, table: str) -> None:
    facts, matcher = MODELS[model], MATCHERS[table]
    for pattern in TABLES["models"][model]["tables"][table]:
        for name in matcher.names(pattern, facts, ()):
            by_holder = name.rpartition(".")[0] if table == "hf" and name in facts.parameters else name
            assert matcher.covers(pattern, name) or matcher.covers(pattern, by_holder)
