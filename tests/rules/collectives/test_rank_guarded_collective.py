"""More cases of rank-guarded-collective."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example

SINGLE = """
import torch.distributed as dist

def single(x, local_rank):
    if local_rank != -1:
        dist.all_reduce(x)
"""
MAIN = """
import os
import torch.distributed as dist

MAIN = int(os.environ["RANK"]) == 0

def evaluate(model, loader):
    for batch in loader:
        if MAIN and batch is not None:
            dist.barrier()  # error
        model(batch)
"""


@pytest.mark.parametrize("source", [SINGLE, MAIN], ids=["not-started-by-a-launcher", "flag-of-the-module"])
def test_marked_lines_are_reported(problems: Callable[[str, Example], list[str]], source: str) -> None:
    assert problems("rank-guarded-collective", Example(source)) == []
