"""Rules whose own examples are the proof: two ranks run them as `waits`, `raises` and `runs` of the example say."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from shardlint.example import Example

from .conftest import rules
from .ranks import Ranks


def stated(kind: str) -> list[object]:
    """What the examples say of one kind, named after the rule and the place in it."""
    return [
        pytest.param(example, *given, id=f"{name}-{side}-{number}-{place}", marks=pytest.mark.proves(name))
        for name, rule in rules().items()
        for side, examples in (("bad", rule.bad), ("good", rule.good))
        for number, example in enumerate(examples)
        for place, given in enumerate(drivers(example, kind))
    ]


def drivers(example: Example, kind: str) -> Iterable[tuple[str, ...]]:
    """The drivers of one kind, each with what is to be seen."""
    if kind == "runs":
        return [(driver,) for driver in example.runs]
    return (example.waits if kind == "waits" else example.raises).items()


@pytest.mark.parametrize(("example", "driver", "call"), stated("waits"))
def test_a_rank_waits_in_the_call_of_a_marked_line(example: Example, driver: str, call: str, ranks: Ranks) -> None:
    answers, path = ranks.run(driver, example), example.main
    lines = {line for marked, line in example.marked if marked == path}
    assert {answer.state for answer in answers} <= {"waiting", "finished"}
    assert any(answer.waits_in(call, path, lines) for answer in answers), answers


@pytest.mark.parametrize(("example", "driver", "error"), stated("raises"))
def test_a_rank_raises(example: Example, driver: str, error: str, ranks: Ranks) -> None:
    answers = ranks.run(driver, example)
    assert any(re.search(error, answer.error) for answer in answers if answer.state == "raised"), answers


@pytest.mark.parametrize(("example", "driver"), stated("runs"))
def test_all_ranks_finish(example: Example, driver: str, ranks: Ranks) -> None:
    answers = ranks.run(driver, example)
    assert [answer.state for answer in answers] == ["finished"] * len(answers), answers
