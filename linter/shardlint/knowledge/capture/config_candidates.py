"""Conditions that may tell a bad config from a good one, read off the keys that the fix changed.

The order is that of preference: a relation between keys says why a value was wrong, a value alone does not.
"""

from __future__ import annotations

import json
import re
from itertools import combinations
from typing import TYPE_CHECKING, Any

from shardlint.knowledge.capture.candidate import Candidate
from shardlint.knowledge.capture.relevance import by_relevance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeGuard

_MOST_PARTNERS = 12
"""Other keys that a changed one is compared with, the nearest first."""

_CHOICE = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""A text that chooses one of several."""

Check = tuple[dict[str, Any], str]
"""What a candidate asks, and why."""


def config_candidates(
    bad: Mapping[str, Any], good: Mapping[str, Any], files: tuple[str, ...], told: str = ""
) -> list[Candidate]:
    """Candidates from two documents; those come first that `told`, the words of the incident, speaks of.

    `files` are the patterns of the files that they hold for.
    """
    before, after = dict(_leaves(bad, "")), dict(_leaves(good, ""))
    found: dict[str, Candidate] = {}
    for key in [*before, *(key for key in after if key not in before)]:
        if key in before and key in after and before[key] == after[key]:
            continue
        for check, why in _for_key(key, before, after):
            found.setdefault(json.dumps(check, default=str), Candidate("config", {"files": [*files], **check}, why))
    return by_relevance(list(found.values()), told)


def _leaves(value: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """The values of a document by their dotted keys; a list is one value, and a key that is no name is left out."""
    if _is_mapping(value) and (value or not prefix):
        for key, inner in value.items():
            if isinstance(key, str) and key.isidentifier() and not key.startswith("_"):
                yield from _leaves(inner, f"{prefix}.{key}" if prefix else key)
    else:
        yield prefix, value


def _for_key(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Check]:
    if key not in after:
        yield from _taken_away(key, before, after)
    elif key not in before:
        yield from _put_in(key, before, after)
    else:
        yield from _changed(key, before, after)


def _changed(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Check]:
    """Another value. The bad one is known to be wrong; the good one is the only right one if it is yes or no."""
    bad, good = before[key], after[key]
    if _is_number(bad) and _is_number(good):
        yield from _relations(key, bad, good, before, after)
    wrong = {"require": f"{key} != {_literal(bad)}", "at": key}, f"the fix no longer has `{key}: {_shown(bad)}`"
    right = {"require": f"{key} == {_literal(good)}", "at": key}, f"the fix sets `{key}` to {_shown(good)}"
    ways = (right, wrong) if isinstance(good, bool) else (wrong, right)
    for given in _circumstances(key, before, after) if bad is not None else ():
        for check, why in ways:
            yield {"when": given, **check}, f"{why} where `{given}`"
    yield from ways


def _circumstances(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Conditions on other keys that hold before and after the fix, the nearest first.

    What looks like a name or a path of one run is no condition for others.
    """
    for other in _near(key, before):
        value = before[other]
        if after.get(other) != value:
            continue
        if value is True or (value and not isinstance(value, (str, bool))):
            yield f"default({other!r}, false)"
        elif value is False:
            yield f"not default({other!r}, true)"
        elif isinstance(value, str) and _CHOICE.fullmatch(value):
            yield f"{other} == {_literal(value)}"


def _relations(
    key: str, bad: float, good: float, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Check]:
    """Divisibility and order between the changed number and others that the fix left alone."""
    partners = [
        other for other in _near(key, before) if _is_number(before[other]) and after.get(other) == before[other]
    ]
    terms = [(other, before[other]) for other in partners]
    terms += [(f"({one} * {other})", before[one] * before[other]) for one, other in combinations(partners[:6], 2)]
    for text, number in terms:
        if isinstance(number, int) and number > 1 and isinstance(bad, int) and isinstance(good, int):
            if bad % number and not good % number:
                yield {"require": f"{key} % {text} == 0", "at": key}, f"the fix makes `{key}` a multiple of `{text}`"
            if bad and good and number % bad and not number % good:
                yield {"require": f"{text} % {key} == 0", "at": key}, f"the fix makes `{key}` divide `{text}`"
    for text, number in terms:
        if bad > number >= good:
            yield {"require": f"{key} <= {text}", "at": key}, f"the fix keeps `{key}` within `{text}`"
        if bad < number <= good:
            yield {"require": f"{key} >= {text}", "at": key}, f"the fix brings `{key}` up to `{text}`"
    if bad > good >= 1 or bad < good <= 0:
        sign = "<=" if bad > good else ">="
        yield {"require": f"{key} {sign} {good}", "at": key}, f"the fix bounds `{key}` by {good}"


def _put_in(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Check]:
    """A key that was missing. If its value is yes or no, the other one would be as wrong as none."""
    good = after[key]
    there = f"exists({key})"
    if isinstance(good, bool):
        there = f"{there} and {key} == {_literal(good)}"
    why = f"the fix sets `{key}` to {_shown(good)}" if isinstance(good, bool) else f"the fix gives `{key}`"
    # Where the block of the key is not there, nothing is missing in it.
    block = key.rpartition(".")[0]
    beside = f"exists({block}) and " if any(other.startswith(f"{block}.") for other in before) and block else ""
    for given in _circumstances(key, before, after):
        yield {"when": beside + given, "require": there, "at": _key_of(given, before)}, f"{why} where `{given}`"
    for other in _near(key, before)[:3]:
        check = {"when": f"exists({other})", "require": there, "at": other}
        yield check, f"{why} beside `{other}`"
    yield {"require": there}, why


def _taken_away(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Check]:
    fresh = [other for other in after if other not in before and after[other] == before[key]]
    for other in fresh[:1]:
        yield {"kind": "renamed", "from": key, "to": other}, f"the fix calls it `{other}`"
    near = [other for other in _near(key, before) if after.get(other)]
    # Two switches may exclude each other; a key that is always there excludes nothing.
    switches = [other for other in near if after[other] is True]
    for other in [*switches, *(other for other in near if other not in switches)]:
        yield {"kind": "exclusive", "keys": [other, key]}, f"the fix keeps `{other}` and drops `{key}`"
    yield {"require": f"not exists({key})", "at": key}, f"the fix drops `{key}`"


def _key_of(given: str, before: Mapping[str, Any]) -> str:
    """The key that a condition of `_circumstances` is about."""
    return max((key for key in before if key in given), key=len)


def _near(key: str, values: Mapping[str, Any]) -> list[str]:
    """Other keys, those that share most of the path first."""
    path = key.split(".")

    def distance(other: str) -> int:
        steps = other.split(".")
        shared = next((at for at, (one, two) in enumerate(zip(path, steps, strict=False)) if one != two), 0)
        return len(path) + len(steps) - 2 * shared

    return sorted((other for other in values if other != key), key=distance)[:_MOST_PARTNERS]


def _literal(value: Any) -> str:
    """A value as an expression writes it."""
    if _is_list(value):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value)


def _shown(value: Any) -> str:
    text = _literal(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, dict)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)
