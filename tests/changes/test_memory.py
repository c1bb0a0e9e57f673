"""Two states in memory, as examples of change rules give them."""

from __future__ import annotations

from shardlint.changes.memory import memory_change_set


def brief(before: dict[str, str], after: dict[str, str]) -> list[tuple[str, str, str | None]]:
    changes = memory_change_set(before, after).changes
    return [(change.status, change.path, change.old_path) for change in changes]


def test_each_kind_of_change_is_told_apart() -> None:
    before = {"same.py": "1\n", "edited.py": "1\n", "gone.py": "2\n", "old.py": "3\n"}
    after = {"same.py": "1\n", "edited.py": "9\n", "new.py": "4\n", "moved.py": "3\n"}
    assert brief(before, after) == [
        ("modified", "edited.py", None),
        ("renamed", "moved.py", "old.py"),
        ("added", "new.py", None),
        ("deleted", "gone.py", None),
    ]


def test_a_content_that_is_still_there_is_added_not_renamed() -> None:
    assert brief({"a.py": "1\n"}, {"a.py": "1\n", "b.py": "1\n"}) == [("added", "b.py", None)]


def test_one_file_that_is_gone_moves_once() -> None:
    assert brief({"a.py": "1\n"}, {"b.py": "1\n", "c.py": "1\n"}) == [
        ("renamed", "b.py", "a.py"),
        ("added", "c.py", None),
    ]


def test_both_states_answer_like_stored_ones() -> None:
    changes = memory_change_set({"b.py": "1\n", "a.py": "2\n"}, {"a.py": "\u00e9\n"})
    changes.after.load(["a.py", "absent.py"])
    assert changes.paths_before() == ("a.py", "b.py")
    assert changes.paths_after() == ("a.py",)
    assert changes.read_before("a.py") == b"2\n"
    assert changes.read_after("a.py") == "\u00e9\n".encode()
    assert changes.read_after("b.py") is None


def test_states_without_a_repository_have_no_attributes_and_no_history() -> None:
    changes = memory_change_set({"a.py": "1\n"}, {"a.py": "2\n"})
    assert changes.marked_generated("a.py") is None
    assert not changes.restores("a.py")
