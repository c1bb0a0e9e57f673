"""Proof of background-save-shares-group: the save threads and main threads of two ranks meet in one group."""

from __future__ import annotations

import pytest

from .conftest import bad, good
from .ranks import Answer, Ranks

pytestmark = pytest.mark.proves("background-save-shares-group")

SLOW_ON_RANK_0 = """
import time
import torch.distributed.checkpoint as dcp

class Writer(dcp.FileSystemWriter):
    def set_up_storage_writer(self, *given, **named):
        time.sleep(1.5 * (rank == 0))
        super().set_up_storage_writer(*given, **named)

def late(meet):
    def waiting(*given, **named):
        time.sleep(0.7 * (rank == 1))
        return meet(*given, **named)
    return waiting

dist.barrier = late(dist.barrier)
dist.all_gather_object = late(dist.all_gather_object)
writer, state = Writer(folder), {"a": torch.ones(2) * rank}
"""
"""Rank 0 reaches the barrier before its own thread saves, rank 1 after: a job has such differences by itself."""


def ends_well(answers: list[Answer]) -> bool:
    return all(answer.state == "finished" for answer in answers)


def test_a_barrier_meets_the_gather_of_another_rank(ranks: Ranks) -> None:
    answers = ranks.run(SLOW_ON_RANK_0, "save(state, writer); 1", bad("background-save-shares-group"))
    assert any(answer.state == "waiting" or "Timed out" in answer.error for answer in answers), answers


def test_with_a_group_of_its_own_both_ranks_finish(ranks: Ranks) -> None:
    driver = "save(state, writer, dist.new_group(backend='gloo')); 1"
    answers = ranks.run(SLOW_ON_RANK_0, driver, good("background-save-shares-group"))
    assert ends_well(answers), answers


def test_a_barrier_after_the_save_meets_nobody_else(ranks: Ranks) -> None:
    driver = "save_and_wait(state, folder, torch.ones(1), dist.new_group([0, 1])); 1"
    answers = ranks.run(SLOW_ON_RANK_0, driver, good("background-save-shares-group"))
    assert ends_well(answers), answers
