"""The record of generated files and what it proves about a change."""

from __future__ import annotations

import json

import pytest

from shardlint.changes.generated_file import GeneratedFile, generated_file
from shardlint.changes.lock import LOCK, Locked, digest, lock_text, locked, parse_lock
from shardlint.changes.memory import memory_change_set

HEADER = "# Auto-generated from ops.yaml. Do not edit.\n"


def made(before: dict[str, str], after: dict[str, str]) -> GeneratedFile:
    """The facts of the changed `table.py`."""
    changes = memory_change_set(before, after)
    file = next(change for change in changes.changes if change.path == "table.py")
    found = generated_file(file, changes, None)
    assert found is not None
    return found


def record(output: str, ops: str) -> str:
    return lock_text({"table.py": Locked(digest(output.encode()), {"ops.yaml": digest(ops.encode())})}).decode()


def test_a_record_reads_as_it_was_written() -> None:
    entry = Locked("0f", {"b": "2", "a": "1"}, "kept by hand")
    read = parse_lock(lock_text({"table.py": entry}))["table.py"]
    assert (read.output, read.sources, read.accepted) == (entry.output, entry.sources, entry.accepted)


def test_blanks_and_comment_lines_change_no_digest() -> None:
    assert digest(b"a = f(1,\n  2)\n") == digest(b"# two\na = f(1, 2)\n")
    assert digest(b"a = 1\n") != digest(b"a = 2\n")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"version": 9, "files": {}}', '{"version": 1, "files": {"a": 1}}', "\ufeff", '{"version": 1'],
)
def test_a_broken_record_is_refused_by_the_command_and_proves_nothing(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_lock(text.encode())
    assert locked(text.encode()) == {}


def test_an_output_that_is_another_than_recorded_was_edited_while_its_sources_are_as_recorded() -> None:
    before = {"table.py": HEADER + "A = 1\n", "ops.yaml": "a: 1\n", LOCK: record(HEADER + "A = 1\n", "a: 1\n")}
    edited = made(before, {**before, "table.py": HEADER + "A = 2\n"})
    assert edited.recorded == "edited"
    both = made(before, {**before, "table.py": HEADER + "A = 2\n", "ops.yaml": "a: 2\n"})
    assert both.recorded == ""


def test_an_output_that_was_recorded_anew_is_as_recorded() -> None:
    before = {"table.py": HEADER + "A = 1\n", "ops.yaml": "a: 1\n", LOCK: record(HEADER + "A = 1\n", "a: 1\n")}
    after = {**before, "table.py": HEADER + "A = 2\n", LOCK: record(HEADER + "A = 2\n", "a: 1\n")}
    assert made(before, after).recorded == "same"


def test_a_record_outweighs_a_change_that_is_only_beside_it() -> None:
    unnamed = "# AUTO-GENERATED FILE - DO NOT EDIT\n"
    before = {"table.py": unnamed + "A = 1\n", "ops.yaml": "a: 1\n", "train.py": "a = 1\n"}
    after = {**before, "table.py": unnamed + "A = 2\n", "train.py": "a = 2\n"}
    assert made(before, after).explained
    kept = record(unnamed + "A = 1\n", "a: 1\n")
    assert not made({**before, LOCK: kept}, {**after, LOCK: kept}).explained


def test_the_record_is_no_source_of_what_it_records() -> None:
    unnamed = "# AUTO-GENERATED FILE - DO NOT EDIT\n"
    before = {"table.py": unnamed + "A = 1\n", LOCK: json.dumps({"version": 1, "files": {}})}
    assert not made(before, {"table.py": unnamed + "A = 2\n", LOCK: "{}"}).explained
