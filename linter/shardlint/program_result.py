"""What the program rules said about a whole program, in a form that can be kept."""

from __future__ import annotations

from shardlint.finding import Finding, pack, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ProgramResult:
    """Findings, the files whose facts were asked for, and the places that could not be judged.

    A place is (path, function, line, reason).
    """

    __slots__ = ("findings", "key", "not_judged", "used")

    def __init__(self, findings: list[Finding], used: list[str], not_judged: list[tuple[str, str, int, str]]) -> None:
        self.findings = findings
        self.used = used
        self.not_judged = not_judged
        self.key = b""

    def as_plain(self) -> tuple[Any, ...]:
        """The result as values that `marshal` takes."""
        return (self.key, self.used, self.not_judged, [pack(finding) for finding in self.findings])

    @classmethod
    def from_plain(cls, plain: tuple[Any, ...]) -> ProgramResult:
        """The result that `as_plain` gave."""
        key, used, not_judged, findings = plain
        result = cls([unpack(packed) for packed in findings], used, [tuple(place) for place in not_judged])
        result.key = key
        return result
