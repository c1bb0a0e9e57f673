"""Exchanges between ranks that gradients flow through."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, received: list[int], sent: list[int], group: dist.ProcessGroup) -> Tensor:
        ctx.received, ctx.sent, ctx.group = received, sent, group
        out = rows.new_empty(sum(received), *rows.shape[1:])
        dist.all_to_all_single(out, rows.contiguous(), received, sent, group=group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        return _AllToAll.apply(grad, ctx.sent, ctx.received, ctx.group), None, None, None


def all_to_all(rows: Tensor, received: list[int], sent: list[int], group: dist.ProcessGroup) -> Tensor:
    """Send rows to each rank of a group, and return those that came.

    Args:
        rows: [rows, ...], ordered by the rank that they go to.
        received, sent: how many rows come from and go to each rank.
    """
    return _AllToAll.apply(rows, received, sent, group)


def exchange_counts(counts: Tensor, group: dist.ProcessGroup) -> Tensor:
    """How many rows come for the experts of this rank.

    Args:
        counts: [experts], how many rows this rank has for each expert of the model.

    Returns:
        [ranks, experts of this rank].
    """
    arriving = torch.empty_like(counts)
    dist.all_to_all_single(arriving, counts, group=group)
    return arriving.view(group.size(), -1)


def _exchange(parts: Tensor, group: dist.ProcessGroup) -> Tensor:
    """Send `parts[rank]` to each rank of the group; what came, in the same order."""
    ones = [1] * group.size()
    return all_to_all(parts, ones, ones, group)


def sequence_to_heads(heads: Tensor, group: dist.ProcessGroup) -> Tensor:
    """From all heads of a part of the sequence to some heads of all of it: [b, s / n, h, d] -> [b, s, h / n, d]."""
    parts = torch.stack(heads.chunk(group.size(), dim=2))
    return torch.cat(_exchange(parts, group).unbind(), dim=1)


def heads_to_sequence(heads: Tensor, group: dist.ProcessGroup) -> Tensor:
    """The way back: [b, s, h / n, d] -> [b, s / n, h, d]."""
    parts = torch.stack(heads.chunk(group.size(), dim=1))
    return torch.cat(_exchange(parts, group).unbind(), dim=2)


def sum_over_ranks(value: Tensor) -> Tensor:
    """The sum of a tensor over all ranks of the job. All of them must call it."""
    total = value.detach().clone()
    dist.all_reduce(total)
    return total
