"""The text format, against the layout that the project promises."""

from __future__ import annotations

import io

import pytest

from shardlint.finding import Evidence, Finding, Fix, Related, Span
from shardlint.report.summary import Summary
from shardlint.report.terminal import cells
from shardlint.report.text import render_text, wants_colour, wrapped

SAVE = "\n" * 39 + "    if dist.get_rank() == 0:\n        dcp.save(state, checkpoint_id=path)\n"
LOOP = "\n" * 87 + "    finish(state)\n"
SFT = "\n" * 29 + "  accelerator:\n    offload:\n      enable: true\n"
LAYOUT = """\
train/save.py:41:9  error  rank-guarded-checkpoint
  `dcp.save` is a collective, but only ranks where `dist.get_rank() == 0` reach it;
  the others go on to `dist.barrier` (train/loop.py:92) and both sides wait until the timeout.
   40 |     if dist.get_rank() == 0:
   41 |         dcp.save(state, checkpoint_id=path)
      |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  reached from train/loop.py:88  finish(state)
  help: call it on every rank, and keep only the log line behind the guard
  more: shardlint explain rank-guarded-checkpoint

configs/sft.yaml:31:5  error  config-unknown-key  (train.accelerator.offload)
  `offload` is no key of AcceleratorConfig (arguments.py:574), and this loader drops unknown keys: \
the block does nothing.
   31 |     offload:
      |     ^^^^^^^
  help: it was renamed `offload_config`  (fixable)
  more: shardlint explain config-unknown-key

2 files with findings: 2 errors, 1 fixable. 442 files, 44 configs checked
"""


def finding(**changes: object) -> Finding:
    base = Finding(
        path="a.py",
        span=Span(2, 1, 2, 4),
        rule="some-rule",
        family="ddp",
        severity="warning",
        confidence=0.7,
        evidence=Evidence("inference"),
        message="what is wrong",
    )
    return base.replace(**changes)


def rendered(one: Finding, text: str | None, **others: str) -> list[str]:
    """The lines of one finding, without the closing line."""
    sources = {**others, one.path: text}
    page = render_text([one], lambda path: sources.get(path), colour=False, summary=Summary([one]))
    return page.split("\n\n")[0].split("\n")


def framed(text: str, span: Span) -> list[str]:
    """The rows of source and carets."""
    return [row for row in rendered(finding(span=span, key=""), text) if " |" in row]


def test_the_layout_is_the_documented_one() -> None:
    save = finding(
        path="train/save.py",
        span=Span(41, 9, 41, 44),
        rule="rank-guarded-checkpoint",
        severity="error",
        message="`dcp.save` is a collective, but only ranks where `dist.get_rank() == 0` reach it; "
        "the others go on to `dist.barrier` (train/loop.py:92) and both sides wait until the timeout.",
        help="call it on every rank, and keep only the log line behind the guard",
        related=(Related("train/loop.py", 88, 5, "reached from"),),
    )
    unknown = finding(
        path="configs/sft.yaml",
        span=Span(31, 5, 31, 12),
        rule="config-unknown-key",
        severity="error",
        key="train.accelerator.offload",
        message="`offload` is no key of AcceleratorConfig (arguments.py:574), and this loader drops unknown keys: "
        "the block does nothing.",
        help="it was renamed `offload_config`",
        fix=Fix(True),
    )
    sources = {"train/save.py": SAVE, "train/loop.py": LOOP, "configs/sft.yaml": SFT}
    summary = Summary([save, unknown], files=442, configs=44)
    page = render_text([save, unknown], sources.get, colour=False, summary=summary)
    assert page == LAYOUT


def test_explain_is_named_once_for_each_rule() -> None:
    two = [finding(), finding(span=Span(1, 1, 1, 2))]
    page = render_text(two, lambda _: None, colour=False, summary=Summary(two))
    assert page.count("more: shardlint explain some-rule") == 1


def test_without_findings_only_the_closing_line_is_printed() -> None:
    page = render_text([], lambda _: None, colour=False, summary=Summary(files=2))
    assert page == "no findings. 2 files checked\n"


def test_a_file_that_cannot_be_read_has_no_frame() -> None:
    assert rendered(finding(), None) == [
        "a.py:2:1  warning  some-rule",
        "  what is wrong",
        "  more: shardlint explain some-rule",
    ]


