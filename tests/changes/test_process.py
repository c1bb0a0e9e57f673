from __future__ import annotations

import os

import pytest

from shardlint.changes.process import communicate

MEGABYTES = b"x" * (3 << 20)


def test_large_input_and_output_do_not_block_each_other() -> None:
    code, out, err = communicate("/bin/cat", [], {}, MEGABYTES)
    assert (code, len(out), err) == (0, len(MEGABYTES), b"")


def test_a_child_that_reads_nothing_and_complains_at_length_does_not_block() -> None:
    code, out, err = communicate(
        "/bin/sh", ["-c", "head -c 1000000 /dev/zero >&2; exit 3"], dict(os.environ), MEGABYTES
    )
    assert (code, out, len(err)) == (3, b"", 1000000)


def test_a_signal_is_a_negative_exit_code() -> None:
    assert communicate("/bin/sh", ["-c", "kill -9 $$"], {})[0] == -9


def test_a_program_that_is_not_there_raises_and_leaves_no_descriptor() -> None:
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(FileNotFoundError):
        communicate("/no/such/program", [], {})
    assert len(os.listdir("/dev/fd")) == before
