"""Rows of rules, and how sure a rule may be. How broken packs are refused is in test_packs.py."""

from __future__ import annotations

import marshal
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from shardlint.errors import PackError
from shardlint.loading import make
from shardlint.registry import describe, load_pack, load_rows, pack_rules, sources
from shardlint.rule import KINDS
from shardlint.voice import CEILINGS


def test_rows_are_sorted_and_can_be_marshalled() -> None:
    rows, folders = load_rows()

    assert [row["name"] for row in rows] == sorted(row["name"] for row in rows)
    assert marshal.loads(marshal.dumps(rows)) == rows
    assert all(Path(folder).is_dir() for folder in folders)


def test_no_rule_is_surer_than_its_evidence_allows() -> None:
    assert all(0 <= row["confidence"] <= CEILINGS[row["evidence"][0]] for row in load_rows()[0])


def test_a_row_can_be_made_into_its_rule() -> None:
    for row in load_rows()[0]:
        rule = make(row)
        assert isinstance(rule, KINDS)
        assert (rule.voice.rule, rule.voice.family, rule.kind) == (row["name"], row["family"], row["kind"])


def test_an_entry_point_that_is_no_package_is_refused() -> None:
    with pytest.raises(PackError, match=r"`json\.decoder` is no package"):
        load_pack(EntryPoint("wrong", "json.decoder", "shardlint.rules"))


@pytest.mark.parametrize(
    ("counts", "confidence"),
    [
        ("", 0.76),
        ("[probe-load]\ntrue = 9\n", 0.76),
        ("[probe-load]\ntrue = 10\n", 0.95),
        ("[probe-load]\ntrue = 12\nfalse = 5\ndebatable = 3\n", 0.6),
        ("[another-rule]\ntrue = 100\n", 0.76),
    ],
)
def test_confidence_is_the_ceiling_lowered_by_the_measured_precision(
    pack: Path, monkeypatch: pytest.MonkeyPatch, counts: str, confidence: float
) -> None:
    (pack / "probe_rules" / "tables").mkdir()
    (pack / "probe_rules" / "tables" / "precision.toml").write_text(counts)
    monkeypatch.setattr(sys, "path", [str(pack), *sys.path])
    try:
        rows, folder = load_pack(EntryPoint("probe", "probe_rules", "shardlint.rules"))
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "probe_rules"]:
            del sys.modules[name]

    assert {row["name"]: row["confidence"] for row in rows}["probe-load"] == confidence
    assert str(pack / "probe_rules" / "tables" / "precision.toml") in sources([folder])


def test_private_modules_of_a_pack_are_no_rules() -> None:
    import shardlint_rules

    names = {rule.__module__.rpartition(".")[2] for rule in pack_rules(shardlint_rules, "builtin")}

    assert names
    assert not any(name.startswith("_") for name in names)


def test_the_family_is_the_folder_and_the_name_the_file() -> None:
    from shardlint_rules.checkpoint.rank_guarded_checkpoint import RankGuardedCheckpoint

    row = describe(RankGuardedCheckpoint, "builtin")

    assert (row["name"], row["family"], row["pack"]) == ("rank-guarded-checkpoint", "checkpoint", "builtin")
    assert row["module"] == "shardlint_rules.checkpoint.rank_guarded_checkpoint"
