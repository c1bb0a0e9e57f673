"""Conditions that every rank of a job answers alike."""

from __future__ import annotations

import pytest

from shardlint.facts.job_tests import in_a_job


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("dist.is_initialized()", True),
        ("torch.distributed.is_initialized()", True),
        ("not dist.is_initialized()", False),
        ("dist.is_available()", True),
        ("torch.cuda.is_available()", None),
        ("world_size > 1", True),
        ("self.world_size == 1", False),
        ("dist.get_world_size() >= 2", True),
        ("dist.get_world_size() == 2", None),
        ("dist.get_world_size(group) > 1", None),
        ("accelerator.num_processes > 1", True),
        ("batch_size == 1", None),
        ("args.local_rank == -1", False),
        ("args.local_rank != -1", True),
        ("rank is None", False),
        ("rank is not None", True),
        ("rank >= 0", True),
        ("rank == 0", None),
        ("args.distributed", True),
        ("is_distributed()", True),
        ("self.is_distinct", None),
        ("step % 10 == 0", None),
    ],
)
def test_answer_of_a_condition_in_a_job(text: str, answer: bool | None) -> None:
    assert in_a_job(text) is answer
