"""Edits of texts and of files."""

from __future__ import annotations

import codecs
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardlint.errors import FixRefused
from shardlint.finding import Fix, Span, TextEdit
from shardlint.fixes import apply_edits, plan_fixes, unified_diff, write_fixes
from shardlint.source import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shardlint.fixes import FixResult


def edit(line: int, column: int, end_line: int, end_column: int, text: str) -> TextEdit:
    return TextEdit(Span(line, column, end_line, end_column), text)


def fix(*edits: TextEdit) -> Fix:
    return Fix(True, edits=edits)


def test_edits_are_made_where_they_say() -> None:
    text = "one\ntwo\nthree\n"
    assert apply_edits(text, [edit(2, 1, 2, 4, "2"), edit(1, 1, 1, 1, "# "), edit(3, 3, 3, 6, "REE")]) == (
        "# one\n2\nthREE\n"
    )


def test_a_range_over_lines_is_replaced() -> None:
    assert apply_edits("one\ntwo\nthree\n", [edit(1, 3, 3, 3, "-")]) == "on-ree\n"


def test_of_two_that_overlap_the_first_wins() -> None:
    assert apply_edits("abcdef", [edit(1, 3, 1, 5, "X"), edit(1, 1, 1, 4, "Y"), edit(1, 5, 1, 6, "Z")]) == "abXZf"


def test_an_insertion_inside_of_a_replaced_range_overlaps() -> None:
    assert apply_edits("abcd", [edit(1, 1, 1, 4, "X"), edit(1, 2, 1, 2, "Y")]) == "Xd"


def test_insertions_at_one_place_keep_their_order_and_come_before_a_replacement() -> None:
    edits = [edit(1, 2, 1, 3, "X"), edit(1, 2, 1, 2, "1"), edit(1, 2, 1, 2, "2"), edit(1, 3, 1, 3, "3")]
    assert apply_edits("abc", edits) == "a12X3c"


def test_an_edit_given_twice_is_made_once() -> None:
    assert apply_edits("x\n", [edit(1, 1, 1, 1, "import a\n"), edit(1, 1, 1, 1, "import a\n")]) == "import a\nx\n"


def test_the_last_line_can_be_removed_with_or_without_a_newline() -> None:
    assert apply_edits("a\nb", [edit(2, 1, 3, 1, "")]) == "a\n"
    assert apply_edits("a\nb\n", [edit(2, 1, 3, 1, "")]) == "a\n"


@pytest.mark.parametrize(
    "bad",
    [edit(0, 1, 1, 1, ""), edit(1, 0, 1, 1, ""), edit(1, 1, 1, 5, ""), edit(4, 1, 4, 1, ""), edit(2, 1, 1, 1, "")],
)
def test_an_edit_outside_of_the_text_is_an_error(bad: TextEdit) -> None:
    with pytest.raises(ValueError, match="edit"):
        apply_edits("abc\nd", [bad])


def naive(text: str, edits: list[TextEdit]) -> str:
    """The same by other means: each character is marked, and the text put together slot by slot."""
    lines = text.split("\n")

    def offset(line: int, column: int) -> int:
        return len("\n".join(lines[: line - 1])) + (line > 1) + column - 1

    taken: list[tuple[int, int, str]] = []
    for one in edits:
        span = one.span
        start, end = offset(span.line, span.column), offset(span.end_line, span.end_column)
        inside = set(range(2 * start + 1, 2 * end))
        if (start, end, one.text) in taken:
            continue
        # Odd numbers are characters, even ones the gaps between them; a range holds the gaps inside of it.
        points = inside or {2 * start}
        if all(not points & set(range(2 * s + 1, 2 * e)) and not (s == e and 2 * s in inside) for s, e, _ in taken):
            taken.append((start, end, one.text))
    result = ""
    for at in range(len(text) + 1):
        result += "".join(new for start, end, new in taken if start == end == at)
        result += "".join(new for start, end, new in taken if start == at < end)
        if at < len(text) and not any(start <= at < end for start, end, _ in taken):
            result += text[at]
    return result


@st.composite
def texts_and_edits(draw: st.DrawFn) -> tuple[str, list[TextEdit]]:
    text = draw(st.text(st.sampled_from("ab\n\r\t模e\u0301"), max_size=20))
    edits: list[TextEdit] = []
    for _ in range(draw(st.integers(0, 6))):
        start, end = sorted(draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
        before, inside = text[:start], text[:end]
        edits.append(
            edit(
                before.count("\n") + 1,
                start - before.rfind("\n"),
                inside.count("\n") + 1,
                end - inside.rfind("\n"),
                draw(st.text(st.sampled_from("XY\n"), max_size=3)),
            )
        )
    return text, edits


@settings(deadline=None, database=None, max_examples=300)
@given(texts_and_edits())
def test_edits_agree_with_a_naive_implementation(case: tuple[str, list[TextEdit]]) -> None:
    text, edits = case
    assert apply_edits(text, edits) == naive(text, edits)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., FixResult]:
    """Write a file of the project `root`, then fix it."""

    def written(name: str, data: bytes, *fixes: Fix, **refuse: str) -> FixResult:
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return write_fixes(str(tmp_path / "root"), name, fixes, content_hash(data), refuse=refuse)

    return written


