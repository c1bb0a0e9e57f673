"""What is known of a model: names, shapes and classes, never weights.

Facts come from the model on the meta device, or from a text form in examples. As JSON they can be exported where the
model can be built and checked elsewhere; `model_facts.schema.json` documents that form.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from shardlint.errors import PlanError
from shardlint.runtime.conversion import Conversion, Step

VERSION = 1
"""Of the JSON form."""

Setting = bool | int | float | str | list[int] | None
"""The value of a simple field of a configuration."""

_SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model_facts.schema.json")

BYTES = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}
"""Bytes of one element of each dtype, by torch's names."""


@dataclass(frozen=True)
class Parameter:
    """A parameter under one of its names.

    Args:
        name: fully qualified, with dots.
        shape: of the whole tensor, before any plan.
        dtype: as torch names it, without `torch.`.
        trainable: its `requires_grad`.
        tied_to: for a further name of a tied tensor, the first one: the only one that `named_parameters()` gives.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    trainable: bool = True
    tied_to: str | None = None

    @property
    def bytes(self) -> int | None:
        """The size of the whole tensor; None when the dtype is not known."""
        size = BYTES.get(self.dtype)
        if size is None:
            return None
        for extent in self.shape:
            size *= extent
        return size


@dataclass(frozen=True)
class Buffer:
    """A buffer; `persistent` when the state dict holds it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    persistent: bool = True


@dataclass(frozen=True)
class Module:
    """A module under one of its names; the root's name is empty.

    Args:
        name: fully qualified, with dots.
        class_name: the name of its class; empty when it is not known.
        same_as: for a further name of a shared module, the first one: the only one that `named_modules()` gives.
        runs: whether its class has a `forward`; a list of modules has none.
    """

    name: str
    class_name: str = ""
    same_as: str | None = None
    runs: bool = True


_Fact = TypeVar("_Fact", Parameter, Module, Buffer)
_Derived = TypeVar("_Derived")


