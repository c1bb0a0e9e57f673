"""Proof of local-rank-as-shard-index: two ranks that are each the first process of a node take their samples."""

from __future__ import annotations

import pytest

from .conftest import bad, good
from .ranks import Ranks

pytestmark = pytest.mark.proves("local-rank-as-shard-index")

DRIVER = """
import os
os.environ["LOCAL_RANK"], os.environ["RANK"] = "0", str(rank)
samples(list("abcd"), 2)
"""


def test_both_nodes_read_the_same_samples_and_nobody_the_others(ranks: Ranks) -> None:
    assert ranks.values(DRIVER, bad("local-rank-as-shard-index")) == [[0, 2], [0, 2]]


def test_by_the_global_rank_every_sample_is_read_once(ranks: Ranks) -> None:
    assert ranks.values(DRIVER, good("local-rank-as-shard-index")) == [[0, 2], [1, 3]]
