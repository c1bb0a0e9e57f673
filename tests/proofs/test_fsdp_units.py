"""Proof of the rules about units: torch refuses the wrap lists that they report, and takes all others.

A rank wraps tiny models in a group of eight fake ones, makes a step, and says what the model was and what torch
raised. The rules judge the same wrap lists by the facts alone.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from shardlint.loading import make
from shardlint.plan_run import judge_plan
from shardlint.registry import load_rows
from shardlint.rule import PlanRule
from shardlint.runtime.model_facts import ModelFacts
from shardlint.runtime.plan_text import parse_plan

from .ranks import Ranks

FAKE = """
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.testing._internal.distributed.fake_pg import FakeStore

dist.destroy_process_group()
dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=8)
mesh = dist.init_device_mesh("cpu", (8,))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.out, self.drop = nn.Linear(8, 8), nn.Linear(8, 8), nn.Dropout(0.0)

    def forward(self, x):
        x = self.drop(self.fc(x.to(self.fc.weight.dtype)))
        return self.out(x.to(self.out.weight.dtype))


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16, 8)
        self.layers = nn.ModuleList(Block() for _ in range(2))
        self.pair = Pair()
        self.head = nn.Linear(8, 16, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.pair.inner(x)).sum()


def tie(model):
    model.head.weight = model.embed.weight


def scalar(model):
    model.layers[1].scale = nn.Parameter(torch.tensor(1.0))


def lower(model):
    model.layers[0].fc.bfloat16()


def lower_frozen(model):
    model.layers[0].fc.bfloat16().requires_grad_(False)


def share(model):
    model.layers[1].fc = model.layers[0].fc


def facts(model):
    first, parameters, seen, modules = {}, [], {}, []
    for name, tensor in model.named_parameters(remove_duplicate=False):
        known = first.setdefault(id(tensor), name)
        fact = {"name": name, "shape": list(tensor.shape), "dtype": str(tensor.dtype)[6:]}
        fact |= {"trainable": tensor.requires_grad, "tied_to": None if known == name else known}
        parameters.append(fact)
    for name, module in model.named_modules(remove_duplicate=False):
        known = seen.setdefault(id(module), name)
        fact = {"name": name, "class": type(module).__name__, "same_as": None if known == name else known}
        modules.append(fact | {"runs": type(module).forward is not nn.Module.forward})
    return {"version": 1, "parameters": parameters, "modules": modules}


def wrap(model, units):
    for unit in units if "" in units else [*units, ""]:
        parts = [model.get_submodule(part) for part in unit.split(" + ")]
        fully_shard(parts if len(parts) > 1 else parts[0], mesh=mesh)
    model(torch.zeros(1, 4, dtype=torch.long)).backward()


said = []
for change, units in CASES:
    model, error = Reader(), ""
    if change:
        globals()[change](model)
    stated = facts(model)
    try:
        wrap(model, units)
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    said.append([stated, error])

divided = []
for names in (["embed"], ["head"], ["embed", "head"]):
    styles = {"embed": RowwiseParallel(), "head": ColwiseParallel()}
    model = Reader()
    tie(model)
    parallelize_module(model, mesh, {name: styles[name] for name in names})
    kinds = [name for name in styles if isinstance(model.get_submodule(name).weight, DTensor)]
    divided.append([names, kinds, model.head.weight is model.embed.weight])
