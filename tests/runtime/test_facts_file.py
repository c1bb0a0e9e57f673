"""Facts and plan that are exported and read elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardlint.errors import PlanError
from shardlint.runtime.collected import AppliedParameter, AppliedUnit, Collected, ReadPlan, Wrap
from shardlint.runtime.facts_file import read_facts, write_facts
from shardlint.runtime.model_facts import Buffer, ModelFacts, Module, Parameter
from shardlint.runtime.plan import Entry

FACTS = ModelFacts(
    [
        Parameter("embed.weight", (8, 4), "bfloat16"),
        Parameter("head.weight", (8, 4), "bfloat16", False, "embed.weight"),
    ],
    [Module("layers", "ModuleList", runs=False)],
    [Buffer("rope", (4,), "float32", False)],
    config={"heads": 4, "rope": None, "sizes": [1, 2], "scale": 0.5},
    styles=["colwise"],
    no_split=["Block"],
    model_types=["llama"],
    class_name="Net",
    tied_keys={"head.weight": "embed.weight", "other": None},
    packages={"torch": "2.13.0"},
)
PLAN = ReadPlan(
    "hf",
    (Entry("embed", "colwise", "tp", 3, 5, "train.py"), Entry("head", "rowwise", "tp", 1, 1, "train.py")),
    frozenset({"embed"}),
    (Wrap("Block", "train.py", 9, 2, True),),
    (AppliedParameter("w", (8, 4), {"tp": "Shard(0)"}, (4, 4)), AppliedParameter("b", (8,), {}, None)),
    (AppliedUnit("", "Net", ("w", "b")),),
)


@pytest.mark.parametrize("plan", [None, PLAN, ReadPlan()])
def test_what_is_written_is_read_back(tmp_path: Path, plan: ReadPlan | None) -> None:
    path = str(tmp_path / "facts.json")
    write_facts(Collected(FACTS, plan, ("slow",), "meta"), path)
    got = read_facts(path)
    assert got.facts == FACTS
    assert got.facts.packages == {"torch": "2.13.0"}
    assert got.plan == plan


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is broken JSON"),
        ("[]", "is not of type 'object'"),
        ('{"version": 1, "parameters": [], "plan": {"entries": [{}]}}', r"\$\.plan\.entries\[0\]"),
        ('{"version": 1, "parameters": [], "config": {"a": {}}}', r"\$\.config\.a"),
    ],
)
def test_a_file_that_is_no_facts_is_refused(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "facts.json"
    path.write_text(content)
    with pytest.raises(PlanError, match=said):
        read_facts(str(path))


def test_a_missing_file_and_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"facts\.json is no file"):
        read_facts(str(tmp_path / "facts.json"))
    with pytest.raises(PlanError, match="cannot be written"):
        write_facts(Collected(FACTS), str(tmp_path / "nowhere" / "facts.json"))
