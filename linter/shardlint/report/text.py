"""Findings for people: what happens, to whom, where, with the source line, and what to do."""

from __future__ import annotations

from shardlint.report.frame import one_line, source_frame
from shardlint.report.terminal import cells, escaped, line_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TextIO

    from shardlint.finding import Finding, Fix, Related
    from shardlint.report.summary import Summary

_WIDTH = 122
"""Cells of a row: an indentation of two and 120 for the text."""

_STYLES = {"error": "1;31", "warning": "1;33", "note": "1;36", "place": "1", "label": "36"}
_OPEN_ENDS = ("at", "by", "from", "in", "of", "on", "to", "with")
"""Words after which a place follows without a colon, as in "reached from train/loop.py:88"."""


def wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to colour what goes to `stream`.

    `NO_COLOR` (https://no-color.org) forbids it, then `FORCE_COLOR` (https://force-color.org) asks for it, each when it
    is not empty; otherwise a terminal that is not `TERM=dumb` gets colour.
    """
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return environ.get("TERM") != "dumb" and stream.isatty()


def render_text(
    findings: Iterable[Finding], sources: Callable[[str], str | None], *, colour: bool, summary: Summary
) -> str:
    """All findings in the order given, a blank line between two, and the closing line.

    Args:
        findings: what to print.
        sources: gives the text of a path (without a byte order mark), or None if it cannot be read.
        colour: whether to add colours for a terminal.
        summary: the counts of the run.
    """
    page = _Page(sources, colour)
    blocks = ["\n".join(page.block(finding)) for finding in findings]
    return "\n\n".join([*blocks, summary.line()]) + "\n"


class _Page:
    """What is kept from one finding to the next: lines already read, and rules already pointed to."""

    __slots__ = ("colour", "explained", "lines", "sources")
    sources: Callable[[str], str | None]
    colour: bool
    lines: dict[str, list[str]]
    explained: set[str]

    def __init__(self, sources: Callable[[str], str | None], colour: bool) -> None:
        self.sources, self.colour = sources, colour
        self.lines, self.explained = {}, set()

    def block(self, finding: Finding) -> list[str]:
        """The lines of one finding."""
        rows = [self._header(finding), *wrapped(finding.message, "  ")]
        rows += source_frame(
            self._lines_of(finding.path),
            finding.span,
            # A config finding names its key path, which tells more than the line above.
            line_before=finding.key is None,
            width=_WIDTH,
            paint=lambda carets: self._paint(finding.severity, carets),
        )
        rows += [self._related(place) for place in finding.related]
        rows += self._help(finding)
        if finding.rule not in self.explained:
            self.explained.add(finding.rule)
            rows.append(f"  {self._paint('label', 'more:')} shardlint explain {finding.rule}")
        return rows

    def _header(self, finding: Finding) -> str:
        place = self._paint("place", f"{line_start(finding.path)}:{finding.span.line}:{finding.span.column}")
        severity = self._paint(finding.severity, finding.severity)
        key = f"  ({escaped(finding.key)})" if finding.key is not None else ""
        return f"{place}  {severity}  {finding.rule}{key}"

    def _related(self, place: Related) -> str:
        message = line_start(" ".join(place.message.split())) or "see"
        colon = "" if message.endswith(_OPEN_ENDS) or message == "see" else ":"
        row = f"  {message}{colon} {escaped(place.path)}:{place.line}"
        lines = self._lines_of(place.path)
        if not 1 <= place.line <= len(lines):
            return row
        return f"{row}  {one_line(lines[place.line - 1], max(40, _WIDTH - cells(row) - 2))}".rstrip()

    def _help(self, finding: Finding) -> list[str]:
        mark = _fix_mark(finding.fix) if finding.fix is not None else ""
        if not finding.help:
            return [f"  {mark}"] if mark else []
        rows = wrapped(finding.help, "        ")
        rows[0] = f"  {self._paint('label', 'help:')} {rows[0].lstrip()}"
        if mark and cells(rows[-1]) + 2 + cells(mark) <= _WIDTH:
            rows[-1] += f"  {mark}"
        elif mark:
            rows += wrapped(mark, "        ")
        return rows

    def _lines_of(self, path: str) -> list[str]:
        if path not in self.lines:
            # Lines end as the tokenizer sees it; `str.splitlines` would also split at form feeds.
            text = (self.sources(path) or "").replace("\r\n", "\n").replace("\r", "\n")
            self.lines[path] = text.split("\n") if text else []
        return self.lines[path]

    def _paint(self, style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.colour else text


def _fix_mark(fix: Fix) -> str:
    place = f" in {escaped(fix.path)}" if fix.path else ""
    if fix.safe:
        return f"(fixable{place})"
    reason = ": " + escaped(" ".join(fix.reason.split())) if fix.reason else ""
    return f"(fixable with --unsafe-fixes{place}{reason})"


def wrapped(text: str, indentation: str) -> list[str]:
    """`text`, escaped, in rows of at most 122 cells that begin with `indentation`.

    Its own line breaks are kept, and so are spaces at the start of a line, because help may hold code. A long line
    breaks after a semicolon if one lies in its second half, else between two words. A longer word stays whole.
    """
    room = _WIDTH - len(indentation)
    rows: list[str] = []
    for line in text.expandtabs(4).splitlines():
        left = escaped(line.rstrip())
        while cells(left) > room:
            at = _break(left, room)
            rows.append(left[:at].rstrip())
            left = left[at:].lstrip()
        rows.append(left)
    return [indentation + line_start(row) if row else "" for row in rows]


def _break(text: str, room: int) -> int:
    """Where the next row begins: an index of `text` after at most `room` cells, or after its first long word."""
    fit = room
    while cells(text[:fit]) > room:
        fit -= 1
    clause = text.rfind("; ", fit // 2, fit)
    if clause >= 0:
        return clause + 2
    start = len(text) - len(text.lstrip())
    space = text.rfind(" ", start, fit + 1)
    if space < 0:
        space = text.find(" ", max(fit, start))
    return len(text) if space < 0 else space + 1
