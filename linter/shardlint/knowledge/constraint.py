"""A constraint: what a team has learned, with exactly one check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shardlint.finding import EvidenceKind

CHECKS = ("config", "pattern", "forbidden", "generated", "state_keys", "enforced_by")
"""The kinds of check, by the key that holds each."""

FAMILY = "constraint"
"""The family of the findings of all constraints."""

DEFAULT_SEVERITY = "warning"
DEFAULT_EVIDENCE: EvidenceKind = "inference"


class Constraint(NamedTuple):
    """One constraint as its block states it; every value can be marshalled.

    id: the name of the rule that it becomes. number: as the file counts it, or empty. file, line: where the block
    states it, relative to the project root. severity: empty if it states none. kind: one of `CHECKS`; check: what
    stands below that key. paths, exclude: patterns of the files that it holds in; no `paths` means all. bad, good: its
    tests as they are written. lines: place inside the block -> line of the file.
    """

    id: str
    title: str
    number: str
    file: str
    line: int
    severity: str
    evidence: tuple[EvidenceKind, tuple[str, ...]]
    confidence: float
    rationale: str
    message: str
    help: str
    paths: tuple[str, ...]
    exclude: tuple[str, ...]
    kind: str
    check: Any
    bad: tuple[Any, ...]
    good: tuple[Any, ...]
    lines: Mapping[tuple[str | int, ...], int]

    @property
    def name(self) -> str:
        """How messages call it: `constraint 17`, or by its id where the file does not number it."""
        return f"constraint {self.number}" if self.number else f"constraint `{self.id}`"

    def line_of(self, where: tuple[str | int, ...]) -> int:
        """The line of a place inside the block, or of the nearest place around it that is written."""
        for length in range(len(where), -1, -1):
            if where[:length] in self.lines:
                return self.lines[where[:length]]
        return self.line
