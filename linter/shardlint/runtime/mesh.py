"""A mesh of devices: its axes and their sizes, and over how many ranks FSDP divides a tensor on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from math import prod

SHARDING = ("fsdp", "dp_shard", "dp", "cp", "context", "sp", "ulysses")
"""Axes over which FSDP divides: those of data, and those of the sequence, whose ranks hold the same parameters."""

REPLICATING = ("dp_replicate", "replicate", "ddp", "hsdp")
"""Axes of data whose ranks hold the same shards."""

UNPLANNED = frozenset((*SHARDING, *REPLICATING, "pp"))
"""Axes that need no entry of a plan: they divide the data, the sequence, or the layers."""


class Mesh(Mapping[str, int]):
    """Axis -> size, in order.

    Args:
        sizes: of the axes, each from 1.
        world: how many ranks the job has; None when it is not known.
        budget: the memory of one device in GiB; None when it is not known.
    """

    def __init__(self, sizes: Mapping[str, int], world: int | None = None, budget: float | None = None) -> None:
        self._sizes = dict(sizes)
        self.world = world
        self.budget = budget

    def __getitem__(self, axis: str) -> int:
        return self._sizes[axis]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)

    def product(self, axes: Iterable[str]) -> int:
        """The ranks of some axes together; an axis that the mesh does not have counts one."""
        return prod(self.get(axis, 1) for axis in axes)

    @cached_property
    def carved(self) -> tuple[str, ...]:
        """The axes that are cut out of the data axes and not laid beside them: `ep`, its kin, and what has an
        `X_fsdp` beside it."""
        return tuple(axis for axis in self if axis == "ep" or f"{axis}_fsdp" in self or self._is_part(axis))

    def _is_part(self, axis: str) -> bool:
        """Whether an axis is the rest of a carved one: `ep_fsdp`, `ep_replicate`."""
        head, _, tail = axis.rpartition("_")
        return tail in ("fsdp", "replicate") and (head == "ep" or head in self)

    @property
    def ordinary(self) -> tuple[str, ...]:
        """The axes that are laid beside each other."""
        carved = self.carved
        return tuple(axis for axis in self if axis not in carved)

    @property
    def roots(self) -> tuple[str, ...]:
        """The carved axes without what is the rest of one."""
        return tuple(axis for axis in self.carved if not self._is_part(axis))

    @property
    def planned(self) -> tuple[str, ...]:
        """The axes that do nothing without an entry of a plan."""
        return tuple(axis for axis in self if axis not in UNPLANNED and not self._is_part(axis))

    @property
    def hosts(self) -> tuple[int, ...]:
        """How many ranks a carved axis may be cut out of: those that share the data and the sequence, and with them
        those of `tp`, where experts may lie across them. Empty when that is not known."""
        if not self.has_data and self.world is None:
            return ()
        return (self.sharding, self.sharding * self.get("tp", 1))

    @property
    def has_data(self) -> bool:
        """Whether an axis of data is named; otherwise the ranks that the others leave share the data."""
        return any(axis in self for axis in ("dp", "dp_shard", "fsdp", *REPLICATING))

    @cached_property
    def lies_flat(self) -> bool:
        """Whether all axes are laid beside each other, those for experts too: then their product is the world."""
        return bool(self.carved) and self.world is not None and self.product(self) == self.world

    @cached_property
    def sharding(self) -> int:
        """The ranks over which FSDP divides what no entry of a plan divides."""
        axes = [axis for axis in SHARDING if axis in self]
        if len({"fsdp", "dp_shard"} & set(axes)) and "dp" in axes:
            axes.remove("dp")  # then `dp` is the one that replicates
        if self.has_data:
            return self.product(axes)
        if self.world is not None:
            others = self if self.lies_flat else self.ordinary
            return max(1, self.world // self.product(axis for axis in others if axis not in SHARDING))
        return max(self.product(axes), *(self[axis] * self.get(f"{axis}_fsdp", 1) for axis in self.carved), 1)

    def fsdp_ranks(self, used: Iterable[str]) -> int:
        """The ranks over which FSDP divides a tensor that a plan has divided over the axes `used`."""
        for axis in used:
            if f"{axis}_fsdp" in self:
                return self[f"{axis}_fsdp"]
            if axis in self.carved and not self.lies_flat:
                return max(1, self.sharding // self[axis])
        return self.sharding

    def written(self, axes: Iterable[str] | None = None) -> str:
        """The axes as a product, for messages: `dp=8 x tp=4`."""
        return " x ".join(f"{axis}={self[axis]}" for axis in (self if axes is None else axes) if axis in self)
