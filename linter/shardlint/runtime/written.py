"""From a target and what the child learnt to the plan that the rules judge."""

from __future__ import annotations

from shardlint.runtime.collected import Collected, ReadPlan
from shardlint.runtime.matchers import MATCHERS
from shardlint.runtime.mesh import Mesh
from shardlint.runtime.plan import WrittenPlan
from shardlint.runtime.target import Target
from shardlint.runtime.units import NO_SPLIT, Stated, Unit

_NO_PATTERNS = "torch"
"""The matcher of a plan that has no patterns: any would do."""


def written_plan(target: Target, collected: Collected, settings: str) -> WrittenPlan:
    """The plan of a target as it stands in files.

    Args:
        settings: the file that holds the target, relative to the root: findings about the mesh and the units of the
            settings lie there.
    """
    read = collected.plan or ReadPlan()
    head = _head(target, read, settings)
    return WrittenPlan(
        MATCHERS[read.matcher or _NO_PATTERNS],
        read.entries,
        Mesh(target.mesh, target.world, target.budget),
        collected.facts,
        head=head,
        units=_units(target, read, head),
        fsdp_dims=target.dims,
        no_shard=tuple(Stated(pattern, head.line, head.column, head.path) for pattern in target.ignored),
        uncovered_ok=target.uncovered_ok,
    )


def _head(target: Target, read: ReadPlan, settings: str) -> Stated:
    """Where the plan begins: at its first entry, or else where the target is written."""
    if read.entries:
        first = min(read.entries, key=lambda entry: (entry.path, entry.line))
        return Stated(first.pattern, first.line, first.column, first.path)
    return Stated(target.name, 1, 1, settings)


def _units(target: Target, read: ReadPlan, head: Stated) -> tuple[Unit, ...]:
    """FSDP's wrap list: of the settings, of a function that was applied, or the classes that were read."""
    if target.wrap:
        return tuple(
            Unit((name,), Stated(name, head.line, head.column, head.path), bottom_up=name == NO_SPLIT)
            for name in target.wrap
        )
    return tuple(
        Unit((wrap.class_name,), Stated(wrap.class_name, wrap.line, wrap.column, wrap.path), bottom_up=True)
        for wrap in read.wraps
    )
