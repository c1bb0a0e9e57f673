"""From what the user named to a callable that makes the model."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable
from typing import Any

from .kinds import is_listing, is_mapping
from .modules import module, target
from .refusal import Refused

Make = Callable[[], Any]


def prepare(model: dict[str, Any], trust_remote_code: bool) -> Make:
    """Import what makes the model.

    Args:
        model: `factory` with `kwargs`, or `hf` or `veomni` with a path or a mapping; `hf` also takes `overrides`.
        trust_remote_code: whether code that comes with a config may run.
    """
    if "factory" in model:
        return _factory(model["factory"], model.get("kwargs") or {})
    kind = "veomni" if "veomni" in model else "hf"
    given = _config(model[kind], model.get("overrides") or {})
    if kind == "veomni":
        return _veomni(given, model[kind])
    return _hugging_face(given, model[kind], trust_remote_code)


def _factory(spelled: str, kwargs: dict[str, Any]) -> Make:
    made = target(spelled)
    kind = module("torch").nn.Module

    def is_model(thing: Any) -> bool:
        return isinstance(thing, kind)

    def make() -> Any:
        model = made
        if not is_model(made):
            if not hasattr(made, "__call__"):  # noqa: B004  # `callable` would narrow a type that must stay unknown
                raise Refused(
                    f"`{spelled}` is of the class {_kind(made)}: neither a model nor a function that makes one"
                )
            model = made(**kwargs)
        if is_listing(model):
            models = [one for one in model if is_model(one)]
            model = models[0] if len(models) == 1 else model
        if not is_model(model):
            raise Refused(f"`{spelled}` gave an object of the class {_kind(model)}, which is no torch.nn.Module")
        return model

    return make


def _kind(thing: Any) -> str:
    return f"`{type(thing).__name__}`"


def _config(given: Any, overrides: dict[str, Any]) -> dict[str, Any]:
    """The fields of a config that is given as a mapping, a file or a folder with `config.json`."""
    if is_mapping(given):
        return {**given, **overrides}
    path = os.path.join(given, "config.json") if os.path.isdir(given) else given
    try:
        with open(path, encoding="utf-8") as file:
            read = json.load(file)
    except OSError as error:
        raise Refused(f"the config `{path}` cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise Refused(f"the config `{path}` is no JSON: {error}") from None
    if not is_mapping(read):
        raise Refused(f"the config `{path}` holds no mapping")
    return {**read, **overrides}


def _hugging_face(given: dict[str, Any], source: Any, trust_remote_code: bool) -> Make:
    transformers = module("transformers")
    fields = dict(given)
    kind = fields.pop("model_type", None)
    remote = bool(fields.get("auto_map")) and trust_remote_code and isinstance(source, str)
    if remote:
        folder = source if os.path.isdir(source) else os.path.dirname(source)
        config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=True)
    else:
        _check_type(transformers, kind)
        config = transformers.AutoConfig.for_model(kind, **fields)

    def make() -> Any:
        if remote:
            return transformers.AutoModelForCausalLM.from_config(config, trust_remote_code=True)
        for name in getattr(config, "architectures", None) or ():
            found = getattr(transformers, name, None)
            if found is not None:
                return found._from_config(config) if hasattr(found, "_from_config") else found(config)
        for name in ("AutoModelForCausalLM", "AutoModelForImageTextToText"):
            auto: Any = getattr(transformers, name, None)
            if type(config) in getattr(auto, "_model_mapping", ()):
                return auto.from_config(config)
        return transformers.AutoModel.from_config(config)

    return make


def _check_type(transformers: Any, kind: Any) -> None:
    known = list(module("transformers.models.auto.configuration_auto").CONFIG_MAPPING.keys())
    if kind in known:
        return
    if kind is None:
        raise Refused("the config has no `model_type`, so transformers cannot choose a class")
    near = difflib.get_close_matches(str(kind), known, 1)
    hint = f"; it knows `{near[0]}`" if near else ""
    raise Refused(f"transformers {transformers.__version__} knows no model_type `{kind}`{hint}")


def _veomni(given: dict[str, Any], source: Any) -> Make:
    loader = module("veomni.models.loader")
    module("veomni.models.transformers")
    kind, architectures = given.get("model_type"), given.get("architectures") or [""]
    registry = loader.MODELING_REGISTRY
    if kind not in registry.valid_keys():
        raise Refused(f"VeOmni's registry of models has no `{kind}`")
    if isinstance(source, str):
        folder = source if os.path.isdir(source) else os.path.dirname(source)
        config = loader.get_model_config(folder)
        for name, value in given.items():
            if name != "model_type" and not is_mapping(value):
                setattr(config, name, value)
    else:
        fields = {name: value for name, value in given.items() if name != "model_type"}
        configs = loader.MODEL_CONFIG_REGISTRY
        if kind in configs.valid_keys():
            config = configs[kind]()(**fields)
        else:
            config = module("transformers").AutoConfig.for_model(kind, **fields)
    found = registry[kind](architectures[0])
    return lambda: found._from_config(config)
