"""Which conditions differ between ranks."""

from __future__ import annotations

import ast

import pytest

from shardlint.facts.module import Module
from shardlint.facts.rank_tests import RankTest, decorator_test, rank_test
from shardlint.parsing import parse

HEAD = """
import os
import torch.distributed as dist
from torch.distributed import get_rank as number
rank = dist.get_rank()
local_rank = int(os.environ["LOCAL_RANK"])
"""


def asked(condition: str, before: str = "") -> RankTest | None:
    """The rank test that a condition is, at the end of a file."""
    text = f"{HEAD}{before}\nif {condition}:\n    pass\n"
    tree = parse(text)
    assert not isinstance(tree, SyntaxError)
    branch = tree.body[-1]
    assert isinstance(branch, ast.If)
    return rank_test(Module("main.py", text, tree), branch.test)


@pytest.mark.parametrize(
    ("condition", "key", "positive"),
    [
        ("rank == 0", "global rank == 0", True),
        ("rank != 0", "global rank == 0", False),
        ("0 == rank", "global rank == 0", True),
        ("not rank == 0", "global rank == 0", False),
        ("rank", "global rank == 0", False),
        ("not rank", "global rank == 0", True),
        ("rank > 0", "global rank == 0", False),
        ("rank >= 1", "global rank == 0", False),
        ("rank < 1", "global rank == 0", True),
        ("rank <= 0", "global rank == 0", True),
        ("0 < rank", "global rank == 0", False),
        ("1 > rank", "global rank == 0", True),
        ("rank < 2", "global rank >= 2", False),
        ("rank > 1", "global rank >= 2", True),
        ("rank in [-1, 0]", "global rank == 0", True),
        ("rank not in (-1, 0)", "global rank == 0", False),
        ("rank in members", "global rank in members", True),
        ("rank == world - 1", "global rank == world - 1", True),
        ("local_rank == 0", "local rank == 0", True),
        ("number() == 0", "global rank == 0", True),
        ("os.environ['RANK'] == '0'", "global rank == 0", True),
        ("int(os.getenv('SLURM_PROCID', '0')) == 0", "global rank == 0", True),
        ("bool(rank)", "global rank == 0", False),
        ("accelerator.is_main_process", "global rank == 0", True),
        ("accelerator.is_local_main_process", "local rank == 0", True),
        ("accelerator.is_last_process", "is_last_process is true", True),
        ("trainer.is_global_zero", "global rank == 0", True),
        ("dist.get_rank(group) == 0", "rank in group == 0", True),
        ("mesh['tp'].get_local_rank() == 0", "mesh['tp'].get_local_rank() == 0", True),
        ("mpu.get_tensor_model_parallel_rank() == 0", "mpu.get_tensor_model_parallel_rank() == 0", True),
        ("not dist.is_initialized() or rank == 0", "global rank == 0", True),
        ("rank == 0 if dist.is_initialized() else True", "global rank == 0", True),
    ],
)
def test_condition_is_a_test_of_the_rank(condition: str, key: str, positive: bool) -> None:
    found = asked(condition)
    assert found is not None
    assert (found.key, found.positive) == (key, positive)


@pytest.mark.parametrize(
    "condition",
    [
        "rank == -1",
        "rank != -1",
        "local_rank > -1",
        "rank >= 0",
        "rank < 0",
        "rank is None",
        "rank is not None",
        "rank in [-1]",
        "config.rank == 0",
        "lora.rank > 0",
        "get_lora_rank() == 0",
        "torch.linalg.matrix_rank(x) == 0",
        "world_size > 1",
        "dist.is_initialized()",
        "x.shape == 0",
    ],
)
def test_condition_with_one_answer_for_all_is_no_test(condition: str) -> None:
    assert asked(condition) is None


def test_turn_of_a_loop_is_no_test() -> None:
    text = f"{HEAD}for turn in range(8):\n    if turn == rank:\n        pass\n"
    tree = parse(text)
    assert not isinstance(tree, SyntaxError)
    module = Module("main.py", text, tree)
    (branch,) = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
    assert rank_test(module, branch.test) is None


def test_mesh_axis_is_the_rank_of_a_group() -> None:
    found = asked("mesh['tp'].get_local_rank() == 0")
    assert found is not None
    assert (found.kind, found.group) == ("group", "mesh['tp']")


def test_remainder_picks_several_ranks() -> None:
    found = asked("rank % 8 == 0")
    assert found is not None
    assert found.kind == "member"


def test_flag_follows_its_assignment_whatever_its_name() -> None:
    found = asked("chief", "chief = rank == 0")
    assert found is not None
    assert (found.key, found.text) == ("global rank == 0", "chief")


def test_flag_that_may_be_something_else_is_no_test() -> None:
    assert asked("chief", "chief = rank == 0\nif rank:\n    chief = load()") is None


def test_parameter_is_believed_by_name_only() -> None:
    text = "def f(rank):\n    if rank == 0:\n        pass\n"
    tree = parse(text)
    assert not isinstance(tree, SyntaxError)
    (branch,) = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
    found = rank_test(Module("main.py", text, tree), branch.test)
    assert found is not None
    assert found.certainty == 0.6


@pytest.mark.parametrize(
    ("mark", "key"),
    [
        ("rank_zero_only", "global rank == 0"),
        ("accelerator.on_main_process", "global rank == 0"),
        ("accelerator.on_local_main_process", "local rank == 0"),
        ("master_only", "global rank == 0"),
        ("torch.no_grad()", None),
    ],
)
def test_decorator_keeps_ranks_out(mark: str, key: str | None) -> None:
    text = f"@{mark}\ndef f():\n    pass\n"
    tree = parse(text)
    assert not isinstance(tree, SyntaxError)
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    found = decorator_test(Module("main.py", text, tree), function.decorator_list[0])
    assert (found.key if found else None) == key
