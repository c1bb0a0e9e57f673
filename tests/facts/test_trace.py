"""What the trace of a function holds: calls in the order in which they run, conditions taken apart, exits."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from shardlint.facts.module import Module
from shardlint.facts.trace import OPAQUE, Step, Trace, trace
from shardlint.parsing import parse

ASKED = frozenset(("barrier", "all_reduce", "save_checkpoint"))


def traced(source: str, name: str = "f") -> Trace:
    """The trace of a function."""
    text = "import torch.distributed as dist\n" + dedent(source)
    tree = parse(text)
    assert not isinstance(tree, SyntaxError)
    module = Module("main.py", text, tree)
    (function,) = [function for function in module.functions if module.qualified(function) == name]
    return trace(module, function, ASKED)


def shape(steps: Trace) -> list[Any]:
    """The steps without places: texts of calls, `?` for unknown ones, nested lists for blocks."""

    def one(step: Step) -> Any:
        if step[0] == "call":
            return step[4]
        if step[0] == "unknown":
            return "?"
        if step[0] == "exit":
            return step[1]
        if step[0] == "loop":
            return ["loop", *shape(step[2])]
        test = step[2] if isinstance(step[2], str) else f"rank: {step[2][2]}"
        return ["if", test, shape(step[3]), shape(step[4])]

    return [one(step) for step in steps]


def test_arguments_run_before_the_call() -> None:
    assert shape(traced("def f(x):\n    dist.barrier(dist.all_reduce(x))\n")) == ["dist.all_reduce", "dist.barrier"]


def test_condition_is_taken_apart() -> None:
    source = "def f(a, b):\n    if a and not (b or dist.get_rank() == 0):\n        dist.barrier()\n"
    inner = ["if", "rank: dist.get_rank() == 0", [], ["dist.barrier"]]
    assert shape(traced(source)) == [["if", "a", [["if", "b", [], [inner]]], []]]


def test_assertion_on_the_rank_is_an_exit_of_the_others() -> None:
    source = "def f(a):\n    assert a and dist.get_rank() == 0, str(a)\n    dist.barrier()\n"
    inner = ["if", "rank: dist.get_rank() == 0", [], ["raise"]]
    assert shape(traced(source)) == [["if", "a", [inner], ["raise"]], "dist.barrier"]


def test_other_assertion_is_no_condition() -> None:
    assert shape(traced("def f(a):\n    assert a > 0\n    dist.barrier()\n")) == ["dist.barrier"]


def test_conditional_expression_is_a_condition() -> None:
    found = shape(traced("def f(a):\n    return dist.barrier() if a else None\n"))
    assert found == [["if", "a", ["dist.barrier"], []], "return"]


def test_finally_comes_before_every_exit() -> None:
    source = """
        def f(a):
            try:
                if a:
                    return 1
                for i in a:
                    break
            finally:
                dist.barrier()
    """
    assert shape(traced(source)) == [
        ["if", "a", ["dist.barrier", "return"], []],
        ["loop", "break"],
        "dist.barrier",
    ]


def test_handler_may_run_or_not() -> None:
    source = "def f():\n    try:\n        dist.barrier()\n    except OSError:\n        dist.all_reduce(1)\n"
    assert shape(traced(source)) == ["dist.barrier", ["if", "", ["dist.all_reduce"], []]]


def test_match_on_the_rank_is_a_chain_of_rank_tests() -> None:
    source = """
        def f():
            match dist.get_rank():
                case 0:
                    dist.barrier()
                case _:
                    dist.all_reduce(1)
    """
    assert shape(traced(source)) == [["if", "rank: dist.get_rank() == 0", ["dist.barrier"], ["dist.all_reduce"]]]


def test_definitions_inside_do_not_run() -> None:
    assert shape(traced("def f():\n    g = lambda: dist.barrier()\n    def h():\n        dist.barrier()\n")) == []


def test_body_that_does_nothing_is_to_be_overridden() -> None:
    for body in ("pass", "...", "'''Save.'''", "raise NotImplementedError('no')"):
        assert shape(traced(f"def f():\n    {body}\n")) == ["?"]


def test_call_of_a_parameter_is_unknown() -> None:
    assert shape(traced("def f(a):\n    a()\n    a.items()\n    print(a)\n")) == ["?"]


def test_method_of_the_object_itself_is_kept_whatever_its_name() -> None:
    source = "class C:\n    def f(self):\n        self.update()\n        self.log.update()\n"
    assert shape(traced(source, "C.f")) == ["self.update"]


def test_alias_of_a_collective_keeps_its_arguments() -> None:
    source = "from torch.distributed import all_reduce as total\ndef f(x, g):\n    total(x, group=g)\n"
    (step,) = traced(source)
    assert [place for place, *_ in step[5]] == [0, "group"]


def test_arguments_that_are_not_seen_are_marked() -> None:
    for call in ("dist.barrier(*a)", "dist.barrier(**a)"):
        (step,) = traced(f"def f(a):\n    {call}\n")
        assert [place for place, *_ in step[5]] == [OPAQUE]


def test_one_of_several_results_is_known_by_its_factory() -> None:
    source = """
        import deepspeed

        def f(model):
            engine, _, _ = deepspeed.initialize(model=model)
            engine.save_checkpoint("x")
            deepspeed.initialize(model=model)[0].save_checkpoint("x")
    """
    names = [step[1] for step in traced(source) if step[0] == "call" and step[4].endswith("save_checkpoint")]
    assert names == [("deepspeed.initialize.save_checkpoint",)] * 2


def test_end_of_the_process_is_an_exit() -> None:
    assert shape(traced("import sys\ndef f():\n    sys.exit(1)\n"))[-1] == "raise"


def test_loop_up_to_the_rank_is_a_rank_test_and_a_sharded_one_is_not() -> None:
    assert shape(traced("def f():\n    for i in range(dist.get_rank()):\n        dist.barrier()\n")) == [
        ["if", "rank: dist.get_rank()", [["loop", "dist.barrier"]], []]
    ]
    assert shape(traced("def f(n):\n    for i in range(dist.get_rank(), n, 8):\n        dist.barrier()\n")) == [
        ["loop", "dist.barrier"]
    ]
