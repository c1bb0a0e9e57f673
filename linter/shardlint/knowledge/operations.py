"""What operators do with known values: Python's answer, or `Uncomputable` where Python raises or a bound is passed.

Numbers, texts and lists alone are operands, so that no `%` formats a text and no `*` repeats one.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence

from shardlint.knowledge.unknown import UNKNOWN, Truth, Uncomputable
from shardlint.knowledge.value_tests import is_items, is_list, is_mapping
from shardlint.knowledge.version_range import VersionRange

MAX_INT = 2**128
"""Largest integer, either sign. Token counts of the largest runs need 50 bits."""

MAX_TEXT = 10_000
"""Longest text in characters."""

MAX_ITEMS = 10_000
"""Most values in a list or mapping, counted with what lies inside of them."""

_NAMES: Mapping[type, str] = {
    bool: "a bool",
    int: "an integer",
    float: "a float",
    str: "a text",
    list: "a list",
    dict: "a mapping",
}


def kind_of(value: object) -> str:
    """What a value is, in words."""
    return "null" if value is None else _NAMES.get(type(value), f"a {type(value).__name__}")


def is_number(value: object) -> bool:
    """Whether arithmetic takes a value; `true` is 1 as in Python."""
    return isinstance(value, (int, float))


def bounded(value: object) -> object:
    """A result, if it is within the bounds."""
    if isinstance(value, int) and not -MAX_INT <= value <= MAX_INT:
        raise Uncomputable("the result is an integer of more than 128 bits")
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise Uncomputable(f"the result is a text of more than {MAX_TEXT:,} characters")
    if is_items(value) and len(value) > MAX_ITEMS:
        raise Uncomputable(f"the result is a list of more than {MAX_ITEMS:,} values")
    return value


def weight(value: object) -> int:
    """How many values a comparison of a value may look at; a text counts little."""
    if isinstance(value, str):
        return len(value) // 100
    waiting, count = [value], 0
    while waiting:
        inside = waiting.pop()
        items = inside if is_items(inside) else list(inside.values()) if is_mapping(inside) else ()
        count += len(items)
        waiting += items
    return count


Binary = Callable[[object, object], object]


def _numeric(symbol: str, apply: Callable[[float, float], float]) -> Binary:
    def calculate(left: object, right: object) -> object:
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            try:
                return bounded(apply(left, right))
            except ZeroDivisionError:
                raise Uncomputable("it divides by zero") from None
            except OverflowError:
                raise Uncomputable("the result is too large for a float") from None
        raise Uncomputable(f"`{symbol}` is for numbers, and this is {kind_of(left)} {symbol} {kind_of(right)}")

    return calculate


_plus = _numeric("+", operator.add)


def _add(left: object, right: object) -> object:
    if isinstance(left, str) and isinstance(right, str):
        return bounded(left + right)
    if is_list(left) and is_list(right):
        return bounded(left + right)
    return _plus(left, right)


BINARY: Mapping[type[ast.operator], tuple[str, Binary]] = {
    ast.Add: ("+", _add),
    ast.Sub: ("-", _numeric("-", operator.sub)),
    ast.Mult: ("*", _numeric("*", operator.mul)),
    ast.Div: ("/", _numeric("/", lambda left, right: left / right)),
    ast.FloorDiv: ("//", _numeric("//", lambda left, right: left // right)),
    ast.Mod: ("%", _numeric("%", operator.mod)),
}
"""The symbol and the meaning of each operator between two values."""


def negative(value: object) -> object:
    """`-value`."""
    if isinstance(value, (int, float)):
        return -value
    raise Uncomputable(f"`-` is for numbers, and this is {kind_of(value)}")


def positive(value: object) -> object:
    """`+value`."""
    if isinstance(value, (int, float)):
        return +value
    raise Uncomputable(f"`+` is for numbers, and this is {kind_of(value)}")


def equal(left: object, right: object) -> Truth:
    """`left == right`, unknown where it depends on an unknown value inside of a list or mapping."""
    if is_items(left) and is_items(right):
        if isinstance(left, list) is not isinstance(right, list) or len(left) != len(right):
            return False
        return _all_equal(left, right)
    if is_mapping(left) and is_mapping(right):
        if left.keys() != right.keys():
            return False
        return _all_equal([*left.values()], [right[key] for key in left])
    if isinstance(left, VersionRange) or isinstance(right, VersionRange):
        return _versions("==", left, right)
    return bool(left == right)


def _all_equal(left: Sequence[object], right: Sequence[object]) -> Truth:
    answer: Truth = True
    for one, other in zip(left, right, strict=True):
        if one is UNKNOWN or other is UNKNOWN:
            answer = UNKNOWN
        elif one is not other:
            same = equal(one, other)
            if same is False:
                return False
            answer = UNKNOWN if same is UNKNOWN else answer
    return answer


def contains(value: object, container: object) -> Truth:
    """`value in container`: an item of a list, a part of a text, a key of a mapping."""
    if is_items(container):
        answer: Truth = False
        for item in container:
            same = UNKNOWN if item is UNKNOWN else value is item or equal(value, item)
            if same is True:
                return True
            answer = UNKNOWN if same is UNKNOWN else answer
        return answer
    if isinstance(container, str) and isinstance(value, str):
        return value in container
    if is_mapping(container):
        try:
            return value in container
        except TypeError:
            raise Uncomputable(f"{kind_of(value)} is no key of a mapping") from None
    raise Uncomputable(f"`in` cannot look for {kind_of(value)} in {kind_of(container)}")


_ORDER: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _ordered(symbol: str) -> Callable[[object, object], Truth]:
    numbers = _ORDER[symbol]
    texts: Callable[[str, str], bool] = getattr(operator, numbers.__name__)

    def order(left: object, right: object) -> Truth:
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            return numbers(left, right)
        if isinstance(left, str) and isinstance(right, str):
            return texts(left, right)
        if isinstance(left, VersionRange) or isinstance(right, VersionRange):
            return _versions(symbol, left, right)
        raise Uncomputable(f"{kind_of(left)} {symbol} {kind_of(right)} has no answer")

    return order


def _versions(symbol: str, left: object, right: object) -> Truth:
    if isinstance(left, VersionRange) and isinstance(right, str):
        return left.compare(symbol, right)
    if isinstance(right, VersionRange) and isinstance(left, str):
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(symbol, symbol)
        return right.compare(turned, left)
    raise Uncomputable("a version is compared with a text such as '2.6'")


def _opposite(test: Callable[[object, object], Truth]) -> Callable[[object, object], Truth]:
    def opposite(left: object, right: object) -> Truth:
        answer = test(left, right)
        return UNKNOWN if answer is UNKNOWN else not answer

    return opposite


def _same(left: object, right: object) -> Truth:
    return left is right


COMPARISONS: Mapping[type[ast.cmpop], Callable[[object, object], Truth]] = {
    ast.Eq: equal,
    ast.NotEq: _opposite(equal),
    ast.Lt: _ordered("<"),
    ast.LtE: _ordered("<="),
    ast.Gt: _ordered(">"),
    ast.GtE: _ordered(">="),
    ast.In: contains,
    ast.NotIn: _opposite(contains),
    ast.Is: _same,
    ast.IsNot: _opposite(_same),
}
"""The meaning of each comparison. `is` stands only before `null`, `true` and `false`."""
