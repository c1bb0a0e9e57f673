"""Local names that only some ranks bind."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest

from shardlint.facts.module import Module
from shardlint.facts.rank_bindings import unbound_reads


def unbound(body: str) -> list[str]:
    """The names in a function that are read where some ranks have not bound them."""
    text = "import torch.distributed as dist\ndef f(x):\n    rank = dist.get_rank()\n" + indent(dedent(body), "    ")
    module = Module("pkg/x.py", text, ast.parse(text))
    return [read.name.id for read in unbound_reads(module)]


@pytest.mark.parametrize(
    "body",
    [
        "if rank == 0:\n    a = 1\nprint(a)",
        "if rank == 0:\n    a, b = x\nfor c in x:\n    print(a)",
        "if rank > 0:\n    pass\nelse:\n    a = 1\nreturn a",
    ],
)
def test_a_name_that_one_arm_binds_is_missing_on_the_other_ranks(body: str) -> None:
    assert unbound(body) == ["a"]


@pytest.mark.parametrize(
    "body",
    [
        "a = 0\nif rank == 0:\n    a = 1\nprint(a)",
        "if rank == 0:\n    a = 1\n    print(a)",
        "if rank == 0:\n    a = 1\nelse:\n    a = 2\nprint(a)",
        "if rank == 0:\n    a = 1\nelse:\n    raise ValueError(x)\nprint(a)",
        "if rank == 0:\n    a = 1\nif x:\n    print(a)",
        "if x:\n    a = 1\nprint(a)",
        "if rank == 0:\n    a = 1\ndef g():\n    return a",
    ],
)
def test_a_name_that_every_rank_has_or_that_may_be_guarded_is_not(body: str) -> None:
    assert unbound(body) == []
