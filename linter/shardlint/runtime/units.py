"""Which call of FSDP2's `fully_shard` takes which parameters.

The rules are those of torch's `fully_shard` (`torch/distributed/fsdp/_fully_shard`): a call takes the parameters below
its module, apart from those of modules that were wrapped before; so children must be wrapped before their parents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from shardlint.finding import Related
from shardlint.runtime.matchers import MATCHERS
from shardlint.runtime.model_facts import ModelFacts, parent_of
from shardlint.runtime.repairs import is_slip, repairs

NO_SPLIT = "_no_split_modules"
"""The target that stands for the classes which the model itself names."""


@dataclass(frozen=True)
class Stated:
    """A place in the text of a plan: what stands there, its line and column from 1, and the file."""

    text: str
    line: int
    column: int
    path: str

    def note(self, message: str) -> Related:
        """What a finding elsewhere says about this place."""
        return Related(self.path, self.line, self.column, message)


@dataclass(frozen=True)
class Unit:
    """One line of the wrap list: one pass over the modules, with a call of `fully_shard` for each that it names.

    Args:
        targets: names of classes, or patterns of module paths in which `*` stands for one name.
        place: where it stands.
        bottom_up: whether children are wrapped before their parents, and what has a unit already is passed over, as
            VeOmni and accelerate do; otherwise the pass is that of `named_modules()`.
        together: whether all modules go into one call, `fully_shard([a, b])`.
    """

    targets: tuple[str, ...]
    place: Stated
    bottom_up: bool = False
    together: bool = False


@dataclass(frozen=True)
class Call:
    """One call of `fully_shard`: the first names of its modules."""

    unit: Unit
    modules: tuple[str, ...]

    @property
    def is_root(self) -> bool:
        """Whether it wraps the whole model."""
        return "" in self.modules


@dataclass(frozen=True)
class Clash:
    """A module of a call, and the module of an earlier one with which it clashes."""

    call: Call
    module: str
    earlier: Call
    owner: str


def _by_unit(clashes: list[Clash]) -> dict[Unit, list[Clash]]:
    found: dict[Unit, list[Clash]] = {}
    for clash in clashes:
        found.setdefault(clash.call.unit, []).append(clash)
    return found


def named(target: str, model: ModelFacts) -> tuple[str, ...]:
    """The first names of the modules that a target means: of the class, or else at the path."""
    if not target:
        return ("",)
    of_class = model.of_class(target)
    if of_class:
        return of_class
    found = MATCHERS["torch"].names(target, model, ())
    return tuple(dict.fromkeys(model.first_name(name) for name in found))


@dataclass(frozen=True, eq=False)
class Wrapping:
    """What the calls of a wrap list do to a model.

    Args:
        units: in the order in which they are called. Unless one names the root, the root is wrapped last.
        apart: modules whose parameters these units leave alone.
    """

    model: ModelFacts
    units: Sequence[Unit]
    apart: frozenset[str] = field(default=frozenset())

    @cached_property
    def idle(self) -> list[tuple[Unit, str]]:
        """The targets that mean no module."""
        return [
            (unit, target) for unit in self.units for target in self._targets(unit) if not named(target, self.model)
        ]

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """All calls in order, those included that torch would refuse."""
        calls: list[Call] = []
        wrapped: set[str] = set()
        for unit in self.units:
            for modules in self._passes(unit, wrapped):
                calls.append(Call(unit, modules))
                wrapped.update(modules)
        return tuple(calls)

    def _targets(self, unit: Unit) -> tuple[str, ...]:
        return tuple(
            name for target in unit.targets for name in (self.model.no_split if target == NO_SPLIT else (target,))
        )

    def _passes(self, unit: Unit, wrapped: set[str]) -> Iterator[tuple[str, ...]]:
        found = dict.fromkeys(name for target in self._targets(unit) for name in named(target, self.model))
        if unit.together:
            if found:
                yield tuple(found)
            return
        ordered = sorted(found, key=_depth, reverse=unit.bottom_up)
        yield from ((name,) for name in ordered if not (unit.bottom_up and name in wrapped))

    @cached_property
    def first_calls(self) -> dict[str, tuple[int, Call]]:
        """The first call of each wrapped module, with its place in the order."""
        found: dict[str, tuple[int, Call]] = {}
        for at, call in enumerate(self.calls):
            for module in call.modules:
                found.setdefault(module, (at, call))
        return found

    @cached_property
    def twice(self) -> dict[Unit, list[Clash]]:
        """By unit, the modules that it wraps a second time, which torch refuses."""
        found: list[Clash] = []
        for at, call in enumerate(self.calls):
            for module in call.modules:
                first, earlier = self.first_calls[module]
                if first != at:
                    found.append(Clash(call, module, earlier, module))
        return _by_unit(found)

    @cached_property
    def late(self) -> dict[Unit, list[Clash]]:
        """By unit, the modules that it wraps after one that holds them, which has taken their parameters already."""
        found: list[Clash] = []
        for module, (at, call) in self.first_calls.items():
            holder = module
            while holder and module in self.taking:
                holder = parent_of(holder)
                first, earlier = self.first_calls.get(self.model.first_name(holder), (at, call))
                if first < at:
                    found.append(Clash(call, module, earlier, holder))
                    break
        return _by_unit(found)

    @cached_property
    def taking(self) -> frozenset[str]:
        """The wrapped modules that take at least one parameter, were each wrapped before those that hold it."""
        return frozenset(module for module in self._nearest.values() if module is not None)

    @cached_property
    def _nearest(self) -> dict[str, str | None]:
        """By the name of each parameter, the wrapped module that holds it most closely."""
        near: dict[str, str | None] = {}

        def nearest(module: str) -> str | None:
            if module not in near:
                first = self.model.first_name(module)
                if first in self.first_calls:
                    near[module] = first
                elif module in self.apart or first in self.apart or not module:
                    near[module] = None
                else:
                    near[module] = nearest(parent_of(module))
            return near[module]

        return {name: nearest(parent_of(name)) for name in self.model.parameters}

    def near(self, target: str) -> str | None:
        """The class or the path that was surely meant by a target that means no module; None when none or several
        are near."""
        classes = {module.class_name for module in self.model.modules.values() if module.class_name}
        found = {name for name in classes if is_slip(target, name)}
        for repair in repairs(target, MATCHERS["torch"], self.model) if "." in target else ():
            if named(repair.pattern, self.model):
                found.add(repair.pattern)
        return found.pop() if len(found) == 1 else None

    def call_of(self, parameter: str) -> Call | None:
        """The call that takes a parameter under one of its names; None when no unit does."""
        module = self._nearest[parameter]
        return None if module is None else self.first_calls[module][1]

    @cached_property
    def taken(self) -> dict[Call, list[str]]:
        """The first names of the parameters that each call takes."""
        found: dict[Call, list[str]] = {}
        for parameter in self.model.parameters.values():
            call = self.call_of(parameter.name)
            if call is not None and parameter.tied_to is None:
                found.setdefault(call, []).append(parameter.name)
        return found

    def by_unit(self) -> Iterator[tuple[Unit, list[str]]]:
        """The first names of the parameters that all calls of each unit take together."""
        found: dict[Unit, list[str]] = {}
        for call, names in self.taken.items():
            found.setdefault(call.unit, []).extend(names)
        yield from found.items()


def _depth(name: str) -> int:
    return name.count(".") + 1 if name else 0
