"""Proof of async-save-future-dropped: a save that cannot write raises in its thread, and only the future knows."""

from __future__ import annotations

import pytest

from .conftest import bad, good
from .ranks import Ranks

pytestmark = pytest.mark.proves("async-save-future-dropped")

STATE = """
import os, pathlib
state = {"weight": torch.ones(2)}
file = os.path.join(folder, "taken")
pathlib.Path(file).touch()
dist.barrier()
"""


def test_a_dropped_future_swallows_the_error_and_there_is_no_checkpoint(ranks: Ranks) -> None:
    driver = """
    import time
    Checkpoints().save(state, file)
    time.sleep(1)  # the thread has ended then, so that the next proof finds the ranks as they were
    os.path.isfile(file)
    """
    assert ranks.values(STATE, driver, bad("async-save-future-dropped", 1)) == [True, True]


def test_waiting_for_the_future_raises_where_the_save_failed(ranks: Ranks) -> None:
    answers = ranks.run(STATE, "wait(state, file)", good("async-save-future-dropped"))
    assert [answer.state for answer in answers] == ["raised", "raised"]
    assert all("CheckpointException" in answer.error for answer in answers)


def test_waiting_for_the_future_leaves_a_whole_checkpoint(ranks: Ranks) -> None:
    driver = """
    wait(state, os.path.join(folder, "whole"))
    dist.barrier()
    os.path.exists(os.path.join(folder, "whole", ".metadata"))
    """
    assert ranks.values(STATE, driver, good("async-save-future-dropped")) == [True, True]
