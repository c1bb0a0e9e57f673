"""The pair of ranks that the proofs run on: what it says of a job, and that it outlives each of them."""

from __future__ import annotations

import pytest

from shardlint.example import Example

from .conftest import bad
from .ranks import Ranks


def test_both_ranks_finish_with_a_value_of_their_own(ranks: Ranks) -> None:
    assert ranks.values("[rank, dist.get_world_size(), torch.ones(2) * rank]") == [[0, 2, [0, 0]], [1, 2, [1, 1]]]


def test_a_rank_that_raises_says_what(ranks: Ranks) -> None:
    first, second = ranks.run("1 / rank")
    assert (first.state, first.error) == ("raised", "ZeroDivisionError: division by zero")
    assert (second.state, second.value) == ("finished", 1)


def test_a_rank_that_dies_is_seen(ranks: Ranks) -> None:
    states = [answer.state for answer in ranks.run("import os\nif rank: os._exit(3)")]
    assert states == ["finished", "died"]


def test_a_rank_that_waits_says_in_which_call_of_which_line(ranks: Ranks) -> None:
    example = Example("import torch.distributed as dist\n\ndef wait(rank):\n    if rank:\n        dist.barrier()\n")
    first, second = ranks.run("wait(rank)", example)
    assert (first.state, second.state) == ("finished", "waiting")
    assert second.waits_in("barrier", "example.py", {5})
    assert not second.waits_in("barrier", "example.py", {4})
    assert not second.waits_in("all_reduce", "example.py", {5})


def test_a_rank_that_moves_on_does_not_wait_however_long_it_takes(ranks: Ranks) -> None:
    steps = "\n".join("time.sleep(0.6)" for _ in range(4))
    assert ranks.values(f"import time\n{steps}\nTrue") == [True, True]


@pytest.mark.parametrize("broken", ["1 / 0", "import os; os._exit(1)", "rank or dist.barrier()"])
def test_after_a_broken_job_the_next_one_finds_a_whole_pair(ranks: Ranks, broken: str) -> None:
    ranks.run(broken)
    assert ranks.values("x = torch.ones(1); dist.all_reduce(x); x") == [[2], [2]]


def test_a_module_of_one_job_is_not_that_of_the_next(ranks: Ranks) -> None:
    assert [ranks.values("x", {"job.py": f"x = {number}"})[0] for number in (1, 2)] == [1, 2]


def test_the_examples_that_the_linter_reads_are_those_that_run(ranks: Ranks) -> None:
    example = bad("rank-guarded-collective")
    assert ranks.values("open(total.__code__.co_filename).read()", example) == [example.files["example.py"]] * 2
