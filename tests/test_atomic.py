"""Replacing a file in one step."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from shardlint.atomic import replace_file

if TYPE_CHECKING:
    from pathlib import Path


def test_the_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_bytes(b"old")
    path.chmod(0o751)
    replace_file(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o7777 == 0o751
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.sh"]


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    replace_file(str(path), b"new")
    assert os.read(reader, 9) == b"new"
    os.close(reader)
    assert path.is_fifo()


def test_a_new_file_gets_the_usual_mode(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        replace_file(str(tmp_path / "new"), b"x")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(mask)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(source: str, target: str) -> None:
        raise OSError(28, f"No space left for {source} and {target}")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        replace_file(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a").write_bytes(b"old")
    (tmp_path / "link").symlink_to("there/a")
    replace_file(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "a").read_bytes() == b"new"


def test_a_device_is_written_to() -> None:
    replace_file(os.devnull, b"x")
    with open(os.devnull, "rb") as device:
        assert device.read() == b""
    assert not os.path.isfile(os.devnull)


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        replace_file(str(path), b"new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"]
