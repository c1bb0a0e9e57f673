"""Renamed state dict keys, and where a mapping of the old ones is looked for."""

from __future__ import annotations

import pytest

from shardlint.changes.key_renames import key_renames
from shardlint.changes.memory import memory_change_set

MODEL = "from torch import nn\nclass M(nn.Module):\n    def __init__(self, n):\n        self.{} = nn.Linear(n, n)\n"
MAPPING = 'RENAMES = {"wq": "q_proj"}\n'


def renames(path: str = "pkg/models/a/model.py", before: str = "", after: str = "", **others: str) -> list[str]:
    """Renamed keys of a model file in which `wq` becomes `q_proj`, beside files `pkg__x` (``pkg/x.py``)."""
    files = {name.replace("__", "/") + ".py": text for name, text in others.items()}
    old, new = before or MODEL.format("wq"), after or MODEL.format("q_proj")
    changes = memory_change_set({path: old, **files}, {path: new, **files})
    return [f"{one.old} -> {one.new}" for one in key_renames(changes.changes[0], changes)]


def test_a_rename_is_found_in_a_module_and_nowhere_else() -> None:
    assert renames() == ["wq -> q_proj"]
    plain = "class M:\n    def __init__(self, n):\n        self.{} = Linear(n, n)\n"
    assert renames(before=plain.format("wq"), after=plain.format("q_proj")) == []
    assert renames(path="notes.txt") == []


def test_a_state_that_does_not_parse_is_silent() -> None:
    assert renames(after="class M(:\n") == []


@pytest.mark.parametrize("place", ["pkg__models__a__load", "pkg__checkpoint__convert", "pkg__loader", "pkg__models__x"])
def test_a_mapping_in_the_package_counts(place: str) -> None:
    assert renames(**{place: MAPPING}) == []


def test_a_mapping_of_another_model_or_package_or_in_tests_does_not_count() -> None:
    assert renames(pkg__models__b__model="", pkg__models__b__convert=MAPPING) == ["wq -> q_proj"]
    assert renames(other__load=MAPPING) == ["wq -> q_proj"]
    assert renames(pkg__tests__test_load=MAPPING) == ["wq -> q_proj"]


def test_names_that_stand_far_apart_in_one_table_are_no_mapping() -> None:
    far = "RENAMES = {\n    'a.wq': 'b',\n" + "    'a.x': 'b',\n" * 20 + "    'c': 'q_proj',\n}\n"
    assert renames(pkg__load=far) == ["wq -> q_proj"]


def test_an_index_is_looked_for_by_the_name_before_it() -> None:
    body = MODEL.replace("self.{} = nn.Linear(n, n)", "self.net = nn.Sequential({}nn.Linear(n, n))")
    before, after = body.format(""), body.format("nn.Dropout(), ")
    assert renames(before=before, after=after) == ["net.0 -> net.1"]
    assert renames(before=before, after=after, pkg__load='RENAMES = {"net.0": "net.1"}\n') == []
