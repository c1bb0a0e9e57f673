"""Where values come from, over several files: what is found, and what must not be told."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.module import Module
from shardlint.facts.origins import origins
from shardlint.facts.project_words import ProjectWords
from shardlint.facts.site import Expression
from shardlint.finding import Evidence
from shardlint.voice import Voice

VOICE = Voice("rule", "family", "warning", Evidence("observation"), 0.9)


def names(source: str, **others: str) -> list[str]:
    """The names of all origins of the argument of `here(...)` in `main.py`, "" for an unknown one."""
    files = {"main.py": dedent(source), **{f"{stem}.py": dedent(text) for stem, text in others.items()}}
    words = ProjectWords(files, lambda path: files[path].encode())
    module = Module("main.py", files["main.py"], ast.parse(files["main.py"]), dotted="main", project=lambda: words)
    found = origins(Expression(module, module.calls["here"][0].args[0], VOICE))
    return [one.name.rpartition(".")[2] for one in found]


KNOWN = {
    "a table": ("table = {'a': one}\nhere(table['a'])", ["one"]),
    "an attribute": ("class A:\n    def __init__(self): self.c = one\n    def go(self): here(self.c)", ["one"]),
    "every call": ("def go(c): here(c)\ngo(one)\ngo(two)", ["one", "two"]),
    "a field behind a class variable": (
        """
        from dataclasses import dataclass
        from typing import ClassVar
        @dataclass
        class A:
            count: ClassVar[int] = 1
            first: object
            second: object
            def go(self): here(self.first)
        A(two, one)
        """,
        ["two"],
    ),
}
UNTOLD = {
    "a table that is added to": "table = {'a': one}\ntable['a'] = two\nhere(table['a'])",
    "a table that is updated": "table = {'a': one}\ntable.update(a=two)\nhere(table.get('a'))",
    "a table that is joined with another": "table = {'a': one}\ntable |= more\nhere(table['a'])",
    "a table of a function that is added to": "def make(): return {'a': one}\nt = make()\nt['a'] = two\nhere(t['a'])",
    "a table that a function adds to": "def f():\n    t = {'a': one}\n    t['a'] = two\n    return t\nhere(f()['a'])",
    "an attribute that is set from outside": """
        class A:
            def __init__(self): self.c = one
            def go(self): here(self.c)
        a = A()
        a.c = two
        """,
    "an attribute that a class which extends it sets": """
        class A:
            def __init__(self): self.c = one
            def go(self): here(self.c)
        class B(A):
            def __init__(self): self.c = two
        """,
    "a parameter of a class that others extend": """
        class A:
            def __init__(self, c): self.c = c
            def go(self): here(self.c)
        class B(A): pass
        A(one)
        B(two)
        """,
    "a method called by the name of its class": "class A:\n    def make(self, c): return c\nhere(A.make(one, two))",
    "a function under an annotated name": "def go(c): here(c)\nother: Callable = go\ngo(one)\nother(two)",
}
DEFINED = "def one(): ...\ndef two(): ...\n"


@pytest.mark.parametrize(("source", "expected"), KNOWN.values(), ids=KNOWN.keys())
def test_a_value_is_followed(source: str, expected: list[str]) -> None:
    assert names(DEFINED + dedent(source)) == expected


@pytest.mark.parametrize("source", UNTOLD.values(), ids=UNTOLD.keys())
def test_a_value_that_may_be_another_is_not_told(source: str) -> None:
    assert names(DEFINED + dedent(source)) == [""]


def test_a_call_under_a_name_that_a_function_imports_counts() -> None:
    other = "def run():\n    from main import go as start, two\n    start(two)\n"
    assert sorted(names(f"{DEFINED}def go(c): here(c)\ngo(one)", other=other)) == ["one", "two"]


def test_an_attribute_that_a_class_of_another_file_sets_is_not_told() -> None:
    source = "class A:\n    def __init__(self): self.c = one\n    def go(self): here(self.c)\n"
    other = "from main import A\nclass B(A):\n    def __init__(self): self.c = two\n"
    assert names(DEFINED + source, other=other) == [""]


def test_a_ring_of_star_imports_ends() -> None:
    stems = [f"m{number}" for number in range(16)]
    ring = "".join(f"from {stem} import *\n" for stem in stems)
    assert names("import m0\nhere(m0.nothing())", **dict.fromkeys(stems, ring)) == ["nothing"]


def test_a_name_is_found_through_star_imports() -> None:
    files = {"m0": "from m1 import *\n", "m1": "from m0 import *\nfrom m2 import *\n", "m2": "def make(): return 1\n"}
    assert names("import m0\nhere(m0.make)", **files) == ["make"]
