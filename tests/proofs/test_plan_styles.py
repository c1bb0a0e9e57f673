"""Proof of the rules about styles: torch fails with the plans that they report, and runs the others.

A rank applies each plan to a tiny model on the meta device, in a group of four fake ones, calls the model, and says
what torch raised. The rules judge the same plans by the facts alone.
"""

from __future__ import annotations

import re

import pytest

from shardlint.loading import make
from shardlint.plan_run import judge_plan
from shardlint.registry import load_rows
from shardlint.rule import PlanRule
from shardlint.runtime.facts_text import parse_facts
from shardlint.runtime.plan_text import parse_plan

from .ranks import Ranks

FAKE = """
from torch import nn
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
from torch.testing._internal.distributed.fake_pg import FakeStore

dist.destroy_process_group()
dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
mesh = dist.init_device_mesh("cpu", (4,))
styles = {"ColwiseParallel": ColwiseParallel, "RowwiseParallel": RowwiseParallel, "SequenceParallel": SequenceParallel}


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.w1, self.w2 = nn.Linear(8, 8), nn.Linear(8, 10), nn.Linear(10, 8)

    def forward(self, x):
        heads = self.q_proj(x)
        heads.view(*heads.shape[:-1], -1, 4)
        return self.w2(self.w1(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.output = nn.Embedding(10, 8), nn.Linear(8, 10)
        self.layers = nn.ModuleList([Layer()])

    def forward(self, x):
        return self.output(self.layers[0](self.embed(x)))


raised = {}
for name, plan in PLANS.items():
    with torch.device("meta"):
        model = Model()
        tokens = torch.zeros(2, 3, dtype=torch.long)
    try:
        made = {pattern: eval(style, {**styles, "Replicate": Replicate}) for pattern, style in plan}
        model = parallelize_module(model, mesh, {p: s if not isinstance(s, type) else s() for p, s in made.items()})
        model(tokens)
        raised[name] = ""
    except Exception as error:
        raised[name] = str(error)
raised
"""

FACTS = """
    embed.weight                 [10, 8]  fp32
    layers.0.q_proj.weight       [8, 8]   fp32
    layers.0.q_proj.bias         [8]      fp32
    layers.0.w1.weight           [10, 8]  fp32
    layers.0.w1.bias             [10]     fp32
    layers.0.w2.weight           [8, 10]  fp32
    layers.0.w2.bias             [8]      fp32
    output.weight                [10, 8]  fp32
    module embed Embedding
    module layers.0.{q_proj,w1,w2} Linear
    config num_attention_heads = 2
    config hidden_size = 8
"""
PLANS: dict[str, list[tuple[str, str]]] = {
    "uneven pair": [("layers.*.w1", "ColwiseParallel"), ("layers.*.w2", "RowwiseParallel")],
    "one module twice": [("layers.*.w1", "ColwiseParallel()"), ("layers.0.w*", "RowwiseParallel")],
    "half a head": [("layers.*.q_proj", "ColwiseParallel")],
    "uneven embedding and output": [
        ("embed", "RowwiseParallel(input_layouts=Replicate())"),
        ("output", "ColwiseParallel(output_layouts=Replicate())"),
    ],
    "an output that is gathered": [("layers.*.w1", "ColwiseParallel(output_layouts=Replicate())")],
}
FAULTS = {
    "uneven pair": ("plan-dim-divide", "same reduction dim"),
    "one module twice": ("plan-rule-overlap", "only be called once"),
    "half a head": ("plan-heads-divide", "invalid for input of size|Cannot view|divisible|unflatten"),
}


@pytest.fixture(scope="module")
def raised(ranks: Ranks) -> dict[str, str]:
    """What torch raised for each plan; an empty text where it ran."""
    said: dict[str, str] = ranks.values(f"PLANS = {PLANS!r}", FAKE)[0]
    return said


@pytest.mark.proves("plan-dim-divide", "plan-rule-overlap", "plan-heads-divide")
@pytest.mark.parametrize("name", PLANS)
def test_torch_fails_where_a_rule_reports(name: str, raised: dict[str, str]) -> None:
    text = "\n".join(("matcher: torch", *(f"{pattern}: {style}" for pattern, style in PLANS[name])))
    rules = [rule for row in load_rows()[0] if isinstance(rule := make(row), PlanRule)]
    found = {finding.rule for finding in judge_plan(rules, parse_plan(text, parse_facts(FACTS), {"tp": 4}, "plan"))}
    if name not in FAULTS:
        assert (raised[name], found) == ("", set())
        return
    wanted, error = FAULTS[name]
    assert re.search(error, raised[name]), raised[name]
    assert wanted in found
