"""Proof of unsorted-file-listing: two ranks list the same names, made in another order, and take their shares."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import bad, good
from .ranks import Ranks

pytestmark = pytest.mark.proves("unsorted-file-listing")
in_order_of_creation = pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="other file systems have one order")

FILES = """
import pathlib, shutil, tempfile
node = tempfile.mkdtemp(dir="/dev/shm")
for number in [0, 1, 2, 3][:: 1 if rank == 0 else -1]:
    pathlib.Path(node, f"{number}.pt").touch()
"""
SHARES = "taken = share(node, rank, 2)\nshutil.rmtree(node)\ntaken"


@in_order_of_creation
def test_the_shares_of_two_ranks_overlap(ranks: Ranks) -> None:
    first, second = ranks.values(FILES, SHARES, bad("unsorted-file-listing"))
    assert set(first) & set(second)
    assert len({*first, *second}) < 4


@in_order_of_creation
def test_sorted_shares_are_every_file_once(ranks: Ranks) -> None:
    first, second = ranks.values(FILES, SHARES, good("unsorted-file-listing"))
    assert sorted(first + second) == ["0.pt", "1.pt", "2.pt", "3.pt"]