[said, divided]
"""

ERRORS = {
    "fsdp-unit-order": "TypeError: Invariant encountered: value was None",
    "fsdp-unit-twice": "AssertionError: Each distinct composable distributed API can only be applied to a module once",
    "fsdp-unit-container": "ValueError: fully_shard does not support containers that do not implement forward",
    "fsdp-unit-scalar": "ValueError: fully_shard doesn't support scalar parameters",
    "fsdp-unit-dtype": "AssertionError: FSDP expects uniform original parameter dtype",
    "plan-tied-split": "ValueError: Parameter",
}
MIXED = "RuntimeError: aten.addmm.default got mixed torch.Tensor and DTensor"

LAYERS = ["layers.0", "layers.1"]
FOUR = ["layers.0.fc", "layers.0", "layers.1.drop", "layers.1"]
CASES: list[tuple[str, list[str], str, str]] = [
    ("", LAYERS, "", ""),
    ("", ["layers.0.fc", *LAYERS], "", ""),
    ("", [*LAYERS, "layers.0.drop"], "", ""),
    ("", ["embed", *LAYERS, "head"], "", ""),
    ("", ["pair.inner", *LAYERS], "", ""),
    ("", ["pair.inner", "pair"], "", ""),
    ("", [*LAYERS, "layers.0.fc"], "fsdp-unit-order", ""),
    ("", ["", *LAYERS], "fsdp-unit-order", ""),
    ("", [*LAYERS, "layers.1"], "fsdp-unit-twice", ""),
    ("", ["embed + head", "head"], "fsdp-unit-twice", ""),
    ("", ["layers"], "fsdp-unit-container", ""),
    ("", [*LAYERS, "layers"], "fsdp-unit-container", ""),
    ("", ["pair"], "fsdp-unit-container", MIXED),
    ("scalar", LAYERS, "fsdp-unit-scalar", ""),
    ("scalar", [""], "fsdp-unit-scalar", ""),
    ("lower", LAYERS, "fsdp-unit-dtype", ""),
    ("lower", ["layers.0.fc", *LAYERS], "", ""),
    ("lower_frozen", LAYERS, "", ""),
    ("tie", LAYERS, "", ""),
    ("tie", [*LAYERS, "embed + head"], "", ""),
    ("tie", [*LAYERS, "embed"], "plan-tied-split", ""),
    ("tie", [*LAYERS, "head"], "plan-tied-split", ""),
    ("tie", ["embed", "head"], "plan-tied-split", ""),
    ("share", ["layers.0.fc", *LAYERS], "", ""),
    ("share", LAYERS, "plan-tied-split", ERRORS["fsdp-unit-order"]),
    *(
        ("", list(units), "fsdp-unit-order" if units.index(FOUR[1]) < units.index(FOUR[0]) else "", "")
        for units in permutations(FOUR)
    ),
]
RULES = [rule for row in load_rows()[0] if row["name"] in ERRORS and isinstance(rule := make(row), PlanRule)]


@pytest.fixture(scope="module")
def live(ranks: Ranks) -> tuple[list[Any], list[Any]]:
    """What torch says to every case, and what plans for tensor parallelism make of tied weights."""
    cases = [[change, units] for change, units, _, _ in CASES]
    (said, divided), _ = ranks.values(f"CASES = {cases!r}", FAKE)
    return said, divided


@pytest.mark.proves(
    "fsdp-unit-order",
    "fsdp-unit-twice",
    "fsdp-unit-container",
    "fsdp-unit-scalar",
    "fsdp-unit-dtype",
    "plan-tied-split",
)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_torch_refuses_what_a_rule_reports_and_nothing_else(live: tuple[list[Any], list[Any]], number: int) -> None:
    _, units, rule, other = CASES[number]
    facts, error = live[0][number]
    assert error.startswith(other or ERRORS.get(rule, "")) if rule else error == ""
    text = "\n".join(("matcher: torch", *(f"unit {unit or chr(34) * 2}" for unit in units)))
    findings = judge_plan(RULES, parse_plan(text, ModelFacts.from_json(facts), {}, "plan"))
    assert rule in {finding.rule for finding in findings} if rule else findings == []


@pytest.mark.proves("plan-tied-split")
def test_a_plan_for_tensor_parallelism_unties_what_it_divides(live: tuple[list[Any], list[Any]]) -> None:
    assert len(live[1]) == 3
    for asked, divided, tied in live[1]:
        assert (divided, tied) == (asked, False)


MIXTURE = """
from torch.distributed.fsdp import fully_shard

class Experts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((4, 2), float(rank)))  # each rank has other experts

    def forward(self, x):
        gathered.extend(self.weight.detach()[:, 0].tolist())
        return (x * self.weight).sum()

gathered = []
fully_shard(Experts(), mesh=dist.init_device_mesh("cpu", (2,)))(torch.ones(2)).backward()
gathered
"""


@pytest.mark.proves("fsdp-no-shard-set")
def test_experts_that_an_ordinary_unit_takes_are_gathered_as_a_mixture(ranks: Ranks) -> None:
    assert ranks.values(MIXTURE) == [[0, 0, 1, 1]] * 2
