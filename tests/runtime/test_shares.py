"""What one rank holds of a tensor."""

from __future__ import annotations

import pytest

from shardlint.runtime.facts_text import parse_facts
from shardlint.runtime.model_facts import Parameter
from shardlint.runtime.plan_text import parse_mesh, parse_plan
from shardlint.runtime.shares import share

MESH = parse_mesh("dp=8 ep=4 ep_fsdp=2 tp=2")


@pytest.mark.parametrize(
    ("shape", "cuts", "fsdp_dim", "elements", "fsdp", "idle"),
    [
        ((16, 8), {}, None, 128, None, 0),
        ((16, 8), {}, 0, 16, 8, 0),
        ((10, 8), {}, 0, 16, 8, 3),
        ((4, 8), {}, 0, 8, 8, 4),
        ((16, 8), {"tp": 1}, 0, 8, 8, 0),
        ((16, 8), {"tp": None}, None, 64, None, 0),
        ((8, 6, 4), {"ep": 0}, 1, 2 * 3 * 4, 2, 0),
        ((6, 4), {"ep": 0}, None, 2 * 4, None, 0),
        ((8, 4), {"ep": -1}, None, 8, None, 0),
        ((8,), {}, 1, 1, 8, 0),
        ((), {}, 0, 1, None, 0),
        ((0, 4), {}, 0, 0, 8, 0),
    ],
)
def test_the_fullest_rank_holds_chunks_that_are_rounded_up(
    shape: tuple[int, ...],
    cuts: dict[str, int | None],
    fsdp_dim: int | None,
    elements: int,
    fsdp: int | None,
    idle: int,
) -> None:
    part = share(Parameter("w", shape, "bfloat16"), cuts, MESH, fsdp_dim)
    assert (part.elements, part.fsdp, part.idle) == (elements, fsdp, idle)


@pytest.mark.parametrize(
    ("dtype", "trainable", "bytes"),
    [
        ("bfloat16", True, (2, 2, 12)),
        ("float32", True, (4, 4, 8)),
        ("float8_e4m3fn", True, (1, 1, 12)),
        ("bfloat16", False, (2, 0, 0)),
        ("float4_e2m1fn_x2", True, (0, 0, 0)),
    ],
)
def test_bytes_follow_the_dtype(dtype: str, trainable: bool, bytes: tuple[int, int, int]) -> None:
    part = share(Parameter("w", (3,), dtype, trainable), {}, MESH, None)
    assert (part.weights, part.gradients, part.optimizer) == tuple(3 * size for size in bytes)
    assert part.total == 3 * sum(bytes)


def test_experts_of_veomni_are_divided_by_their_axis_and_then_over_the_rest() -> None:
    model = parse_facts(
        "module layers.{0..1} Block\nlayers.{0..1}.experts.up [8, 4, 4] bf16\nlayers.{0..1}.q.weight [32, 4] bf16"
    )
    plan = "matcher: veomni\nlayers.*.experts.up: Shard(0)\nunit Block"
    shares = parse_plan(plan, model, parse_mesh("dp_shard=8 ep=4"), "plan").layout.shares
    assert [(part.elements, part.axes, part.fsdp) for part in shares] == [
        *[(2 * 2 * 4, ("ep",), 2)] * 2,
        *[(4 * 4, (), 8)] * 2,
    ]
