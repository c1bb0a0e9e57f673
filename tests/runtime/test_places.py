"""Where the patterns of a plan are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shardlint.runtime.runner.places import Places

SOURCE = '''\
OTHER = {"layers.*.up": 1}

def plan():
    ep_plan = {
        "layers.*.up": 1,
        """layers.*.down""": 2,
    }
    ep_plan[r"head"] = 3
    return make(rest={"ü" + "x": 1, "é": "layers.*.value", "tail": 4})

class Model:
    names = ["Block"]
'''


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A file with plans."""
    path = tmp_path / "plan.py"
    path.write_text(SOURCE, encoding="utf-8")
    return str(path)


def text_at(place: dict[str, Any], length: int) -> str:
    line, column = int(place["line"]), int(place["column"])
    return SOURCE.split("\n")[line - 1][column - 1 : column - 1 + length]


@pytest.mark.parametrize("pattern", ["layers.*.down", "head", "tail", "Block", "é"])
def test_a_pattern_is_found_in_its_quotes(file: str, pattern: str) -> None:
    place = Places([file]).of(pattern)
    assert place["spelled"]
    assert text_at(place, len(pattern)) == pattern


def test_of_equal_patterns_that_of_the_owner_wins(file: str) -> None:
    assert Places([file]).of("layers.*.up")["line"] == 1
    assert Places([file], ["plan"]).of("layers.*.up")["line"] == 5


def test_a_merged_pattern_is_found_by_its_longest_end(file: str) -> None:
    place = Places([file]).of("model.layers.*.down")
    assert text_at(place, 13) == "layers.*.down"


def test_a_pattern_that_is_not_spelled_has_the_place_of_what_holds_the_plan(file: str) -> None:
    assert Places([file], ["plan"]).of("layers.*.value") == {"path": file, "line": 3, "column": 1, "spelled": False}
    assert Places([file]).of("nowhere") == {"path": file, "line": 1, "column": 1, "spelled": False}


def test_files_that_cannot_be_read_are_left_out(tmp_path: Path, file: str) -> None:
    broken = tmp_path / "broken.py"
    broken.write_bytes(b"def \xff(")
    assert Places([str(broken), str(tmp_path / "missing.py"), file]).of("head")["path"] == file
