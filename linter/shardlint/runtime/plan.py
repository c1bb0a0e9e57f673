"""A parallel plan, and what a plan rule is handed: the plan against the facts of the model, on a mesh.

Text forms for examples are read by `plan_text` and `facts_text`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from shardlint.finding import Finding, Related, Span
from shardlint.runtime.layout import Layout
from shardlint.runtime.matchers import Matcher
from shardlint.runtime.mesh import Mesh
from shardlint.runtime.model_facts import ModelFacts, Parameter
from shardlint.runtime.repairs import repairs
from shardlint.runtime.shares import gib
from shardlint.runtime.units import Stated, Unit, Wrapping
from shardlint.voice import Voice

_SHARD = re.compile(r"_?(?:Strided)?Shard\((?:dim=)?(-?\d{1,3})\)")
_SHARDING_STYLE = re.compile(r"\w*(?:col(?:umn)?wise|rowwise)\w*(?:\(.*\))?|grouped_gemm", re.IGNORECASE)


@dataclass(frozen=True)
class Entry:
    """One line of a plan.

    Args:
        pattern: as the user wrote it.
        placement: what it does to what it matches: `Shard(0)`, `ColwiseParallel`, `rowwise`.
        axis: the mesh axis over which it does so.
        line, column: of the pattern, from 1.
        path: the file that holds it.
    """

    pattern: str
    placement: str
    axis: str
    line: int
    column: int
    path: str

    @property
    def shards(self) -> bool:
        """Whether it divides parameters; other styles only prepare inputs and outputs."""
        return bool(_SHARD.fullmatch(self.placement) or _SHARDING_STYLE.fullmatch(self.placement))

    @property
    def dim(self) -> int | None:
        """The dim of the tensor that a `Shard(dim)` divides."""
        found = _SHARD.fullmatch(self.placement)
        return None if found is None else int(found[1])


@dataclass(frozen=True)
class WrittenPlan:
    """A plan as it stands in a file, with the model and the mesh that it is for.

    Args:
        matcher: the framework's own.
        mesh: axis -> size; empty when it is not known.
        head: where the plan begins; findings about the mesh and the whole model lie there.
        units: FSDP2's wrap list in the order of its calls, without the root, which is wrapped last unless a unit names
            it; empty when FSDP2 is not used or not known.
        fsdp_dims: pattern, class or last name of modules -> the dim that FSDP divides of what they hold, if not 0.
        no_shard: patterns of modules whose parameters the units leave alone.
        uncovered_ok: patterns of parameters that are left whole on purpose.
    """

    matcher: Matcher
    entries: tuple[Entry, ...]
    mesh: Mapping[str, int]
    model: ModelFacts
    head: Stated = field(default=Stated("", 1, 1, "plan"))
    units: tuple[Unit, ...] = ()
    fsdp_dims: Mapping[str, int] = field(default_factory=dict[str, int])
    no_shard: tuple[Stated, ...] = ()
    uncovered_ok: tuple[str, ...] = ()

    def matches(self, entry: Entry) -> tuple[str, ...]:
        """The parameters or modules to which the framework applies an entry."""
        key = (entry.axis, entry.pattern)
        if key not in self.matched:
            others = {other.pattern for other in self.entries if other.axis == entry.axis}
            self.matched[key] = self.matcher.names(entry.pattern, self.model, others)
        return self.matched[key]

    @cached_property
    def matched(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """What the matcher has answered so far, for all rules."""
        return {}

    @cached_property
    def layout(self) -> Layout:
        """What the units and the entries do to each tensor."""
        return Layout(self)


class Plan:
    """What a plan rule judges."""

    def __init__(self, written: WrittenPlan, voice: Voice) -> None:
        self.matcher = written.matcher
        self.entries = written.entries
        self.mesh = written.mesh
        self.model = written.model
        self.head = written.head
        self.units = written.units
        self.no_shard = written.no_shard
        self.voice = voice
        self._written = written

    def matches(self, entry: Entry) -> tuple[str, ...]:
        """The parameters or modules to which the framework applies an entry."""
        return self._written.matches(entry)

    @property
    def layout(self) -> Layout:
        """What the units and the entries do to each tensor."""
        return self._written.layout

    @property
    def wrapping(self) -> Wrapping:
        """What the calls of `fully_shard` take."""
        return self.layout.wrapping

    @property
    def ranks(self) -> Mesh:
        """The mesh, with what is known of the world and of a device's memory."""
        return self.layout.mesh

    def divides_name(self, name: str, axis: str) -> bool:
        """Whether an entry for an axis divides a parameter under this very name. VeOmni sees the first names only."""
        holder = name.rpartition(".")[0]
        return any(
            entry.axis == axis and entry.shards and (name in matches or holder in matches)
            for entry in self.entries
            for matches in (self.matches(entry),)
        )

    def axis_matches(self, axis: str) -> frozenset[str]:
        """Everything that the entries for one axis match."""
        return frozenset(name for entry in self.entries if entry.axis == axis for name in self.matches(entry))

    def means_tied_name(self, entry: Entry) -> bool:
        """Whether a pattern means a further name of a tied tensor, which the framework sees under its first name."""
        return any(
            parameter.tied_to is not None and self.matcher.covers(entry.pattern, parameter.name)
            for parameter in self.model.parameters.values()
        )

    def nearest(self, entry: Entry) -> str | None:
        """The pattern that was surely meant by one that matches nothing.

        None when nothing is near, when several are equally near, or when what is near has an entry already: then the
        plan also names another variant of the model. Of several, one with the same last name wins, then one whose
        shapes other entries place alike.
        """
        taken = self._named(entry.axis)
        if self._stands_under_prefix(entry, taken):
            return None
        written = entry.pattern.rpartition(".")[2]
        ranked: dict[str, tuple[int, bool, bool]] = {}
        for repair in repairs(entry.pattern, self.matcher, self.model):
            last, names = repair.pattern.rpartition(".")[2], self.matcher.names(repair.pattern, self.model, ())
            named = [name for name in names if self.matcher.covers(repair.pattern, name)]
            if not named or (not repair.spelling and not taken.isdisjoint(named)) or not self._fits(entry, named):
                continue
            if ("bias" in last) != ("bias" in written):
                continue  # An optional bias is no misspelt weight.
            renamed = last != written
            ranked.setdefault(repair.pattern, (repair.cost, renamed, not self._placed_alike(entry, names)))
        best = min(ranked.values(), default=None)
        nearest = [pattern for pattern, rank in ranked.items() if rank == best]
        return nearest[0] if len(nearest) == 1 else None

    def _named(self, axis: str) -> frozenset[str]:
        """What the entries for an axis name themselves, not through the module that holds it."""
        return frozenset(
            name
            for entry in self.entries
            if entry.axis == axis
            for name in self.matches(entry)
            if self.matcher.covers(entry.pattern, name)
        )

    def _stands_under_prefix(self, entry: Entry, taken: Collection[str]) -> bool:
        """Whether the same pattern is alive under a prefix: a plan that was merged twice."""
        prefixes = [
            name
            for name in self.model.modules
            if name and name.count(".") < 3 and not any(part.isdecimal() for part in name.split("."))
        ]
        return any(
            self.matcher.covers(f"{prefix}.{entry.pattern}", name)
            for prefix in prefixes
            for name in taken
            if name.startswith(f"{prefix}.")
        )

    def _fits(self, entry: Entry, names: Sequence[str]) -> bool:
        """Whether all tensors among names have the dim that an entry divides."""
        dim = entry.dim
        return dim is None or all(-len(p.shape) <= dim < len(p.shape) for p in self.parameters(names))

    def _placed_alike(self, entry: Entry, names: Sequence[str]) -> bool:
        alike = [name for other in self.entries if other.placement == entry.placement for name in self.matches(other)]
        return {p.shape for p in self.parameters(names)} <= {p.shape for p in self.parameters(alike)}

    def parameters(self, names: Sequence[str]) -> list[Parameter]:
        """The parameters among names and those that named modules hold themselves, each tensor once."""
        return self.model.tensors(names)

    def size(self, entry: Entry) -> int | None:
        """How many ranks the axis of an entry has; None when the mesh is not known or does not have it."""
        return self.mesh.get(entry.axis)

    def undivided(self, entry: Entry, pattern: str) -> str:
        """A clause on what stays undivided because `entry` was not written as `pattern`, with the bytes where the mesh
        and the dtypes are known."""
        if any(other.pattern == pattern and other.axis == entry.axis for other in self.entries):
            return f"`{pattern}`, which the plan has too, decides"
        if not entry.shards:
            return f"`{pattern}` is left as it is"
        total, ranks = self.undivided_bytes(pattern), self.size(entry)
        if total is None or ranks is None:
            return f"`{pattern}` stays whole on every rank"
        whole, part = gib(total), gib(total / ranks)
        return f"`{pattern}` stays whole on each of {ranks} ranks of `{entry.axis}`, {whole} instead of {part}"

    def undivided_bytes(self, pattern: str) -> int | None:
        """The bytes of all tensors that a pattern means, undivided: the product of extents, times the dtype's bytes.

        A tensor of one dim is left out: a row-wise style does not divide the bias. None when a dtype is not known.
        """
        total = 0
        for parameter in self.parameters(self.matcher.names(pattern, self.model, ())):
            if parameter.bytes is None:
                return None
            total += parameter.bytes if len(parameter.shape) > 1 else 0
        return total

    def finding(
        self,
        entry: Entry,
        message: str,
        *,
        help: str,
        related: Sequence[Related] = (),
        certainty: float = 1.0,
    ) -> Finding:
        """A finding at the pattern of an entry."""
        width = max(1, len(entry.pattern))
        return self.voice.finding(
            entry.path,
            Span(entry.line, entry.column, entry.line, entry.column + width),
            message,
            help=help,
            related=tuple(related),
            certainty=certainty,
            scope=entry.axis,
            line=f"{entry.pattern}: {entry.placement}",
        )

    def finding_at(
        self,
        stated: Stated,
        message: str,
        *,
        help: str,
        related: Sequence[Related] = (),
        scope: str = "",
        note: bool = False,
    ) -> Finding:
        """A finding at a line that is no entry: a unit, a no-shard pattern, or the head.

        Args:
            scope: what tells two findings at one place apart.
            note: whether it is only a note, whatever the rule's severity.
        """
        own = self.voice
        voice = Voice(own.rule, own.family, "note", own.evidence, own.confidence) if note else own
        end = stated.column + max(1, len(stated.text))
        return voice.finding(
            stated.path,
            Span(stated.line, stated.column, stated.line, end),
            message,
            help=help,
            related=tuple(related),
            scope=scope,
            line=stated.text,
        )
