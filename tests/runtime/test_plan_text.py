"""The text forms of a plan and of a mesh."""

from __future__ import annotations

import pytest

from shardlint.errors import PlanError
from shardlint.runtime.model_facts import ModelFacts
from shardlint.runtime.plan import Entry
from shardlint.runtime.plan_text import parse_mesh, parse_plan
from shardlint.runtime.units import Stated, Unit


def test_entries_have_their_place_and_their_axis() -> None:
    text = '# the plan\nmatcher: hf\n\n  layers.*.up: colwise  # error\nlayers.*.moe: grouped_gemm on ep\n"": replicate'
    plan = parse_plan(text, ModelFacts(), {"tp": 2, "ep": 4}, "plans/a.txt")
    assert plan.matcher.name == "hf"
    assert plan.entries == (
        Entry("layers.*.up", "colwise", "tp", 4, 3, "plans/a.txt"),
        Entry("layers.*.moe", "grouped_gemm", "ep", 5, 1, "plans/a.txt"),
        Entry("", "replicate", "tp", 6, 1, "plans/a.txt"),
    )


def test_one_pattern_may_stand_for_two_axes() -> None:
    plan = parse_plan("matcher: veomni\nw: Shard(0)\nw: Shard(1) on tp\n", ModelFacts(), {}, "plan")
    assert [entry.axis for entry in plan.entries] == ["ep", "tp"]


@pytest.mark.parametrize(
    ("placement", "shards", "dim"),
    [
        ("Shard(0)", True, 0),
        ("Shard(dim=-1)", True, -1),
        ("Replicate()", False, None),
        ("ColwiseParallel", True, None),
        ("RowwiseParallel(use_local_output=False)", True, None),
        ("colwise_gather_output", True, None),
        ("grouped_gemm", True, None),
        ("SequenceParallel", False, None),
        ("PrepareModuleInput", False, None),
    ],
)
def test_placements_that_divide_are_known(placement: str, shards: bool, dim: int | None) -> None:
    entry = Entry("w", placement, "tp", 1, 1, "plan")
    assert (entry.shards, entry.dim) == (shards, dim)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1: a plan begins with the line"),
        ("w: Shard(0)", "line 1: `w: Shard(0)` names no matcher"),
        ("\nmatcher: megatron", "line 2: `matcher: megatron` names no matcher"),
        ("matcher: hf\nlayers.*.up", "line 2: `layers.*.up` is no entry"),
        ("matcher: hf\nlayers.*.up:", "line 2: `layers.*.up:` is no entry"),
        ("matcher: hf\nw: colwise\n\nw: rowwise", "line 4: the pattern `w` stands in line 2 already"),
        ("matcher: hf\nunit A B", "line 2: `unit A B` cannot be read; write `unit CLASS`"),
        ("matcher: hf\nunit A, ", "line 2: `unit A,` cannot be read"),
        ("matcher: hf\nfsdp_dim experts", "line 2: `fsdp_dim experts` cannot be read; write `fsdp_dim PATTERN DIM`"),
        ("matcher: hf\nno_shard a b", "line 2: `no_shard a b` cannot be read; write `no_shard PATTERN`"),
        ("matcher: hf\nunit", "line 2: `unit` is no entry"),
        ("matcher: hf\nw: colwise on pt", "line 2: the mesh has no axis `pt`; it has tp"),
    ],
)
def test_a_plan_that_cannot_be_read_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_plan(text, ModelFacts(), {"tp": 2}, "plan")
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize(
    ("text", "mesh"),
    [("", {}), ("ep=8", {"ep": 8}), ("ep=8 tp=4", {"ep": 8, "tp": 4}), (" ep=8,tp=1 ", {"ep": 8, "tp": 1})],
)
def test_a_mesh_is_axes_and_sizes(text: str, mesh: dict[str, int]) -> None:
    assert parse_mesh(text) == mesh


@pytest.mark.parametrize(
    "text",
    [
        "ep",
        "ep=",
        "budget=x",
        "budget=8 budget=8",
        "world=0",
        "ep=0",
        "=8",
        "ep=-1",
        "ep=8.0",
        "ep=8x2",
        "ep=2 ep=2",
        "1=2",
    ],
)
def test_a_mesh_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match=r"^line 1: "):
        parse_mesh(text)


def test_lines_about_units_stand_beside_the_entries() -> None:
    text = """
matcher: veomni  # the head
  w: Shard(0)
  unit Block, layers.*.mlp bottom-up
unit norm + head
unit ""
no_shard layers.*.experts
fsdp_dim experts 1
uncovered_ok *.gate.weight
unit: Shard(0)
"""
    plan = parse_plan(text, ModelFacts(), parse_mesh("ep=4 world=8"), "p")
    assert plan.head == Stated("matcher: veomni", 2, 1, "p")
    assert [entry.pattern for entry in plan.entries] == ["w", "unit"]
    assert plan.units == (
        Unit(("Block", "layers.*.mlp"), Stated("Block, layers.*.mlp bottom-up", 4, 8, "p"), bottom_up=True),
        Unit(("norm", "head"), Stated("norm + head", 5, 6, "p"), together=True),
        Unit(("",), Stated('""', 6, 6, "p")),
    )
    assert plan.no_shard == (Stated("layers.*.experts", 7, 10, "p"),)
    assert (plan.fsdp_dims, plan.uncovered_ok) == ({"experts": 1}, ("*.gate.weight",))
