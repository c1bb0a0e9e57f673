"""Plans for real models: the healthy ones are silent, and each defect that is put into one is found once, at its line.

The facts in `facts/` are those of models from transformers 5.24 in bfloat16, built on the meta device from the default
configs of seven families (llama at 8 B, qwen3_moe at 30 B).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from shardlint.finding import Finding
from shardlint.loading import make
from shardlint.plan_run import judge_plan
from shardlint.registry import load_rows
from shardlint.rule import PlanRule
from shardlint.runtime.facts_text import parse_facts
from shardlint.runtime.model_facts import ModelFacts
from shardlint.runtime.plan_text import parse_mesh, parse_plan

FACTS = Path(__file__).parent / "facts"
RULES = frozenset(
    (
        "plan-rule-dead",
        "plan-tied-split",
        "fsdp-unit-order",
        "fsdp-unit-twice",
        "fsdp-unit-container",
        "fsdp-unit-scalar",
        "fsdp-unit-dtype",
        "fsdp-no-wrap",
        "fsdp-no-shard-set",
        "plan-buffer-shard",
        "plan-mesh-unused",
        "plan-mesh-product",
        "plan-memory",
        "model-type-unknown",
    )
)

EXPERTS = "model.layers.*.mlp.experts.gate_up_proj: Shard(0)\nmodel.layers.*.mlp.experts.down_proj: Shard(0)\n"
ATTENTION = "model.layers.*.self_attn.[qkv]_proj: ColwiseParallel\nmodel.layers.*.self_attn.o_proj: RowwiseParallel\n"
MLP = "model.layers.*.mlp.gate_proj: ColwiseParallel\nmodel.layers.*.mlp.up_proj: ColwiseParallel\n"
HF = "model.layers.*.self_attn.q_proj: colwise\nmodel.layers.*.self_attn.o_proj: rowwise\n"

CLEAN = [
    ("llama", "matcher: torch\nunit LlamaDecoderLayer", "dp=64 world=64 budget=80"),
    ("llama", f"matcher: torch\n{ATTENTION}{MLP}unit model.layers.*", "dp=8 tp=8 world=64 budget=80"),
    ("llama", f"matcher: hf\n{HF}lm_head: colwise_gather_output\nunit _no_split_modules bottom-up", "fsdp=8 tp=8"),
    ("llama", "matcher: torch\nunit LlamaDecoderLayer\nunit model.embed_tokens\nunit model.norm + lm_head", "fsdp=8"),
    ("qwen3_moe", f"matcher: veomni\n{EXPERTS}unit _no_split_modules bottom-up", "dp_shard=64 ep=8 world=64 budget=80"),
    ("qwen3_moe", f"matcher: hf\n{HF}model.layers.*.mlp.experts: grouped_gemm", "tp=4 world=4"),
    ("qwen3_moe", "matcher: torch\nunit Qwen3MoeExperts\nunit Qwen3MoeDecoderLayer", "dp_replicate=2 dp_shard=32"),
    (
        "deepseek_v3",
        f"matcher: veomni\n{EXPERTS}unit DeepseekV3TopkRouter\nunit _no_split_modules bottom-up",
        "dp_shard=1024 ep=64 ep_fsdp=16 world=1024 budget=80",
    ),
    (
        "deepseek_v3",
        f"matcher: veomni\n{EXPERTS}fsdp_dim experts 1\nunit DeepseekV3TopkRouter, DeepseekV3DecoderLayer bottom-up",
        "pp=16 dp_shard=64 ep=64 world=1024",
    ),
    (
        "gpt_oss",
        f"matcher: veomni\n{EXPERTS}model.layers.*.mlp.experts.*_bias: Shard(0)\nunit GptOssDecoderLayer",
        "dp_shard=16 ulysses=2 ep=8 world=32 budget=80",
    ),
    ("gpt_oss", f"matcher: torch\n{ATTENTION}unit GptOssExperts, GptOssDecoderLayer bottom-up", "dp=16 tp=8"),
    ("gemma3", "matcher: torch\nunit _no_split_modules bottom-up", "dp=8 budget=24"),
    ("gemma3", "matcher: torch\nunit Gemma3DecoderLayer\nunit model.norm + model.embed_tokens + lm_head", "dp=8"),
    ("gpt2", "matcher: torch\nunit GPT2Block", "dp=8 budget=16"),
    ("gpt2", "matcher: torch\nunit transformer.h.*\nunit transformer.wpe", "dp=4"),
    ("qwen3_vl", "matcher: veomni\nunit _no_split_modules, Qwen3VLVisionPatchMerger bottom-up", "dp_shard=64"),
    ("qwen3_vl", "matcher: hf\nunit Qwen3VLTextDecoderLayer\nunit Qwen3VLVisionBlock\nunit model.visual", "fsdp=64"),
]

EMB = "model.embed_tokens.weight: Shard(0) on emb\n"
DEFECTS = [
    ("llama", "matcher: torch\nunit LlamaDecoderLayer\nunit LlamaMLP", "dp=8", "fsdp-unit-order", 3),
    ("qwen3_moe", "matcher: torch\nunit Qwen3MoeDecoderLayer, Qwen3MoeExperts", "dp=64", "fsdp-unit-order", 2),
    ("qwen3_vl", 'matcher: torch\nunit ""\nunit Qwen3VLTextDecoderLayer', "dp=64", "fsdp-unit-order", 3),
    (
        "qwen3_vl",
        "matcher: hf\nunit _no_split_modules\nunit model.visual\nunit model.visual.merger",
        "",
        "fsdp-unit-order",
        4,
    ),
    ("llama", "matcher: torch\nunit LlamaDecoderLayer\nunit model.layers.*", "dp=8", "fsdp-unit-twice", 3),
    ("gpt2", "matcher: hf\nunit GPT2Block\nunit transformer.h.0 + transformer.h.1", "", "fsdp-unit-twice", 3),
    ("gpt_oss", "matcher: torch\nunit _no_split_modules\nunit GptOssDecoderLayer", "dp=64", "fsdp-unit-twice", 3),
    ("llama", "matcher: torch\nunit model.layers", "dp=8", "fsdp-unit-container", 2),
    ("qwen3_vl", "matcher: hf\nunit model.visual.blocks\nunit Qwen3VLTextDecoderLayer", "", "fsdp-unit-container", 2),
    ("deepseek_v3", f"matcher: veomni\n{EXPERTS}unit DeepseekV3DecoderLayer", "ep=64", "fsdp-unit-dtype", 4),
    ("gemma3", "matcher: torch\nunit Gemma3DecoderLayer\nunit model.embed_tokens", "dp=8", "plan-tied-split", 3),
    ("gpt2", "matcher: torch\nunit GPT2Block\nunit lm_head", "dp=8", "plan-tied-split", 3),
    ("gemma3", "matcher: torch\nlm_head: ColwiseParallel", "tp=4", "plan-tied-split", 2),
    ("gemma3", f"matcher: veomni\n{EMB}", "dp_shard=8 emb=4 emb_fsdp=2", "plan-tied-split", 2),
    ("llama", "matcher: torch\nunit LlamaDecodeLayer", "dp=8", "fsdp-no-wrap", 2),
    ("qwen3_vl", "matcher: hf\nunit Qwen2VLDecoderLayer\nunit Qwen3VLVisionBlock", "", "fsdp-no-wrap", 2),
    ("gpt_oss", "matcher: torch\nunit GptOssAttention", "dp=64", "fsdp-no-wrap", 1),
    ("qwen3_moe", "matcher: torch\nunit layers.*", "dp=64", "fsdp-no-wrap", 2),
    ("qwen3_vl", "matcher: hf\nunit Qwen3VLTextDecoderLayer\nunit Qwen3VLVisonBlock", "", "fsdp-no-wrap", 3),
    (
        "qwen3_moe",
        f"matcher: veomni\n{EXPERTS}model.embed_tokens.weight: Shard(0)\nunit Qwen3MoeDecoderLayer",
        "dp_shard=64 ep=8",
        "fsdp-no-shard-set",
        4,
    ),
    ("gpt_oss", f"matcher: veomni\n{EXPERTS}unit GptOssAttention\nunit lm_head", "ep=8", "fsdp-no-shard-set", 2),
    (
        "deepseek_v3",
        f"matcher: veomni\nmodel.layers.3.mlp.experts.down_proj: Shard(0)\n{EXPERTS}"
        "unit DeepseekV3TopkRouter\nunit DeepseekV3DecoderLayer",
        "dp_shard=1024 ep=64",
        "fsdp-no-shard-set",
        3,
    ),
    ("gpt_oss", f"matcher: veomni\n{EXPERTS}unit GptOssDecoderLayer", "dp_shard=64 ep=8 tp=2", "plan-mesh-unused", 1),
    ("llama", "matcher: veomni\nunit LlamaDecoderLayer", "dp_shard=64 ep=8", "plan-mesh-unused", 1),
    ("llama", f"matcher: torch\n{ATTENTION}unit LlamaDecoderLayer", "dp=8 tp=6 world=64", "plan-mesh-product", 1),
    ("deepseek_v3", f"matcher: veomni\n{EXPERTS}", "dp_shard=1024 ep=48 world=1024", "plan-mesh-product", 1),
    ("qwen3_moe", f"matcher: veomni\n{EXPERTS}", "dp_shard=64 ep=8 ep_fsdp=4", "plan-mesh-product", 1),
    ("qwen3_moe", "matcher: torch\nunit Qwen3MoeDecoderLayer", "dp=4 budget=80", "plan-memory", 1),
    (
        "deepseek_v3",
        f"matcher: veomni\n{EXPERTS}unit DeepseekV3TopkRouter\nunit DeepseekV3DecoderLayer",
        "dp_shard=64 ep=64 world=64 budget=80",
        "plan-memory",
        1,
    ),
]

EDITED = [
    ("llama", "input_layernorm.weight  [4096]  bf16", "input_layernorm.weight  [4096]  fp32", "fsdp-unit-dtype", 2),
    ("llama", "model.norm.weight  [4096]  bf16", "model.norm.weight  [4096]  fp32", "fsdp-unit-dtype", 1),
    ("gpt2", "tied lm_head.weight = transformer.wte.weight", "logit_scale [] bf16", "fsdp-unit-scalar", 1),
    (
        "qwen3_vl",
        "module model.visual  ",
        "model.visual.blocks.{0..26}.gate [] bf16\nmodule model.visual  ",
        "fsdp-unit-scalar",
        2,
    ),
    ("gemma3", "config model_type = gemma3_text", "config model_type = gemma4_text", "model-type-unknown", 1),
    ("qwen3_moe", "config model_type = qwen3_moe", "config model_type = qwen3moe", "model-type-unknown", 1),
]

BUFFER = "buffer model.layers.{0..35}.mlp.experts.owner [128] int64\n"


@cache
def rules() -> list[PlanRule]:
    made = [make(row) for row in load_rows()[0] if row["name"] in RULES]
    return [rule for rule in made if isinstance(rule, PlanRule)]


@cache
def facts(family: str) -> str:
    return (FACTS / f"{family}.facts").read_text(encoding="utf-8")


@cache
def model(family: str) -> ModelFacts:
    return parse_facts(facts(family))


def findings(model: ModelFacts, plan: str, mesh: str = "") -> list[Finding]:
    return judge_plan(rules(), parse_plan(plan, model, parse_mesh(mesh), "plan"))


def test_every_rule_is_there() -> None:
    assert {rule.voice.rule for rule in rules()} == RULES


@pytest.mark.parametrize(("family", "plan", "mesh"), CLEAN)
def test_a_healthy_plan_is_silent(family: str, plan: str, mesh: str) -> None:
    assert findings(model(family), plan, mesh) == []


@pytest.mark.parametrize(("family", "plan", "mesh", "rule", "line"), DEFECTS)
def test_a_defect_is_one_finding_at_its_line(family: str, plan: str, mesh: str, rule: str, line: int) -> None:
    assert [(f.rule, f.span.line) for f in findings(model(family), plan, mesh)] == [(rule, line)]


@pytest.mark.parametrize(("family", "healthy", "edited", "rule", "line"), EDITED)
def test_a_defect_of_the_model_is_one_finding(family: str, healthy: str, edited: str, rule: str, line: int) -> None:
    assert healthy in facts(family)
    plan = "matcher: torch\nunit _no_split_modules bottom-up"
    assert findings(model(family), plan) == []
    found = findings(parse_facts(facts(family).replace(healthy, edited)), plan)
    assert [(f.rule, f.span.line) for f in found] == [(rule, line)]


def test_a_buffer_that_maps_experts_is_noted() -> None:
    plan = f"matcher: veomni\n{EXPERTS}"
    assert findings(model("gpt_oss"), plan, "ep=8") == []
    found = findings(parse_facts(facts("gpt_oss") + BUFFER), plan, "ep=8")
    assert [(f.rule, f.span.line) for f in found] == [("plan-buffer-shard", 2), ("plan-buffer-shard", 3)]
