"""Which groups have every process of the job."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.job_groups import whole_job
from shardlint.facts.module import Module


def answer(source: str) -> bool:
    """What is said of the one argument of `HERE`."""
    text = "import torch.distributed as dist\n" + dedent(source)
    tree = ast.parse(text)
    module = Module("a.py", text, tree)
    return whole_job(module, module.calls["HERE"][0].args[0])


@pytest.mark.parametrize(
    "source",
    [
        "group = dist.new_group()\nHERE(group)",
        "def f():\n    cpu = dist.new_group(backend='gloo')\n    HERE(cpu)",
        "def f(x, group=None):\n    HERE(group)",
        "def f(x, *, group: object | None = None):\n    HERE(group)",
        """
        class Saver:
            pg = None

            def __init__(self):
                if self.asynchronous:
                    self.pg = dist.new_group(backend="gloo")

            def save(self):
                HERE(self.pg)
        """,
    ],
)
def test_a_group_of_all_ranks(source: str) -> None:
    assert answer(source)


@pytest.mark.parametrize(
    "source",
    [
        "group = dist.new_group([0, 1])\nHERE(group)",
        "group = dist.new_group(ranks=mine)\nHERE(group)",
        "group = dist.new_group(**options)\nHERE(group)",
        "group = other.new_group()\nHERE(group)",
        "group = dist.new_group()\nif small:\n    group = dist.new_group([0])\nHERE(group)",
        "def f(group):\n    HERE(group)",
        "def f(group=default_group):\n    HERE(group)",
        "HERE(group)",
        "HERE(mesh.group)",
        "HERE(groups['cpu'])",
        """
        class Saver:
            def __init__(self, pg):
                self.pg = pg or dist.new_group()

            def save(self):
                HERE(self.pg)
        """,
        "class Saver:\n    pg = None\n\n    def save(self):\n        HERE(self.pg)\n",
    ],
)
def test_a_group_that_may_leave_ranks_out(source: str) -> None:
    assert not answer(source)
