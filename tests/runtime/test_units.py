"""Which call of `fully_shard` takes which parameters."""

from __future__ import annotations

import pytest

from shardlint.runtime.facts_text import parse_facts
from shardlint.runtime.model_facts import ModelFacts, Module, Parameter
from shardlint.runtime.plan import WrittenPlan
from shardlint.runtime.plan_text import parse_mesh, parse_plan
from shardlint.runtime.units import Unit, Wrapping

MODEL = """
    module ""                      Model
    no_split Block
    module layers.{0..1}           Block
    module layers.{0..1}.mlp       Experts
    embed.weight                   [16, 8]  bf16
    layers.{0..1}.norm.weight      [8]      bf16
    layers.{0..1}.mlp.up           [4, 8]   bf16
    head.weight                    [16, 8]  bf16
"""


def written(*lines: str, model: str = MODEL, matcher: str = "torch", mesh: str = "") -> WrittenPlan:
    return parse_plan("\n".join((f"matcher: {matcher}", *lines)), parse_facts(model), parse_mesh(mesh), "plan")


def calls(*lines: str) -> list[tuple[str, ...]]:
    return [call.modules for call in written(*lines).layout.wrapping.calls]


@pytest.mark.parametrize(
    ("unit", "made"),
    [
        ("unit Block", [("layers.0",), ("layers.1",), ("",)]),
        ("unit layers.1.*", [("layers.1.mlp",), ("layers.1.norm",), ("",)]),
        ("unit Block, Experts", [("layers.0",), ("layers.1",), ("layers.0.mlp",), ("layers.1.mlp",), ("",)]),
        ("unit layers.0, layers.0.mlp bottom-up", [("layers.0.mlp",), ("layers.0",), ("",)]),
        ("unit embed + head", [("embed", "head"), ("",)]),
        ("unit _no_split_modules", [("layers.0",), ("layers.1",), ("",)]),
        ("unit Model", [("",)]),
        ("unit nothing + none", [("",)]),
    ],
)
def test_a_unit_is_a_pass_over_the_modules_and_the_root_comes_last(unit: str, made: list[tuple[str, ...]]) -> None:
    assert calls(unit) == made


def test_a_pass_from_below_leaves_alone_what_is_wrapped() -> None:
    assert calls("unit layers.0", "unit Block bottom-up") == [("layers.0",), ("layers.1",), ("",)]


def test_parameters_belong_to_the_nearest_unit() -> None:
    taken = written("unit Experts", "unit layers.0").layout.wrapping.taken
    assert {call.modules: names for call, names in taken.items()} == {
        ("layers.0",): ["layers.0.norm.weight"],
        ("layers.0.mlp",): ["layers.0.mlp.up"],
        ("layers.1.mlp",): ["layers.1.mlp.up"],
        ("",): ["embed.weight", "layers.1.norm.weight", "head.weight"],
    }


def test_without_units_nothing_is_taken() -> None:
    wrapping = written().layout.wrapping
    assert (wrapping.calls, wrapping.taken, wrapping.call_of("embed.weight")) == ((), {}, None)


def test_what_is_kept_apart_belongs_to_no_unit() -> None:
    wrapping = written("unit Block", "no_shard layers.*.mlp").layout.wrapping
    assert wrapping.call_of("layers.0.mlp.up") is None
    assert wrapping.call_of("layers.0.norm.weight") is not None


def test_a_shared_module_with_a_unit_of_its_own_is_taken_once() -> None:
    parameters = [Parameter("a.fc.w", (8,), "bfloat16"), Parameter("b.fc.w", (8,), "bfloat16", True, "a.fc.w")]
    modules = [Module("a"), Module("a.fc"), Module("b"), Module("b.fc", "", "a.fc")]
    model = ModelFacts(parameters, modules)
    place = written().head
    alone = Wrapping(model, [Unit((name,), place) for name in ("a.fc", "a", "b")])
    split = Wrapping(model, [Unit((name,), place) for name in ("a", "b")])
    assert alone.call_of("a.fc.w") == alone.call_of("b.fc.w")
    assert split.call_of("a.fc.w") != split.call_of("b.fc.w")


@pytest.mark.parametrize(
    ("target", "meant"),
    [("Blok", "Block"), ("Expert", "Experts"), ("layres.*.mlp", "layers.*.mlp"), ("Attention", None), ("x.y", None)],
)
def test_a_slip_is_told_from_the_name_of_another_variant(target: str, meant: str | None) -> None:
    wrapping = written(f"unit {target}").layout.wrapping
    assert [name for _, name in wrapping.idle] == [target]
    assert wrapping.near(target) == meant


def test_veomni_keeps_apart_the_parent_of_the_first_pattern_of_each_axis() -> None:
    lines = ("layers.*.mlp.up: Shard(0)", "head.weight: Shard(0)", "embed.*: Shard(0) on emb", "unit Block")
    plan = written(*lines, matcher="veomni")
    assert plan.layout.patterns == {"layers.*.mlp": ("ep",), "embed": ("emb",)}
    assert [plan.layout.apart(name) for name in ("layers.1.mlp.up", "head.weight", "embed.weight")] == [
        True,
        False,
        True,
    ]
    off = written(*lines, matcher="veomni", mesh="ep=1 emb=2")
    assert off.layout.patterns == {"embed": ("emb",)}


@pytest.mark.parametrize(
    ("line", "dim"),
    [("fsdp_dim mlp 1", 1), ("fsdp_dim Experts 1", 1), ("fsdp_dim layers.* 1", 1), ("fsdp_dim layers.1 1", 0), ("", 0)],
)
def test_the_dim_of_fsdp_is_stated_for_the_nearest_holder(line: str, dim: int) -> None:
    plan = written("unit Block", *([line] if line else []))
    assert plan.layout.fsdp_dim("layers.0.mlp.up") == dim
