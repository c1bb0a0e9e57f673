"""The tensors of a checkpoint under the names that the model will look for."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from math import prod

from shardlint.runtime.checkpoint.patterns import collapsed, numbers
from shardlint.runtime.checkpoint.stored import Stored
from shardlint.runtime.conversion import Conversion, Step

_KEEPS_ELEMENTS = frozenset(
    ["MergeModulelist", "Concatenate", "Transpose", "Interleave", "PermuteForRope", "Chunk", "Split", "SplitModulelist"]
)
"""Operations that neither add nor drop an element."""

_DIGIT = re.compile(r"(?<!\\)[0-9]")
_STANDS = "900000{}009"


@dataclass(slots=True)
class Held:
    """What a checkpoint has for one name.

    Args:
        name: after all renames.
        first: the first of the entries that flow into it.
        shape: None when it is not known, or when a step makes it.
        elements: how many values there are in all; None when that is not known.
        sources: how many entries flow into it.
    """

    name: str
    first: Stored
    shape: tuple[int, ...] | None
    elements: int | None
    sources: int = 1


def held_directly(entries: Iterable[Stored]) -> dict[str, Held]:
    """The entries under their own keys."""
    return {entry.key: Held(entry.key, entry, entry.shape, None) for entry in entries}


def held_after(conversion: Conversion, entries: Iterable[Stored], names: Container[str]) -> dict[str, Held]:
    """The entries under the keys that a conversion makes.

    Args:
        names: what the model has, which decides where the inner model's prefix is added or taken away.
    """
    found: dict[str, Held] = {}
    renamed = _Renamed(conversion)
    for entry in entries:
        key, step = renamed(entry.key)
        for name in _targets(key, step):
            name = _with_base(name, conversion.base_prefix, names)
            if step is None:
                found.setdefault(name, Held(name, entry, entry.shape, None))
                continue
            kept = len(step.target) == 1 and _KEEPS_ELEMENTS.issuperset(step.operations)
            elements = None if entry.shape is None or not kept else prod(entry.shape)
            held = found.get(name)
            if held is None:
                found[name] = Held(name, entry, None, elements)
                continue
            held.sources += 1
            held.elements = None if elements is None or held.elements is None else held.elements + elements
    return found


class _Renamed:
    """A conversion of many keys that differ in their numbers only: one of each kind is converted."""

    def __init__(self, conversion: Conversion) -> None:
        self.conversion = conversion
        self.known: dict[str, tuple[str, Step | None]] = {}
        # A source that names a number treats layers differently.
        self.alike = not any(_DIGIT.search(source) for step in conversion.steps for source in step.source)

    def __call__(self, key: str) -> tuple[str, Step | None]:
        if not self.alike:
            return self.conversion.converted(key)
        pattern = collapsed(key)
        if pattern not in self.known:
            template = pattern
            for at in range(pattern.count("*")):
                template = template.replace("*", _STANDS.format(at), 1)
            self.known[pattern] = self.conversion.converted(template)
        renamed, step = self.known[pattern]
        for at, number in enumerate(numbers(key)):
            renamed = renamed.replace(_STANDS.format(at), number)
        return renamed, step


def _targets(key: str, step: Step | None) -> list[str]:
    if step is None:
        return [key]
    first, *others = (target.replace("\\.", ".") for target in step.target)
    return [key, *(key.replace(first, other, 1) for other in others)]


def _with_base(name: str, base: str, names: Container[str]) -> str:
    if not base or name in names:
        return name
    bare = name.removeprefix(f"{base}.")
    if bare != name and bare in names:
        return bare
    return f"{base}.{name}" if f"{base}.{name}" in names else name