def test_a_line_that_is_no_longer_there_has_no_frame() -> None:
    assert "|" not in "".join(rendered(finding(span=Span(9, 1, 9, 2)), "one\ntwo\n"))


def test_tabs_are_expanded_in_the_line_and_under_it() -> None:
    assert framed("\tx = \ty\n", Span(1, 7, 1, 8)) == ["    1 |     x =     y", "      |             ^"]


def test_wide_characters_take_two_carets_and_shift_by_two() -> None:
    assert framed("名 = 模型 + 1\n", Span(1, 5, 1, 7)) == ["    1 | 名 = 模型 + 1", "      |      ^^^^"]


def test_combining_characters_take_no_caret() -> None:
    assert framed("e\u0301t = x\n", Span(1, 1, 1, 4)) == ["    1 | e\u0301t = x", "      | ^^"]


def test_an_empty_range_gets_one_caret() -> None:
    assert framed("ab\n", Span(1, 3, 1, 3)) == ["    1 | ab", "      |   ^"]


def test_columns_past_the_end_of_the_line_point_behind_it() -> None:
    assert framed("ab\n", Span(1, 40, 1, 50)) == ["    1 | ab", "      |   ^"]


@pytest.mark.parametrize("begin", [1, 50, 500, 989])
def test_a_long_line_is_cut_to_a_window_around_the_range(begin: int) -> None:
    text = "x" * (begin - 1) + "HERE" + "x" * (996 - begin + 1)
    line, carets = framed(text, Span(1, begin, 1, begin + 4))
    assert cells(line) <= 122
    at = carets.index("^")
    assert line[at:].startswith("HERE")
    assert carets[at:] == "^^^^"
    assert ("..." in line[:12]) == (begin > 100)
    assert line.endswith("...") == (begin < 900)


def test_a_range_longer_than_the_window_has_carets_to_its_end() -> None:
    line, carets = framed("y" * 1000, Span(1, 1, 1, 1001))
    assert line == "    1 | " + "y" * 108 + "..."
    assert carets == "      | " + "^" * 108


def test_the_context_of_a_long_line_is_seen_through_the_same_window() -> None:
    text = "a" * 1000 + "\n" + "b" * 500 + "HERE" + "b" * 496 + "\n"
    rows = rendered(finding(span=Span(2, 501, 2, 505)), text)
    above, line = rows[2], rows[3]
    assert above.startswith("    1 | ...aaa")
    assert len(above) == len(line)


def test_a_blank_line_above_is_left_out() -> None:
    assert rendered(finding(), "\nabc\n")[2] == "    2 | abc"


def test_each_line_of_a_range_has_its_carets_without_indentation() -> None:
    text = "save(\n    state,\n\n    path,\n)  # end\n"
    assert framed(text, Span(1, 1, 5, 2)) == [
        "    1 | save(",
        "      | ^^^^^",
        "    2 |     state,",
        "      |     ^^^^^^",
        "    3 |",
        "    4 |     path,",
        "      |     ^^^^^",
        "    5 | )  # end",
        "      | ^",
    ]


def test_a_range_that_ends_at_the_start_of_a_line_does_not_show_that_line() -> None:
    assert framed("one\ntwo\n", Span(1, 1, 2, 1)) == ["    1 | one", "      | ^^^"]


def test_a_range_of_many_lines_shows_its_start_and_its_end() -> None:
    text = "".join(f"line{number}\n" for number in range(1, 41))
    rows = framed(text, Span(1, 1, 40, 7))
    assert [row[:5].strip() for row in rows if "^" not in row] == ["1", "2", "3", "4", "...", "40"]


def test_lines_with_numbers_of_many_digits_stay_aligned() -> None:
    rows = framed("\n" * 12344 + "ab\n", Span(12345, 1, 12345, 3))
    assert rows == ["  12345 | ab", "        | ^^"]


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_every_line_end_of_python_ends_a_line(end: str) -> None:
    assert framed(f"one{end}two{end}", Span(2, 1, 2, 4)) == ["    2 | two", "      | ^^^"]


def test_a_form_feed_does_not_end_a_line() -> None:
    assert framed("one\x0c\ntwo\n", Span(2, 1, 2, 4)) == ["    2 | two", "      | ^^^"]


