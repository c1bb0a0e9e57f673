"""What one run of the child learnt: facts, what it read of the plan, warnings, and times."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardlint.runtime.model_facts import ModelFacts
from shardlint.runtime.plan import Entry


@dataclass(frozen=True)
class Wrap:
    """A class that becomes an FSDP unit, by its name, and where that is written; `spelled` as of entries."""

    class_name: str
    path: str
    line: int
    column: int
    spelled: bool


@dataclass(frozen=True)
class AppliedParameter:
    """A parameter after a function applied its plan.

    Args:
        name: its name then; wrappers may have added to it.
        shape: of the whole tensor.
        placements: axis -> placement; empty for one that no axis touches.
        local: its shape on rank 0; None where it is whole.
    """

    name: str
    shape: tuple[int, ...]
    placements: Mapping[str, str]
    local: tuple[int, ...] | None


@dataclass(frozen=True)
class AppliedUnit:
    """An FSDP unit: the module, its class, and the parameters that no unit below it holds."""

    module: str
    class_name: str
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class ReadPlan:
    """A plan as the child read it; its JSON form is part of the schema of model facts.

    Args:
        matcher: the name of the framework's matcher, `MATCHERS[matcher]`; None where there are no patterns.
        entries: with places relative to the project's root, absolute outside of it.
        spelled: the patterns that stand at the place of their entry; of others it is what holds the plan.
        wraps: the classes that become FSDP units.
        applied, units: of the kind `apply`: what became of the model; None for other kinds.
    """

    matcher: str | None = None
    entries: tuple[Entry, ...] = ()
    spelled: frozenset[str] = frozenset()
    wraps: tuple[Wrap, ...] = ()
    applied: tuple[AppliedParameter, ...] | None = None
    units: tuple[AppliedUnit, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        applied = None
        if self.applied is not None and self.units is not None:
            applied = {
                "parameters": [_parameter_json(one) for one in self.applied],
                "units": [
                    {"module": unit.module, "class": unit.class_name, "parameters": list(unit.parameters)}
                    for unit in self.units
                ],
            }
        return {
            "matcher": self.matcher,
            "entries": [
                {
                    "axis": entry.axis,
                    "pattern": entry.pattern,
                    "placement": entry.placement,
                    "path": entry.path,
                    "line": entry.line,
                    "column": entry.column,
                    "spelled": entry.pattern in self.spelled,
                }
                for entry in self.entries
            ],
            "wraps": [
                {"class": w.class_name, "path": w.path, "line": w.line, "column": w.column, "spelled": w.spelled}
                for w in self.wraps
            ],
            "applied": applied,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], root: str | None = None) -> ReadPlan:
        """The plan of a JSON form; absolute paths below `root` become relative to it."""
        entries: list[Any] = list(data.get("entries") or ())
        wraps: list[Any] = list(data.get("wraps") or ())
        applied = data.get("applied")
        return cls(
            data.get("matcher"),
            tuple(
                Entry(one["pattern"], one["placement"], one["axis"], one["line"], one["column"], _path(one, root))
                for one in entries
            ),
            frozenset(one["pattern"] for one in entries if one.get("spelled")),
            tuple(
                Wrap(one["class"], _path(one, root), one["line"], one["column"], bool(one.get("spelled")))
                for one in wraps
            ),
            None if applied is None else tuple(map(_parameter, applied["parameters"])),
            None
            if applied is None
            else tuple(AppliedUnit(u["module"], u["class"], tuple(u["parameters"])) for u in applied["units"]),
        )


def _parameter_json(one: AppliedParameter) -> dict[str, Any]:
    local = None if one.local is None else list(one.local)
    return {"name": one.name, "shape": list(one.shape), "placements": dict(one.placements), "local": local}


def _parameter(data: Mapping[str, Any]) -> AppliedParameter:
    local = data.get("local")
    return AppliedParameter(
        data["name"], tuple(data["shape"]), dict(data["placements"]), None if local is None else tuple(local)
    )


def _path(place: Mapping[str, Any], root: str | None) -> str:
    path: str = place["path"]
    if root is None or not os.path.isabs(path):
        return path
    base, real = os.path.join(os.path.realpath(root), ""), os.path.realpath(path)
    return real[len(base) :].replace(os.sep, "/") if real.startswith(base) else path


@dataclass(frozen=True)
class Collected:
    """What one run of the child learnt.

    Args:
        facts: of the model.
        plan: what was read of the plan; None when none was asked for.
        warnings: sentences about what did not stop the run.
        mode: how the model was built: on `meta`, as `fake` tensors, or with small `values` on the CPU; empty for facts
            from a file.
        seconds: stage -> seconds.
        peak_mib: the child's largest resident size.
        files: the project's own files that it loaded or read, absolute.
        sites: the folders of installed packages that it searched.
    """

    facts: ModelFacts
    plan: ReadPlan | None = None
    warnings: tuple[str, ...] = ()
    mode: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    peak_mib: float = 0.0
    files: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()

    @classmethod
    def gather(cls, events: Sequence[Mapping[str, Any]], root: str) -> Collected | None:
        """What the events of a run say; None for a run that did not come to its end.

        Raises PlanError, KeyError, TypeError or ValueError where they make no sense.
        """
        told = {str(event.get("event")): event for event in events}
        if "done" not in told or "facts" not in told:
            return None
        sources = told.get("sources", {})
        return cls(
            ModelFacts.from_json(told["facts"]["facts"], trusted=True),
            ReadPlan.from_json(told["plan"]["plan"], root) if "plan" in told else None,
            tuple(str(event["text"]) for event in events if event.get("event") == "warning"),
            str(told["facts"].get("mode", "")),
            {str(event["name"]): float(event["seconds"]) for event in events if event.get("event") == "stage_end"},
            float(told["done"].get("peak_mib", 0.0)),
            tuple(sources.get("files", ())),
            tuple(sources.get("sites", ())),
        )
