"""Brace patterns of the text forms: `layers.{0..3}.{q,k}_proj` stands for eight names."""

from __future__ import annotations

import re
from itertools import product

from shardlint.errors import PlanError

LIMIT = 20_000
"""The most names that one pattern may stand for; a deeper model is better given as JSON."""

_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})")
_WORD = re.compile(r"[^\s{},]+")


def expand(text: str, line: int) -> list[str]:
    """The names that a pattern stands for, the last brace varying fastest.

    Args:
        text: a name with any number of `{first..last}` (both included) and `{a,b}`.
        line: where it stands, for the message.

    Raises PlanError for braces that are not closed or hold nothing, for a range that runs backwards, and for a pattern
    that stands for more than `LIMIT` names.
    """
    parts = _BRACES.split(text)
    if any("{" in part or "}" in part for part in parts[::2]):
        raise PlanError(f"line {line}: the braces of `{text}` do not pair up; write `{{0..3}}` or `{{a,b}}`")
    choices: list[range | list[str]] = []
    total = 1
    for inside in parts[1::2]:
        choice = _choice(inside, text, line)
        total *= len(choice)
        if total > LIMIT:
            raise PlanError(f"line {line}: `{text}` stands for more than {LIMIT} names; give a smaller range")
        choices.append(choice)
    literals = parts[::2]
    return [
        literals[0] + "".join(f"{chosen}{literal}" for chosen, literal in zip(picked, literals[1:], strict=True))
        for picked in product(*choices)
    ]


def _choice(inside: str, text: str, line: int) -> range | list[str]:
    bounds = _RANGE.fullmatch(inside)
    if bounds is not None:
        first, last = int(bounds[1]), int(bounds[2])
        if first > last:
            raise PlanError(f"line {line}: `{{{inside}}}` in `{text}` runs backwards; write `{{{last}..{first}}}`")
        return range(first, last + 1)
    words = inside.split(",")
    if len(words) < 2 or not all(_WORD.fullmatch(word) for word in words):
        raise PlanError(f"line {line}: `{{{inside}}}` in `{text}` is neither a range `{{0..3}}` nor a list `{{a,b}}`")
    return words
