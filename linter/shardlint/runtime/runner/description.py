"""The facts of a model, as plain values."""

from __future__ import annotations

import dataclasses
import math
import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from .events import Events
from .kinds import is_listing, is_mapping
from .modules import loaded, module

_CONFIGS = ("config", "args", "model_args", "cfg")
_LONGEST = 200
_DEEPEST = 3
_PACKAGES = {
    "torch": "torch",
    "transformers": "transformers",
    "veomni": "veomni",
    "accelerate": "accelerate",
    "peft": "peft",
    "torchtitan": "torchtitan",
    "deepspeed": "deepspeed",
    "megatron.core": "megatron-core",
    "diffusers": "diffusers",
}


def facts(model: Any, events: Events) -> dict[str, Any]:
    """The JSON form of a model's facts."""
    described = _tensors_and_modules(model, events)
    described["class_name"] = type(model).__name__
    described["config"] = config_of(model)
    described["no_split"] = no_split(model)
    described["tied_keys"] = _tied_keys(model)
    described["packages"] = packages()
    described["styles"] = _styles()
    described["model_types"] = _model_types()
    conversion = _conversion(model)
    if conversion:
        described["conversion"] = conversion
    return described


def _conversion(model: Any) -> dict[str, Any]:
    """What transformers does to the keys of a checkpoint while it loads one into a model of this class."""
    if not hasattr(model, "base_model_prefix"):
        return {}
    steps: list[dict[str, Any]] = []
    found: Any = ()
    try:
        found = module("transformers.conversion_mapping").get_model_conversion_mapping(model)
    except Exception:  # another version of transformers, or a model that it does not know
        found = ()
    step: Any
    for step in found or ():
        operations: Any = getattr(step, "operations", None) or ()
        row: dict[str, Any] = {
            "source": list(step.source_patterns),
            "target": list(step.target_patterns),
            "operations": [type(one).__name__ for one in operations],
        }
        scope = getattr(step, "scope_prefix", None)
        steps.append({**row, "scope": scope} if isinstance(scope, str) and scope else row)
    return {
        "steps": steps,
        "base_prefix": str(model.base_model_prefix or ""),
        "ignored_missing": list(getattr(model, "_keys_to_ignore_on_load_missing", None) or ()),
        "ignored_unexpected": list(getattr(model, "_keys_to_ignore_on_load_unexpected", None) or ()),
    }


def _tensors_and_modules(model: Any, events: Events) -> dict[str, Any]:
    seen: dict[int, str] = {}
    parameters: list[dict[str, Any]] = []
    modules: list[dict[str, Any]] = []
    buffers: list[dict[str, Any]] = []
    lazy: list[str] = []
    unwritten = module("torch").nn.Module.forward
    part: Any
    for name, part in model.named_modules(remove_duplicate=False):
        shared = _first(seen, part, name)
        runs = getattr(part.__class__, "forward", None) is not unwritten or "forward" in vars(part)
        modules.append({"name": name, "class": type(part).__name__, "same_as": shared, "runs": runs})
        prefix = f"{name}." if name else ""
        for own, parameter in part._parameters.items():
            if parameter is None:
                continue
            full = prefix + own
            if _is_lazy(parameter):
                lazy.append(full)
                continue
            entry = {"name": full, "shape": [int(extent) for extent in parameter.shape], "dtype": _dtype(parameter)}
            tied = _first(seen, parameter, full)
            parameters.append({**entry, "trainable": bool(parameter.requires_grad), "tied_to": tied})
        for own, buffer in part._buffers.items():
            if buffer is not None and not _is_lazy(buffer):
                shape = [int(extent) for extent in buffer.shape]
                stays = own not in getattr(part, "_non_persistent_buffers_set", ())
                buffers.append({"name": prefix + own, "shape": shape, "dtype": _dtype(buffer), "persistent": stays})
    if lazy:
        events.warn(f"{len(lazy)} parameters get their shape in the first forward and are left out, `{lazy[0]}` first")
    return {"version": 1, "parameters": parameters, "modules": modules, "buffers": buffers}


def _first(seen: dict[int, str], thing: Any, name: str) -> str | None:
    """The name under which a thing was met before; None, and it is noted, when it is new."""
    first = seen.setdefault(id(thing), name)
    return None if first == name else first


