"""What a plan rule can ask of a plan."""

from __future__ import annotations

import pytest

from shardlint.finding import Evidence
from shardlint.runtime.facts_text import parse_facts
from shardlint.runtime.plan import Plan
from shardlint.runtime.plan_text import parse_mesh, parse_plan
from shardlint.runtime.repairs import is_slip
from shardlint.voice import Voice

VOICE = Voice("some-rule", "plan", "error", Evidence("observation"), 0.9)
MODEL = """
    model.embed.weight                         [64, 8]      bf16
    model.layers.{0..3}.attn.{q,o}_proj.weight [8, 8]       bf16
    model.layers.{0..3}.attn.q_proj.bias       [8]          bf16
    model.layers.{0..3}.mlp.experts.gate_proj  [4, 16, 8]   bf16
    model.layers.{0..3}.mlp.experts.down_proj  [4, 8, 16]   bf16
    model.layers.{0..3}.norm.weight            [8]          fp32
    tied head.weight = model.embed.weight
"""


def plan_of(*entries: str, matcher: str = "veomni", model: str = MODEL, mesh: str = "") -> Plan:
    """A plan in the text forms."""
    text = "\n".join((f"matcher: {matcher}", *entries))
    return Plan(parse_plan(text, parse_facts(model), parse_mesh(mesh), "plan"), VOICE)


@pytest.mark.parametrize(
    ("matcher", "entry", "nearest"),
    [
        ("veomni", "model.layers.*.mlp.expert.gate_proj: Shard(0)", "model.layers.*.mlp.experts.gate_proj"),
        ("veomni", "model.layers.*.mlp.experts.gate_porj: Shard(0)", "model.layers.*.mlp.experts.gate_proj"),
        ("veomni", "*.experts.gateproj: Shard(0)", "*.experts.gate_proj"),
        ("veomni", "layers.*.experts.gate_proj: Shard(0)", "model.layers.*.experts.gate_proj"),
        ("veomni", "layers.*.mlp.experts.gate_proj: Shard(0)", "model.layers.*.mlp.experts.gate_proj"),
        ("veomni", "_orig_mod.model.embed.weight: Shard(0)", "model.embed.weight"),
        ("veomni", "model.layers.*.attn.o_proj: Shard(0)", "model.layers.*.attn.o_proj.weight"),
        ("veomni", "model.layers.*.attn.k_proj.weight: Shard(0)", None),
        ("veomni", "model.layers.*.attn.o_proj.bias: Shard(0)", None),
        ("veomni", "model.layers.*.norms.weight: Shard(1)", None),
        ("veomni", "model.layers.*.norms.weight: Shard(0)", "model.layers.*.norm.weight"),
        ("torch", "model.layers.*.attn.q_proj.weight: ColwiseParallel", "model.layers.*.attn.q_proj"),
        ("torch", "*.q_proj: ColwiseParallel", "model.layers.*.attn.q_proj"),
        ("torch", "model.layers.4.attn.q_proj: ColwiseParallel", None),
        ("hf", "model.layers.0.attn.q_proj: colwise", "model.layers.*.attn.q_proj"),
        ("hf", "*.q_proj: colwise", "model.layers.*.attn.q_proj"),
        ("hf", "model.layers.*.attn.q_a_proj: colwise", None),
    ],
)
def test_nearest_is_what_was_surely_meant(matcher: str, entry: str, nearest: str | None) -> None:
    plan = plan_of(entry, matcher=matcher)
    assert plan.matches(plan.entries[0]) == ()
    assert plan.nearest(plan.entries[0]) == nearest


def test_nearest_is_none_where_two_are_equally_near() -> None:
    plan = plan_of("a.conv.w: Shard(0)", model="a.convs.w [8] bf16\na.convu.w [8] bf16")
    assert plan.nearest(plan.entries[0]) is None


def test_nearest_prefers_shapes_that_are_placed_alike() -> None:
    model = "a.convs.w [8] bf16\na.convu.w [4, 4] bf16\nb.w [4, 4] bf16"
    plan = plan_of("a.conv.w: Shard(0)", "b.w: Shard(0)", model=model)
    assert plan.nearest(plan.entries[0]) == "a.convu.w"


