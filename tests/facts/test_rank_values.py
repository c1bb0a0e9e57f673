"""Which expressions hold the number of a process, and which only look like it."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.module import Module
from shardlint.facts.rank_values import RankValue, is_rank_name, rank_value
from shardlint.parsing import parse


def value(expression: str, before: str = "") -> RankValue | None:
    """The process number that an expression holds at the end of a file."""
    text = f"import os\nimport torch.distributed as dist\n{dedent(before)}\nresult = {expression}\n"
    tree = parse(text)
    assert not isinstance(tree, SyntaxError)
    last = tree.body[-1]
    assert isinstance(last, ast.Assign)
    return rank_value(Module("main.py", text, tree), last.value)


@pytest.mark.parametrize(
    ("expression", "before", "kind"),
    [
        ("dist.get_rank()", "", "global"),
        ("os.environ['RANK']", "", "global"),
        ("int(os.environ.get('LOCAL_RANK', 0))", "", "local"),
        ("int(os.getenv('NODE_RANK'))", "", "node"),
        ("r", "r = dist.get_rank() if dist.is_initialized() else 0", "global"),
        ("r", "r = 0\nif x:\n    r = dist.get_rank()", "global"),
        ("(r := dist.get_rank())", "", "global"),
        ("mine()", "def mine():\n    if not x:\n        return 0\n    return dist.get_rank()", "global"),
        ("dist.get_rank(group)", "", "group"),
        ("mesh.get_local_rank()", "", "group"),
        ("mesh['dp'].get_local_rank('dp')", "", "group"),
        ("mesh.get_rank()", "", "global"),
        ("utils.get_local_rank()", "", "local"),
        ("mpu.get_tensor_model_parallel_rank()", "", "group"),
        ("dist.get_rank() // 8", "", "member"),
        ("args.local_rank", "", "local"),
        ("config.local_rank", "", "local"),
        ("trainer.rank", "", "global"),
    ],
)
def test_expression_holds_a_rank(expression: str, before: str, kind: str) -> None:
    found = value(expression, before)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize(
    ("expression", "before"),
    [
        ("lora.rank", ""),
        ("self.config.rank", ""),
        ("module.rank", ""),
        ("get_lora_rank()", ""),
        ("os.environ['WORLD_SIZE']", ""),
        ("r", "r = dist.get_rank()\nif x:\n    r = load()"),
        ("r", "for r in range(8):\n    pass"),
        ("dist.get_world_size()", ""),
    ],
)
def test_expression_is_no_rank(expression: str, before: str) -> None:
    assert value(expression, before) is None


def test_attribute_of_the_class_is_followed() -> None:
    text = dedent("""
        import torch.distributed as dist

        class T:
            def __init__(self):
                self.me = dist.get_rank()

            def f(self):
                return self.me
    """)
    tree = parse(text)
    assert not isinstance(tree, SyntaxError)
    (returned,) = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    assert returned is not None
    found = rank_value(Module("main.py", text, tree), returned)
    assert found is not None
    assert found.kind == "global"


@pytest.mark.parametrize(
    ("word", "answer"),
    [("rank", True), ("get_data_parallel_rank", True), ("LOCAL_RANK", True), ("get_ordinal", True), ("ranking", False)],
)
def test_identifier_can_name_a_rank(word: str, answer: bool) -> None:
    assert is_rank_name(word) is answer
