"""How often a rule was right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from corpus.counts import Counts, counted, counted_commits, histories, judged_elsewhere, together
from corpus.sources import CorpusError
from corpus.tables import Evidence


def test_a_finding_in_a_repository_and_its_distribution_counts_once(known: Evidence) -> None:
    assert counted(known.packages, known.labels, shown=True) == {"bad-load": Counts(10, 0, 1), "rare": Counts(1, 0, 0)}


def test_without_the_link_between_them_it_counts_twice(known: Evidence) -> None:
    alone = [package._replace(distribution="") for package in known.packages]

    assert counted(alone, known.labels, shown=True)["bad-load"] == Counts(11, 0, 1)


def test_what_is_hidden_is_no_part_of_the_precision(known: Evidence) -> None:
    assert counted(known.packages, known.labels, shown=False) == {"bad-load": Counts(0, 1, 0)}


def test_what_a_rule_says_of_one_commit_counts_once(known: Evidence) -> None:
    assert counted_commits(known.histories) == {"renamed": Counts(2, 0, 0)}


def test_a_debatable_finding_is_not_true() -> None:
    counts = Counts(9, 0, 1)

    assert counts.precision == 0.9
    assert round(counts.at_least, 3) == 0.596
    assert counts.proved
    assert not Counts(9, 0, 0).proved


def test_sums_keep_every_rule() -> None:
    assert together({"a": Counts(1, 2, 3)}, {"b": Counts(1, 0, 0), "a": Counts(1, 0, 0)}) == {
        "a": Counts(2, 2, 3),
        "b": Counts(1, 0, 0),
    }


def test_a_judgement_elsewhere_without_a_source_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.toml"
    file.write_text('[some-rule]\ntrue = 1\nfalse = 0\ndebatable = 0\nsource = " "\n', encoding="utf-8")

    with pytest.raises(CorpusError, match=re.escape("elsewhere.toml: the entry some-rule must have")):
        judged_elsewhere(file)


def test_the_histories_here_are_read() -> None:
    found = {history.repository: history for history in histories()}

    assert {"ByteDance-Seed/VeOmni", "pytorch/torchtitan"} <= found.keys()
    assert all(verdict in ("true", "false", "debatable") for each in found.values() for _, _, verdict in each.findings)
