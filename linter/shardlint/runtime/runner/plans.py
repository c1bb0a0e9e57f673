"""The plan of each framework, as plain entries: axis, pattern, placement, and where the pattern is written."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from .description import no_split
from .kinds import is_listing, is_mapping
from .modules import target
from .origin import is_users, users_files
from .places import Places
from .refusal import Refused

_LAYOUTS = ("input_layouts", "output_layouts", "desired_input_layouts", "desired_output_layouts", "sequence_sharding")


def read(plan: dict[str, Any], model: Any) -> dict[str, Any]:
    """Entries and wrapped classes of a plan.

    Args:
        plan: `kind` is `veomni`, `torch`, `hf` or `wrap`; `target` names the object, or the model itself has the plan;
            `axis` is the mesh axis of a plan that names none; `classes` are those of `wrap`.
    """
    kind = plan["kind"]
    if kind == "veomni":
        return {"matcher": kind, "entries": _veomni(plan, model)}
    if kind == "torch":
        return {"matcher": kind, "entries": _torch(plan, model)}
    if kind == "hf":
        return {"matcher": kind, "entries": _hugging_face(plan, model)}
    return {"wraps": _wraps(plan, model)}


def _held(spelled: str, model: Any, accept: Callable[[Any], bool]) -> tuple[Any, list[str], list[str]]:
    """What a target names, or what it makes when called with the model or with nothing; with the files that its code
    ran through and the names of what holds it."""
    found = target(spelled)
    files, owners = [_file(spelled)], [spelled.rpartition(".")[2].rpartition(":")[2]]
    if not accept(found) and callable(found):
        call: Callable[[], Any] = lambda: found(model) if _takes_one(found) else found()  # noqa: E731
        found, called, names = _calling(call)
        files, owners = [*called, *files], [*owners, *names]
    return found, [*files, *users_files()], owners


def _file(spelled: str) -> str:
    return getattr(sys.modules[spelled.partition(":")[0]], "__file__", None) or ""


def _takes_one(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.default is one.empty and one.kind in places for one in parameters) == 1


def _calling(call: Callable[[], Any]) -> tuple[Any, list[str], list[str]]:
    """What a call gives, with the files and names of the functions that it ran through, the innermost first."""
    ran: dict[tuple[str, str], None] = {}

    def hear(frame: Any, event: str, argument: Any) -> None:
        del argument
        if event == "call" and is_or_was_written(frame.f_code.co_filename):
            ran[(frame.f_code.co_filename, frame.f_code.co_name)] = None

    before = sys.getprofile()
    sys.setprofile(hear)
    try:
        found = call()
    finally:
        sys.setprofile(before)
    innermost = list(ran)[::-1]
    return found, [path for path, _ in innermost], [name for _, name in innermost]


def is_or_was_written(path: str) -> bool:
    """Whether code stands in a file of the user's or of a framework, not of torch."""
    return is_users(path) or ("site-packages" in path and "/torch/" not in path)


def _veomni(plan: dict[str, Any], model: Any) -> list[dict[str, Any]]:
    spelled = plan.get("target")
    if spelled:
        found, files, owners = _held(spelled, model, lambda one: axes_of(one) is not None)
    elif hasattr(model, "get_parallel_plan"):
        found, files, owners = _calling(model.get_parallel_plan)
        files += _class_files(model)
    else:
        raise Refused(f"{type(model).__name__} has no `get_parallel_plan`, and the target names no plan")
    axes = axes_of(found)
    if axes is None:
        raise Refused(f"`{spelled or 'get_parallel_plan'}` gives a {type(found).__name__}, which is no ParallelPlan")
    places = Places(files, owners)
    return [
        {"axis": axis, "pattern": pattern, "placement": placement(how), **places.of(pattern)}
        for axis, patterns in axes.items()
        for pattern, how in patterns.items()
    ]


def axes_of(found: Any) -> dict[str, dict[str, Any]] | None:
    """Axis -> pattern -> placement of a ParallelPlan, by its newer and its older field, or of the same as a dict."""
    held = getattr(found, "extra_parallel_plan", found)
    if is_mapping(held) and held and all(is_mapping(one) for one in held.values()):
        return {str(axis): dict(patterns) for axis, patterns in held.items()}
    older = getattr(found, "ep_plan", found)
    if is_mapping(older) and all(isinstance(pattern, str) for pattern in older):
        return {"ep": dict(older)}
    return None


