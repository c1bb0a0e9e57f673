"""Which calls are collectives, by the table of a rule pack."""

from __future__ import annotations

import ast

import pytest

from shardlint.facts.effects import ANY_GROUP, Effect, Effects
from shardlint.facts.module import Module
from shardlint.facts.trace import trace
from shardlint.parsing import parse

EFFECTS = Effects(
    {
        "all_reduce": {"in": ["torch.distributed", "deepspeed.comm"], "group": 2},
        "torch.distributed.checkpoint.save": {"unless": {"no_dist": True}},
        "torch.distributed.checkpoint.get": {"when": {"options": "full=True"}},
        "torch.distributed.split": {"group": [0, "parent"]},
        "pkg.Tensor.from_local": {"when": {"check": True, "1": True}},
        "pkg.place": {"unless": {"source": "None"}},
        "pkg.state": {"depends": "in some modes"},
        "metrics.*.compute": {},
        "*.full_tensor": {"mesh": True},
        "*.accelerator.gather": {},
    }
)
IMPORTS = (
    "import deepspeed\nimport metrics\nimport pkg\n"
    "import torch.distributed as dist\nimport torch.distributed.checkpoint as dcp\n"
)


def effect(call: str) -> Effect | None:
    """The effect of a call in a function of `x`, `group` and `flag`."""
    tree = parse(f"{IMPORTS}def f(x, group, flag):\n    {call}\n")
    assert not isinstance(tree, SyntaxError)
    function = tree.body[-1]
    assert isinstance(function, ast.FunctionDef)
    steps = trace(Module("main.py", ast.unparse(tree), tree), function, EFFECTS.words)
    found = [EFFECTS.of(step, "main.py") for step in steps if step[0] == "call"]
    return found[-1] if found else None


@pytest.mark.parametrize(
    ("call", "group"),
    [
        ("dist.all_reduce(x)", None),
        ("deepspeed.comm.all_reduce(x)", None),
        ("dist.all_reduce(x, group=None)", None),
        ("dist.all_reduce(x, group=dist.group.WORLD)", None),
        ("dist.all_reduce(x, group=group)", "group"),
        ("dist.all_reduce(x, 'sum', group)", "group"),
        ("dist.all_reduce(x, **flag)", ANY_GROUP),
        ("dist.all_reduce(*flag)", ANY_GROUP),
        ("dist.split(group)", "group"),
        ("dist.split(parent=group)", "group"),
        ("metrics.text.Score().compute()", None),
        ("x.full_tensor()", ANY_GROUP),
        ("x.accelerator.gather(x)", None),
    ],
)
def test_group_of_a_collective(call: str, group: str | None) -> None:
    found = effect(call)
    assert found is not None
    assert found.group == group


@pytest.mark.parametrize(
    "call",
    [
        "x.gather(x)",
        "dcp.save(x, no_dist=True)",
        "dcp.get(x)",
        "dcp.get(x, options=dict(full=False))",
        "dist.get_rank(x)",
        "pkg.Tensor.from_local(x)",
        "pkg.Tensor.from_local(x, False)",
        "pkg.place(x, source=None)",
        "metrics.Score().update()",
        "x.compute()",
    ],
)
def test_call_that_waits_for_nobody_is_no_effect(call: str) -> None:
    assert effect(call) is None


@pytest.mark.parametrize(
    ("call", "is_open"),
    [
        ("dcp.save(x)", False),
        ("dcp.save(x, no_dist=False)", False),
        ("dcp.save(x, no_dist=flag)", True),
        ("dcp.save(x, **flag)", True),
        ("dcp.get(x, options=dict(full=True))", False),
        ("dcp.get(x, options=flag)", True),
        ("dcp.get(x, **flag)", True),
        ("pkg.Tensor.from_local(x, True)", False),
        ("pkg.Tensor.from_local(x, check=flag)", True),
        ("pkg.place(x)", False),
        ("pkg.place(x, source=flag)", True),
        ("pkg.state(x)", True),
        ("(flag or pkg.Tensor).from_local(x, True)", True),
    ],
)
def test_argument_that_decides_and_is_not_known_leaves_it_open(call: str, is_open: bool) -> None:
    found = effect(call)
    assert found is not None
    assert found.open is is_open


def test_calls_meet_in_operation_and_group() -> None:
    world, named = effect("dist.all_reduce(x)"), effect("dist.all_reduce(x, group=group)")
    assert world is not None
    assert named is not None
    assert not world.matches(named)
    assert world.matches(named.in_any_group())
    assert not world.matches(Effect("torch.distributed.barrier", "", None, "", (1, 1, 1, 1), 1.0))


def test_two_tables_make_one() -> None:
    both = EFFECTS | Effects({"save": {"in": ["pkg"]}})
    assert both.own.keys() == EFFECTS.own.keys() | {"pkg.save"}


def test_rule_owns_its_table_and_not_what_lies_beside() -> None:
    both = Effects({"a.b": {}}, beside=EFFECTS)
    found = effect("dist.all_reduce(x)")
    assert found is not None
    assert not both.owns(found)
    assert EFFECTS.owns(found)
    assert both.words == EFFECTS.words | {"b"}


CATALOGUE = {
    "comm": {
        "in": ["torch.distributed", "torch.distributed.c10d"],
        "reference": "https://pytorch.org",
        "calls": {"barrier": {"group": 0}, "*.sync": {}, "wait": {"in": ["torch.distributed"]}},
        "depends": {"destroy": "with NCCL"},
        "local": {"send": "point to point"},
    }
}


def test_section_of_a_catalogue_names_each_call_in_each_package() -> None:
    effects = Effects.catalogue(CATALOGUE)
    assert effects.table == {
        "torch.distributed.barrier": {"group": 0},
        "torch.distributed.c10d.barrier": {"group": 0},
        "*.sync": {},
        "torch.distributed.wait": {},
        "torch.distributed.destroy": {"depends": "with NCCL"},
        "torch.distributed.c10d.destroy": {"depends": "with NCCL"},
    }
    assert effects.local == {"torch.distributed.send", "torch.distributed.c10d.send"}


def test_settings_add_to_a_table_and_take_from_it() -> None:
    effects = Effects.catalogue(CATALOGUE).extended(
        {"my.sync": {"group": 1}, "torch.distributed.wait": {"local": True}}
    )
    assert effects.own["my.sync"] == {"group": 1}
    assert "torch.distributed.wait" not in effects.table
    assert {"torch.distributed.wait", "torch.distributed.send"} <= effects.local
