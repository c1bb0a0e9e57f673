"""The source lines of a finding, with carets under its exact range."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from shardlint.report.terminal import cells, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shardlint.finding import Span

_TAB = 4
_CUT = "..."
_MOST_LINES = 6
"""A longer range shows its first lines and its last one."""


class _Row:
    """One source line as a terminal shows it: a piece of text for each character, and the cell where it starts."""

    __slots__ = ("pieces", "starts")
    pieces: list[str]
    starts: list[int]

    def __init__(self, line: str) -> None:
        if line.isascii() and line.isprintable():
            self.pieces, self.starts = list(line), list(range(len(line) + 1))
            return
        self.pieces, self.starts = [], [0]
        for character in line:
            at = self.starts[-1]
            piece = " " * (_TAB - at % _TAB) if character == "\t" else visible(character)
            self.pieces.append(piece)
            self.starts.append(at + cells(piece))

    def offset(self, begin: int, end: int, width: int) -> int:
        """The cell from which to show the row so that the characters from `begin` to `end` are seen in `width`."""
        starts, total = self.starts, self.starts[-1]
        room = width - 2 * len(_CUT)
        if total <= width or starts[end] <= room:
            return 0
        return max(0, min(starts[begin] - room // 4, total - room))

    def cut(self, offset: int, width: int) -> tuple[int, int]:
        """The characters that fill `width` cells from the cell `offset` on, with room for the dots."""
        starts, count = self.starts, len(self.pieces)
        if not offset and starts[-1] <= width:
            return 0, count
        first = min(bisect_left(starts, offset), count)
        last = max(first, min(bisect_right(starts, starts[first] + width - 2 * len(_CUT)) - 1, count))
        return first, last

    def shown(self, first: int, last: int) -> str:
        """The characters from `first` to `last`, with dots where the line goes on."""
        before = _CUT if first else ""
        after = _CUT if last < len(self.pieces) else ""
        return before + "".join(self.pieces[first:last]) + after

    def carets(self, begin: int, end: int, first: int, last: int) -> tuple[str, str]:
        """The blanks and the carets under the characters from `begin` to `end`: one caret at least."""
        starts = self.starts
        shift = len(_CUT) if first else 0
        begin, end = min(max(begin, first), last), min(max(end, first), last)
        return " " * (starts[begin] - starts[first] + shift), "^" * max(1, starts[end] - starts[begin])


_ROWS: dict[str, _Row] = {}


def _row(line: str) -> _Row:
    """The row of a line; the last one is kept, since a long line may hold many findings."""
    if line not in _ROWS:
        _ROWS.clear()
        _ROWS[line] = _Row(line)
    return _ROWS[line]


def source_frame(
    lines: Sequence[str], span: Span, *, line_before: bool, width: int, paint: Callable[[str], str]
) -> list[str]:
    """The rows that show `span`; none if the text has no such line (any more).

    Args:
        lines: the lines of the file without their ends.
        span: the range, columns in characters.
        line_before: whether the line above is shown for context; a blank one never is.
        width: cells that a row may fill, its line number included.
        paint: colours the carets.
    """
    if not 1 <= span.line <= len(lines):
        return []
    last = min(span.end_line - (span.end_column == 1 and span.end_line > span.line), len(lines))
    digits = max(3, len(str(last))) + 2
    width -= digits + 3
    rows: list[str] = []
    for number in range(span.line, last + 1):
        if span.line + _MOST_LINES - 2 <= number < last and last - span.line >= _MOST_LINES:
            if number < last - 1:
                continue
            rows.append(" " * (digits - 3) + _CUT + " |")
            continue
        begin, end = _columns(lines[number - 1], number, span)
        row = _row(lines[number - 1])
        offset = row.offset(begin, end, width)
        first, stop = row.cut(offset, width)
        if number == span.line and line_before and number > 1:
            rows.extend(_context(lines[number - 2], number - 1, digits, offset, width))
        rows.append(f"{number:>{digits}} | {row.shown(first, stop)}".rstrip())
        if number == span.line or end > begin:
            blanks, carets = row.carets(begin, end, first, stop)
            rows.append(f"{'':>{digits}} | {blanks}{paint(carets)}")
    return rows


def one_line(text: str, width: int) -> str:
    """A source line without its indentation, escaped, cut at `width` cells."""
    row = _Row(text.strip())
    return row.shown(*row.cut(0, width))


def _columns(line: str, number: int, span: Span) -> tuple[int, int]:
    """Where the range begins and ends in one of its lines, as indexes; indentation of later lines is left out."""
    length = len(line)
    begin = min(span.column - 1, length) if number == span.line else length - len(line.lstrip())
    end = span.end_column - 1 if number == span.end_line else len(line.rstrip())
    return begin, max(begin, min(end, length))


def _context(line: str, number: int, digits: int, offset: int, width: int) -> list[str]:
    """The line above, shown from the same cell on as the line of the finding; nothing if it is blank there."""
    row = _Row(line)
    first, last = row.cut(offset, width)
    if not "".join(row.pieces[first:last]).strip():
        return []
    return [f"{number:>{digits}} | {row.shown(first, last)}".rstrip()]
