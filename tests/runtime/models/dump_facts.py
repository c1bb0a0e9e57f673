"""Writes the facts of models of Transformers in the text form: `python dump_facts.py TYPE...` makes `TYPE.facts` here.

The model is built on the meta device from its default configuration, so it needs torch and Transformers, no weights.
The committed files were made with torch 2.13.0 and Transformers 5.24.0.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

FIELDS = ("heads", "hidden_size", "head_dim", "num_hidden_layers", "experts", "intermediate_size", "model_type")
DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


def build(model_type: str) -> Any:
    """The model of a type, on the meta device."""
    torch, auto = import_module("torch"), import_module("transformers.models.auto.modeling_auto")
    transformers = import_module("transformers")
    names = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES | auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    config = transformers.CONFIG_MAPPING[model_type]()
    with torch.device("meta"):
        model = getattr(transformers, names[model_type])(config)
    model.tie_weights()
    return model.to(torch.bfloat16)


def braced(names: Iterable[str]) -> list[str]:
    """Names as few brace patterns: those that differ in their first number alone become one."""
    stacks: dict[tuple[str, str], list[int]] = {}
    for name in names:
        parts = name.split(".")
        at = next((at for at, part in enumerate(parts) if part.isdecimal()), None)
        if at is None:
            stacks[name, ""] = []
        else:
            stacks.setdefault((".".join(parts[:at]), ".".join(parts[at + 1 :])), []).append(int(parts[at]))
    return [
        ".".join(part for part in (before, counted(numbers), after) if part)
        for (before, after), numbers in stacks.items()
    ]


def counted(numbers: list[int]) -> str:
    """Numbers as a range or a list in braces; one as itself."""
    if len(numbers) < 2:
        return "".join(map(str, numbers))
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{{{numbers[0]}..{numbers[-1]}}}"
    return f"{{{','.join(map(str, numbers))}}}"


def parts(config: Any) -> list[tuple[str, Any]]:
    """The configurations of the parts of a model, by name."""
    return [(name, getattr(config, name)) for name in config.sub_configs]


def lines(model: Any) -> Iterable[str]:
    """The text form."""
    first: dict[int, str] = {}
    kinds: dict[str, list[str]] = {}
    ties: list[str] = []
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if id(parameter) in first:
            ties.append(f"tied {name} = {first[id(parameter)]}")
            continue
        first[id(parameter)] = name
        dtype = str(parameter.dtype).removeprefix("torch.")
        kinds.setdefault(f"{list(parameter.shape)} {DTYPES.get(dtype, dtype)}", []).append(name)
    for kind, names in kinds.items():
        yield from (f"{pattern} {kind}" for pattern in braced(names))
    yield from ties
    classes: dict[str, list[str]] = {}
    for name, module in model.named_modules():
        if name:
            classes.setdefault(type(module).__name__, []).append(name)
    for class_name, names in classes.items():
        yield from (f"module {pattern} {class_name}" for pattern in braced(names))
    scopes: list[tuple[str, Any]] = [("", model.config), *((f"{name}.", part) for name, part in parts(model.config))]
    for scope, config in scopes:
        fields: dict[str, Any] = config.to_dict()
        for field, value in fields.items():
            if any(word in str(field) for word in FIELDS) and isinstance(value, int | str):
                yield f"config {scope}{field} = {value}"


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        text = "".join(f"{line}\n" for line in lines(build(wanted)))
        Path(__file__).with_name(f"{wanted}.facts").write_text(text, encoding="utf-8")
