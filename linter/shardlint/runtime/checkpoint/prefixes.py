"""One prefix that explains why keys are missing on one side and unexpected on the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shardlint.runtime.checkpoint.patterns import by_pattern
from shardlint.runtime.repairs import WRAPPERS

_MOST_PATTERNS = 300
_SHARE = 0.8
"""The part of the keys that a prefix must explain, so that it is called the cause."""


@dataclass(frozen=True)
class Prefix:
    """How the checkpoint's keys become the model's.

    Args:
        old: what begins them in the checkpoint; or, with `anywhere`, the name that a wrapper put into them.
        new: what begins them in the model.
        anywhere: whether `old` is taken out wherever it stands.
        count: how many keys it explains.
    """

    old: str
    new: str
    anywhere: bool = False
    count: int = 0

    def applied(self, key: str) -> str | None:
        """The key as the model calls it; None for one that does not have the prefix."""
        if self.anywhere:
            parts = key.split(".")
            left = [part for part in parts if part != self.old]
            return ".".join(left) if len(left) < len(parts) and left else None
        if self.old and not key.startswith(f"{self.old}."):
            return None
        rest = key[len(self.old) + 1 :] if self.old else key
        return f"{self.new}.{rest}" if self.new else rest


def common_prefix(missing: Iterable[str], unexpected: Iterable[str]) -> Prefix | None:
    """The prefix that turns nearly all unexpected keys into missing ones, if there is one."""
    lacking, extra = set(missing), list(unexpected)
    wanted, given = by_pattern(lacking), by_pattern(extra)
    best = max(
        _candidates(list(wanted)[:_MOST_PATTERNS], list(given)[:_MOST_PATTERNS]),
        key=lambda one: (sum(len(given[p]) for p in given if one.applied(p) in wanted), not one.anywhere),
        default=None,
    )
    if best is None:
        return None
    count = sum(1 for key in extra if best.applied(key) in lacking)
    if count < 2 or count < _SHARE * min(len(lacking), len(extra)):
        return None
    return Prefix(best.old, best.new, best.anywhere, count)


def _candidates(wanted: list[str], given: list[str]) -> list[Prefix]:
    found: dict[Prefix, None] = {}
    ends: dict[str, list[list[str]]] = {}
    for pattern in wanted:
        ends.setdefault(pattern.rpartition(".")[2], []).append(pattern.split("."))
    for pattern in given:
        parts = pattern.split(".")
        found |= {Prefix(part, "", anywhere=True): None for part in parts[:-1] if part in WRAPPERS}
        for other in ends.get(parts[-1], ()):
            same = 0
            while same < min(len(parts), len(other)) and parts[-1 - same] == other[-1 - same]:
                same += 1
            old, new = ".".join(parts[: len(parts) - same]), ".".join(other[: len(other) - same])
            if "*" not in f"{old}{new}":
                found[Prefix(old, new)] = None
    return list(found)
