"""The names that hold the result of a call."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.matching import matches
from shardlint.facts.module import Module
from shardlint.facts.site import Site
from shardlint.finding import Evidence
from shardlint.query import Call
from shardlint.voice import Voice

VOICE = Voice("some-rule", "some", "error", Evidence("research", ("https://example.org",)), 0.85)
CASES = {
    "a = open(p)": ["a"],
    "def f(p):\n    return open(p)\nb = f(1)": ["b"],
    "def f(p):\n    a = open(p)\n    return 1, a\nb, c = f(1)": ["a", "c"],
    "def f(p):\n    a = open(p)\n    return 1, a\nb = f(1)": ["a"],
    "def f(p):\n    a = open(p)\n    return a.name\nb = f(1)": ["a"],
    "print(open(p))": [],
    "return_ = [open(p)]": [],
}


@pytest.mark.parametrize(("source", "names"), CASES.items())
def test_a_result_is_followed_through_one_return(source: str, names: list[str]) -> None:
    text = dedent(source)
    module = Module("pkg/x.py", text, ast.parse(text))
    (hit,) = matches(module, Call("builtins.open"))
    assert [held.text for held in Site(module, hit, VOICE).holders] == names
