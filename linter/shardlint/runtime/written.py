"""From a target and what the child learnt to the plan that the rules judge."""

from __future__ import annotations

from shardlint.runtime.collected import Collected, ReadPlan
from shardlint.runtime.matchers import MATCHERS
from shardlint.runtime.mesh import UNPLANNED, Mesh
from shardlint.runtime.model_facts import ModelFacts
from shardlint.runtime.plan import Entry, WrittenPlan
from shardlint.runtime.target import Target
from shardlint.runtime.units import NO_SPLIT, Stated, Unit

_NO_PATTERNS = "torch"
"""The matcher of a plan that has no patterns: any would do."""

_WHOLE_NAMES = "veomni"
"""The matcher that takes a name of a parameter for itself."""


def written_plan(target: Target, collected: Collected, place: Stated) -> WrittenPlan:
    """The plan of a target as it stands in files.

    Args:
        place: where the target is written: findings about the mesh and the units of the settings lie there.
    """
    read = collected.plan or ReadPlan()
    entries = _applied(read, collected.facts, place)
    matcher = _WHOLE_NAMES if entries else read.matcher or _NO_PATTERNS
    return WrittenPlan(
        MATCHERS[matcher],
        entries or read.entries,
        Mesh(target.mesh, target.world, target.budget),
        collected.facts,
        head=_head(read, place),
        units=_units(target, read, place),
        fsdp_dims=target.dims,
        no_shard=tuple(_at(place, pattern) for pattern in target.ignored),
        uncovered_ok=target.uncovered_ok,
    )


def _applied(read: ReadPlan, facts: ModelFacts, place: Stated) -> tuple[Entry, ...]:
    """An entry for each division that a function made when it applied its plan, apart from FSDP's own."""
    found: list[Entry] = []
    for parameter in read.applied or ():
        for axis, placement in parameter.placements.items():
            if "Shard" in placement and axis not in UNPLANNED and parameter.name in facts.parameters:
                found.append(Entry(parameter.name, placement, axis, place.line, place.column, place.path))
    return tuple(found)


def _head(read: ReadPlan, place: Stated) -> Stated:
    """Where the plan begins: at its first entry, or else where the target is written."""
    if read.entries:
        first = min(read.entries, key=lambda entry: (entry.path, entry.line))
        return Stated(first.pattern, first.line, first.column, first.path)
    return place


def _units(target: Target, read: ReadPlan, place: Stated) -> tuple[Unit, ...]:
    """FSDP's wrap list: of the settings, of a function that was applied, or the classes that were read."""
    if target.wrap:
        return tuple(Unit((name,), _at(place, name), bottom_up=name == NO_SPLIT) for name in target.wrap)
    if read.units:
        inner = tuple(unit.module for unit in read.units if unit.module)
        return (Unit(inner, place, bottom_up=True),) if inner else ()
    return tuple(
        Unit((wrap.class_name,), Stated(wrap.class_name, wrap.line, wrap.column, wrap.path), bottom_up=True)
        for wrap in read.wraps
    )


def _at(place: Stated, text: str) -> Stated:
    return Stated(text, place.line, place.column, place.path)
