"""The source frame, for any text and any range."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from shardlint.finding import Span
from shardlint.report.frame import source_frame
from shardlint.report.terminal import cells

LINES = st.lists(st.text(st.sampled_from("ab \t模\u0301\x1b") | st.characters(exclude_characters="\n"), max_size=90))
NUMBERS = st.integers(1, 100)


@settings(deadline=None, database=None, max_examples=300)
@given(LINES, NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.integers(40, 80))
def test_every_row_fits_and_shows_nothing_raw(
    lines: list[str], line: int, column: int, more: int, end_column: int, width: int
) -> None:
    lines = lines or [""]
    line = min(line, len(lines))
    span = Span(line, column, min(line + more % 9, len(lines)), end_column)
    rows = source_frame(lines, span, line_before=True, width=width, paint=str)
    # A caret may stand behind the last character of a full row.
    assert all(cells(row) <= width + ("^" in row) for row in rows)
    assert not any(character in row for row in rows for character in "\t\x1b\x9b\u202e")
    assert sum(row.lstrip().startswith("|") and "^" in row for row in rows) >= 1


@settings(deadline=None, database=None)
@given(st.text(st.sampled_from("xy "), min_size=1, max_size=300), st.data())
def test_the_carets_stand_under_the_range(line: str, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(line) - 1))
    end = data.draw(st.integers(begin + 1, min(len(line), begin + 20)))
    marked = line[:begin] + "Z" * (end - begin) + line[end:]
    span = Span(1, begin + 1, 1, end + 1)
    shown, carets = source_frame([marked], span, line_before=False, width=80, paint=str)
    assert [at for at, character in enumerate(shown) if character == "Z"] == [
        at for at, character in enumerate(carets) if character == "^"
    ]


def test_a_long_line_is_cut_where_the_range_is() -> None:
    line = "".join(f"é{number:05}" for number in range(20_000))
    for begin in (1, 60_001, len(line) - 5):
        row, carets = source_frame(
            [line], Span(1, begin, 1, begin + 6), line_before=False, width=80, paint=lambda text: text
        )
        at = carets.index("^")
        assert row[at : at + 6] == line[begin - 1 : begin + 5]
        assert len(row) <= 80
