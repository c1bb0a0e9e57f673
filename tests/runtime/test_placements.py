"""What a placement divides, framework by framework."""

from __future__ import annotations

import pytest

from shardlint.runtime.model_facts import ModelFacts, Parameter
from shardlint.runtime.placements import STYLES, Division, close_style, division, gathers, known_styles

MATRIX, VECTOR = Parameter("layers.0.wq.weight", (8, 4), "int8"), Parameter("layers.0.wq.bias", (8,), "int8")
STACK, HEAD = Parameter("layers.0.experts.up", (4, 8, 2), "int8"), Parameter("output.weight", (9, 4), "int8")


@pytest.mark.parametrize(
    ("framework", "placement", "parameter", "expected"),
    [
        ("veomni", "Shard(0)", STACK, Division(0, even=True)),
        ("veomni", "Shard(dim=-1)", STACK, Division(-1, even=True)),
        ("veomni", "colwise", STACK, None),
        ("torch", "Shard(1)", MATRIX, Division(1)),
        ("torch", "ColwiseParallel", MATRIX, Division(0, even=True)),
        ("torch", "ColwiseParallel()", VECTOR, Division(0, even=True)),
        ("torch", "tp.ColwiseParallel(output_layouts=Replicate())", MATRIX, Division(0)),
        ("torch", "ColwiseParallel", HEAD, Division(0)),
        ("torch", "Float8RowwiseParallel", MATRIX, Division(1, even=True)),
        ("torch", "RowwiseParallel", VECTOR, None),
        ("torch", "SequenceParallel", VECTOR, None),
        ("hf", "colwise", MATRIX, Division(-2)),
        ("hf", "colwise", VECTOR, Division(-1)),
        ("hf", "colwise", STACK, Division(-2)),
        ("hf", "rowwise", MATRIX, Division(-1)),
        ("hf", "rowwise", VECTOR, None),
        ("hf", "packed_colwise", STACK, Division(-2, 2, even=True)),
        ("hf", "packed_colwise", VECTOR, Division(-1)),
        ("hf", "grouped_gemm", STACK, Division(0, even=True)),
        ("hf", "grouped_gemm", VECTOR, Division(0, even=True)),
        ("hf", "moe_tp_experts", STACK, None),
        ("hf", "of_the_team", STACK, None),
    ],
)
def test_a_placement_divides_what_its_framework_divides(
    framework: str, placement: str, parameter: Parameter, expected: Division | None
) -> None:
    assert division(framework, placement, parameter, False, ()) == expected


@pytest.mark.parametrize(("placement", "dim"), [("ColwiseParallel", 1), ("RowwiseParallel", 0)])
def test_torch_divides_the_table_of_an_embedding_the_other_way(placement: str, dim: int) -> None:
    assert division("torch", placement, MATRIX, True, ()) == Division(dim)


def test_packed_matrices_may_be_uneven_where_experts_are_dispatched() -> None:
    assert division("hf", "packed_colwise", STACK, False, {"ep_dispatch_experts"}) == Division(-2, 2)
    assert division("hf", "grouped_gemm", STACK, False, {"ep_dispatch_experts"}) == Division(0, even=True)


@pytest.mark.parametrize(("dim", "within"), [(0, True), (1, True), (2, False), (-2, True), (-3, False)])
def test_a_dim_is_within_a_tensor_or_not(dim: int, within: bool) -> None:
    assert Division(dim).within(MATRIX) is within


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("col_wise", "colwise"),
        ("ColwiseParallel", "colwise"),
        ("SequenceParallel()", "sequence_parallel"),
        ("grouped_gem", "grouped_gemm"),
        ("rowwise_rp", "rowwise_rep"),
        ("vertical", None),
    ],
)
def test_the_nearest_style_is_what_was_meant(written: str, meant: str | None) -> None:
    assert close_style(written, STYLES) == meant


def test_registered_styles_are_the_known_ones() -> None:
    assert known_styles(ModelFacts()) == set(STYLES)
    assert known_styles(ModelFacts(styles=["own"])) == {"own", "free_full_weight", "keep_full_weight"}


def test_an_output_that_is_gathered_is_known() -> None:
    assert gathers("colwise_rep")
    assert gathers("ColwiseParallel(output_layouts=Replicate())")
    assert not gathers("colwise")
