"""A checkpoint beside a model: what is missing, unexpected or of another shape, each with its one cause."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from shardlint.runtime.checkpoint.held import Held, held_after, held_directly
from shardlint.runtime.checkpoint.layers import Gap, gaps
from shardlint.runtime.checkpoint.parts import Parts
from shardlint.runtime.checkpoint.patterns import by_pattern, collapsed
from shardlint.runtime.checkpoint.prefixes import Prefix, common_prefix
from shardlint.runtime.checkpoint.renames import Rename, renames
from shardlint.runtime.checkpoint.stored import Contents
from shardlint.runtime.model_facts import Buffer, ModelFacts, Parameter

Wanted = Parameter | Buffer


@dataclass(frozen=True)
class Pair:
    """A tensor of the model and what the checkpoint has for it."""

    wanted: Wanted
    held: Held
    odd: bool = False
    """Whether most tensors of the pattern have another dtype in the checkpoint."""


class Comparison:
    """One checkpoint and one model.

    Order matters: a prefix explains most, then whole layers, then renames; what is left is missing or unexpected.
    """

    def __init__(self, contents: Contents, model: ModelFacts) -> None:
        self.contents = contents
        self.model = model
        names = model.parameters.keys() | model.buffers.keys()
        self.parts = Parts(contents, names)
        conversion = model.conversion if contents.form != "DCP" else None
        if conversion is None:
            held = held_directly(self.parts.model)
        else:
            held = held_after(conversion, self.parts.model, names)
        self.wanted = _wanted(model, held)
        ignored = () if conversion is None else (conversion,)
        lacking = [n for n in self.wanted if n not in held and not any(c.ignores_missing(n) for c in ignored)]
        extra = [n for n in held if n not in names and not any(c.ignores_unexpected(n) for c in ignored)]
        extra = [name for name in extra if not name.endswith("_extra_state")]
        self.prefix: Prefix | None = common_prefix(lacking, extra)
        self.held, self.lacking, self.extra = self._under_prefix(held, lacking, extra)

    def _under_prefix(
        self, held: dict[str, Held], lacking: list[str], extra: list[str]
    ) -> tuple[dict[str, Held], list[str], list[str]]:
        """All three after the prefix, if there is one."""
        if self.prefix is None:
            return held, lacking, extra
        found = dict(held)
        for name in extra:
            renamed = self.prefix.applied(name)
            if renamed is not None and renamed not in held:
                found[renamed] = found.pop(name)
        names = self.model.parameters.keys() | self.model.buffers.keys()
        self.wanted = _wanted(self.model, found)
        return (
            found,
            [name for name in self.wanted if name not in found and name in set(lacking)],
            [name for name in found if name not in names and (name in set(extra) or name not in held)],
        )

    @cached_property
    def nothing_agrees(self) -> bool:
        """Whether not one tensor of the model is in the checkpoint."""
        return bool(self.wanted) and not any(name in self.held for name in self.wanted)

    @cached_property
    def missing_layers(self) -> tuple[Gap, ...]:
        """Layers of the model that the checkpoint does not have."""
        return () if self.nothing_agrees else gaps(self.lacking, self.wanted, self.held)

    @cached_property
    def unexpected_layers(self) -> tuple[Gap, ...]:
        """Layers of the checkpoint that the model does not have."""
        return () if self.nothing_agrees else gaps(self.extra, self.held, self.wanted)

    @cached_property
    def _unexplained(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        lost = {key for gap in self.missing_layers for key in gap.keys}
        added = {key for gap in self.unexpected_layers for key in gap.keys}
        return (
            by_pattern(key for key in self.lacking if key not in lost),
            by_pattern(key for key in self.extra if key not in added),
        )

    @cached_property
    def renames(self) -> tuple[Rename, ...]:
        """What the checkpoint probably has under another name."""
        missing, unexpected = self._unexplained
        return renames(missing, unexpected, lambda key: self.wanted[key].shape, lambda key: self.held[key].shape)

    @cached_property
    def missing(self) -> dict[str, list[str]]:
        """Keys of the model that nothing explains, by pattern."""
        explained = {pair[1] for rename in self.renames for pair in rename.pairs}
        return {pattern: keys for pattern, keys in self._unexplained[0].items() if pattern not in explained}

    @cached_property
    def unexpected(self) -> dict[str, list[str]]:
        """Keys of the checkpoint that nothing explains, by pattern."""
        explained = {pair[0] for rename in self.renames for pair in rename.pairs}
        return {pattern: keys for pattern, keys in self._unexplained[1].items() if pattern not in explained}

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """All tensors that both sides have."""
        return tuple(Pair(wanted, self.held[name]) for name, wanted in self.wanted.items() if name in self.held)

    @cached_property
    def shapes(self) -> dict[str, list[Pair]]:
        """Tensors of another shape, or made of another number of values, by pattern."""
        found: dict[str, list[Pair]] = {}
        for pair in self.pairs:
            shape, elements = pair.held.shape, pair.held.elements
            other = shape is not None and shape != pair.wanted.shape
            if other or (elements is not None and elements != prod(pair.wanted.shape)):
                found.setdefault(collapsed(pair.wanted.name), []).append(pair)
        return found

    @cached_property
    def dtypes(self) -> tuple[tuple[str, str, list[Pair]], ...]:
        """Tensors of another dtype: the pattern, the dtype in the checkpoint, the tensors."""
        found: dict[str, dict[str, list[Pair]]] = {}
        for pair in self.pairs:
            if pair.held.first.dtype is not None:
                dtypes = found.setdefault(collapsed(pair.wanted.name), {})
                dtypes.setdefault(pair.held.first.dtype, []).append(pair)
        differing: list[tuple[str, str, list[Pair]]] = []
        for pattern, dtypes in found.items():
            most = max(map(len, dtypes.values()))
            for dtype, pairs in dtypes.items():
                odd = len(pairs) < most
                other = [replace(pair, odd=odd) for pair in pairs if _differ(pair.wanted.dtype, dtype)]
                if other:
                    differing.append((pattern, dtype, other))
        return tuple(differing)

    @cached_property
    def without_state(self) -> dict[str, list[str]]:
        """Trainable parameters in the checkpoint for which the optimizer's part keeps nothing, by pattern.

        Empty when that part names parameters otherwise than the model does, by numbers for one.
        """
        kept = set(self.parts.states)
        if self.prefix is not None:
            kept |= {renamed for renamed in map(self.prefix.applied, self.parts.states) if renamed is not None}
        trained = [
            parameter.name
            for parameter in self.model.parameters.values()
            if parameter.tied_to is None and parameter.trainable
        ]
        lacking = [name for name in trained if kept.isdisjoint(self.model.tied_group(name))]
        if len(lacking) * 2 > len(trained):
            return {}
        return by_pattern(name for name in lacking if name in self.held)


def _differ(wanted: str, given: str) -> bool:
    """Whether two dtypes differ; whole numbers of different widths hold the same counts."""
    whole = ("int", "uint", "bool")
    return wanted != given and not (wanted.startswith(whole) and given.startswith(whole))


def _wanted(model: ModelFacts, held: dict[str, Held]) -> dict[str, Wanted]:
    """What must be in a checkpoint: each tensor under one of its names, the one that is there if one is."""
    found: dict[str, Wanted] = {}
    for parameter in model.parameters.values():
        if parameter.tied_to is None:
            group = model.tied_group(parameter.name) if model.has_ties else (parameter.name,)
            name = next((name for name in group if name in held), parameter.name)
            found[name] = model.parameters[name]
    return found | {buffer.name: buffer for buffer in model.buffers.values() if buffer.persistent}
