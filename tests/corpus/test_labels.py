"""Labels are complete, and are read and written without loss."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpus.labels import FINDINGS, BadLabel, Label, line_hash, read_labels, write_labels
from corpus.sources import packages

JUDGED = Label("a.py", 3, "0" * 16, "some-rule", "error", True, "true", "The ranks part in this loop.")


def write(file: Path, **changed: object) -> Path:
    file.write_text(json.dumps(JUDGED._asdict() | changed) + "\n", encoding="utf-8")
    return file


def test_what_is_written_is_read_again_sorted_by_place(tmp_path: Path) -> None:
    file = tmp_path / "new" / "one.jsonl"
    later = JUDGED._replace(path="b.py", line=1)

    write_labels(file, [later, JUDGED._replace(line=9), JUDGED])

    assert read_labels(file) == [JUDGED, JUDGED._replace(line=9), later]


def test_a_package_without_findings_has_no_file(tmp_path: Path) -> None:
    file = write(tmp_path / "one.jsonl")

    write_labels(file, [])

    assert not file.exists()
    assert read_labels(file) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"reason": ""}, "gives no reason"),
        ({"reason": "it is"}, "gives no reason"),
        ({"verdict": ""}, "has the verdict ''"),
        ({"verdict": "maybe"}, "has the verdict 'maybe'"),
        ({"verdict": "", "reason": ""}, "has the verdict ''"),
        ({"note": "more"}, "must be an object with the keys"),
    ],
)
def test_a_label_that_is_not_complete_is_refused_with_its_place(
    changed: dict[str, object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(BadLabel, match=rf"^one\.jsonl:1 {said}"):
        read_labels(write(tmp_path / "one.jsonl", **changed))


def test_a_line_that_is_not_json_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text("{", encoding="utf-8")

    with pytest.raises(BadLabel, match=r"^one\.jsonl:1 is not JSON"):
        read_labels(file)


def test_while_labelling_lines_may_be_empty_but_not_half_full(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"

    assert read_labels(write(file, verdict="", reason=""), judged=False)[0].verdict == ""
    with pytest.raises(BadLabel, match="gives no reason"):
        read_labels(write(file, reason=""), judged=False)


def test_indentation_does_not_change_the_hash_and_words_do() -> None:
    assert line_hash("    x  = load(p)\n") == line_hash("x = load(p)")
    assert line_hash("x = load(q)") != line_hash("x = load(p)")


def test_every_label_here_is_complete_and_belongs_to_a_pin() -> None:
    slugs = {package.slug for package in packages()}
    files = sorted(FINDINGS.glob("*.jsonl"))

    assert len(files) > 20
    assert [file.name for file in files if file.stem not in slugs] == []
    assert all(read_labels(file) for file in files)


def test_nothing_of_the_code_is_kept_but_path_line_and_hash() -> None:
    for file in FINDINGS.glob("*.jsonl"):
        for label in read_labels(file):
            assert len(label.hash) == 16
            assert "\n" not in label.reason
            assert len(label.reason) < 300
