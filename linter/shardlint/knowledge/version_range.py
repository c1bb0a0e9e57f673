"""The versions of a package that a project may run with, as far as its files say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shardlint.environment import release
from shardlint.knowledge.unknown import UNKNOWN, Truth, Uncomputable

if TYPE_CHECKING:
    from shardlint.environment import Version

_VERSION = re.compile(r"v?\d{1,9}(\.\d{1,9}){0,5}((a|b|rc|[.-]?dev|[.-]?post|[+-])\S{0,40})?")


class VersionRange:
    """From `low` on, below `high`; `high` None means no upper bound, and equal to `low` exactly that version.

    Releases are compared: 2.6.0.dev2 counts as 2.6.0, and 2.6 is 2.6.0.
    """

    __slots__ = ("high", "low", "text")

    def __init__(self, low: tuple[int, ...], high: tuple[int, ...] | None, text: str) -> None:
        self.low = _padded(low)
        self.high = None if high is None else _padded(high)
        self.text = text

    @classmethod
    def of(cls, version: Version) -> VersionRange:
        """The range that a version stands for: itself if installed or locked, else what its bound allows."""
        low = version.release
        if version.kind != "pinned":
            return cls(low, low, version.text)
        return cls(low, _upper(version.operator, low), f"{version.operator}{version.text}")

    def compare(self, symbol: str, text: str) -> Truth:
        """Whether every version of the range, or none, is `<`, `<=`, `>`, `>=` or `==` to the one in `text`."""
        if not _VERSION.fullmatch(text):
            raise Uncomputable(f"`{text[:40]}` is no version such as 2.6")
        other = _padded(release(text))
        if symbol == ">=":
            return _opposite(self._below(other))
        if symbol == "<":
            return self._below(other)
        if symbol == ">":
            return _opposite(self._at_most(other))
        if symbol == "<=":
            return self._at_most(other)
        if self.low == self.high:
            return self.low == other
        return False if other < self.low or (self.high is not None and other >= self.high) else UNKNOWN

    def _below(self, other: tuple[int, ...]) -> Truth:
        if self.low >= other:
            return False
        if self.low == self.high or (self.high is not None and self.high <= other):
            return True
        return UNKNOWN

    def _at_most(self, other: tuple[int, ...]) -> Truth:
        if self.low > other:
            return False
        if self.low == self.high or (self.high is not None and self.high <= other):
            return True
        return UNKNOWN

    def __repr__(self) -> str:
        return self.text


def _opposite(answer: Truth) -> Truth:
    return UNKNOWN if answer is UNKNOWN else not answer


def _upper(operator: str, low: tuple[int, ...]) -> tuple[int, ...] | None:
    """The first release that a bound shuts out: `~=2.4.1` and `==2.4.*` end before 2.5, `^2.4` before 3."""
    if operator in ("~=", "~") and len(low) > 1:
        kept = low[:-1] if operator == "~=" else low[:2]
    elif operator == "==":
        kept = low
    elif operator == "^":
        nonzero = next((index for index, part in enumerate(low) if part), len(low) - 1)
        kept = low[: nonzero + 1]
    else:
        return None
    return (*kept[:-1], kept[-1] + 1) if kept else None


def _padded(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """2.6 and 2.6.0 are the same release."""
    while numbers and numbers[-1] == 0:
        numbers = numbers[:-1]
    return numbers
