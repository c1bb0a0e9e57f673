"""The table of a plan."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from shardlint.runtime.facts_text import parse_facts
from shardlint.runtime.plan_table import plan_table
from shardlint.runtime.plan_text import parse_mesh, parse_plan

FACTS = Path(__file__).parents[1] / "rules" / "plan" / "facts"
DEEPSEEK = """
    matcher: veomni
    model.layers.*.mlp.experts.gate_up_proj: Shard(0)
    model.layers.*.mlp.experts.down_proj: Shard(0)
    unit DeepseekV3TopkRouter
    unit _no_split_modules bottom-up
"""


def table(facts: str, plan: str, mesh: str) -> list[str]:
    return plan_table(parse_plan(dedent(plan), parse_facts(facts), parse_mesh(mesh), "plan")).splitlines()


def test_a_large_model_fits_a_screen() -> None:
    facts = (FACTS / "deepseek_v3.facts").read_text(encoding="utf-8")
    lines = table(facts, DEEPSEEK, "dp_shard=1024 ep=64 world=1024 budget=80")
    assert (
        lines
        == dedent(
            """\
        model  671.0 B parameters in 909 tensors; mesh dp_shard=1024 x ep=64, 1024 ranks
        axis              divided                left whole
        ep=64         116 tensors  1218.00 GiB  793 tensors  32.08 GiB
        fsdp=1024|16  909 tensors  1250.08 GiB    0 tensors   0.00 GiB
        rank   parameters 1.22 GiB + gradients 1.22 GiB + optimizer 7.33 GiB = 9.78 GiB
               bfloat16 2+2+12 bytes (weight + gradient + two moments and a master copy in 32 bits), float32 4+4+8
               12% of 80 GiB, before activations
               304 tensors leave ranks empty: 768 of 1024 hold none of `model.layers.3.mlp.gate.weight`
        units                                   gathered at once  of the model
          kept apart, sharded on their own   1                           97.4%
          DeepseekV3DecoderLayer            61          1.09 GiB          2.3%
          root                               1          3.45 GiB          0.3%
          DeepseekV3TopkRouter              58          0.01 GiB          0.0%
        """
        ).splitlines()
    )


def test_what_is_whole_everywhere_is_named_unless_it_is_meant_to_be() -> None:
    facts = "module layers.{0..3} Block\nlayers.{0..3}.w [1024, 1024] fp32\nlayers.{0..3}.g [64, 1024] fp32"
    plan = "matcher: torch\nno_shard layers.*\nunit layers.0.*"
    whole = [line for line in table(facts, plan, "dp=4") if "whole everywhere" in line]
    assert [line.split() for line in whole] == [
        ["whole", "everywhere:", "layers.*.w", "4", "tensors", "0.02", "GiB"],
        ["whole", "everywhere:", "layers.*.g", "4", "tensors", "0.00", "GiB"],
    ]
    meant = table(facts, plan + "\nuncovered_ok layers.*.g", "dp=4")
    assert sum("whole everywhere" in line for line in meant) == 1


def test_a_table_says_what_it_does_not_know() -> None:
    facts = "w [1024, 1024] bf16\nq [8, 8] uint8"
    lines = table(facts, "matcher: torch", "fsdp=8 pp=2")
    assert "       an even split over 2 pipeline stages is taken" in lines
    assert "       FSDP is not counted, for no units are given" in lines
    assert lines[-1] == "units  none given"
    assert lines[0] == "model  1.0 M parameters in 2 tensors; mesh fsdp=8 x pp=2"


def test_a_table_without_a_mesh_or_a_model_is_one() -> None:
    assert table("", "matcher: hf\nw: colwise\nunit Block", "")[0] == "model  0 parameters in 0 tensors; mesh not known"
