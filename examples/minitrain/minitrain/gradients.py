"""The norm of gradients that lie on different meshes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor


@torch.no_grad()
def clip_grad_norm_(parameters: Iterable[nn.Parameter], max_norm: float) -> Tensor:
    """Scale all gradients so that their norm together is at most `max_norm`, and return the norm that they had.

    torch's own function stacks the norms of all tensors, which it cannot do across meshes.
    """
    by_mesh: dict[DeviceMesh, list[nn.Parameter]] = defaultdict(list)
    for parameter in parameters:
        if isinstance(parameter.grad, DTensor):
            by_mesh[parameter.grad.device_mesh].append(parameter)
    norms = [_norm([p.grad for p in group if p.grad is not None]) for group in by_mesh.values()]
    total = torch.linalg.vector_norm(torch.stack(norms))
    for group in by_mesh.values():
        torch.nn.utils.clip_grads_with_norm_(group, max_norm, total)
    return total


def _norm(gradients: list[Tensor]) -> Tensor:
    """The norm of gradients of one mesh, on every rank."""
    norm = torch.nn.utils.get_total_norm(gradients)
    return norm.full_tensor() if isinstance(norm, DTensor) else norm
