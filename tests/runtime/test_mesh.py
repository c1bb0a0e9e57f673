"""A mesh: what its axes are for, and over how many ranks FSDP divides."""

from __future__ import annotations

import pytest

from shardlint.runtime.plan_text import parse_mesh


@pytest.mark.parametrize(
    ("text", "used", "ranks"),
    [
        ("dp=8", (), 8),
        ("dp=8 tp=4", ("tp",), 8),
        ("dp_replicate=2 dp_shard=4", (), 4),
        ("dp=2 fsdp=4", (), 4),
        ("dp_shard=4 cp=2 ulysses=2", (), 16),
        ("dp_shard=64 ep=8", ("ep",), 8),
        ("dp_shard=64 ep=8", (), 64),
        ("dp_shard=64 ep=8 ep_fsdp=4", ("ep",), 4),
        ("dp=8 ep=4 world=32", ("ep",), 8),
        ("dp=32 ep=4 world=32", ("ep",), 8),
        ("ep=8 world=64", (), 64),
        ("ep=8 world=64", ("ep",), 8),
        ("tp=8 world=64", (), 8),
        ("ep=8 ep_fsdp=4", (), 32),
        ("dp_shard=32 emb=4 emb_fsdp=8", ("emb",), 8),
        ("", (), 1),
    ],
)
def test_fsdp_divides_over_the_axes_of_data_that_the_plan_leaves(text: str, used: tuple[str, ...], ranks: int) -> None:
    assert parse_mesh(text).fsdp_ranks(used) == ranks


def test_carved_axes_are_told_from_those_laid_beside_each_other() -> None:
    mesh = parse_mesh("dp_replicate=2 dp_shard=8 tp=2 ep=4 ep_fsdp=2 ep_replicate=2 emb=2 emb_fsdp=4")
    assert mesh.ordinary == ("dp_replicate", "dp_shard", "tp")
    assert mesh.roots == ("ep", "emb")
    assert mesh.planned == ("tp", "ep", "emb")
    assert mesh.written(mesh.ordinary) == "dp_replicate=2 x dp_shard=8 x tp=2"


def test_a_mesh_compares_as_a_mapping_and_keeps_its_limits() -> None:
    mesh = parse_mesh("dp=8 world=16 budget=79.5")
    assert mesh == {"dp": 8}
    assert (mesh.world, mesh.budget) == (16, 79.5)
