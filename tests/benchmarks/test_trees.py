"""Samples are whole files of about the size asked for, the same everywhere, and no selection of small ones."""

from pathlib import Path
from random import Random

import pytest

from benchmarks.trees import Touch, copy, copy_files, quiet_files, sample, size

TREE = {f"pkg/{number % 40}/module_{number}.py": number * 7919 % 1_200 for number in range(4_000)}
"""Lengths from nothing to 1,200 lines."""


@pytest.mark.parametrize("wanted", [1_000, 10_000, 100_000, 1_000_000])
def test_sample_is_near_its_size_and_not_above(wanted: int) -> None:
    chosen = sample(TREE, wanted)

    assert len(set(chosen)) == len(chosen)
    assert 0.95 * wanted <= sum(TREE[path] for path in chosen) <= wanted


def test_sample_depends_on_paths_alone() -> None:
    items = list(TREE.items())
    Random(1).shuffle(items)

    assert sample(dict(items), 50_000) == sample(TREE, 50_000)


def test_larger_sample_holds_most_of_a_smaller_one() -> None:
    small, large = set(sample(TREE, 10_000)), set(sample(TREE, 100_000))

    assert len(small & large) >= 0.9 * len(small)


def test_small_files_are_not_preferred() -> None:
    lengths = {f"{number}.py": 100 if number % 2 else 0 for number in range(2_000)}

    chosen = sample(lengths, 10_000)

    assert sum(lengths[path] == 0 for path in chosen) < 2 * len(chosen) / 3


def test_file_that_does_not_fit_is_passed_over() -> None:
    lengths = {"huge.py": 90_000} | {f"{number}.py": 50 for number in range(1_000)}

    assert "huge.py" not in sample(lengths, 1_000)


def test_sample_of_more_than_there_is_is_refused() -> None:
    with pytest.raises(ValueError, match="no sample of 101 lines: there are 100"):
        sample({"a.py": 100}, 101)


def test_copies_leave_caches_settings_and_git_behind(tmp_path: Path) -> None:
    for path in ("a.py", "b/c.py", ".git/hooks/d.py", "__pycache__/e.py", ".ruff_cache/f.py", "shardlint.toml"):
        target = tmp_path / "from" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("x = 1\ny = 2\n")

    into = copy(tmp_path / "from", tmp_path / "into")

    assert sorted(path.name for path in into.rglob("*") if path.is_file()) == ["a.py", "c.py"]
    assert size(into) == (2, 4)
    assert size(copy_files(into, ["b/c.py"], tmp_path / "sample")) == (1, 2)


def test_quiet_files_are_of_middling_size_and_hold_no_suspect_word(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"quiet_{number}.py").write_text("x = 1\n" * (1_000 + number))
    (tmp_path / "loud.py").write_text("x = 1\n" * 1_002 + "barrier()\n")
    (tmp_path / "tiny.py").write_text("x = 1\n")

    assert [path.name for path in quiet_files(tmp_path)] == ["quiet_1.py", "quiet_2.py", "quiet_3.py"]


def test_tree_without_quiet_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text("barrier()\n" * 1_000)

    with pytest.raises(SystemExit, match="fewer than three files without suspects"):
        quiet_files(tmp_path)


def test_touched_file_differs_each_time_and_keeps_what_it_held(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\n")
    touch = Touch([path])

    seen = set[bytes]()
    for _ in range(3):
        touch()
        seen.add(path.read_bytes())

    assert len(seen) == 3
    assert all(content.startswith(b"x = 1\n\n# changed ") and content.count(b"\n") == 3 for content in seen)
