"""A parallel plan, and what a plan rule is handed: the plan against the facts of the model, on a mesh.

Text forms for examples are read by `plan_text` and `facts_text`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

from shardlint.finding import Finding, Related, Span
from shardlint.runtime.heads import Heads, heads_of
from shardlint.runtime.layout import Layout
from shardlint.runtime.matchers import Matcher, starred
from shardlint.runtime.mesh import Mesh
from shardlint.runtime.model_facts import ModelFacts, Parameter, parent_of
from shardlint.runtime.placements import SHARD, Division, division, gathers
from shardlint.runtime.prefixes import PrefixCause, prefix_cause
from shardlint.runtime.repairs import repairs
from shardlint.runtime.shares import gib
from shardlint.runtime.units import Stated, Unit, Wrapping
from shardlint.voice import Voice

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
        return bool(SHARD.fullmatch(self.placement) or _SHARDING_STYLE.fullmatch(self.placement))

    @property
    def distributes(self) -> bool:
        """Whether the style of torch distributes its module; others only prepare inputs and outputs."""
        return re.match(r"(?:\w+\.)*\w*(?:Colwise|Rowwise|Sequence)Parallel\b", self.placement) is not None

    @property
    def dim(self) -> int | None:
        """The dim of the tensor that a `Shard(dim)` divides."""
        found = SHARD.fullmatch(self.placement)
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

    @cached_property
    def nearest(self) -> dict[Entry, str | None]:
        """What dead entries were surely meant to be, as far as it was looked for."""
        return {}

    @cached_property
    def causes(self) -> list[PrefixCause | None]:
        """The prefix that explains dead entries, once it was looked for."""
        return []


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

    def placed(self, entry: Entry) -> list[Parameter]:
        """The parameters to which the framework applies the placement itself, each tensor once."""
        if self.matcher.target == "module":
            return self.parameters(self.matches(entry))
        return [self.model.parameters[name] for name in self.matches(entry) if name in self.model.parameters]

    def division(self, entry: Entry, parameter: Parameter) -> Division | None:
        """How an entry cuts a parameter; None when it leaves it whole."""
        holder = self.model.modules[parent_of(parameter.name)]
        embedding = "Embedding" in holder.class_name or (
            not holder.class_name and "embed" in holder.name.rpartition(".")[2]
        )
        return division(self.matcher.name, entry.placement, parameter, embedding, self.model.styles)

    def kinds(self, parameters: Iterable[Parameter]) -> dict[str, list[Parameter]]:
        """Parameters by their name with `*` for the number of a layer."""
        found: dict[str, list[Parameter]] = {}
        for parameter in parameters:
            found.setdefault(starred(parameter.name), []).append(parameter)
        return found

    def split_heads(self, entry: Entry) -> tuple[Parameter, Heads] | None:
        """A projection that an entry cuts through an attention head, with the heads that it has."""
        ranks = self.size(entry)
        if ranks is None or gathers(entry.placement):
            return None
        kinds = {(parent_of(starred(p.name)), p.shape): p for p in reversed(self.placed(entry))}
        for parameter in kinds.values():
            cut = self.division(entry, parameter)
            if cut is None or cut.dim not in (0, -2):
                continue
            for heads in heads_of(parameter, self.model.config):
                if heads.count % ranks:
                    return parameter, heads
        return None

    def is_dead(self, entry: Entry) -> bool:
        """Whether an entry matches nothing although its axis has ranks to divide among."""
        return not self.matches(entry) and self.size(entry) != 1 and not self.means_tied_name(entry)

    @property
    def prefix_cause(self) -> PrefixCause | None:
        """The one prefix for which most dead entries match nothing, if there is one."""
        if not self._written.causes:
            dead = [entry for entry in self.entries if self.is_dead(entry)]
            alive = [entry for entry in self.entries if self.matches(entry)]
            self._written.causes.append(prefix_cause(dead, alive, self.model, self._would_match))
        return self._written.causes[0]

    def named_by(self, pattern: str) -> list[Parameter]:
        """The parameters that a pattern would name, by itself or through their module."""
        return self.parameters(self.matcher.names(pattern, self.model, ()))

    def _would_match(self, entry: Entry, pattern: str) -> bool:
        named = [n for n in self.matcher.names(pattern, self.model, ()) if self.matcher.covers(pattern, n)]
        return bool(named) and self._named(entry.axis).isdisjoint(named) and self._fits(entry, named)

    def is_excused(self, name: str) -> bool:
        """Whether the user says that a parameter is left whole on purpose."""
        return any(fnmatchcase(name, pattern) for pattern in self._written.uncovered_ok)

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
        if entry not in self._written.nearest:
            self._written.nearest[entry] = self._find_nearest(entry)
        return self._written.nearest[entry]

    def _find_nearest(self, entry: Entry) -> str | None:
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
            if repair.cost < 2 and ("bias" in last) != ("bias" in written):
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
            name in taken and self.matcher.covers(pattern, name)
            for pattern in (f"{prefix}.{entry.pattern}" for prefix in prefixes)
            for name in self.matcher.names(pattern, self.model, ())
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

    def note(self, entry: Entry, message: str) -> Related:
        """A further place of the plan that a finding names."""
        return Related(entry.path, entry.line, entry.column, message)

    def extra(self, parameters: Sequence[Parameter], axis: str) -> str:
        """What parameters that stay whole cost each rank beside a share of them: `, +3.38 GiB on each rank`; empty when
        the mesh or a dtype is not known."""
        ranks, sizes = self.mesh.get(axis), [parameter.bytes for parameter in parameters]
        known = [size for size in sizes if size is not None]
        if not ranks or len(known) < len(sizes):
            return ""
        return f", +{gib(sum(known) * (ranks - 1) / ranks)} on each rank"

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
