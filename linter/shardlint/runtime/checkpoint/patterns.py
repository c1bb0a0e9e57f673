"""Keys with their layers' numbers taken out: a model of a hundred layers has some twenty kinds of keys."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBER = re.compile(r"(?<![^.])[0-9]+(?![^.])")


def collapsed(key: str) -> str:
    """A key with `*` for each number between dots: `layers.*.mlp.w1.weight`."""
    return _NUMBER.sub("*", key)


def numbers(key: str) -> tuple[str, ...]:
    """The numbers that `collapsed` takes out of a key."""
    return tuple(_NUMBER.findall(key))


def by_pattern(keys: Iterable[str]) -> dict[str, list[str]]:
    """Keys by their pattern, both in order."""
    found: dict[str, list[str]] = {}
    for key in keys:
        found.setdefault(collapsed(key), []).append(key)
    return found


def ranges(values: Iterable[int]) -> str:
    """Whole numbers for people: `0 to 31, 40`."""
    runs: list[list[int]] = []
    for value in sorted(values):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
