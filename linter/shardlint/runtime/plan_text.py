"""The text form of a plan and of a mesh, in which the examples of plan rules are written.

    matcher: veomni
    model.layers.*.mlp.experts.gate_up_proj: Shard(0)
    model.layers.*.self_attn.q_proj.weight: Shard(0) on tp
    unit DecoderLayer                       # a call of `fully_shard` for each module of the class
    unit Attention, MLP bottom-up           # one pass over both, children first
    unit model.norm + lm_head               # one call for both
    unit _no_split_modules bottom-up        # the classes that the model names
    no_shard model.layers.*.mlp.experts     # what these units leave alone
    fsdp_dim experts 1                      # the dim that FSDP divides there
    uncovered_ok *.mlp.gate.weight          # left whole on purpose

The head names the framework whose matcher reads the patterns. Without `on AXIS` an entry is for the axis that the
framework's plans usually are for. The empty pattern is written `""`, and is the root of a unit. A mesh is
`ep=8 tp=4 world=32 budget=80`: axes, the ranks of the job, and the memory of a device in GiB.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from shardlint.errors import PlanError
from shardlint.runtime.facts_text import uncommented
from shardlint.runtime.matchers import MATCHERS, Matcher
from shardlint.runtime.mesh import Mesh
from shardlint.runtime.model_facts import ModelFacts
from shardlint.runtime.plan import Entry, WrittenPlan
from shardlint.runtime.units import Stated, Unit

_HEAD = re.compile(r"matcher:\s*(\S+)")
_ENTRY = re.compile(r"(?P<indent>\s*)(?P<pattern>[^\s:]+)\s*:\s*(?P<placement>[^\s:].*?)(?:\s+on\s+(?P<axis>\w+))?")
_AXIS = re.compile(r"([A-Za-z_]\w*)=([1-9][0-9]{0,8})")
_WORD = re.compile(r"\s*(?P<word>unit|no_shard|fsdp_dim|uncovered_ok)\s+(?P<rest>[^:]+)")
_UNIT = re.compile(r"(?P<targets>[^\s,+]+(?:\s*[,+]\s*[^\s,+]+)*)(?P<order>\s+bottom-up)?")
_BUDGET = re.compile(r"budget=([0-9]{1,6}(?:\.[0-9]{1,6})?)")


def parse_plan(text: str, model: ModelFacts, mesh: Mapping[str, int], path: str) -> WrittenPlan:
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
    wrapping = _WrapList(path)
    for number, line in stated[1:]:
        if wrapping.read(number, line):
            continue
        entry = _entry(number, line, matcher, mesh, path)
        earlier = entries.setdefault((entry.axis, entry.pattern), entry)
        if earlier is not entry:
            raise PlanError(f"line {number}: the pattern `{entry.pattern}` stands in line {earlier.line} already")
    return WrittenPlan(
        matcher,
        tuple(entries.values()),
        mesh,
        model,
        head=Stated(stated[0][1].strip(), stated[0][0], 1, path),
        units=tuple(wrapping.units),
        fsdp_dims=wrapping.fsdp_dims,
        no_shard=tuple(wrapping.no_shard),
        uncovered_ok=tuple(wrapping.uncovered_ok),
    )


class _WrapList:
    """The lines of a plan that are no entries: what FSDP takes, and what stays whole on purpose."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.units: list[Unit] = []
        self.no_shard: list[Stated] = []
        self.fsdp_dims: dict[str, int] = {}
        self.uncovered_ok: list[str] = []

    def read(self, number: int, line: str) -> bool:
        """Whether a line is one of them. Raises PlanError for one that is not complete."""
        found = _WORD.fullmatch(line)
        if found is None:
            return False
        word, rest = found["word"], found["rest"].strip()
        stated = Stated(rest, number, found.start("rest") + 1, self.path)
        unit, dim = _UNIT.fullmatch(rest), re.fullmatch(r"(\S+)\s+([0-9]{1,3})", rest)
        if word == "unit" and unit is not None:
            self.units.append(_unit(unit, stated))
        elif word == "fsdp_dim" and dim is not None:
            self.fsdp_dims[dim[1]] = int(dim[2])
        elif word in ("no_shard", "uncovered_ok") and len(rest.split()) == 1:
            if word == "no_shard":
                self.no_shard.append(stated)
            else:
                self.uncovered_ok.append(rest)
        else:
            raise PlanError(f"line {number}: `{line.strip()}` cannot be read; write {_FORMS[word]}")
        return True


_FORMS = {
    "unit": "`unit CLASS`, `unit CLASS, PATTERN bottom-up` or `unit PATTERN + PATTERN`",
    "no_shard": "`no_shard PATTERN`",
    "fsdp_dim": "`fsdp_dim PATTERN DIM`",
    "uncovered_ok": "`uncovered_ok PATTERN`",
}


def _unit(found: re.Match[str], stated: Stated) -> Unit:
    targets = tuple("" if part == '""' else part for part in re.split(r"\s*[,+]\s*", found["targets"]))
    return Unit(targets, stated, bottom_up=bool(found["order"]), together="+" in found["targets"])


def _matcher(number: int, line: str) -> Matcher:
    head = _HEAD.fullmatch(line.strip())
    found = MATCHERS.get(head[1]) if head is not None else None
    if found is None:
        allowed = ", ".join(f"`matcher: {name}`" for name in MATCHERS)
        raise PlanError(f"line {number}: `{line.strip()}` names no matcher; a plan begins with one of {allowed}")
    return found


def _entry(number: int, line: str, matcher: Matcher, mesh: Mapping[str, int], path: str) -> Entry:
    found = _ENTRY.fullmatch(line)
    if found is None:
        raise PlanError(f"line {number}: `{line.strip()}` is no entry; write `PATTERN: PLACEMENT`")
    axis: str = found["axis"] or matcher.axis
    if found["axis"] and mesh and axis not in mesh:
        raise PlanError(f"line {number}: the mesh has no axis `{axis}`; it has {', '.join(mesh)}")
    pattern = "" if found["pattern"] == '""' else found["pattern"]
    return Entry(pattern, found["placement"], axis, number, len(found["indent"]) + 1, path)


def parse_mesh(text: str) -> Mesh:
    """The axes of a mesh and their sizes, in order, with `world` and `budget`; empty for an empty text.

    Raises PlanError for what is not `AXIS=SIZE` with a size from 1, and for an axis that is given twice.
    """
    mesh: dict[str, int] = {}
    budget: float | None = None
    for part in text.replace(",", " ").split():
        limit = _BUDGET.fullmatch(part)
        if limit is not None:
            if budget is not None:
                raise PlanError("line 1: the mesh has `budget` twice")
            budget = float(limit[1])
            continue
        found = _AXIS.fullmatch(part)
        if found is None:
            raise PlanError(f"line 1: `{part}` is no axis of a mesh; write `ep=8 tp=4`, with sizes from 1")
        if found[1] in mesh:
            raise PlanError(f"line 1: the mesh has the axis `{found[1]}` twice")
        mesh[found[1]] = int(found[2])
    world = mesh.pop("world", None)
    return Mesh(mesh, world, budget)
