"""Strings in the rest of a project that named a renamed key."""

from __future__ import annotations

import pytest

from shardlint.changes.memory import memory_change_set
from shardlint.changes.stale_patterns import stale_patterns

MODEL = """
from torch import nn
class Attention(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.wq = nn.Linear(n, n)
        self.wv = nn.Linear(n, n)
class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.attention = Attention(n)
"""
PLAN = "tp_plan = {'attention.KEY': 'colwise', 'attention.wv': 'colwise'}\n"


def stale(key: str = "wq", new: str = "query_in", **others: str) -> list[str]:
    """Stale strings after a rename of `wq` in ``m/model.py``, beside files `a__b` (``a/b.py``) or `b_yaml`."""
    files: dict[str, str] = {}
    for name, text in others.items():
        path = name.replace("__", "/")
        files[path[:-5] + ".yaml" if path.endswith("_yaml") else path + ".py"] = text.replace("KEY", key)
    before, after = MODEL.replace("wq", key), MODEL.replace("wq", new)
    changes = memory_change_set({"m/model.py": before, **files}, {"m/model.py": after, **files})
    return [
        f"{one.path}:{one.string.line} {one.string.text} -> {one.renewed}"
        for file in changes.changes
        for one in stale_patterns(file, changes)
    ]


def test_a_plan_beside_the_model_is_stale() -> None:
    assert stale(m__shard=PLAN) == ["m/shard.py:1 attention.wq -> attention.query_in"]


def test_a_plan_anywhere_is_stale_if_no_other_model_has_the_name() -> None:
    assert stale(far__plan=PLAN) == ["far/plan.py:1 attention.wq -> attention.query_in"]
    assert stale(far__plan=PLAN, other__net="class A:\n    def f(self):\n        self.wq = 1\n") == []


@pytest.mark.parametrize(
    "other",
    [
        "def f(m):\n    m.wq = nn.Linear(1, 1)\n",
        "class C:\n    def f(self):\n        return self.wq\n",
        "m.add_module('wq', x)\n",
        "for name in ('wq', 'wv'):\n    setattr(self, name, x)\n",
        "setattr(m, f'w{kind}', x)\n",
        "nn.ModuleDict({'wq': x})\n",
    ],
)
def test_a_name_that_some_class_still_has_is_not_followed(other: str) -> None:
    assert stale(shard=PLAN, net=other) == []
    assert stale(m__shard=PLAN, m__net=other) == []


def test_an_argument_of_that_name_and_a_value_that_is_replaced_are_no_attribute() -> None:
    assert stale(m__shard=PLAN, m__net="def f(m):\n    m.wq = None\n") != []
    assert stale(m__shard=PLAN, m__net="def f(\n    wq: int,\n): pass\n") != []


def test_names_of_public_models_need_a_tie() -> None:
    assert stale("q_proj", far__plan=PLAN) == []
    assert stale("q_proj", m__plan=PLAN) != []
    assert stale("q_proj", far__plan="from m.model import Block\n" + PLAN) != []
    assert stale("q_proj", far__plan="# shards Attention\n" + PLAN) != []


def test_a_list_that_names_the_new_key_as_well_is_for_both() -> None:
    assert stale(m__lora="target_modules = ['wq', 'query_in']\n") == []
    assert stale(m__lora="target_modules = ['wq', 'wv']\n") == ["m/lora.py:1 wq -> query_in"]


def test_an_alternative_or_a_part_of_a_name_is_not_the_key() -> None:
    assert stale(m__lora="target_modules = r'.*\\.(wq|wv)'\nno_decay = ['wq_norm']\n") == []
    assert stale(m__lora="target_modules = r'.*\\.wq'\n") == ["m/lora.py:1 .*\\.wq -> .*\\.query_in"]


def test_a_part_that_the_new_name_still_has_matches_on() -> None:
    assert stale(new="wq_in", m__groups="no_decay = ['wq']\n") == []
    assert stale(new="wq_in", m__groups="target_modules = ['wq']\n") == ["m/groups.py:1 wq -> wq_in"]


def test_a_pattern_through_a_module_that_the_project_does_not_make_means_another_model() -> None:
    assert stale(m__shard="tp_plan = {'tower.wq': 'colwise'}\n") == []
    assert stale(m__shard="tp_plan = {'model.attention.wq.weight': 'colwise'}\n") != []


def test_documents_are_searched_and_broken_ones_passed_over() -> None:
    assert stale(lora_yaml="target_modules: [wq]\n") == ["lora.yaml:1 wq -> query_in"]
    assert stale(lora_yaml="target_modules: [wq\n") == []


def test_tests_and_generated_files_are_left_out() -> None:
    assert stale(tests__plan=PLAN) == []
    assert stale(m__plan="# AUTO-GENERATED FILE - DO NOT EDIT\n" + PLAN) == []


def test_models_next_door_do_not_keep_a_name_alive() -> None:
    door = {"m/a/model.py": MODEL, "m/b/model.py": MODEL, "m/a/plan.py": PLAN.replace("KEY", "wq")}
    changes = memory_change_set(door, {**door, "m/a/model.py": MODEL.replace("wq", "query_in")})
    assert [one.path for one in stale_patterns(changes.changes[0], changes)] == ["m/a/plan.py"]

    borrowed = {**door, "m/a/extra.py": "from m.b.model import Attention\n"}
    changes = memory_change_set(borrowed, {**borrowed, "m/a/model.py": MODEL.replace("wq", "query_in")})
    assert list(stale_patterns(changes.changes[0], changes)) == []


def test_the_first_of_two_files_that_rename_the_same_key_reports() -> None:
    both = {"m/a.py": MODEL, "m/b.py": MODEL, "m/plan.py": PLAN.replace("KEY", "wq")}
    now = {**both, "m/a.py": MODEL.replace("wq", "query_in"), "m/b.py": MODEL.replace("wq", "query_in")}
    changes = memory_change_set(both, now)
    assert [one.cause.path for file in changes.changes for one in stale_patterns(file, changes)] == ["m/a.py"]


def test_a_generated_file_reports_after_its_source() -> None:
    header = "# AUTO-GENERATED FILE - DO NOT EDIT\n"
    both = {"m/generated/a.py": header + MODEL, "m/modeling.py": MODEL, "m/plan.py": PLAN.replace("KEY", "wq")}
    now = {path: text.replace("self.wq", "self.query_in") for path, text in both.items()}
    changes = memory_change_set(both, now)
    assert [one.cause.path for file in changes.changes for one in stale_patterns(file, changes)] == ["m/modeling.py"]


def test_a_list_of_classes_is_stale_when_no_code_names_the_class() -> None:
    wrap = {"m/model.py": MODEL, "m/wrap.py": "_no_split_modules = ['Block', 'Other']\n"}
    now = {**wrap, "m/model.py": MODEL.replace("Block", "Layer")}
    changes = memory_change_set(wrap, now)
    assert [(one.string.text, one.renewed) for one in stale_patterns(changes.changes[0], changes)] == [
        ("Block", "Layer")
    ]

    still = {**now, "m/model.py": now["m/model.py"] + "Block = Layer\n"}
    changes = memory_change_set(wrap, still)
    assert list(stale_patterns(changes.changes[0], changes)) == []


def test_a_file_without_a_rename_costs_no_search() -> None:
    changes = memory_change_set({"a.py": "x = 1\n"}, {"a.py": "x = 2\n"})
    assert list(stale_patterns(changes.changes[0], changes)) == []
