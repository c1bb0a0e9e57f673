"""What an expression can give besides a value: not known, not written, not computable."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Unknown(Enum):
    """The type of `UNKNOWN`, so that type checkers tell it from every value."""

    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        raise TypeError("UNKNOWN is neither true nor false: compare with `is`")

    def __repr__(self) -> str:
        return "UNKNOWN"


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"

    def __bool__(self) -> bool:
        raise TypeError("ABSENT is no value: compare with `is`")

    def __repr__(self) -> str:
        return "ABSENT"


UNKNOWN: Final = Unknown.UNKNOWN
"""A value that nobody can tell before the run."""

ABSENT: Final = Absent.ABSENT
"""A key that the file surely does not write."""

Truth = bool | Unknown
"""The answer of a condition in three-valued (Kleene) logic."""


class Uncomputable(Exception):
    """An operation that Python would raise on, or whose result passes a bound. The text says which, without a dot."""