def _torch(plan: dict[str, Any], model: Any) -> list[dict[str, Any]]:
    spelled = plan.get("target")
    if not spelled:
        raise Refused("a plan for `parallelize_module` needs its place, `package.module:PLAN`")
    found, files, owners = _held(spelled, model, lambda one: is_mapping(one))
    if not is_mapping(found) and hasattr(found, "parallelize"):
        found = {"": found}
    if not is_mapping(found):
        raise Refused(f"`{spelled}` is a {type(found).__name__}; a plan maps module paths to styles")
    places, axis = Places(files, owners), plan.get("axis") or "tp"
    return [
        {"axis": axis, "pattern": str(pattern), "placement": style_text(style), **places.of(str(pattern))}
        for pattern, style in found.items()
    ]


def _hugging_face(plan: dict[str, Any], model: Any) -> list[dict[str, Any]]:
    spelled = plan.get("target")
    axes = plan.get("axes") or ([plan["axis"]] if plan.get("axis") else ["tp"] if spelled else ["tp", "ep"])
    entries: list[dict[str, Any]] = []
    for axis in axes:
        if spelled:
            found, files, owners = _held(spelled, model, lambda one: is_mapping(one))
        else:
            found, files = _own_plan(model, axis), _class_files(model)
            owners = [f"base_model_{axis}_plan", f"_{axis}_plan"]
        if not is_mapping(found):
            raise Refused(f"`{spelled}` is a {type(found).__name__}; a plan maps names to styles")
        places = Places(files, owners)
        entries += [
            {"axis": axis, "pattern": str(pattern), "placement": placement(how), **places.of(str(pattern))}
            for pattern, how in found.items()
        ]
    if not entries and not spelled:
        raise Refused(f"{type(model).__name__} has no plan of its own for {' or '.join(axes)}")
    return entries


def _own_plan(model: Any, axis: str) -> dict[str, Any]:
    """The plan that the model merged from its config and its parts; where its version of transformers merges none, the
    one of the config below the name of the base model."""
    for name in (f"{axis}_plan", f"_{axis}_plan"):
        merged = getattr(model, name, None)
        if is_mapping(merged) and merged:
            return dict(merged)
    bare: Any = getattr(getattr(model, "config", None), f"base_model_{axis}_plan", None)
    base = getattr(model, "base_model_prefix", "")
    prefix = f"{base}." if base and getattr(model, base, model) is not model else ""
    return {f"{prefix}{pattern}": how for pattern, how in (bare.items() if is_mapping(bare) else ())}


def _class_files(model: Any) -> list[str]:
    """The files of the classes of the models and configs inside of a model, bases after their heirs."""
    classes: dict[type, None] = {}
    for part in model.modules():
        if hasattr(part, "config") or part is model:
            for thing in (part, getattr(part, "config", None)):
                classes.update(dict.fromkeys(type(thing).__mro__))
    files: dict[str, None] = {}
    for kind in classes:
        path = getattr(sys.modules.get(kind.__module__), "__file__", None)
        if path and is_or_was_written(path):
            files[path] = None
    return list(files)


def _wraps(plan: dict[str, Any], model: Any) -> list[dict[str, Any]]:
    spelled, classes = plan.get("target"), plan.get("classes")
    if spelled:
        found, files, owners = _held(spelled, model, lambda one: is_listing(one))
        if not is_listing(found):
            raise Refused(f"`{spelled}` is a {type(found).__name__}; write a list of classes or of their names")
        names = [one.__name__ if isinstance(one, type) else str(one) for one in found]
    else:
        names, files, owners = classes or no_split(model), _class_files(model), ["_no_split_modules"]
    places = Places(files, owners)
    return [{"class": name, **places.of(name)} for name in dict.fromkeys(names)]


def placement(how: Any) -> str:
    """A placement or a style as text: `Shard(0)`, `Replicate()`, `rowwise`."""
    if isinstance(how, str):
        return how
    name = type(how).__name__.lstrip("_")
    dim = getattr(how, "dim", None)
    if isinstance(dim, int):
        return f"{name}({dim})"
    return f"{name}()" if name in ("Replicate", "Partial") else style_text(how)


def style_text(style: Any) -> str:
    """A ParallelStyle as text: its class, with the layouts that are not the usual ones of the class."""
    if isinstance(style, str):
        return style
    try:
        usual = type(style)()
    except Exception:  # a style that must be given something
        usual = None
    stated = [
        f"{name}={_layout(getattr(style, name))}"
        for name in _LAYOUTS
        if getattr(style, name, None) is not None and getattr(style, name) != getattr(usual, name, None)
    ]
    return type(style).__name__ + (f"({', '.join(stated)})" if stated else "")


def _layout(layout: Any) -> str:
    if is_listing(layout):
        if len(layout) == 1:
            return _layout(layout[0])
        return "(" + ", ".join(map(_layout, layout)) + ")"
    return "None" if layout is None else placement(layout)
