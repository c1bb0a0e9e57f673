"""The functions of expressions that work on values alone. Those that ask the file or the project are in `compiler`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from shardlint.knowledge.operations import BINARY, bounded, is_number, kind_of
from shardlint.knowledge.unknown import UNKNOWN, Truth, Uncomputable
from shardlint.knowledge.value_tests import is_items, is_mapping

Values = Sequence[object]

_TIMES = BINARY[ast.Mult][1]
_MODULO = BINARY[ast.Mod][1]


class Function(NamedTuple):
    """A function: how many arguments it takes at least and at most, and what it does with known ones."""

    least: int
    most: int | None
    call: Callable[[Values], object]


def _items(arguments: Values, name: str) -> Values:
    """The values that `max(a, b)` or `max(list)` is about."""
    if len(arguments) > 1:
        return arguments
    only = arguments[0]
    if is_items(only):
        return only
    raise Uncomputable(f"`{name}` takes a list, and this is {kind_of(only)}")


def _len(arguments: Values) -> object:
    value = arguments[0]
    if isinstance(value, str) or is_items(value) or is_mapping(value):
        return len(value)
    raise Uncomputable(f"`len` takes a list, a text or a mapping, and this is {kind_of(value)}")


def _abs(arguments: Values) -> object:
    value = arguments[0]
    if isinstance(value, (int, float)):
        return abs(value)
    raise Uncomputable(f"`abs` takes a number, and this is {kind_of(value)}")


def _extreme(name: str, choose: Callable[..., object]) -> Callable[[Values], object]:
    def extreme(arguments: Values) -> object:
        items = _items(arguments, name)
        if any(item is UNKNOWN for item in items):
            return UNKNOWN
        if not items:
            raise Uncomputable(f"`{name}` of an empty list")
        if all(is_number(item) for item in items) or all(isinstance(item, str) for item in items):
            return choose(items)
        raise Uncomputable(f"`{name}` takes numbers alone or texts alone")

    return extreme


def _numbers(items: Values, name: str) -> list[float] | None:
    """The items as numbers, None if one of them is unknown."""
    found: list[float] = []
    for item in items:
        if item is UNKNOWN:
            return None
        if not isinstance(item, (int, float)):
            raise Uncomputable(f"`{name}` takes numbers, and this is {kind_of(item)}")
        found.append(item)
    return found


def _sum(arguments: Values) -> object:
    numbers = _numbers(_items(arguments[:1], "sum"), "sum")
    return UNKNOWN if numbers is None else bounded(sum(numbers))


def _product(arguments: Values) -> object:
    numbers = _numbers(_items(arguments, "product"), "product")
    if numbers is None:
        return UNKNOWN
    answer: object = 1
    for number in numbers:
        answer = _TIMES(answer, number)
    return answer


def _any(arguments: Values) -> Truth:
    answer: Truth = False
    for value in _items(arguments, "any"):
        if value is UNKNOWN:
            answer = UNKNOWN
        elif value:
            return True
    return answer


def _all(arguments: Values) -> Truth:
    answer: Truth = True
    for value in _items(arguments, "all"):
        if value is UNKNOWN:
            answer = UNKNOWN
        elif not value:
            return False
    return answer


def _divides(arguments: Values) -> object:
    return _MODULO(arguments[1], arguments[0]) == 0


def _startswith(arguments: Values) -> object:
    text, start = arguments
    if isinstance(text, str) and isinstance(start, str):
        return text.startswith(start)
    raise Uncomputable(f"`startswith` takes two texts, and this is {kind_of(text)} and {kind_of(start)}")


FUNCTIONS: Mapping[str, Function] = {
    "len": Function(1, 1, _len),
    "abs": Function(1, 1, _abs),
    "min": Function(1, None, _extreme("min", min)),
    "max": Function(1, None, _extreme("max", max)),
    "sum": Function(1, 1, _sum),
    "product": Function(1, None, _product),
    "any": Function(1, 1, _any),
    "all": Function(1, 1, _all),
    "divides": Function(2, 2, _divides),
    "startswith": Function(2, 2, _startswith),
}
"""`divides(a, b)`: b is a multiple of a. `product(a, b)` and `product(list)` multiply. The others are Python's."""
