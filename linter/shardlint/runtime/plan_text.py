"""The text form of a plan and of a mesh, in which the examples of plan rules are written.

    matcher: veomni
    model.layers.*.mlp.experts.gate_up_proj: Shard(0)
    model.layers.*.self_attn.q_proj.weight: Shard(0) on tp

The head names the framework whose matcher reads the patterns. Without `on AXIS` an entry is for the axis that the
framework's plans usually are for. The empty pattern is written `""`. A mesh is `ep=8 tp=4`.
"""

from __future__ import annotations

import re

from shardlint.errors import PlanError
from shardlint.runtime.facts_text import uncommented
from shardlint.runtime.matchers import MATCHERS, Matcher
from shardlint.runtime.model_facts import ModelFacts
from shardlint.runtime.plan import Entry, WrittenPlan

_HEAD = re.compile(r"matcher:\s*(\S+)")
_ENTRY = re.compile(r"(?P<indent>\s*)(?P<pattern>[^\s:]+)\s*:\s*(?P<placement>[^\s:].*?)(?:\s+on\s+(?P<axis>\w+))?")
_AXIS = re.compile(r"([A-Za-z_]\w*)=([1-9][0-9]{0,8})")


def parse_plan(text: str, model: ModelFacts, mesh: dict[str, int], path: str) -> WrittenPlan:
    """The plan that a text states.

    Args:
        path: how findings name the text.

    Raises PlanError, with the line, for a head or an entry that cannot be read, a pattern that is given twice for one
    axis, and an axis that a known mesh does not have.
    """
    lines = [(number, uncommented(line).rstrip()) for number, line in enumerate(text.split("\n"), 1)]
    stated = [(number, line) for number, line in lines if line]
    matcher = _matcher(*stated[0]) if stated else None
    if matcher is None:
        raise PlanError("line 1: a plan begins with the line `matcher: NAME`")
    entries: dict[tuple[str, str], Entry] = {}
    for number, line in stated[1:]:
        entry = _entry(number, line, matcher, mesh, path)
        earlier = entries.setdefault((entry.axis, entry.pattern), entry)
        if earlier is not entry:
            raise PlanError(f"line {number}: the pattern `{entry.pattern}` stands in line {earlier.line} already")
    return WrittenPlan(matcher, tuple(entries.values()), mesh, model)


def _matcher(number: int, line: str) -> Matcher:
    head = _HEAD.fullmatch(line.strip())
    found = MATCHERS.get(head[1]) if head is not None else None
    if found is None:
        allowed = ", ".join(f"`matcher: {name}`" for name in MATCHERS)
        raise PlanError(f"line {number}: `{line.strip()}` names no matcher; a plan begins with one of {allowed}")
    return found


def _entry(number: int, line: str, matcher: Matcher, mesh: dict[str, int], path: str) -> Entry:
    found = _ENTRY.fullmatch(line)
    if found is None:
        raise PlanError(f"line {number}: `{line.strip()}` is no entry; write `PATTERN: PLACEMENT`")
    axis: str = found["axis"] or matcher.axis
    if found["axis"] and mesh and axis not in mesh:
        raise PlanError(f"line {number}: the mesh has no axis `{axis}`; it has {', '.join(mesh)}")
    pattern = "" if found["pattern"] == '""' else found["pattern"]
    return Entry(pattern, found["placement"], axis, number, len(found["indent"]) + 1, path)


def parse_mesh(text: str) -> dict[str, int]:
    """The axes of a mesh and their sizes, in order; empty for an empty text.

    Raises PlanError for what is not `AXIS=SIZE` with a size from 1, and for an axis that is given twice.
    """
    mesh: dict[str, int] = {}
    for part in text.replace(",", " ").split():
        found = _AXIS.fullmatch(part)
        if found is None:
            raise PlanError(f"line 1: `{part}` is no axis of a mesh; write `ep=8 tp=4`, with sizes from 1")
        if found[1] in mesh:
            raise PlanError(f"line 1: the mesh has the axis `{found[1]}` twice")
        mesh[found[1]] = int(found[2])
    return mesh
