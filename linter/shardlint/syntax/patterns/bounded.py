"""Regular expressions of users, refused where they could take time without end."""

from __future__ import annotations

import re

from shardlint.knowledge.problem import CheckProblem

_LONGEST = 200
_LONGEST_TEXT = 1_000
_MOST_REPEATS = 3
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\d*,?\d*\}|\(\?[<P]?[=!]|\(\?[\w<>:-]*|.", re.DOTALL)


def bounded(pattern: object, where: tuple[str | int, ...] = ()) -> re.Pattern[str]:
    """The regular expression of a text. Raises CheckProblem for one that is wrong, or may be slow."""
    if not isinstance(pattern, str) or not pattern:
        raise CheckProblem(where, "a regular expression is a text")
    if len(pattern) > _LONGEST:
        raise CheckProblem(where, f"a regular expression has at most {_LONGEST} characters")
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise CheckProblem(where, f"this is no regular expression: {error}") from None
    _refuse_slow(pattern, where)
    return compiled


def longest(pattern: re.Pattern[str]) -> int:  # noqa: ARG001 - the same for all that are taken
    """The longest text, in characters, that an expression of `bounded` may search."""
    return _LONGEST_TEXT


def _refuse_slow(pattern: str, where: tuple[str | int, ...]) -> None:
    """Raises CheckProblem for repeats inside of repeats, alternatives in them, and for many repeats in a row."""
    varied: list[bool] = []
    repeats = 0
    closed = False
    for token in _TOKEN.findall(pattern):
        if token.startswith("(?P=") or (token[0] == "\\" and token[1] in "123456789"):
            raise CheckProblem(where, "a regular expression may not refer back to a group")
        repeated = token in ("*", "+") or (token[0] == "{" and len(token) > 2)
        if repeated:
            repeats += 1
            if closed:
                raise CheckProblem(where, "a repeated group may hold neither a repeat nor alternatives")
        if repeated or token in ("|", "?"):
            varied = [True] * len(varied)
        closed = varied.pop() if token == ")" and varied else False
        if token[0] == "(":
            varied.append(False)
    if repeats > _MOST_REPEATS:
        raise CheckProblem(where, f"a regular expression has at most {_MOST_REPEATS} repeats")
