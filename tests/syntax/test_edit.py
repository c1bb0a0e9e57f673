"""Edits: arguments set, expressions replaced, statements inserted."""

from __future__ import annotations

import ast

import pytest

from shardlint.facts.matching import matches
from shardlint.facts.module import Module
from shardlint.facts.site import Site
from shardlint.finding import Evidence
from shardlint.fixes import apply_edits
from shardlint.query import Call
from shardlint.syntax.edit import Edit
from shardlint.voice import Voice

VOICE = Voice("some-rule", "some", "error", Evidence("research", ("https://example.org",)), 0.85)


def site(text: str) -> Site:
    """The only call of `print` in a file."""
    module = Module("x.py", text, ast.parse(text))
    (hit,) = matches(module, Call("builtins.print"))
    return Site(module, hit, VOICE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("print()", "print(k=1)"),
        ("print(a)", "print(a, k=1)"),
        ("print(a, k=2)", "print(a, k=1)"),
        ("print(a, k = (2), b=3)", "print(a, k = (1), b=3)"),
        ("print(a,)", "print(a, k=1,)"),
        ("print(*a, **b)", "print(*a, **b, k=1)"),
        ("print(x for x in y)", "print((x for x in y), k=1)"),
        ("print(\n    a,\n    b,  # why\n)", "print(\n    a,\n    b,  # why\n    k=1,\n)"),
        ("print(\n    a,\n)", "print(\n    a,\n    k=1,\n)"),
        ("print(\n    a, b\n)", "print(\n    a, b, k=1\n)"),
        ("x = 'é模' + print(a)", "x = 'é模' + print(a, k=1)"),
        ("if c: print(a); y()", "if c: print(a, k=1); y()"),
        ("x = [\n  print(\n    a),\n]", "x = [\n  print(\n    a, k=1),\n]"),
        ("async def f():\n    await print(a)", "async def f():\n    await print(a, k=1)"),
    ],
)
def test_set_argument(before: str, after: str) -> None:
    edit = Edit()
    edit.set_argument(site(before), "k", "1")
    assert apply_edits(before, edit.edits) == after


def test_nothing_is_changed_inside_of_an_f_string() -> None:
    edit = Edit()
    edit.set_argument(site("x = f'{print(a)}'"), "k", "1")
    assert edit.edits == []


def test_replace_an_expression() -> None:
    text = "print('é', (b))\n"
    edit = Edit()
    edit.replace(site(text).positional[1], "c")
    assert apply_edits(text, edit.edits) == "print('é', (c))\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("print(a)\n", "new()\nprint(a)\n"),
        ("def f():\n    x\n    y = print(a)\n", "def f():\n    x\n    new()\n    y = print(a)\n"),
        ("def f():\n\tprint(a)\n", "def f():\n\tnew()\n\tprint(a)\n"),
        ("x = 'é'; print(a)\n", "x = 'é'; new(); print(a)\n"),
        ("if c: print(a)\n", "if c: new(); print(a)\n"),
        ("@d\ndef f(x=print(a)): ...\n", "new()\n@d\ndef f(x=print(a)): ...\n"),
        ("if c:\n    x\nelif print(a):\n    y\n", "if c:\n    x\nelif print(a):\n    y\n"),
    ],
)
def test_insert_before_a_statement(before: str, after: str) -> None:
    found = site(before)
    edit = Edit()
    edit.insert_before(found.statement, "new()", found)
    assert apply_edits(before, edit.edits) == after
