"""Whether a rule is proved by a run, and how: what its examples and its `proof` state, checked and put in words.

A proof speaks of the mechanism: that such code does what the rule says. What it states is run by the project's tests.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from shardlint.example import Example
    from shardlint.rule import Rule

_MODULE = re.compile(r"test_\w+")


class Proof(NamedTuple):
    """Whether a run shows the defect of a rule, and how or why not, in one line."""

    proved: bool
    how: str


def proof_of(rule: Rule | type[Rule]) -> Proof:
    """What a rule states of its proof."""
    ways = [_by_examples(rule.bad)] if any(map(_drivers, rule.bad)) else []
    if rule.proof is not None:
        module, shown = rule.proof
        ways.append(f"{shown} ({module}.py)")
    if ways:
        return Proof(True, "; ".join(ways))
    return Proof(False, rule.unproved or "no proof is stated")


def problem(rule: type[Rule]) -> str | None:
    """What is wrong with what a rule states of its proof, in words; None when nothing is."""
    if rule.proof is not None and not _refers(rule.proof):
        return f"{rule.__name__}.proof must be a test module and what it shows, both in one line: `test_name`, `...`"
    proving = [any(map(_drivers, examples)) for examples in (rule.bad, rule.good)]
    if rule.unproved and (rule.proof is not None or any(proving)):
        return f"{rule.__name__}.unproved says why no run shows the defect, but a proof is stated"
    if proving[0] != proving[1]:
        missing = "good example with `runs`" if proving[0] else "bad example with `waits` or `raises`"
        return f"{rule.__name__} has no {missing}: a proof shows both the defect and that healthy code is free of it"
    for side, examples, strange in (("bad", rule.bad, ("runs",)), ("good", rule.good, ("waits", "raises"))):
        for number, example in enumerate(examples):
            where = f"{rule.__name__}.{side}[{number}]"
            for name in strange:
                if getattr(example, name):
                    return f"{where} cannot have `{name}`: it is of the other kind of example"
            wrong = _undrivable(example)
            if wrong:
                return f"{where}: {wrong}"
    return None


def _refers(proof: object) -> bool:
    match proof:
        case (str(module), str(shown)):
            return _MODULE.fullmatch(module) is not None and bool(shown.strip()) and "\n" not in shown
        case _:
            return False


def _drivers(example: Example) -> tuple[str, ...]:
    return (*example.waits, *example.raises, *example.runs)


def _undrivable(example: Example) -> str | None:
    for driver in _drivers(example):
        try:
            ast.parse(driver)
        except SyntaxError as error:
            return f"the driver `{driver.strip()}` is not Python: line {error.lineno}: {error.msg}"
    for pattern in example.raises.values():
        try:
            re.compile(pattern)
        except re.error as error:
            return f"`{pattern}` is no regular expression ({error})"
    return None


def _by_examples(examples: Iterable[Example]) -> str:
    calls = dict.fromkeys(f"`{call}`" for example in examples for call in example.waits.values())
    errors = dict.fromkeys(f"`{error}`" for example in examples for error in example.raises.values())
    seen = [f"waits in {_either(calls)}"] if calls else []
    seen += [f"raises {_either(errors)}"] if errors else []
    return f"two gloo processes run the examples: in the bad ones a rank {' or '.join(seen)}, the good ones finish"


def _either(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
