"""The baseline of known findings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from shardlint.baseline import Baseline, Entry, load_baseline, write_baseline
from shardlint.errors import BaselineError
from shardlint.finding import Evidence, Finding, Span

if TYPE_CHECKING:
    from pathlib import Path


def finding(path: str, fingerprint: str, line: int = 1) -> Finding:
    return Finding(
        path=path,
        span=Span(line, 1, line, 5),
        rule="some-rule",
        family="ddp",
        severity="warning",
        confidence=0.7,
        evidence=Evidence("inference"),
        message="what is wrong",
        fingerprint=fingerprint,
    )


def baseline(*entries: tuple[str, str]) -> Baseline:
    return Baseline(Entry(path, "some-rule", print_, "m") for path, print_ in entries)


def split(base: Baseline, *findings: Finding, gone: str = "") -> tuple[list[Finding], list[Finding], list[str]]:
    new, known, stale = base.split(findings, lambda path: path != gone)
    return new, known, [f"{entry.path} {entry.fingerprint}" for entry in stale]


def test_what_was_written_is_known_when_it_is_read_again(tmp_path: Path) -> None:
    path = str(tmp_path / "baseline.json")
    found = [finding("a.py", "1"), finding("b.py", "1"), finding("a.py", "1", 9)]
    write_baseline(path, found)
    new, known, stale = load_baseline(path).split(found, lambda _: True)
    assert (new, known, stale) == ([], sorted(found), [])


def test_the_file_is_versioned_and_sorted_with_one_line_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    write_baseline(str(path), [finding("b.py", "1"), finding("a.py", "2"), finding("a.py", "1")])
    text = path.read_text(encoding="ascii")
    assert json.loads(text)["version"] == 1
    assert [line.strip(" ,") for line in text.splitlines() if "fingerprint" in line] == [
        '{"path": "a.py", "rule": "some-rule", "fingerprint": "1", "message": "what is wrong"}',
        '{"path": "a.py", "rule": "some-rule", "fingerprint": "2", "message": "what is wrong"}',
        '{"path": "b.py", "rule": "some-rule", "fingerprint": "1", "message": "what is wrong"}',
    ]
    again = tmp_path / "again.json"
    write_baseline(str(again), [finding("a.py", "1"), finding("b.py", "1"), finding("a.py", "2")])
    assert again.read_bytes() == path.read_bytes()


def test_an_empty_baseline_is_written_and_read(tmp_path: Path) -> None:
    path = str(tmp_path / "baseline.json")
    write_baseline(path, [])
    assert load_baseline(path).entries == ()


def test_lines_that_move_stay_known() -> None:
    assert split(baseline(("a.py", "1")), finding("a.py", "1", 300)) == ([], [finding("a.py", "1", 300)], [])


def test_one_more_of_a_kind_is_new() -> None:
    first, second = finding("a.py", "1", 1), finding("a.py", "1", 2)
    assert split(baseline(("a.py", "1")), first, second) == ([second], [first], [])


def test_one_less_of_a_kind_is_stale() -> None:
    one = finding("a.py", "1")
    assert split(baseline(("a.py", "1"), ("a.py", "1")), one) == ([], [one], ["a.py 1"])


def test_a_copy_in_another_file_is_new_while_the_old_file_exists() -> None:
    copy = finding("b.py", "1")
    assert split(baseline(("a.py", "1")), copy) == ([copy], [], ["a.py 1"])


def test_a_renamed_file_keeps_its_entries() -> None:
    moved = finding("b.py", "1")
    assert split(baseline(("a.py", "1")), moved, gone="a.py") == ([], [moved], [])


def test_an_entry_of_a_gone_file_is_used_once() -> None:
    first, second = finding("b.py", "1", 1), finding("c.py", "1", 1)
    assert split(baseline(("a.py", "1")), first, second, gone="a.py") == ([second], [first], [])


def test_a_match_in_the_same_file_goes_before_a_rename() -> None:
    moved, stayed = finding("a.py", "1"), finding("b.py", "1")
    assert split(baseline(("b.py", "1"), ("old.py", "1")), moved, stayed, gone="old.py") == ([], [moved, stayed], [])


def test_an_entry_of_a_gone_file_that_nothing_matches_is_stale() -> None:
    assert split(baseline(("a.py", "1")), gone="a.py") == ([], [], ["a.py 1"])


def test_an_entry_that_the_run_could_not_judge_is_not_stale() -> None:
    base = baseline(("a.py", "1"), ("b.py", "1"))
    _, _, stale = base.split([], lambda _: True, lambda entry: entry.path == "a.py")
    assert [entry.path for entry in stale] == ["a.py"]


def test_writing_replaces_the_file_behind_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    write_baseline(str(real), [])
    link.symlink_to(real)
    write_baseline(str(link), [finding("a.py", "1")])
    assert link.is_symlink()
    assert len(load_baseline(str(real)).entries) == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"version": 1,\n<<<<<<< HEAD\n', r"baseline.json:2: the baseline is not JSON .*--write-baseline"),
        ("[]", "is no baseline: it needs the keys `version` and `findings`"),
        ('{"version": 1, "findings": {}}', "is no baseline"),
        ('{"version": 2, "findings": []}', "has version 2, but this shardlint reads version 1"),
        ('{"version": 1, "findings": [{"path": "a"}]}', "finding 1 of the baseline .* needs the texts `path`, `rule`"),
        ('{"version": 1, "findings": [3]}', "finding 1 of the baseline"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_a_broken_file_is_refused_with_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(BaselineError, match=sentence):
        load_baseline(str(path))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BaselineError, match="is not JSON"):
        load_baseline(str(path))


def test_a_missing_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="does not exist: write it with `shardlint check --write-baseline`"):
        load_baseline(str(tmp_path / "none.json"))


def test_a_folder_is_refused_for_reading_and_writing(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="cannot be read: Is a directory"):
        load_baseline(str(tmp_path))
    with pytest.raises(BaselineError, match="cannot be written"):
        write_baseline(str(tmp_path / "none" / "baseline.json"), [])
