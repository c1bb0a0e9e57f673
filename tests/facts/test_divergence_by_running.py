"""Random small functions, run for each rank: what is told must be a place where two ranks do not meet."""

from __future__ import annotations

from itertools import product

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from shardlint.facts.divergence import splits
from shardlint.facts.effects import Effects
from shardlint.facts.module import Module
from shardlint.facts.program import Program
from shardlint.parsing import parse

EFFECTS = Effects({"torch.distributed.barrier": {}, "torch.distributed.all_reduce": {}})
HEAD = "import torch.distributed as dist\nrank = dist.get_rank()\n"

simple = st.sampled_from(["dist.barrier()", "dist.all_reduce()", "pass", "return", "print(())"])
condition = st.sampled_from(["rank == 0", "rank != 0", "a", "b", "a and rank == 0", "a or rank != 0", "not (a and b)"])


def branch(blocks: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    """`if` with or without `else`."""

    def make(test: str, then: list[str], other: list[str] | None) -> list[str]:
        lines = [f"if {test}:", *("    " + line for line in then)]
        return lines if other is None else [*lines, "else:", *("    " + line for line in other)]

    return st.builds(make, condition, blocks, st.none() | blocks)


def block(parts: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    """One to three statements."""
    return st.lists(parts, min_size=1, max_size=3).map(lambda found: [line for part in found for line in part])


statement = st.recursive(simple.map(lambda line: [line]), lambda parts: branch(block(parts)), max_leaves=8)


class _Job:
    """Stands for torch.distributed on one rank."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def barrier(self) -> None:
        self.calls.append("barrier")

    def all_reduce(self) -> None:
        self.calls.append("all_reduce")


def issued(lines: list[str], rank: int, a: bool, b: bool) -> list[str]:
    """What one rank calls when it runs the function."""
    job = _Job()
    scope: dict[str, object] = {"dist": job, "rank": rank, "print": len}
    exec("def f(a, b):\n" + "\n".join("    " + line for line in lines), scope)
    function = scope["f"]
    assert callable(function)
    function(a, b)
    return job.calls


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(block(statement))
@example(
    [
        "if not (a and b):",
        "    dist.barrier()",
        "else:",
        "    return",
        "if b:",
        "    if a and rank == 0:",
        "        dist.barrier()",
    ]
)
def test_told_means_that_two_ranks_do_not_meet(lines: list[str]) -> None:
    text = HEAD + "def f(a, b):\n" + "\n".join("    " + line for line in lines) + "\n"
    tree = parse(text)
    assert not isinstance(tree, SyntaxError)
    program = Program(["main.py"], lambda path, _: Module(path, text, tree), lambda _: text.encode(), EFFECTS.words)
    told = splits(program, "main.py", "f", EFFECTS)
    cases = product((False, True), repeat=2)
    differ = any(issued(lines, 0, a, b) != issued(lines, 1, a, b) for a, b in cases)
    assert bool(told) <= differ
