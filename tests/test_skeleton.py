"""Files without the bodies of functions that nobody asks about: what stays, where it stays, and when all of it does."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.parsing import parse
from shardlint.skeleton import skeleton, sparse


def none(_: str, __: str) -> bool:
    return False


def left(text: str, name: str = "") -> list[int]:
    """The lines of the functions whose bodies go when only `name` is asked about."""
    return skeleton(dedent(text), lambda called, _: called == name)[1]


PLAIN = '''\
import os

LIMIT = 3

def first(a: "list[int]", b=")") -> dict[str, int]:
    """Doc."""
    x = a + b

    return {"x": x}

class Box:
    size = 4

    def __init__(self, size):
        self.size = size

    @property
    async def half(
        self,
        by: int = 2,  # a comment )
    ):
        def inner():
            return by
        return self.size / inner()

    def one(self): return 1

def last():
    return LIMIT
'''


def test_bodies_go_and_every_line_stays_where_it_is() -> None:
    kept, gone = skeleton(PLAIN, none)
    assert gone == [5, 18, 28]
    assert kept.count("\n") == PLAIN.count("\n")
    found = {node.name: node.lineno for node in ast.walk(ast.parse(kept)) if isinstance(node, ast.FunctionDef)}
    assert found == {"first": 5, "__init__": 14, "one": 26, "last": 28}


def test_function_that_is_asked_about_stays_with_what_it_defines() -> None:
    assert left(PLAIN, "half") == [5, 28]
    known = sparse(PLAIN, lambda called, _: called == "half")
    assert known is not None
    tree, gone = known
    assert gone == {5, 28}
    whole = parse(PLAIN)
    assert isinstance(whole, ast.Module)
    assert ast.dump(tree.body[3], include_attributes=True) == ast.dump(whole.body[3], include_attributes=True)


def test_text_of_a_function_comes_with_its_decorators() -> None:
    text = "@on_main_process\n@f(\n    1\n)\ndef f():\n    pass\n"
    assert skeleton(text, lambda _, seen: "on_main_process" in seen) == (text, [])


@pytest.mark.parametrize(
    "statement",
    [
        "self.a = 1",
        "self.a: int = 1",
        "self.a, b = f()",
        "b, self.a = f()",
        "b, self.a, c = f()",
        "(self.a, b) = f()",
        "b = self.a = f()",
        "if b: self.a = 1",
        "(\n        self.a,\n        b,\n    ) = f()",
        "global LIMIT; LIMIT = 1",
    ],
)
def test_body_that_gives_what_others_see_stays(statement: str) -> None:
    assert left(f"def f(self):\n    {statement}\n") == []


@pytest.mark.parametrize(
    "statement", ["self.a(b=1)", "if self.a == b: pass", "f(self.a, b=1)", "self.a += 1", "a[self.b] = 1"]
)
def test_body_that_only_reads_goes(statement: str) -> None:
    assert left(f"def f(self):\n    {statement}\n") == [1]


@pytest.mark.parametrize(
    "text",
    [
        'def f():\n    x = """\nnot indented\n"""\n    return x\n',
        "def f():\n    x = '''\ndef g():\n    pass\n'''\n    return x\n",
        "def f(a): return a\n",
    ],
)
def test_where_the_end_of_a_body_is_not_plain_it_stays(text: str) -> None:
    assert skeleton(text, none) == (text, [])
    assert sparse(text, none) is None


def test_what_does_not_parse_without_a_body_is_parsed_whole() -> None:
    text = "def f():\n    x = g(\n1,\n)\n    return x\n"
    assert isinstance(parse(text), ast.Module)
    assert sparse(text, none) is None


def test_line_ends_that_are_not_plain_are_left_alone() -> None:
    assert sparse("def f():\r\n    return 1\r\n", none) is None