def test_a_fix_is_written(write: Callable[..., FixResult], tmp_path: Path) -> None:
    one = fix(edit(1, 1, 1, 2, "y"))
    result = write("pkg/a.py", b"x = 1\n", one)
    assert (tmp_path / "root/pkg/a.py").read_bytes() == b"y = 1\n"
    assert (result.before, result.after, result.applied, result.skipped) == ("x = 1\n", "y = 1\n", (one,), ())


def test_a_plan_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\n")
    result = plan_fixes(str(tmp_path), "a.py", [fix(edit(1, 1, 1, 2, "y"))], content_hash(b"x = 1\n"), refuse={})
    assert result.after == "y = 1\n"
    assert (tmp_path / "a.py").read_bytes() == b"x = 1\n"


def test_the_edits_of_a_fix_are_made_together_or_not_at_all(write: Callable[..., FixResult]) -> None:
    first = fix(edit(1, 1, 1, 2, "y"))
    second = fix(edit(1, 5, 1, 6, "2"), edit(1, 1, 1, 2, "z"))
    result = write("a.py", b"x = 1\n", first, second)
    assert (result.after, result.applied, result.skipped) == ("y = 1\n", (first,), (second,))


def test_two_fixes_may_share_an_edit(write: Callable[..., FixResult]) -> None:
    shared = edit(1, 1, 1, 1, "import a\n")
    result = write("a.py", b"x = 1\ny = 2\n", fix(shared, edit(1, 5, 1, 6, "a")), fix(shared, edit(2, 5, 2, 6, "a")))
    assert result.after == "import a\nx = a\ny = a\n"
    assert len(result.applied) == 2


def test_a_fix_whose_own_edits_overlap_is_skipped(write: Callable[..., FixResult]) -> None:
    broken = fix(edit(1, 1, 1, 3, ""), edit(1, 2, 1, 4, ""))
    assert write("a.py", b"x = 1\n", broken).skipped == (broken,)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.py", b"\xef\xbb\xbfx = 1\n", b"\xef\xbb\xbfy = 1\n"),
        ("a.yaml", b"\xef\xbb\xbfx: 1\n", b"\xef\xbb\xbfy: 1\n"),
        ("a.yaml", "x: 模\n".encode(), "y: 模\n".encode()),
        ("a.py", b"x = 1\r\nz = 2", b"y = 1\r\nz = 2"),
        ("a.sh", b"x\n\x0c\n", b"y\n\x0c\n"),
    ],
)
def test_mark_encoding_and_line_ends_are_kept(
    write: Callable[..., FixResult], tmp_path: Path, name: str, before: bytes, after: bytes
) -> None:
    write(name, before, fix(edit(1, 1, 1, 2, "y")))
    assert (tmp_path / "root" / name).read_bytes() == after


def test_the_encoding_that_a_comment_names_is_kept(write: Callable[..., FixResult], tmp_path: Path) -> None:
    write("a.py", b"# coding: latin-1\nx = 1  # \xe9\n", fix(edit(2, 1, 2, 2, "\xe8")))
    assert (tmp_path / "root/a.py").read_bytes() == b"# coding: latin-1\n\xe8 = 1  # \xe9\n"


def test_new_lines_end_like_the_others(write: Callable[..., FixResult], tmp_path: Path) -> None:
    write("a.py", b"x = 1\r\ny = 2\r\n", fix(edit(2, 1, 2, 1, "z = 3\nw = 4\r\n")))
    assert (tmp_path / "root/a.py").read_bytes() == b"x = 1\r\nz = 3\r\nw = 4\r\ny = 2\r\n"


def test_the_mode_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_bytes(b"x\n")
    path.chmod(0o755)
    write_fixes(str(tmp_path), "a.sh", [fix(edit(1, 1, 1, 2, "y"))], content_hash(b"x\n"), refuse={})
    assert path.stat().st_mode & 0o777 == 0o755


def refused(root: Path, path: str, data: bytes, one: Fix, **refuse: str) -> str:
    """The sentence of the refusal."""
    with pytest.raises(FixRefused) as caught:
        write_fixes(str(root), path, [one], content_hash(data), refuse=refuse)
    return str(caught.value)


RENAME = fix(edit(1, 1, 1, 2, "y"))


def test_a_file_that_changed_since_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 2\n")
    sentence = "a.py was not fixed, because it changed after it was linted: run shardlint again"
    assert refused(tmp_path, "a.py", b"x = 1\n", RENAME) == sentence
    assert (tmp_path / "a.py").read_bytes() == b"x = 2\n"


