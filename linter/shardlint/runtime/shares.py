"""What one rank holds of a tensor, and how many bytes training it takes.

A parameter takes the bytes of its dtype, its gradient as many. The optimizer is taken to be Adam with 32 bits: two
moments, and a master copy of what has fewer than 32 bits. So that is 2+2+12 bytes for bfloat16 and 4+4+8 for float32;
what is frozen takes its own bytes alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from shardlint.runtime.mesh import Mesh
from shardlint.runtime.model_facts import BYTES, Parameter

MOMENTS, MASTER = 8, 4
"""Bytes for each element: of Adam's two moments, and of the copy in 32 bits."""


@dataclass(frozen=True)
class Share:
    """What the fullest rank holds of one tensor.

    Args:
        count: the elements of the whole tensor.
        size: bytes of one of them; 0 for a dtype that is not known.
        elements: how many of them the rank holds, padding included.
        axes: the axes over which the plan divides it.
        fsdp: over how many ranks FSDP divides it; None when no unit takes it.
        idle: how many of those ranks hold nothing.
    """

    parameter: Parameter
    count: int
    size: int
    elements: int
    axes: tuple[str, ...]
    fsdp: int | None
    idle: int = 0

    def gathered(self, mesh: Mesh) -> float:
        """Bytes that a rank holds of it while its unit is gathered: FSDP's division undone, the plan's kept."""
        return self.whole / mesh.product(self.axes)

    @property
    def whole(self) -> int:
        """Bytes of the whole tensor."""
        return self.count * self.size

    @property
    def weights(self) -> int:
        """Bytes of the parameter itself."""
        return self.elements * self.size

    @property
    def gradients(self) -> int:
        """Bytes of its gradient."""
        return self.weights if self.parameter.trainable else 0

    @property
    def optimizer(self) -> int:
        """Bytes of the optimizer's state."""
        if not self.parameter.trainable or not self.size:
            return 0
        return self.elements * (MOMENTS + (MASTER if self.size < 4 else 0))

    @property
    def total(self) -> int:
        """All of its bytes."""
        return self.weights + self.gradients + self.optimizer


def share(parameter: Parameter, cuts: Mapping[str, int | None], mesh: Mesh, fsdp_dim: int | None) -> Share:
    """What the fullest rank holds of a tensor: chunks are rounded up, as torch makes them.

    Args:
        cuts: axis -> the dim that the plan divides over it; None where the style chooses it.
        fsdp_dim: the dim that FSDP divides; None when no unit takes the tensor.
    """
    shape = list(parameter.shape)
    count, size, whole = prod(shape), BYTES.get(parameter.dtype, 0), 1
    for axis, dim in cuts.items():
        ranks = mesh.get(axis, 1)
        if dim is None or not -len(shape) <= dim < len(shape):
            whole *= ranks
        else:
            shape[dim] = -(-shape[dim] // ranks)
    if fsdp_dim is None or not shape:
        return Share(parameter, count, size, -(-prod(shape) // whole), tuple(cuts), None)
    ranks = mesh.fsdp_ranks(cuts)
    at = fsdp_dim if fsdp_dim < len(shape) else 0
    extent = shape[at]
    shape[at] = -(-extent // ranks)
    filled = -(-extent // shape[at]) if shape[at] else ranks
    return Share(parameter, count, size, -(-prod(shape) // whole), tuple(cuts), ranks, ranks - filled)


def gib(size: float) -> str:
    """Bytes in GiB, for people."""
    return f"{size / 2**30:.2f} GiB"


def total(shares: Iterable[Share]) -> int:
    """The bytes of some shares together."""
    return sum(part.total for part in shares)
