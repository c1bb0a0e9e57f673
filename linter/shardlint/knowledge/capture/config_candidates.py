"""Conditions that may tell a bad config from a good one, read off the keys that the fix changed.

The order is that of preference: a relation between keys says why a value was wrong, a value alone does not.
"""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING, Any

from shardlint.knowledge.capture.candidate import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeGuard

_MOST = 40
_MOST_PARTNERS = 12
"""Other keys that a changed one is compared with, the nearest first."""


def config_candidates(bad: Mapping[str, Any], good: Mapping[str, Any], files: tuple[str, ...]) -> list[Candidate]:
    """Candidates from two documents; `files` are the patterns of the files that they hold for."""
    before, after = dict(_leaves(bad, "")), dict(_leaves(good, ""))
    found: dict[str, Candidate] = {}
    for key in [*before, *(key for key in after if key not in before)]:
        if key in before and key in after and before[key] == after[key]:
            continue
        for check, why in _for_key(key, before, after):
            found.setdefault(json.dumps(check, default=str), Candidate("config", {"files": [*files], **check}, why))
    return list(found.values())[:_MOST]


def _leaves(value: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """The values of a document by their dotted keys; a list is one value, and a key that is no name is left out."""
    if _is_mapping(value) and (value or not prefix):
        for key, inner in value.items():
            if isinstance(key, str) and key.isidentifier() and not key.startswith("_"):
                yield from _leaves(inner, f"{prefix}.{key}" if prefix else key)
    else:
        yield prefix, value


def _for_key(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    if key not in after:
        yield from _taken_away(key, before, after)
    elif key not in before:
        yield from _put_in(key, before, after)
    else:
        yield from _changed(key, before, after)


def _changed(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    bad, good = before[key], after[key]
    if _is_number(bad) and _is_number(good):
        yield from _relations(key, bad, good, before, after)
    for other in _near(key, before):
        if isinstance(before[other], (str, bool)) and after.get(other) == before[other] and bad is not None:
            given = f"{other} == {_literal(before[other])}"
            check = {"when": given, "require": f"{key} == {_literal(good)}", "at": key}
            yield check, f"the fix sets `{key}` where `{given}`"
    yield {"require": f"{key} != {_literal(bad)}", "at": key}, f"the fix no longer has `{key}: {_shown(bad)}`"
    yield {"require": f"{key} == {_literal(good)}", "at": key}, f"the fix sets `{key}` to {_shown(good)}"


def _relations(
    key: str, bad: float, good: float, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], str]]:
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


def _put_in(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    for other in _near(key, before):
        if isinstance(before[other], (str, bool)) and before[other] and after.get(other) == before[other]:
            given = f"{other} == {_literal(before[other])}"
            yield {"when": given, "require": f"exists({key})", "at": other}, f"the fix gives `{key}` where `{given}`"
    for other in _near(key, before)[:3]:
        check = {"when": f"exists({other})", "require": f"exists({key})", "at": other}
        yield check, f"the fix gives `{key}` beside `{other}`"
    yield {"require": f"exists({key})"}, f"the fix gives `{key}`"


def _taken_away(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    fresh = [other for other in after if other not in before and after[other] == before[key]]
    for other in fresh[:1]:
        yield {"kind": "renamed", "from": key, "to": other}, f"the fix calls it `{other}`"
    for other in _near(key, before)[:4]:
        if other in after:
            yield {"kind": "exclusive", "keys": [other, key]}, f"the fix keeps `{other}` and drops `{key}`"
    yield {"require": f"not exists({key})", "at": key}, f"the fix drops `{key}`"


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