@pytest.mark.parametrize("bad", ["\x1b[31m", "\x07", "\x9b", "\u202e", "\u2028", "\x00"])
def test_nothing_in_user_text_reaches_the_terminal_raw(bad: str) -> None:
    one = finding(
        path=f"a{bad}.py",
        message=f"message {bad} here",
        help=f"help {bad}",
        key=f"k{bad}",
        related=(Related(f"b{bad}.py", 1, 1, f"from {bad}"),),
        fix=Fix(False, f"because {bad}"),
    )
    sources = {f"a{bad}.py": f"x\nab{bad}\n", f"b{bad}.py": f"y{bad}\n"}
    summary = Summary([one], not_recognised=[f"c{bad}.yaml"])
    page = render_text([one], sources.get, colour=False, summary=summary)
    assert bad not in page
    assert page.replace("\n", "").isprintable()


def test_user_text_cannot_start_a_command_of_a_ci_service() -> None:
    one = finding(path="::error::a.py", message="::stop-commands::x\n  ::debug::y", help="::add-mask::z")
    page = render_text([one], lambda _: None, colour=False, summary=Summary([one]))
    assert not [row for row in page.split("\n") if row.lstrip().startswith("::")]


def test_an_escape_in_a_line_shifts_the_carets_by_its_width() -> None:
    assert framed("a\x1bb\n", Span(1, 3, 1, 4)) == ["    1 | a\\x1bb", "      |      ^"]


def test_a_related_place_that_is_no_phrase_gets_a_colon() -> None:
    one = finding(related=(Related("b.py", 1, 1, "stepped here"), Related("gone.py", 4, 1, "")))
    rows = rendered(one, "x\nabc\n", **{"b.py": "    scaler.step(optimizer)\n"})
    assert "  stepped here: b.py:1  scaler.step(optimizer)" in rows
    assert "  see gone.py:4" in rows


def test_a_long_related_line_is_cut() -> None:
    rows = rendered(finding(related=(Related("b.py", 1, 1, "from"),)), "x\nabc\n", **{"b.py": "z" * 500})
    assert next(row for row in rows if row.startswith("  from b.py:1  zzz")).endswith("z...")
    assert max(cells(row) for row in rows) <= 122


def test_an_unsafe_fix_is_marked_with_its_reason() -> None:
    rows = rendered(finding(help="do this", fix=Fix(False, "changes the step")), None)
    assert "  help: do this  (fixable with --unsafe-fixes: changes the step)" in rows


def test_a_fix_without_help_is_marked() -> None:
    assert "  (fixable)" in rendered(finding(fix=Fix(True)), None)


def test_a_fix_in_another_file_is_marked_with_its_path() -> None:
    assert "  (fixable in load.py)" in rendered(finding(fix=Fix(True, path="load.py")), None)
    assert "  (fixable with --unsafe-fixes in load.py: why)" in rendered(
        finding(fix=Fix(False, "why", None, "load.py")), None
    )


def test_code_in_a_help_text_keeps_its_lines_and_indentation() -> None:
    rows = rendered(finding(help="write\n  if x:\n      y()"), None)
    assert rows[2:5] == ["  help: write", "          if x:", "              y()"]


def test_long_messages_are_wrapped_between_words() -> None:
    rows = wrapped("word " * 100, "  ")
    assert len(rows) > 3
    assert all(cells(row) <= 122 and row.startswith("  word") and row.endswith("word") for row in rows)


def test_a_word_longer_than_a_row_stays_whole() -> None:
    assert wrapped("see " + "x" * 200 + " there", "  ") == ["  see", "  " + "x" * 200, "  there"]


def test_wide_text_is_wrapped_by_its_cells() -> None:
    rows = wrapped("模型 " * 60, "  ")
    assert all(cells(row) <= 122 for row in rows)
    assert "".join(rows).count("模型") == 60


def test_colour_is_used_only_when_asked() -> None:
    one = finding()
    plain = render_text([one], lambda _: "x\nabc\n", colour=False, summary=Summary([one]))
    coloured = render_text([one], lambda _: "x\nabc\n", colour=True, summary=Summary([one]))
    assert "\x1b" not in plain
    assert "\x1b[1;33m^^^\x1b[0m" in coloured
    for code in ("\x1b[1;33m", "\x1b[1m", "\x1b[36m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == plain


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "expected"),
    [
        (Terminal(), {}, True),
        (io.StringIO(), {}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (Terminal(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour_follows_the_stream_and_the_environment(
    stream: io.StringIO, environ: dict[str, str], expected: bool
) -> None:
    assert wants_colour(stream, environ) is expected
