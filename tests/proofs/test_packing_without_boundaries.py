"""The bad and the good way of packing-without-boundaries, run: attention in a row of two samples and in each alone."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

pytestmark = pytest.mark.proves("packing-without-boundaries")


@pytest.fixture(scope="module")
def torch() -> Any:
    """PyTorch, which the linter itself does not need."""
    pytest.importorskip("torch", reason="the proofs run PyTorch, which is not installed")
    return importlib.import_module("torch")


def attend(torch: Any, row: Any, positions: Any) -> Any:
    """Causal attention within each run of positions that count on, as attention kernels read packed position ids."""
    sample = (positions.diff(prepend=positions[:1] - 1) != 1).cumsum(0)
    order = torch.arange(len(row))
    allowed = (order[:, None] >= order) & (sample[:, None] == sample)
    torch.manual_seed(0)
    tokens, places = torch.nn.Embedding(50, 16), torch.nn.Embedding(32, 16)
    hidden = (tokens(row) + places(positions))[None, None]
    return torch.nn.functional.scaled_dot_product_attention(hidden, hidden, hidden, attn_mask=allowed)[0, 0]


def samples(torch: Any) -> list[Any]:
    torch.manual_seed(1)
    return [torch.randint(50, (7,)), torch.randint(50, (5,))]


def alone(torch: Any) -> Any:
    return torch.cat([attend(torch, sample, torch.arange(len(sample))) for sample in samples(torch)])


def test_one_count_over_the_row_lets_the_second_sample_see_the_first(torch: Any) -> None:
    row = torch.cat(samples(torch))
    packed = attend(torch, row, torch.arange(row.numel()))
    assert torch.allclose(packed[:7], alone(torch)[:7], atol=1e-6)
    assert (packed[7:] - alone(torch)[7:]).abs().max() > 0.1


def test_position_ids_that_start_anew_give_what_each_sample_gives_alone(torch: Any) -> None:
    positions = torch.cat([torch.arange(len(sample)) for sample in samples(torch)])
    packed = attend(torch, torch.cat(samples(torch)), positions)
    assert torch.allclose(packed, alone(torch), atol=1e-6)
