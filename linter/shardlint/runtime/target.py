"""A target of `shardlint plan`: a model, where its plan is, the mesh, and what is meant to be so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardlint.errors import PlanError, UsageError

_OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_AXIS_SIZE = re.compile(r"([A-Za-z_]\w*)=(\d+)")
_OWN_PLANS = {
    "veomni": {"kind": "veomni"},
    "hf-tp": {"kind": "hf", "axis": "tp"},
    "hf-ep": {"kind": "hf", "axis": "ep"},
}
"""Plans that the model has itself, by the words that ask for them, as the child reads a request."""

_MODEL_KEYS = ("factory", "hf-config", "model-type", "veomni")


@dataclass(frozen=True)
class Target:
    """One target.

    Args:
        name: as the settings or the command line call it.
        model, plan: as the child reads them (`runtime.runner`); a plan of None asks for the units alone.
        mesh: axis -> size.
        world: how many processes; None when it is not said.
        wrap: classes or module patterns that become FSDP units, in order; empty for the model's `_no_split_modules`.
        dims: module pattern -> the dim that FSDP divides, where it is not 0.
        ignored: module patterns that FSDP leaves alone.
        wrappers: prefixes that wrappers put before all names.
        uncovered_ok: patterns of parameters that no rule needs to cover.
        budget: GiB that a rank may take; None when it is not said.
        python: the interpreter of the training environment; None for that of shardlint.
    """

    name: str
    model: dict[str, Any]
    plan: dict[str, Any] | None
    mesh: dict[str, int] = field(default_factory=dict[str, int])
    world: int | None = None
    wrap: tuple[str, ...] = ()
    dims: dict[str, int] = field(default_factory=dict[str, int])
    ignored: tuple[str, ...] = ()
    wrappers: tuple[str, ...] = ()
    uncovered_ok: tuple[str, ...] = ()
    budget: float | None = None
    python: str | None = None


def from_settings(table: Mapping[str, Any]) -> Target:
    """The target that an entry of `[[tool.shardlint.plan]]` describes. Raises PlanError when it makes no sense."""
    name = str(table["name"])
    fsdp: Mapping[str, Any] = table.get("fsdp", {})
    mesh = dict(table.get("mesh", {}))
    return Target(
        name=name,
        model=_model(name, table["model"]),
        plan=_plan(name, table.get("plan"), mesh),
        mesh=mesh,
        world=table.get("world"),
        wrap=tuple(fsdp.get("wrap", ())),
        dims=dict(fsdp.get("dim", {})),
        ignored=tuple(fsdp.get("ignore", ())),
        wrappers=tuple(table.get("wrappers", ())),
        uncovered_ok=tuple(table.get("expect", {}).get("uncovered-ok", ())),
        budget=table.get("budget-gib"),
        python=table.get("python"),
    )


def named_target(targets: Sequence[Target], name: str) -> Target:
    """The target of that name. Raises PlanError with the names there are."""
    for target in targets:
        if target.name == name:
            return target
    known = ", ".join(f"`{target.name}`" for target in targets) or "none"
    raise PlanError(f"the settings have no plan target `{name}`; those that they have: {known}")


def is_object(text: str) -> bool:
    """Whether a text names an object of a module: `pkg.mod:factory`."""
    return _OBJECT.fullmatch(text) is not None


def parse_mesh(text: str) -> dict[str, int]:
    """`ep=16,fsdp=8` as axis -> size. Raises UsageError."""
    mesh: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        found = _AXIS_SIZE.fullmatch(part)
        if found is None or int(found[2]) < 1:
            raise UsageError(f"`{part}` is no axis with a size: write --mesh tp=4 or --mesh ep=16,fsdp=8")
        if found[1] in mesh:
            raise UsageError(f"the mesh names the axis `{found[1]}` twice: give it one size")
        mesh[found[1]] = int(found[2])
    return mesh


def _model(name: str, given: Any) -> dict[str, Any]:
    """The model as the child reads it."""
    if isinstance(given, str):
        if is_object(given):
            return {"factory": given}
        return {"hf": given}
    chosen = [key for key in _MODEL_KEYS if key in given]
    if len(chosen) != 1:
        raise PlanError(
            f"the model of the plan target `{name}` needs one of {', '.join(f'`{key}`' for key in _MODEL_KEYS)}; "
            f"it has {' and '.join(f'`{key}`' for key in chosen) or 'none'}"
        )
    key, overrides = chosen[0], dict(given.get("overrides", {}))
    if key == "factory":
        if not is_object(given[key]):
            raise PlanError(
                f"the factory of the plan target `{name}` is `{given[key]}`: write it as `package.module:name`"
            )
        return {"factory": given[key], "kwargs": dict(given.get("kwargs", {}))}
    if key == "model-type":
        return {"hf": {"model_type": given[key], **overrides}}
    return {"hf" if key == "hf-config" else "veomni": given[key], "overrides": overrides}


def _plan(name: str, given: Any, mesh: Mapping[str, int]) -> dict[str, Any] | None:
    """The plan as the child reads it."""
    if given is None:
        return None
    if isinstance(given, str):
        if given in _OWN_PLANS:
            return dict(_OWN_PLANS[given])
        if is_object(given):
            return {"kind": "torch", "target": given, "axis": "tp"}
        words = ", ".join(f"`{word}`" for word in _OWN_PLANS)
        raise PlanError(f"the plan of the target `{name}` is `{given}`: write `package.module:PLAN`, or one of {words}")
    chosen = [key for key in ("from", "apply") if key in given]
    if len(chosen) != 1 or not is_object(str(given[chosen[0]])):
        raise PlanError(f"the plan of the target `{name}` needs `from` or `apply`, with a `package.module:name`")
    if chosen[0] == "apply":
        return {"kind": "apply", "target": given["apply"], "mesh": dict(mesh)}
    return {"kind": "torch", "target": given["from"], "axis": given.get("axis", "tp")}