class ModelFacts:
    """The facts of one model, each kind in the order of registration.

    Modules that are implied (the root, and what lies above a name) are added without a class. `conversion` is what the
    framework does to the keys of a checkpoint while it loads one.

    Args:
        config: the simple fields of the model's configuration; those of a part are named `text_config.hidden_size`.
        styles: the names of the parallel styles that the installed framework registers; empty when they are not known.
        no_split: the classes in the model's `_no_split_modules`.
        model_types: every `model_type` that the installed frameworks know; empty when they are not known.
        class_name: of the model itself; empty when it is not known.
        tied_keys: what the model declares as tied: a name, or a pattern of names, and the one that it is tied to; None
            where only the first is declared.
        packages: the versions of Python and of the frameworks with which the model was built.

    Raises PlanError when a name appears twice, or a tied or shared name leads to nothing.
    """

    def __init__(
        self,
        parameters: Iterable[Parameter] = (),
        modules: Iterable[Module] = (),
        buffers: Iterable[Buffer] = (),
        config: Mapping[str, Setting] | None = None,
        styles: Iterable[str] = (),
        no_split: Iterable[str] = (),
        model_types: Iterable[str] = (),
        class_name: str = "",
        tied_keys: Mapping[str, str | None] | None = None,
        packages: Mapping[str, str] | None = None,
        conversion: Conversion | None = None,
    ) -> None:
        self.conversion = conversion
        self.parameters = _unique(parameters, "parameter")
        self.buffers = _unique(buffers, "buffer")
        self._derived: dict[str, Any] = {}
        self.config: Mapping[str, Setting] = dict(config or {})
        self.styles = frozenset(styles)
        self.no_split = tuple(no_split)
        self.model_types = frozenset(model_types)
        self.class_name = class_name
        self.tied_keys: Mapping[str, str | None] = dict(tied_keys or {})
        self.packages: Mapping[str, str] = dict(packages or {})
        given = _unique(modules, "module")
        for owner in _owners((*self.parameters, *self.buffers, *given)):
            given.setdefault(owner, Module(owner))
        self.modules = given
        for parameter in self.parameters.values():
            _check_first("parameter", parameter.name, parameter.tied_to, self.parameters)
            target = self.parameters.get(parameter.tied_to or "")
            if target is not None and target.tied_to is not None:
                raise PlanError(f"`{parameter.name}` is tied to `{target.name}`, itself tied to `{target.tied_to}`")
        for module in given.values():
            _check_first("module", module.name, module.same_as, given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelFacts) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]  # facts hold mappings: they compare, they are no keys

    @cached_property
    def has_ties(self) -> bool:
        """Whether some tensor has several names."""
        return any(parameter.tied_to is not None for parameter in self.parameters.values())

    def tied_group(self, name: str) -> tuple[str, ...]:
        """All names of the tensor that `name` names, the first one first."""
        parameter = self.parameters.get(name)
        if parameter is None:
            return ()
        first = parameter.tied_to or name
        return (first, *(other.name for other in self.parameters.values() if other.tied_to == first))

    @cached_property
    def tied(self) -> tuple[str, ...]:
        """The first names of the tensors that have several."""
        return tuple(dict.fromkeys(p.tied_to for p in self.parameters.values() if p.tied_to is not None))

    def children(self, parent: str) -> tuple[str, ...]:
        """The full names of a module's direct children. As torch's `named_children`, a child shared under two names
        comes once."""
        return self._children.get(parent, ())

    @cached_property
    def _children(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, dict[str, str]] = {}
        for module in self.modules.values():
            if module.name:
                identity = module.same_as or module.name
                found.setdefault(parent_of(module.name), {}).setdefault(identity, module.name)
        return {parent: tuple(children.values()) for parent, children in found.items()}

    def first_name(self, module: str) -> str:
        """The first name of a module that may be known under several."""
        return self.modules[module].same_as or module

    def of_class(self, class_name: str) -> tuple[str, ...]:
        """The first names of the modules of a class, which is given by its name."""
        return self._classes.get(class_name, ())

    @cached_property
    def _classes(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for module in self.modules.values():
            if module.class_name and module.same_as is None:
                found.setdefault(module.class_name, []).append(module.name)
        return {class_name: tuple(names) for class_name, names in found.items()}

    def own_parameters(self, module: str) -> tuple[Parameter, ...]:
        """The parameters that a module holds itself."""
        return self._own.get(module, ())

    @cached_property
    def _own(self) -> dict[str, tuple[Parameter, ...]]:
        found: dict[str, list[Parameter]] = {}
        for parameter in self.parameters.values():
            found.setdefault(parent_of(parameter.name), []).append(parameter)
        return {module: tuple(own) for module, own in found.items()}

    def own_buffers(self, module: str) -> tuple[Buffer, ...]:
        """The buffers that a module holds itself."""
        return self._own_buffers.get(module, ())

    @cached_property
    def _own_buffers(self) -> dict[str, tuple[Buffer, ...]]:
        found: dict[str, list[Buffer]] = {}
        for buffer in self.buffers.values():
            found.setdefault(parent_of(buffer.name), []).append(buffer)
        return {module: tuple(own) for module, own in found.items()}

    def tensors(self, names: Iterable[str]) -> list[Parameter]:
        """The parameters among names and those that named modules hold themselves, each tensor once."""
        found: dict[str, Parameter] = {}
        for name in names:
            own = self.parameters.get(name)
            for parameter in (own,) if own is not None else self.own_parameters(name):
                found.setdefault(parameter.tied_to or parameter.name, parameter)
        return list(found.values())

    def remembered(self, key: str, derive: Callable[[ModelFacts], _Derived]) -> _Derived:
        """What `derive` makes of these facts, made once for each key."""
        if key not in self._derived:
            self._derived[key] = derive(self)
        derived: _Derived = self._derived[key]
        return derived

    def under(self, prefix: str) -> ModelFacts:
        """The same model inside of a wrapper, which puts a prefix before every name: `base_model.model.`"""
        data = self.to_json()
        for kind in ("parameters", "modules", "buffers"):
            for row in data[kind]:
                for field in ("name", "tied_to", "same_as"):
                    if row.get(field) is not None and (row[field] or kind == "modules"):
                        row[field] = (prefix + row[field]).rstrip(".")
        return ModelFacts.from_json(data, trusted=True)

    def to_json(self) -> dict[str, Any]:
        """The JSON form: plain values."""
        conversion = {} if self.conversion is None else {"conversion": _conversion_json(self.conversion)}
        return {
            "version": VERSION,
            "parameters": [
                {
                    "name": p.name,
                    "shape": list(p.shape),
                    "dtype": p.dtype,
                    "trainable": p.trainable,
                    "tied_to": p.tied_to,
                }
                for p in self.parameters.values()
            ],
            "modules": [
                {"name": m.name, "class": m.class_name, "same_as": m.same_as, "runs": m.runs}
                for m in self.modules.values()
            ],
            "buffers": [
                {"name": b.name, "shape": list(b.shape), "dtype": b.dtype, "persistent": b.persistent}
                for b in self.buffers.values()
            ],
            "config": dict(self.config),
            "styles": sorted(self.styles),
            "no_split": list(self.no_split),
            "model_types": sorted(self.model_types),
            "class_name": self.class_name,
            "tied_keys": dict(self.tied_keys),
            "packages": dict(self.packages),
            **conversion,
        }

    @classmethod
    def from_json(cls, data: Any, *, trusted: bool = False) -> ModelFacts:
        """The facts of a JSON form.

        Args:
            trusted: whether this program wrote it, so that it need not be held against the schema.

        Raises PlanError, with the place, where it breaks the schema.
        """
        if not trusted:
            _check_schema(data)
        return cls(
            [
                Parameter(
                    p["name"], tuple(map(int, p["shape"])), p["dtype"], p.get("trainable", True), p.get("tied_to")
                )
                for p in data["parameters"]
            ],
            [Module(m["name"], m["class"], m.get("same_as"), m.get("runs", True)) for m in data.get("modules", [])],
            [
                Buffer(b["name"], tuple(map(int, b["shape"])), b["dtype"], b.get("persistent", True))
                for b in data.get("buffers", [])
            ],
            config=data.get("config"),
            styles=data.get("styles", ()),
            no_split=data.get("no_split", ()),
            model_types=data.get("model_types", ()),
            class_name=data.get("class_name", ""),
            tied_keys=data.get("tied_keys"),
            packages=data.get("packages"),
            conversion=_conversion(data["conversion"]) if "conversion" in data else None,
        )


def _conversion_json(conversion: Conversion) -> dict[str, Any]:
    return {
        "steps": [
            {
                "source": list(step.source),
                "target": list(step.target),
                "operations": list(step.operations),
                "scope": step.scope,
            }
            for step in conversion.steps
        ],
        "base_prefix": conversion.base_prefix,
        "ignored_missing": list(conversion.ignored_missing),
        "ignored_unexpected": list(conversion.ignored_unexpected),
    }


def _conversion(data: Any) -> Conversion:
    return Conversion(
        tuple(
            Step(tuple(step["source"]), tuple(step["target"]), tuple(step.get("operations", ())), step.get("scope", ""))
            for step in data.get("steps", ())
        ),
        data.get("base_prefix", ""),
        tuple(data.get("ignored_missing", ())),
        tuple(data.get("ignored_unexpected", ())),
    )


def schema() -> dict[str, Any]:
    """The JSON Schema of the JSON form."""
    with open(_SCHEMA, encoding="utf-8") as file:
        read: dict[str, Any] = json.load(file)
    return read


def _check_schema(data: Any) -> None:
    from jsonschema import Draft202012Validator

    validator: Any = Draft202012Validator(schema())
    for error in validator.iter_errors(data):
        said: str = error.message
        short = said if len(said) <= 200 else f"...{said[-200:]}"  # jsonschema quotes the whole value first
        raise PlanError(f"model facts: {error.json_path}: {short}")


def parent_of(name: str) -> str:
    """The name of the module that holds a module, parameter or buffer; empty for what the root holds."""
    return name.rpartition(".")[0]


def _unique(things: Iterable[_Fact], kind: str) -> dict[str, _Fact]:
    found: dict[str, _Fact] = {}
    for thing in things:
        if thing.name in found:
            raise PlanError(f"the {kind} `{thing.name}` is given twice")
        found[thing.name] = thing
    return found


def _owners(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        while name:
            name = parent_of(name)
            yield name
    yield ""


def _check_first(kind: str, name: str, first: str | None, known: Mapping[str, object]) -> None:
    if first is not None and (first == name or first not in known):
        raise PlanError(f"the {kind} `{name}` shares with `{first}`, which is no other {kind}")
