"""One input of the fuzzer, and what can be wrong with what the linter makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """A project to lint.

    Attributes:
        kind: which generator made it.
        files: path -> content.
        before: the committed state, for cases with a git repository; None without one.
        arguments: the command line to try besides the usual ones, without `shardlint`.
        intact: the Python files are programs, so invariants about edits hold too.
    """

    kind: str
    files: Mapping[str, bytes]
    before: Mapping[str, bytes] | None = None
    arguments: tuple[str, ...] = ()
    intact: bool = False


@dataclass(frozen=True)
class Failure:
    """What went wrong. Two failures of one `mark` are taken for the same mistake."""

    mark: str
    detail: str
    arguments: tuple[str, ...] = field(default=())


class Broken(Exception):
    """An invariant does not hold. `mark` names it, with what tells one cause from another."""

    def __init__(self, mark: str, detail: str) -> None:
        super().__init__(f"{mark}: {detail}")
        self.mark = mark
        self.detail = detail


class OutOfTime(BaseException):
    """The time of one run is over. No Exception, so that nothing that isolates failures can hold it."""
