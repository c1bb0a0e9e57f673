"""The fifty constraints of the benchmark are in force where they are put."""

from __future__ import annotations

from pathlib import Path

from benchmarks.constraints import FIFTY, constrained
from shardlint.knowledge.files import read_knowledge


def test_a_copy_of_a_tree_has_fifty_constraints(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "train.py").write_text("x = 1\n", encoding="utf-8")

    copied = constrained(tmp_path / "tree", tmp_path / "copy")

    known = read_knowledge(str(copied), ())
    assert (copied / "train.py").read_text(encoding="utf-8") == "x = 1\n"
    assert (len(known.constraints), known.problems) == (FIFTY, [])