@pytest.mark.parametrize(
    ("name", "data", "bad", "sentence"),
    [
        ("a.py", b"x = 1\n", fix(edit(1, 1, 1, 2, "(")), "it would no longer be Python (line 1)"),
        ("a.py", b"x = 1\ny = (\n", RENAME, "it is not Python as it stands (line 2): repair that first"),
        ("a.py", b"x = 1\n", fix(edit(9, 1, 9, 2, "y")), "line 9, column 1"),
        ("a.py", b"# coding: latin-1\nx = 1\n", fix(edit(2, 1, 2, 2, "模")), "iso-8859-1 has no '模'"),
        ("a.py", b"# coding: nothing\nx = 1\n", RENAME, "cannot be read"),
        ("a.py", b"x = 1\ry = 2\n", RENAME, "lone carriage return"),
        ("a.yaml", b"\xff", RENAME, "cannot be read"),
    ],
)
def test_what_would_break_a_file_is_refused(tmp_path: Path, name: str, data: bytes, bad: Fix, sentence: str) -> None:
    (tmp_path / name).write_bytes(data)
    assert sentence in refused(tmp_path, name, data, bad)
    assert (tmp_path / name).read_bytes() == data
    assert os.listdir(tmp_path) == [name]


def test_an_encoding_that_does_not_give_the_same_bytes_is_refused(tmp_path: Path) -> None:
    data = b"# coding: utf-7\nx = 1  # +AGE-\n"
    assert data.decode("utf-7").encode("utf-7") != data
    (tmp_path / "a.py").write_bytes(data)
    assert "its encoding utf-7 would change other bytes too" in refused(tmp_path, "a.py", data, RENAME)


def test_files_that_the_caller_protects_are_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\n")
    with pytest.raises(FixRefused, match=r"a\.py was not fixed: it is generated"):
        write_fixes(str(tmp_path), "a.py", [RENAME], content_hash(b"x = 1\n"), refuse={"a.py": "it is generated"})


def test_nothing_is_written_through_a_link_out_of_the_project(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside.py"
    root.mkdir()
    outside.write_bytes(b"x = 1\n")
    (root / "a.py").symlink_to(outside)
    (root / "folder").symlink_to(tmp_path)
    for path in ("a.py", "folder/outside.py", "../outside.py", str(outside)):
        assert "leads out of the project" in refused(root, path, b"x = 1\n", RENAME)
    assert outside.read_bytes() == b"x = 1\n"


def test_a_link_inside_of_the_project_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_bytes(b"x = 1\n")
    (tmp_path / "a.py").symlink_to("real.py")
    write_fixes(str(tmp_path), "a.py", [RENAME], content_hash(b"x = 1\n"), refuse={})
    assert (tmp_path / "a.py").is_symlink()
    assert (tmp_path / "real.py").read_bytes() == b"y = 1\n"
    with pytest.raises(FixRefused, match="generated"):
        write_fixes(str(tmp_path), "a.py", [RENAME], content_hash(b"y = 1\n"), refuse={"real.py": "generated"})


def test_a_read_only_or_missing_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\n")
    (tmp_path / "a.py").chmod(0o444)
    assert refused(tmp_path, "a.py", b"x = 1\n", RENAME) == "a.py was not fixed, because it is read-only"
    assert "No such file" in refused(tmp_path, "none.py", b"x = 1\n", RENAME)


def test_a_file_is_left_alone_when_no_fix_changes_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = (\n")
    before = (tmp_path / "a.py").stat().st_ino
    result = write_fixes(str(tmp_path), "a.py", [Fix(True)], content_hash(b"x = (\n"), refuse={})
    assert (result.after, result.applied, result.skipped) == ("x = (\n", (), ())
    assert (tmp_path / "a.py").stat().st_ino == before


def test_a_diff_without_change_is_empty() -> None:
    assert unified_diff("a.py", "x\n", "x\n") == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\ntwo\n", b"one\n2\n"),
        (b"one\ntwo", b"one\n2"),
        (b"one\ntwo", b"one\ntwo\n"),
        (b"one\r\ntwo\r\n", b"one\r\n2\r\n"),
        (b"one\x0ctwo\n\x0c\n", b"one\x0c2\n\x0c\n"),
        (codecs.BOM_UTF8 + b"a\n", codecs.BOM_UTF8 + b"b\n"),
    ],
)
def test_git_takes_a_diff(tmp_path: Path, before: bytes, after: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(before)
    diff = unified_diff("a.txt", before.decode(), after.decode())
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=diff.encode(), check=True)
    assert (tmp_path / "a.txt").read_bytes() == after


@pytest.mark.parametrize(
    "name", ["\n::error::x.py", 'a "b".py', "back\\slash.py", "\x1b[31m.py", "\u202e.py", "\udcff.py", "plain é.py"]
)
def test_git_takes_the_diff_of_a_file_with_an_odd_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x\n", encoding="utf-8")

    diff = unified_diff(name, "x\n", "y\n")

    assert "\n::error" not in diff
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=diff.encode(), check=True)
    assert (tmp_path / name).read_text(encoding="utf-8") == "y\n"
