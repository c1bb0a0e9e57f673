"""Files whose ranks cannot differ in their data."""

from __future__ import annotations

from shardlint.facts.lone_jobs import parts_nobody


def test_files_in_tests_lie_on_one_machine() -> None:
    assert parts_nobody("files", "tests/test_load.py", b"")
    assert not parts_nobody("clock", "tests/test_load.py", b"")
    assert not parts_nobody("files", "train.py", b"")


def test_group_of_one_process() -> None:
    alone = b"dist.init_process_group(backend='gloo', rank=0, world_size=1)"
    assert parts_nobody("data", "train.py", alone)
    assert not parts_nobody("data", "train.py", alone.replace(b"=1)", b"=16)"))
