"""Proof of lexicographic-shard-sort: the examples choose among checkpoints of steps 900 and 1000."""

from __future__ import annotations

import pytest

from .conftest import bad, good
from .ranks import Ranks

pytestmark = pytest.mark.proves("lexicographic-shard-sort")

DRIVER = """
import os
for step in (900, 1000):
    os.makedirs(os.path.join(folder, f"checkpoint-{step}"), exist_ok=True)
latest(folder).name
"""


def test_as_text_the_older_checkpoint_comes_last(ranks: Ranks) -> None:
    assert ranks.values(DRIVER, bad("lexicographic-shard-sort")) == ["checkpoint-900"] * 2


def test_by_number_the_newer_one_does(ranks: Ranks) -> None:
    assert ranks.values(DRIVER, good("lexicographic-shard-sort")) == ["checkpoint-1000"] * 2