def test_nearest_leaves_alone_what_another_entry_places() -> None:
    plan = plan_of("*.experts.gate_proj: Shard(0)", "model.layers.*.mlp.expert.gate_proj: Shard(0)")
    assert plan.nearest(plan.entries[1]) is None


@pytest.mark.parametrize("dead", ["model.layers.*.mlp.expert", "model.layers.*.mlp.experts.gate_porj"])
def test_nearest_tells_a_module_from_the_parameters_that_it_holds(dead: str) -> None:
    live = {
        "model.layers.*.mlp.experts",
        "model.layers.*.mlp.experts.gate_proj",
        "model.layers.*.mlp.experts.down_proj",
    }
    meant = dead.replace("expert", "experts") if dead.endswith("expert") else dead.replace("porj", "proj")
    plan = plan_of(*(f"{pattern}: rowwise" for pattern in (dead, *sorted(live - {meant}))), matcher="hf")
    assert plan.nearest(plan.entries[0]) == meant


def test_nearest_is_none_for_a_plan_that_was_merged_under_a_prefix_too() -> None:
    entries = ("model.layers.*.attn.q_proj: colwise", "layers.*.attn.q_proj: colwise")
    model = MODEL + "    model.vision.layers.{0..3}.attn.q_proj.weight [8, 8] bf16\n"
    plan = plan_of(*entries, matcher="hf", model=model)
    assert plan.nearest(plan.entries[1]) is None


def test_a_parameter_with_an_entry_of_its_own_is_not_matched_by_its_modules() -> None:
    module, bias = "model.layers.*.attn.q_proj: colwise", "model.layers.*.attn.q_proj.bias: colwise"
    alone, both = plan_of(module, matcher="hf"), plan_of(module, bias, matcher="hf")
    assert [len(alone.matches(entry)) for entry in alone.entries] == [12]
    assert [len(both.matches(entry)) for entry in both.entries] == [8, 4]


def test_a_tied_name_is_known_as_one() -> None:
    plan = plan_of("head.weight: Shard(0)", "model.embed.weight: Shard(0)")
    assert [plan.means_tied_name(entry) for entry in plan.entries] == [True, False]


def test_undivided_bytes_are_those_of_whole_tensors() -> None:
    plan = plan_of("*.experts.gate_porj: Shard(0)", mesh="ep=4")
    assert plan.undivided_bytes("*.experts.gate_proj") == 4 * (4 * 16 * 8) * 2
    assert plan.undivided_bytes("*.q_proj.*") == 4 * (8 * 8) * 2
    assert plan.undivided_bytes("head.weight") == 0
    assert "each of 4 ranks of `ep`" in plan.undivided(plan.entries[0], "*.experts.gate_proj")


def test_undivided_names_no_bytes_without_a_mesh() -> None:
    plan = plan_of("*.experts.gate_porj: Shard(0)", "*.norm: SequenceParallel")
    assert plan.undivided(plan.entries[0], "*.experts.gate_proj").endswith("stays whole on every rank")
    assert plan.undivided(plan.entries[1], "*.norm.weight").endswith("is left as it is")


def test_a_finding_lies_at_the_pattern() -> None:
    plan = plan_of("  *.nothing: Shard(0)")
    finding = plan.finding(plan.entries[0], "message", help="help")
    assert (finding.path, finding.span.fields()) == ("plan", (3, 12, 2, 2))
    assert finding.rule == "some-rule"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("expert", "experts"),
        ("gate_porj", "gate_proj"),
        ("gateproj", "gate_proj"),
        ("vp_roj", "v_proj"),
        ("w22", "w2"),
        ("norn_out", "norm_out"),
    ],
)
def test_one_slip_is_one_in_either_direction(written: str, meant: str) -> None:
    assert is_slip(written, meant)
    assert is_slip(meant, written)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("q_proj", "k_proj"),
        ("q_proj", "q_a_proj"),
        ("q_proj", "qk_proj"),
        ("w1", "w3"),
        ("fc1", "fc2"),
        ("norm", "norm1"),
        ("norm", "norm"),
        ("qk_w", "kq_w"),
        ("block12", "block21"),
        ("gate_proj", "gate_up_proj"),
        ("abcd", "badc"),
        ("w", "ww"),
        ("0", "00"),
    ],
)
def test_other_variants_are_no_slip(written: str, meant: str) -> None:
    assert not is_slip(written, meant)
    assert not is_slip(meant, written)