def _is_lazy(tensor: Any) -> bool:
    return any(kind.__name__ == "UninitializedTensorMixin" for kind in type(tensor).__mro__)


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).replace("torch.", "")


def config_of(model: Any) -> dict[str, Any]:
    """The simple fields of the model's config; those of a config inside of it have its name and a dot before theirs."""
    for attribute in _CONFIGS:
        config = getattr(model, attribute, None)
        fields = _fields(config)
        if fields:
            flat: dict[str, Any] = {}
            _flatten(fields, "", flat, _DEEPEST)
            return flat
    return {}


def _fields(config: Any) -> dict[str, Any]:
    if config is None or isinstance(config, type):
        return {}
    if is_mapping(config):
        return {str(name): value for name, value in config.items()}
    if dataclasses.is_dataclass(config):
        return {field.name: getattr(config, field.name, None) for field in dataclasses.fields(config)}
    if hasattr(config, "to_dict"):
        try:
            return dict(config.to_dict())
        except Exception:  # a config of the user's own may mean something else by the name
            return {}
    inside = getattr(config, "__dict__", None)
    return {name: value for name, value in inside.items() if not name.startswith("_")} if inside else {}


def _flatten(fields: Mapping[str, Any], prefix: str, flat: dict[str, Any], depth: int) -> None:
    for name, value in fields.items():
        if value is None or isinstance(value, (bool, int, str)):
            if not isinstance(value, str) or len(value) <= _LONGEST:
                flat[prefix + str(name)] = value
        elif isinstance(value, float):
            if math.isfinite(value):
                flat[prefix + str(name)] = value
        elif is_listing(value) and len(value) <= _LONGEST and all(type(one) is int for one in value):
            flat[prefix + str(name)] = list(value)
        elif depth > 1:
            inner = _fields(value) if not is_listing(value) else {}
            _flatten(inner, f"{prefix}{name}.", flat, depth - 1)


def no_split(model: Any) -> list[str]:
    """The class names in `_no_split_modules` of the model and of the models inside of it, sorted."""
    found: set[str] = set()
    for part in model.modules():
        names: Any = getattr(part, "_no_split_modules", None)
        if is_listing(names):
            found.update(name for name in names if isinstance(name, str))
    return sorted(found)


def _tied_keys(model: Any) -> dict[str, str | None]:
    """Tied name -> the name that it is tied to; None where the model says only that a name is tied."""
    expanded: Any = getattr(model, "all_tied_weights_keys", None)
    if is_mapping(expanded):
        return {str(name): str(source) for name, source in expanded.items()}
    found: dict[str, str | None] = {}
    for prefix, part in model.named_modules():
        keys: Any = getattr(part, "_tied_weights_keys", None)
        at = f"{prefix}." if prefix else ""
        if is_mapping(keys):
            found.update({f"{at}{name}": f"{at}{source}" for name, source in keys.items()})
        elif is_listing(keys):
            found.update({f"{at}{name}": None for name in sorted(map(str, keys))})
    return found


def packages() -> dict[str, str]:
    """The versions of Python and of the frameworks that are loaded."""
    found = {"python": platform.python_version()}
    for name, distribution in _PACKAGES.items():
        held = loaded(name)
        if held is not None:
            try:
                found[distribution] = metadata.version(distribution)
            except metadata.PackageNotFoundError:
                found[distribution] = str(getattr(held, "__version__", "unknown"))
    return found


def _styles() -> list[str]:
    """The names of the parallel styles that the loaded transformers registers, wherever its version keeps them."""
    if loaded("transformers") is None:
        return []
    for name in ("transformers.distributed.tensor_parallel", "transformers.integrations.tensor_parallel"):
        try:
            registry = module(name).ALL_PARALLEL_STYLES
            return sorted(map(str, registry.keys()))
        except Exception:  # not in this version, or not importable here
            continue
    return []


def _model_types() -> list[str]:
    """Every `model_type` that the loaded transformers and VeOmni know."""
    found: set[str] = set()
    if loaded("transformers") is not None:
        try:
            found.update(module("transformers.models.auto.configuration_auto").CONFIG_MAPPING.keys())
        except Exception:  # a version that keeps them elsewhere
            return []
    registries = loaded("veomni.models.loader")
    if registries is not None:
        found.update(registries.MODELING_REGISTRY.valid_keys())
    return sorted(found)
