"""Layers that one side has and the other has not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shardlint.runtime.checkpoint.patterns import collapsed


@dataclass(frozen=True)
class Gap:
    """The numbers below one list of modules that only one side has.

    Args:
        holder: the list, as a pattern: `model.layers`.
        lacking: the numbers that the other side does not have.
        here: all numbers of the side that has them.
        there: all numbers of the other side.
        keys: what is absent with them.
    """

    holder: str
    lacking: frozenset[int]
    here: frozenset[int]
    there: frozenset[int]
    keys: tuple[str, ...]


def gaps(absent: Iterable[str], here: Iterable[str], there: Iterable[str]) -> tuple[Gap, ...]:
    """What of the absent keys is absent because whole layers are.

    Args:
        absent: keys of this side that the other does not have.
        here, there: all keys of both sides.
    """
    left = list(absent)
    if not left:
        return ()
    mine, theirs = _numbered(here), _numbered(there)
    found: list[Gap] = []
    for holder in sorted(mine, key=lambda holder: holder.count(".")):
        lacking = mine[holder] - theirs.get(holder, mine[holder])
        if not lacking:
            continue
        keys = tuple(key for key in left if (holder, True) in {(h, n in lacking) for h, n in _places(key)})
        if keys:
            known = set(keys)
            left = [key for key in left if key not in known]
            found.append(Gap(holder, frozenset(lacking), frozenset(mine[holder]), frozenset(theirs[holder]), keys))
    return tuple(found)


def _numbered(keys: Iterable[str]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for key in keys:
        for holder, number in _places(key):
            found.setdefault(holder, set()).add(number)
    return found


def _places(key: str) -> Iterator[tuple[str, int]]:
    parts = key.split(".")
    for at, part in enumerate(parts):
        if part.isdecimal() and part.isascii() and len(part) < 10:
            yield collapsed(".".join(parts[:at])), int(part)
