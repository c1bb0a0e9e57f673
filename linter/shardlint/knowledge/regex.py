"""Regular expressions from a constraint file, which may not take long on any text.

`re` tries one way after the other, and some patterns have exponentially many. A pattern is taken only if it has few: no
quantifier inside of a repeated group, no look-around, no back reference, few alternatives that fit the same text. What
remains costs at most a power of the length of the text, and `longest` says for which length that is still quick.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from shardlint.knowledge.language import shortened
from shardlint.knowledge.problem import CheckProblem

if sys.version_info >= (3, 11):
    # The parser of `re` has no public name; it alone reads a pattern exactly as `re` does.
    _parser: Any = vars(re)["_parser"]
else:
    import sre_parse

    _parser: Any = sre_parse

LONGEST_PATTERN = 500
"""Characters of a pattern."""

LONGEST_TEXTS = (4_000, 2_000, 300, 100)
"""Longest text in characters, by the power of it that a search may cost, from the first power on."""

MOST_WAYS = 16
"""Ways through alternatives and optional parts that may fit the same text, multiplied."""

_ASCII = frozenset(range(128))
_DIGITS, _LETTERS, _SPACES, _OTHERS = range(128, 132)
"""All characters above ASCII, in four sorts."""
_ABOVE = frozenset((_DIGITS, _LETTERS, _SPACES, _OTHERS))
_ALL = _ASCII | _ABOVE
_NONE: frozenset[int] = frozenset()
_FEW = 8
"""A quantifier with so few lengths counts as alternatives, a wider one as open."""

_SCOPED = re.compile(r"\(\?[a-zA-Z-]+:")
"""Flags for a part of a pattern, which is then read as if it ignored case and `.` were any character."""

Item = tuple[Any, Any]


def bounded(pattern: object, where: tuple[str | int, ...] = ()) -> re.Pattern[str]:
    """A pattern that cannot take long to search a text of at most `longest(pattern)` characters.

    Args:
        pattern: the text of the regular expression.
        where: the place of the text in the block, for the error.

    Raises:
        CheckProblem: it is no regular expression, or may take long; the text says why.
    """
    if not isinstance(pattern, str) or not pattern:
        raise CheckProblem(where, "a regular expression is a text")
    if len(pattern) > LONGEST_PATTERN:
        raise CheckProblem(where, f"a regular expression has at most {LONGEST_PATTERN} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern)
        power(compiled)
    except _Slow as reason:
        raise CheckProblem(where, f"`{shortened(pattern)}` may take very long: {reason}") from None
    except (re.error, OverflowError) as error:
        raise CheckProblem(where, f"`{shortened(pattern)}` is no regular expression: {shortened(str(error))}") from None
    except (RecursionError, MemoryError):
        raise CheckProblem(where, f"`{shortened(pattern)}` is nested too deeply") from None
    return compiled


def longest(pattern: re.Pattern[str]) -> int:
    """The longest text, in characters, that a pattern of `bounded` may search."""
    return LONGEST_TEXTS[power(pattern) - 1]


class _Slow(Exception):
    """Why a pattern may take long."""


class _Ways(NamedTuple):
    """What a part of a pattern costs: how many ways fit one text, and how many of its ends are open."""

    ways: int
    open: int


def power(pattern: re.Pattern[str]) -> int:
    """The power of a text's length that a search with a pattern of `bounded` costs at worst, from 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        items: list[Item] = list(_parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE & ~re.DEBUG))
    scoped = re.IGNORECASE | re.DOTALL if _SCOPED.search(pattern.pattern) else 0
    reader = _Reader(pattern.flags | scoped)
    cost = reader.cost(items, ())
    if cost.ways > MOST_WAYS:
        raise _Slow("too many alternatives and optional parts fit the same text; write fewer, or several patterns")
    fixed = bool(items) and str(items[0][0]) == "AT" and str(items[0][1]) in ("AT_BEGINNING", "AT_BEGINNING_STRING")
    power_ = cost.open + (1 if fixed and not pattern.flags & re.MULTILINE else 2)
    if power_ > len(LONGEST_TEXTS):
        raise _Slow("in too many places it is open where one part ends and the next begins, as in `.*.*`")
    return power_


