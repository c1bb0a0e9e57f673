"""How a plan lays a model out: which unit and which axes divide each of its tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from shardlint.runtime.matchers import MATCHERS
from shardlint.runtime.mesh import Mesh
from shardlint.runtime.model_facts import Parameter, parent_of
from shardlint.runtime.shares import Share, share
from shardlint.runtime.units import Unit, Wrapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.runtime.plan import Entry, WrittenPlan


class Layout:
    """The layout of a written plan. All parts are worked out once, for all rules."""

    def __init__(self, plan: WrittenPlan) -> None:
        self.plan = plan
        self.model = plan.model
        self.mesh = plan.mesh if isinstance(plan.mesh, Mesh) else Mesh(plan.mesh)
        self._apart: dict[str, bool] = {}
        self._dims: dict[str, int | None] = {}

    @cached_property
    def patterns(self) -> dict[str, tuple[str, ...]]:
        """No-shard pattern -> the axes for which the framework leaves alone what it means; none for a stated one.

        VeOmni derives a pattern for each axis itself, the parent of the first one (source: VeOmni,
        `distributed/parallel_plan.py`, `ParallelPlan.__init__`).
        """
        if self.plan.no_shard or not self.is_veomni:
            return {stated.text: () for stated in self.plan.no_shard}
        first: dict[str, str] = {}
        for entry in self.plan.entries:
            if self.mesh.get(entry.axis) != 1:
                first.setdefault(entry.axis, parent_of(entry.pattern))
        return {pattern: tuple(axis for axis, other in first.items() if other == pattern) for pattern in first.values()}

    @property
    def is_veomni(self) -> bool:
        """Whether VeOmni applies the plan: it shards what the units leave alone over an FSDP axis of its own."""
        return self.plan.matcher is MATCHERS["veomni"]

    def modules(self, pattern: str) -> tuple[str, ...]:
        """The modules that a no-shard pattern means, read as the framework reads it."""
        if self.is_veomni:
            return tuple(name for name in self.model.modules if name and self.plan.matcher.covers(pattern, name))
        return MATCHERS["torch"].names(pattern, self.model, ())

    @cached_property
    def wrapping(self) -> Wrapping:
        """What the units take, the root among them. Without units nothing is taken."""
        apart = frozenset(name for pattern in self.patterns for name in self.modules(pattern))
        wrapping = Wrapping(self.model, self.plan.units, apart)
        if not self.plan.units or "" in wrapping.first_calls:
            return wrapping
        return Wrapping(self.model, (*self.plan.units, Unit(("",), self.plan.head)), apart)

    @property
    def units_missing(self) -> bool:
        """Whether the mesh has an axis for FSDP, and what it takes is not known."""
        return not self.plan.units and any(self.mesh.get(axis, 1) > 1 for axis in ("fsdp", "dp_shard"))

    @cached_property
    def dividing(self) -> Mapping[str, Mapping[str, Entry]]:
        """By the first name of each parameter that the plan divides: axis -> the first entry that does so."""
        found: dict[str, dict[str, Entry]] = {}
        for entry in self.plan.entries:
            names = self.plan.matches(entry) if entry.shards else ()
            for parameter in self.model.tensors(names):
                found.setdefault(parameter.tied_to or parameter.name, {}).setdefault(entry.axis, entry)
        return found

    def apart(self, parameter: str) -> bool:
        """Whether the no-shard set holds a parameter."""
        return bool(self.wrapping.apart) and self._is_apart(parent_of(parameter))

    def _is_apart(self, module: str) -> bool:
        if module not in self._apart:
            self._apart[module] = module in self.wrapping.apart or (bool(module) and self._is_apart(parent_of(module)))
        return self._apart[module]

    @cached_property
    def shares(self) -> tuple[Share, ...]:
        """What one rank holds of each tensor."""
        return tuple(self._share(p) for p in self.model.parameters.values() if p.tied_to is None)

    def _share(self, parameter: Parameter) -> Share:
        cuts = {axis: entry.dim for axis, entry in self.dividing.get(parameter.name, {}).items()}
        own = self.has_own_fsdp(parameter.name)
        if not own and self.wrapping.call_of(parameter.name) is None:
            return share(parameter, cuts, self.mesh, None)
        return share(parameter, cuts, self.mesh, self.fsdp_dim(parameter.name, int(own)))

    def has_own_fsdp(self, parameter: str) -> bool:
        """Whether VeOmni shards a parameter over the FSDP axis of the axis that divides it."""
        return self.is_veomni and bool(self.plan.units) and self.apart(parameter)

    def below_unit(self, parameter: str) -> bool:
        """Whether a module that holds a parameter is wrapped by a call that is not the root's."""
        holder = parent_of(parameter)
        while holder and holder not in self.wrapping.first_calls:
            holder = parent_of(holder)
        return bool(holder)

    @cached_property
    def root(self) -> tuple[Share, ...]:
        """What the root unit takes."""
        calls = {share.parameter.name: self.wrapping.call_of(share.parameter.name) for share in self.shares}
        return tuple(
            share for share in self.shares if (call := calls[share.parameter.name]) is not None and call.is_root
        )

    @staticmethod
    def block_of(shares: Iterable[Share]) -> str:
        """The pattern of the blocks, members of a numbered list, to which most bytes of some shares belong."""
        found: dict[str, int] = {}
        for part in shares:
            path = part.parameter.name.split(".")
            at = next((at for at, name in enumerate(path) if name.isdecimal()), len(path))
            block = ".".join((*path[:at], "*"))
            found[block] = found.get(block, 0) + part.whole
        return max(found, key=found.__getitem__)

    def fsdp_dim(self, parameter: str, default: int = 0) -> int:
        """The dim that FSDP divides: stated for the nearest module that holds the parameter, or the default."""
        stated = self._stated_dim(parent_of(parameter)) if self.plan.fsdp_dims else None
        return default if stated is None else stated

    def _stated_dim(self, module: str) -> int | None:
        if module not in self._dims:
            words = (module.rpartition(".")[2], self.model.modules[module].class_name)
            dims = (
                dim
                for stated, dim in self.plan.fsdp_dims.items()
                if stated in words or MATCHERS["torch"].covers(stated, module)
            )
            above = self._stated_dim(parent_of(module)) if module else None
            self._dims[module] = next(dims, above)
        return self._dims[module]
