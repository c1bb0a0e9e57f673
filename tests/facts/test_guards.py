"""Guards: what must hold for a place in a function to run."""

from __future__ import annotations

import ast
from textwrap import dedent

from shardlint.facts.guards import guards
from shardlint.facts.module import Module


def of(source: str) -> list[str]:
    """The guards of the call `here()` in words, outermost first."""
    text = dedent(source)
    module = Module("example.py", text, ast.parse(text))
    call = module.calls["here"][0]
    return [
        f"{guard.kind} {'' if guard.holds else 'not '}{module.source(guard.test) if guard.test else ''}".strip()
        for guard in guards(module, call)
    ]


def test_branches_count_with_the_side_they_are_on() -> None:
    assert of("if a:\n    if b:\n        pass\n    else:\n        here()") == ["if a", "if not b"]


def test_a_condition_does_not_guard_itself() -> None:
    assert of("if here():\n    pass") == []
    assert of("x = 1 if here() else 2") == []


def test_an_early_exit_guards_what_follows() -> None:
    source = """
        def f():
            if a:
                return
            for x in y:
                if b:
                    continue
                here()
    """
    assert of(source) == ["exit not a", "for y", "exit not b"]


def test_an_exit_in_the_else_arm_needs_the_test() -> None:
    assert of("def f():\n    if a:\n        pass\n    else:\n        raise E\n    here()") == ["exit a"]


def test_a_branch_that_may_fall_through_is_no_exit() -> None:
    assert of("def f():\n    if a:\n        if b:\n            return\n    here()") == []


def test_short_circuits_guard_their_right_side() -> None:
    assert of("a and b and here()") == ["and a", "and b"]
    assert of("a or here()") == ["or not a"]


def test_a_nested_function_starts_anew() -> None:
    assert of("if a:\n    def f():\n        here()") == []


def test_comprehensions_with_handlers_and_cases() -> None:
    assert of("[here() for x in y if a]") == ["comprehension a"]
    assert of("with lock:\n    here()") == ["with lock"]
    assert of("try:\n    pass\nexcept E:\n    here()") == ["except E"]
    assert of("match v:\n    case 1 if a:\n        here()") == ["match a"]


def test_a_guard_of_another_block_is_none() -> None:
    assert of("while a:\n    pass\nelse:\n    here()") == []
    assert of("if a:\n    return_later()\nhere()") == []