class _Reader:
    """Reads the parse of a pattern: `(op, argument)` pairs of Python's own parser."""

    def __init__(self, flags: int) -> None:
        self.any_case = bool(flags & re.IGNORECASE)
        self.any = _ALL if flags & re.DOTALL else _ALL - {10}

    def cost(self, items: Sequence[Item], after: Sequence[Item]) -> _Ways:
        """The cost of a sequence that `after` follows."""
        ways, open_ = 1, 0
        for index, (op, argument) in enumerate(items):
            one = self._cost(str(op), argument, [*items[index + 1 :], *after])
            ways, open_ = ways * one.ways, open_ + one.open
        return _Ways(ways, open_)

    def _cost(self, op: str, argument: Any, after: Sequence[Item]) -> _Ways:
        if op == "SUBPATTERN":
            return self.cost(list(argument[-1]), after)
        if op == "ATOMIC_GROUP":
            return self.cost(list(argument), after)
        if op == "BRANCH":
            return self._branch([list(branch) for branch in argument[1]], after)
        if op in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, inner = argument
            return self._repeat(int(least), int(most), list(inner), after)
        if op in ("ASSERT", "ASSERT_NOT"):
            raise _Slow("it looks ahead or behind; write what must match")
        if op.startswith("GROUPREF"):
            raise _Slow("it refers back to a group")
        return _Ways(1, 0)

    def _branch(self, branches: Sequence[Sequence[Item]], after: Sequence[Item]) -> _Ways:
        """Alternatives: as many ways as there are that fit the same text."""
        costs = [self.cost(branch, after) for branch in branches]
        alike = max(sum(self._overlap(one, other) for other in branches) for one in branches)
        return _Ways(alike * max(cost.ways for cost in costs), max(cost.open for cost in costs))

    def _repeat(self, least: int, most: int, inner: Sequence[Item], after: Sequence[Item]) -> _Ways:
        cost = self.cost(inner, ())
        letter = len(inner) == 1 and self.letters(inner[0]) is not None
        if most > 1 and not letter and (cost != _Ways(1, 0) or _varies(inner)):
            raise _Slow("a quantifier repeats a group that has quantifiers or alternatives itself, as in `(a+)*`")
        if most == least:
            return cost
        if not after or not self.first(inner) & self.first(after):
            return cost
        count = most - least + 1
        return _Ways(cost.ways * count, cost.open) if count <= _FEW else _Ways(cost.ways, cost.open + 1)

    def _overlap(self, one: Sequence[Item], other: Sequence[Item]) -> bool:
        """Whether two alternatives may fit the same text, as far as their first single characters say."""
        for left, right in zip(one, other, strict=False):
            here, there = self.letters(left), self.letters(right)
            if here is None or there is None:
                return bool(self.first((left,)) & self.first((right,)))
            if not here & there:
                return False
        return True

    def first(self, items: Iterable[Item]) -> frozenset[int]:
        """The characters that a sequence may begin with; all if it may be empty."""
        found = _NONE
        for item in items:
            op, argument = str(item[0]), item[1]
            letters = self.letters(item)
            if letters is not None:
                return found | letters
            if op == "SUBPATTERN":
                inner, optional = self.first(argument[-1]), False
            elif op in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
                inner, optional = self.first(argument[2]), argument[0] == 0
            elif op == "AT":
                inner, optional = _NONE, True
            else:
                return _ALL
            found |= inner
            if not optional:
                return found
        return _ALL if any(str(item[0]) != "AT" for item in items) or found else found

    def letters(self, item: Item) -> frozenset[int] | None:
        """The characters that an item of one character stands for, None for any other item."""
        op, argument = str(item[0]), item[1]
        if op == "ANY":
            return self.any
        if op == "LITERAL":
            return self._cases(frozenset((_sort(argument),)))
        if op == "NOT_LITERAL":
            return _ALL - self._cases(frozenset((argument,)) & _ASCII)
        return self._class(argument) if op == "IN" else None

    def _class(self, parts: Sequence[Item]) -> frozenset[int]:
        """`[...]`: what it may hold, and with `^` all but what it surely holds."""
        may = surely = _NONE
        negated = False
        for op, argument in parts:
            if str(op) == "NEGATE":
                negated = True
            elif str(op) == "CATEGORY":
                may, surely = may | _category(str(argument)), surely | _category(str(argument))
            else:
                low, high = argument if str(op) == "RANGE" else (argument, argument)
                inside = frozenset(range(low, min(high, 127) + 1))
                surely |= inside
                may |= inside | (frozenset((_sort(low),)) if low == high else _ABOVE if high > 127 else _NONE)
        return _ALL - self._cases(surely, less=True) if negated else self._cases(may)

    def _cases(self, letters: frozenset[int], *, less: bool = False) -> frozenset[int]:
        """Both cases of the letters where the pattern ignores case."""
        if not self.any_case:
            return letters
        both = frozenset(ord(turned) for code in letters & _ASCII for turned in (chr(code).lower(), chr(code).upper()))
        # `k` and `s` also stand for letters above ASCII.
        return letters | both if less else letters | both | {_LETTERS}


def _varies(items: Sequence[Item]) -> bool:
    """Whether a sequence may have several lengths or holds alternatives."""
    for op, argument in items:
        name = str(op)
        if name == "BRANCH" or (name.endswith("REPEAT") and (argument[0] != argument[1] or _varies(argument[2]))):
            return True
        if name in ("SUBPATTERN", "ATOMIC_GROUP") and _varies(argument[-1] if name == "SUBPATTERN" else argument):
            return True
    return False


def _sort(code: int) -> int:
    """A character, or its sort if it lies above ASCII."""
    if code < 128:
        return code
    character = chr(code)
    if character.isdigit():
        return _DIGITS
    return _LETTERS if character.isalnum() else _SPACES if character.isspace() else _OTHERS


def _category(name: str) -> frozenset[int]:
    """`\\d`, `\\w`, `\\s` and their opposites."""
    kind = name.removeprefix("CATEGORY_").removeprefix("NOT_")
    ascii_ = frozenset(code for code in _ASCII if _BELONGS[kind](chr(code)))
    whole = ascii_ | {"DIGIT": {_DIGITS}, "WORD": {_DIGITS, _LETTERS}, "SPACE": {_SPACES}}[kind]
    return _ALL - whole if "NOT_" in name else whole


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


_BELONGS = {"DIGIT": str.isdigit, "WORD": _is_word, "SPACE": str.isspace}
