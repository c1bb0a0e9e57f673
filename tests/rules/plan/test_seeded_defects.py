"""Every seeded defect of a plan is found once, under its own name; healthy plans are silent.

The models are real ones, under `tests/runtime/models`: their facts (`NAME.facts`, written by `dump_facts.py`) and a
healthy plan for each framework that has one (`NAME.FORM.plan`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shardlint.finding import Finding
from shardlint.loading import make
from shardlint.plan_run import judge_plan
from shardlint.registry import load_rows
from shardlint.rule import PlanRule
from shardlint.runtime.facts_text import parse_facts
from shardlint.runtime.plan_text import parse_mesh, parse_plan

MODELS = Path(__file__).parents[2] / "runtime" / "models"
PLANS = sorted(path.name.removesuffix(".plan") for path in MODELS.glob("*.plan"))
MESH = {"hf": "tp=4 ep=4", "torch": "tp=8", "veomni": "ep=4 ep_fsdp=8"}
RULES = (
    "plan-composed-divide",
    "plan-dim-divide",
    "plan-dim-range",
    "plan-expert-uncovered",
    "plan-heads-divide",
    "plan-layer-uncovered",
    "plan-rule-dead",
    "plan-rule-overlap",
    "plan-rule-prefix",
    "plan-rule-too-wide",
    "plan-style-unknown",
)

EXPERTS = "model.layers.*.mlp.experts."
Seed = tuple[str, str, str, str, str]
PATTERNS: list[Seed] = [
    # the rule, the plan, what is replaced in it, by what, and the mesh if it is another one
    ("plan-rule-dead", "llama.hf", "self_attn.o_proj", "self_atn.o_proj", ""),
    ("plan-rule-dead", "llama.torch", "mlp.down_proj", "mlp.down_porj", ""),
    ("plan-rule-dead", "mixtral.hf", "layers.*.self_attn.q_proj", "layers.0.self_attn.q_proj", ""),
    ("plan-rule-dead", "qwen3_moe.veomni", "experts.down_proj", "expert.down_proj", ""),
    ("plan-rule-dead", "gpt_oss.veomni", "experts.gate_up_proj_bias", "experts.gate_up_proj_bais", ""),
    ("plan-rule-dead", "titan.torch", "feed_forward.w2", "feed_forward.w22", ""),
    ("plan-rule-dead", "titan.torch", "attention.wo", "attention.wo.weight", ""),
    ("plan-rule-prefix", "llama.torch", "model.", "", ""),
    ("plan-rule-prefix", "llama.hf", "model.", "module.model.", ""),
    ("plan-rule-prefix", "titan.torch", "layers.", "model.layers.", ""),
    ("plan-rule-prefix", "qwen3_moe.veomni", "model.", "base_model.model.model.", ""),
    ("plan-rule-prefix", "qwen3_vl_moe.veomni", "model.language_model.", "model.", ""),
    ("plan-rule-prefix", "qwen3_vl_moe.torch", "model.language_model.", "language_model.model.", ""),
    ("plan-rule-prefix", "deepseek_v3.veomni", "model.", "_orig_mod.model.", ""),
    ("plan-rule-overlap", "mixtral.veomni", "matcher: veomni", "matcher: veomni\n*.experts.*: Shard(1)", ""),
    ("plan-rule-overlap", "titan.torch", "attention.w[qkv]", "attention.w[qkvo]", ""),
    ("plan-rule-overlap", "llama.torch", "mlp.gate_proj", "mlp.*_proj", ""),
    ("plan-rule-too-wide", "mixtral.veomni", "matcher: veomni", "matcher: veomni\nmodel.*.weight: Shard(0)", ""),
    ("plan-style-unknown", "deepseek_v3.hf", "gate_up_proj: packed_colwise", "gate_up_proj: colwise_packed", ""),
    ("plan-style-unknown", "gpt_oss.hf", "ep_dispatch_experts", "ep_dispatch", ""),
    ("plan-style-unknown", "llama.hf", "o_proj: rowwise", "o_proj: RowwiseParallel", ""),
    ("plan-style-unknown", "qwen3_moe.veomni", "down_proj: Shard(0)", "down_proj: Replicate()", ""),
    ("plan-expert-uncovered", "qwen3_moe.veomni", f"{EXPERTS}down_proj: Shard(0)\n", "", ""),
    ("plan-expert-uncovered", "gpt_oss.veomni", f"{EXPERTS}down_proj_bias: Shard(0)\n", "", ""),
    ("plan-expert-uncovered", "gpt_oss.hf", f"{EXPERTS}gate_up_proj_bias: grouped_gemm on ep\n", "", ""),
    ("plan-expert-uncovered", "mixtral.hf", f"{EXPERTS}down_proj: grouped_gemm on ep\n", "", ""),
    ("plan-expert-uncovered", "deepseek_v3.hf", f"{EXPERTS}gate_up_proj: grouped_gemm on ep\n", "", ""),
    ("plan-layer-uncovered", "qwen3_moe.veomni", f"{EXPERTS}down_proj", "model.layers.1*.mlp.experts.down_proj", ""),
    ("plan-layer-uncovered", "titan.torch", "layers.*.feed_forward.w2", "layers.?.feed_forward.w2", ""),
    ("plan-layer-uncovered", "llama.torch", "layers.*.mlp.up_proj", "layers.[12]*.mlp.up_proj", ""),
    (
        "plan-layer-uncovered",
        "deepseek_v3.veomni",
        f"{EXPERTS}gate_up_proj",
        "model.layers.4*.mlp.experts.gate_up_proj",
        "",
    ),
    ("plan-dim-range", "mixtral.veomni", "down_proj: Shard(0)", "down_proj: Shard(3)", ""),
    ("plan-dim-range", "gpt_oss.veomni", "down_proj_bias: Shard(0)", "down_proj_bias: Shard(2)", ""),
    ("plan-dim-range", "glm4_moe.veomni", "matcher: veomni", "matcher: veomni\n*.input_layernorm.weight: Shard(1)", ""),
    ("plan-dim-divide", "qwen3_moe.veomni", "", "", "ep=24"),
    ("plan-dim-divide", "qwen3_vl_moe.hf", "", "", "ep=8"),
    ("plan-dim-divide", "qwen3_vl_moe.veomni", "", "", "ep=16"),
    ("plan-dim-divide", "mixtral.hf", "", "", "ep=16 tp=2"),
    ("plan-dim-divide", "deepseek_v3.hf", "", "", "tp=3 ep=2"),
    ("plan-heads-divide", "mixtral.hf", "", "", "tp=16 ep=4"),
    ("plan-heads-divide", "titan.torch", "", "", "tp=16"),
    ("plan-heads-divide", "qwen3_moe.hf", "", "", "tp=8 ep=4"),
    ("plan-heads-divide", "qwen3_vl_moe.torch", "", "", "tp=32"),
    ("plan-heads-divide", "glm4_moe.hf", "", "", "tp=16 ep=4"),
    ("plan-composed-divide", "qwen3_moe.veomni", "", "", "ep=4 ep_fsdp=48"),
    ("plan-composed-divide", "gpt_oss.veomni", "down_proj: Shard(0)", "down_proj: Shard(1)", "ep=64 ep_fsdp=30"),
]


def findings(plan: str, old: str, new: str, mesh: str, *on_purpose: str) -> list[Finding]:
    """The findings of the static rules on a plan with a change, when some parameters are left whole on purpose."""
    model, form = plan.split(".")
    text = (MODELS / f"{plan}.plan").read_text(encoding="utf-8")
    assert old in text
    facts = parse_facts((MODELS / f"{model}.facts").read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in load_rows()[0] if row["name"] in RULES}
    rules = [rule for name in RULES if isinstance(rule := make(rows[name]), PlanRule)]
    changed = text.replace(old, new) if old else text
    written = parse_plan(changed, facts, parse_mesh(mesh or MESH[form]), "plan")
    return judge_plan(rules, replace(written, uncovered_ok=on_purpose))


@pytest.mark.parametrize(("rule", "plan", "old", "new", "mesh"), PATTERNS)
def test_a_seeded_defect_is_found_once_and_under_its_name(rule: str, plan: str, old: str, new: str, mesh: str) -> None:
    found = findings(plan, old, new, mesh)
    assert [finding.rule for finding in found] == [rule], [finding.message for finding in found]


@pytest.mark.parametrize("plan", PLANS)
def test_a_healthy_plan_is_silent(plan: str) -> None:
    assert findings(plan, "", "", "") == []


@pytest.mark.parametrize(("rule", "plan", "old", "new", "mesh"), PATTERNS)
def test_what_is_left_whole_on_purpose_is_not_missed(rule: str, plan: str, old: str, new: str, mesh: str) -> None:
    found = [finding.rule for finding in findings(plan, old, new, mesh, "*")]
    assert found == ([] if rule in ("plan-expert-uncovered", "plan-layer-uncovered") else [rule])


def test_a_message_names_the_cause_and_what_it_costs() -> None:
    (found,) = findings("deepseek_v3.veomni", f"{EXPERTS}down_proj: Shard(0)\n", "", "ep=64")
    assert "`model.layers.*.mlp.experts.down_proj` has a row for each of 256 experts" in found.message
    assert "+399.66 GiB on each rank" in found.message
    assert found.help == "add a pattern for `model.layers.*.mlp.experts.down_proj` with `Shard(0)`"
    assert (found.path, found.span.line, found.span.column) == ("plan", 2, 1)


def test_seeds_cover_each_rule_and_each_form() -> None:
    assert {rule for rule, *_ in PATTERNS} == set(RULES)
    assert {plan.split(".")[1] for _rule, plan, *_ in PATTERNS} == set(MESH)
    assert len({plan.split(".")[0] for _rule, plan, *_ in PATTERNS}) >= 6
