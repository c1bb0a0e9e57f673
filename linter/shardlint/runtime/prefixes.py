"""One prefix that explains why many patterns of a plan match nothing: a wrapper's, or a part of a larger model's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardlint.runtime.repairs import WRAPPERS

if TYPE_CHECKING:
    from shardlint.runtime.model_facts import ModelFacts
    from shardlint.runtime.plan import Entry

SHARE = 0.8
"""The share that one prefix must have of the dead patterns which any prefix brings to life."""

_DEEPEST = 3
"""The most names that a prefix consists of."""

Change = tuple[str, str, int]
"""What is taken out of a pattern, what is put in, and after how many of its names."""


@dataclass(frozen=True)
class PrefixCause:
    """A prefix that stands in the patterns and not in the model's names, or the other way round.

    Args:
        written: the names that the patterns have there; empty when they lack some.
        meant: the names that the model has there; empty when it has none.
        patterns: each entry that it explains, with the pattern as the model has it.
    """

    written: str
    meant: str
    patterns: tuple[tuple[Entry, str], ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries that it explains, in the order of the plan."""
        return tuple(entry for entry, _pattern in self.patterns)


def prefix_cause(
    dead: Sequence[Entry], alive: Sequence[Entry], model: ModelFacts, free: Callable[[Entry, str], bool]
) -> PrefixCause | None:
    """The one prefix that explains at least two dead entries and `SHARE` of those that any prefix explains: what none
    explains names another variant of the model.

    None where none does, where several do equally, and for an entry that has a living one beside it: then the prefix is
    right, and the name is the matter.

    Args:
        free: whether a pattern would match something for an entry, and nothing that another entry names.
    """
    if len(dead) < 2:
        return None
    sound = {_head(entry.pattern) for entry in alive}
    prefixes = _prefixes(model)
    found: dict[Change, list[tuple[Entry, str]]] = {}
    for entry in dead:
        head = _head(entry.pattern)
        if entry.pattern.startswith("*") or (head and head in sound):
            continue
        for change, pattern in _changed(entry.pattern, len(head), prefixes, model):
            if free(entry, pattern):
                found.setdefault(change, []).append((entry, pattern))
    if not found:
        return None
    most = max(map(len, found.values()))
    best = {change: revived for change, revived in found.items() if len(revived) == most}
    shortest = min(map(_length, best))
    causes = [change for change in best if _length(change) == shortest]
    explained = {entry for revived in found.values() for entry, _pattern in revived}
    if len(causes) != 1 or most < max(2, SHARE * len(explained)):
        return None
    written, meant, _at = causes[0]
    return PrefixCause(written, meant, tuple(best[causes[0]]))


def _head(pattern: str) -> tuple[str, ...]:
    """The names of a pattern before the first number or wildcard, without the last one."""
    segments = pattern.split(".")
    at = next((at for at, segment in enumerate(segments) if not segment.isidentifier()), len(segments) - 1)
    return tuple(segments[:at])


def _prefixes(model: ModelFacts) -> list[str]:
    """The paths of modules that stand alone, near the root."""
    return [
        name
        for name in model.modules
        if name and name.count(".") < _DEEPEST and not any(part.isdecimal() for part in name.split("."))
    ]


def _changed(pattern: str, head: int, prefixes: Sequence[str], model: ModelFacts) -> Iterator[tuple[Change, str]]:
    segments = pattern.split(".")
    for dropped in range(min(head, _DEEPEST) + 1):
        written, rest = ".".join(segments[:dropped]), ".".join(segments[dropped:])
        if dropped and dropped < len(segments):
            yield (written, "", 0), rest
        for prefix in prefixes:
            if prefix != written and not (dropped and prefix.split(".")[0] == segments[0] and dropped > 1):
                yield (written, prefix, 0), f"{prefix}.{rest}"
    present = sorted({part for name in model.modules for part in name.split(".")} & WRAPPERS)
    for at in range(1, len(segments)):
        for wrapper in present:
            yield ("", wrapper, at), ".".join((*segments[:at], wrapper, *segments[at:]))
        if segments[at] in WRAPPERS and at < len(segments) - 1:
            yield (segments[at], "", at), ".".join((*segments[:at], *segments[at + 1 :]))


def _length(change: Change) -> int:
    written, meant, _at = change
    return len(written.split(".") if written else ()) + len(meant.split(".") if meant else ())
