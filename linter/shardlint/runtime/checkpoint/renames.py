"""Keys that were probably renamed: equal shapes, the same layers, and names that resemble each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from shardlint.runtime.checkpoint.patterns import numbers

_ALIKE = 0.6
_MOST = 200

Shapes = Callable[[str], "tuple[int, ...] | None"]


@dataclass(frozen=True)
class Rename:
    """A module or parameter that has another name in the checkpoint.

    Args:
        before: the names above it, with `*` for numbers.
        old, new: the names that differ, in the checkpoint and in the model; one of them may be empty.
        pairs: patterns that it explains, the checkpoint's and the model's.
        keys: how many keys of the model.
        rivals: patterns of the checkpoint that could be meant as well.
    """

    before: str
    old: str
    new: str
    pairs: tuple[tuple[str, str], ...]
    keys: int
    rivals: tuple[str, ...]


@dataclass(frozen=True)
class _Pair:
    given: str
    wanted: str
    change: tuple[str, str, str]
    alike: float


def renames(
    missing: Mapping[str, Sequence[str]],
    unexpected: Mapping[str, Sequence[str]],
    wanted_shape: Shapes,
    given_shape: Shapes,
) -> tuple[Rename, ...]:
    """What was probably renamed, each pattern at most once.

    Args:
        missing, unexpected: keys by pattern.
        wanted_shape, given_shape: the shape of a key of the model and of the checkpoint.
    """
    pairs: list[_Pair] = []
    given_kinds = {pattern: _kind(keys, given_shape) for pattern, keys in list(unexpected.items())[:_MOST]}
    for wanted, keys in list(missing.items())[:_MOST]:
        kind = _kind(keys, wanted_shape)
        pairs += [_pair(given, wanted) for given, other in given_kinds.items() if _agree(kind, other)]
    pairs = [pair for pair in pairs if pair.alike >= _ALIKE]
    votes: dict[tuple[str, str, str], int] = {}
    for pair in pairs:
        votes[pair.change] = votes.get(pair.change, 0) + 1
    chosen: dict[str, _Pair] = {}
    taken: set[str] = set()
    for pair in sorted(pairs, key=lambda pair: (-votes[pair.change], -pair.alike, pair.wanted, pair.given)):
        if pair.wanted not in chosen and pair.given not in taken:
            chosen[pair.wanted] = pair
            taken.add(pair.given)
    return _grouped(list(chosen.values()), pairs, votes, missing)


def _grouped(
    chosen: list[_Pair],
    pairs: list[_Pair],
    votes: Mapping[tuple[str, str, str], int],
    missing: Mapping[str, Sequence[str]],
) -> tuple[Rename, ...]:
    groups: dict[tuple[str, str, str], list[_Pair]] = {}
    for pair in chosen:
        groups.setdefault(pair.change, []).append(pair)
    found: list[Rename] = []
    for change, members in groups.items():
        wanted = {pair.wanted for pair in members}
        # A change that explains more keys than any other for them leaves no doubt.
        rivals = {
            pair.given
            for pair in pairs
            if pair.wanted in wanted and pair.change != change and votes[pair.change] >= votes[change]
        }
        keys = sum(len(missing[pair.wanted]) for pair in members)
        ordered = tuple(sorted((pair.given, pair.wanted) for pair in members))
        found.append(Rename(*change, ordered, keys, tuple(sorted(rivals))))
    return tuple(sorted(found, key=lambda one: one.pairs))


def _kind(keys: Sequence[str], shape: Shapes) -> tuple[frozenset[tuple[str, ...]], tuple[int, ...] | None]:
    """Which layers a pattern has, and the shape that all of its keys have."""
    return frozenset(map(numbers, keys)), shape(keys[0])


def _agree(
    one: tuple[frozenset[tuple[str, ...]], tuple[int, ...] | None],
    other: tuple[frozenset[tuple[str, ...]], tuple[int, ...] | None],
) -> bool:
    return one[0] == other[0] and (one[1] == other[1] or None in (one[1], other[1]))


def _pair(given: str, wanted: str) -> _Pair:
    old, new = given.split("."), wanted.split(".")
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    change = (".".join(old[:start]), ".".join(old[start : len(old) - end]), ".".join(new[start : len(new) - end]))
    return _Pair(given, wanted, change, SequenceMatcher(None, given, wanted, autojunk=False).ratio())
