"""What is known of one linted file after it was looked at, in plain values for the cache."""

from __future__ import annotations

from shardlint.finding import Finding, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Packed = tuple[Any, ...]


class Record:
    """One file's result.

    `stamp`: mtime in nanoseconds, size, inode. `content`: digest of the bytes. `findings`: packed, suppressions not yet
    applied. `suppressions`: packed. `root`: the file can hold a rank test, so program rules start in it. `generated`:
    only rules about generated files speak of it. `pending`: a fix has not been worked out yet. `claimed`: for a
    document, whether a rule that is on reads its kind. `asked`: for a file that was judged by what other files say, a
    letter: `?` for questions about all Python files, `!` for the commands that launch a config and `uses`, `&` for
    both, with a digest of the commands and of `uses`; empty for all others. `uses`: the Python files among them.
    `not_judged`: places of which a rule could not tell: function, line and reason.
    """

    __slots__ = (
        "asked",
        "claimed",
        "content",
        "findings",
        "generated",
        "not_judged",
        "pending",
        "root",
        "stamp",
        "suppressions",
        "uses",
    )

    def __init__(
        self,
        stamp: tuple[int, int, int],
        content: bytes,
        findings: tuple[Packed, ...] = (),
        suppressions: Packed = (),
        *,
        root: bool = False,
        generated: bool = False,
        pending: bool = False,
        claimed: bool = True,
        asked: bytes = b"",
        uses: tuple[str, ...] = (),
        not_judged: tuple[tuple[str, int, str], ...] = (),
    ) -> None:
        self.stamp = stamp
        self.content = content
        self.findings = findings
        self.suppressions = suppressions
        self.root = root
        self.generated = generated
        self.pending = pending
        self.claimed = claimed
        self.asked = asked
        self.uses = uses
        self.not_judged = not_judged

    def unpacked(self) -> list[Finding]:
        """The findings."""
        return [unpack(packed) for packed in self.findings]

    def as_plain(self) -> Packed:
        """The record as values that `marshal` takes."""
        return (
            self.stamp,
            self.content,
            self.findings,
            self.suppressions,
            self.root,
            self.generated,
            self.pending,
            self.claimed,
            self.asked,
            self.uses,
            self.not_judged,
        )

    @classmethod
    def from_plain(cls, plain: Packed) -> Record:
        """The record that `as_plain` gave."""
        stamp, content, findings, suppressions, root, generated, pending, claimed, *rest = plain
        asked, uses, not_judged = rest
        return cls(
            stamp,
            content,
            findings,
            suppressions,
            root=root,
            generated=generated,
            pending=pending,
            claimed=claimed,
            asked=asked,
            uses=uses,
            not_judged=not_judged,
        )

    def moved(self, stamp: tuple[int, int, int]) -> Record:
        """The same content under another stamp: a branch was switched, a file was touched."""
        plain = self.as_plain()
        return Record.from_plain((stamp, *plain[1:]))
