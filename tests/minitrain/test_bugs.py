"""examples/minitrain is clean, and each of its bugs is found, by its rule alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from shardlint.registry import load_rows

from .copies import PATCHES, Copy

HAS_TORCH = importlib.util.find_spec("torch") is not None


def test_minitrain_is_clean_and_all_of_it_is_judged(copy: Copy) -> None:
    done = copy.shardlint("check", "--show-unknown", "--fail-on", "note")
    assert done.returncode == 0, done.stdout
    assert "not judged" not in done.stdout


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_each_bug_is_found_by_its_rule_alone(patch: Path, copy: Copy) -> None:
    copy.apply(patch.stem)
    command = "check"
    if patch.stem.startswith("plan-"):
        if not HAS_TORCH:
            pytest.skip("`shardlint plan` builds the model, with torch")
        command = "plan"
    assert [finding["rule"] for finding in copy.findings(command)] == [patch.stem]


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_each_bug_is_named_after_a_rule_and_says_what_happens(patch: Path) -> None:
    story = patch.read_text(encoding="utf-8").partition("\n--- ")[0].strip()
    assert len(story.split()) > 20
    assert "\n\n" not in story
    assert patch.stem in {row["name"] for row in load_rows()[0]}
