"""What a fix writes: it parses, it is made once, brackets are where they must be, and no comment is lost."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.module import Module
from shardlint.fixes import apply_edits
from shardlint.syntax.patterns import Match, Pattern

LOAD: dict[str, object] = {
    "match": "torch.load($...A)",
    "not": "torch.load(..., weights_only=$W, ...)",
    "replace": "torch.load($...A, weights_only=True)",
}
MUL: dict[str, object] = {"match": "mul($A, $B)", "replace": "$A * $B"}
FIRST: dict[str, object] = {"match": "first($A)", "replace": "$A[0]"}
MODE: dict[str, object] = {
    "match": "with torch.no_grad():\n    $...BODY",
    "replace": "with torch.inference_mode():\n    $...BODY",
}


def fixed(plain: dict[str, object], source: str) -> str:
    """A file with all fixes made; a second round changes nothing more."""
    after = _round(plain, source)
    ast.parse(after)
    assert _round(plain, after) == after
    return after


def _round(plain: dict[str, object], source: str) -> str:
    pattern = Pattern(plain)
    module = Module("x.py", source, ast.parse(source))
    answers = [answer for answer in pattern.matches(module) if isinstance(answer, Match)]
    return apply_edits(source, [edit for answer in answers for edit in pattern.edits(module, answer)])


@pytest.mark.parametrize(
    ("plain", "before", "after"),
    [
        (LOAD, "import torch\nx = torch.load(a)", "import torch\nx = torch.load(a, weights_only=True)"),
        (LOAD, "import torch\ntorch.load()", "import torch\ntorch.load(weights_only=True)"),
        (LOAD, "import torch as t\nt.load(a)", "import torch as t\nt.load(a, weights_only=True)"),
        (LOAD, "from torch import load\nload(a)", "from torch import load\nload(a, weights_only=True)"),
        (
            LOAD,
            "import torch\ntorch.load(\n    a,  # why\n    b,\n    c=d\n)",
            "import torch\ntorch.load(a,  # why\n    b,\n    c=d, weights_only=True)",
        ),
        (LOAD, "import torch\ntorch.load(a,)", "import torch\ntorch.load(a, weights_only=True)"),
        (LOAD, "import torch\ntorch.load(*a, **b)", "import torch\ntorch.load(*a, **b)"),
        (LOAD, "import torch\ntorch.load('é', (a))", "import torch\ntorch.load('é', a, weights_only=True)"),
        (LOAD, "import torch\nx = f'{torch.load(a)}'", "import torch\nx = f'{torch.load(a)}'"),
        (MUL, "x = mul(a, b)", "x = a * b"),
        (MUL, "x = mul(a + b, c)", "x = (a + b) * c"),
        (MUL, "x = mul(a, b).sum()", "x = (a * b).sum()"),
        (MUL, "x = mul(a, b) ** 2", "x = (a * b) ** 2"),
        (MUL, "x = mul(a, b) + 1", "x = a * b + 1"),
        (MUL, "f(mul(a, b), *mul(c, d))", "f(a * b, *c * d)"),
        (MUL, "x = mul(a if b else c, lambda: d)", "x = (a if b else c) * (lambda: d)"),
        (MUL, "x = mul((a), (b, c))", "x = a * (b, c)"),
        (MUL, "x = mul(-a, await_)", "x = -a * await_"),
        (MUL, "x = mul(a\n    .b, c)", "x = (a\n    .b) * c"),
        (MUL, "x = mul(f(\n    a), c)", "x = f(\n    a) * c"),
        (FIRST, "x = first(a.b)", "x = a.b[0]"),
        (FIRST, "x = first(a + b)", "x = (a + b)[0]"),
        (FIRST, "x = first([1, 2])", "x = [1, 2][0]"),
        (FIRST, "x = first(i for i in a)", "x = (i for i in a)[0]"),
        (FIRST, "x = first(1)", "x = 1[0]"),
        (FIRST, "x = [\n    first(\n        a\n    ),\n]", "x = [\n    a[0],\n]"),
        ({"match": "f($A, $...R)", "replace": "print($...R, $A)"}, "f(a)\nf(a, b, c)", "print(a)\nprint(b, c, a)"),
        ({"match": "f($A, $...R)", "replace": "print($A, $...R)"}, "f(a)\nf(a, b=c)", "print(a)\nprint(a, b=c)"),
        ({"match": "f($...R)", "replace": "print($...R, )"}, "f()", "print()"),
        ({"match": "f($...R, k=$V)", "replace": "print($V, $...R)"}, "f(a, k=1, b=2)", "print(1, a, b=2)"),
        ({"match": "$O.zero_grad(set_to_none=True)", "replace": "$O.zero_grad()"},
         "self.o.zero_grad(set_to_none = True)", "self.o.zero_grad()"),
        ({"match": "$X == None", "replace": "$X is None"}, "if a.b == None: ...", "if a.b is None: ..."),
        ({"match": "not $X in $Y", "replace": "$X not in $Y"}, "if not a in b: ...", "if a not in b: ..."),
        ({"match": "f($X)", "replace": "print('$X', $X)"}, "f(1)", "print('$X', 1)"),
        ({"match": "$X = f($Y)", "replace": "$X = open($Y)\n$X.check()"}, "if c:\n    a = f(b)  # why\n",
         "if c:\n    a = open(b)\n    a.check()  # why\n"),
        ({"match": "a()\nb()", "replace": "print()"}, "if x:\n    a()\n    b()\n    d()\n",
         "if x:\n    print()\n    d()\n"),
        ({"match": "a()\n$...M\nb()", "replace": "print()\n$...M"}, "def f():\n    a()\n    m()\n    n()\n    b()\n",
         "def f():\n    print()\n    m()\n    n()\n"),
        ({"match": "import a", "replace": "import b"}, "import a\n", "import b\n"),
        ({"match": "from a import $X", "replace": "from b import $X"}, "from a import c\n", "from b import c\n"),
    ],
)  # fmt: skip
def test_a_replacement(plain: dict[str, object], before: str, after: str) -> None:
    assert fixed(plain, before) == after


def test_a_body_is_kept_as_it_is_written() -> None:
    before = dedent(
        """\
        import torch

        def f():
            with torch.no_grad():
                a = [  # why
                    1,
                ]

                # and this
                return '''
        text'''
        """
    )
    assert fixed(MODE, before) == before.replace("no_grad", "inference_mode")


def test_a_body_moves_with_its_place() -> None:
    plain: dict[str, object] = {"match": "if True:\n    $...BODY", "replace": "$...BODY"}
    assert fixed(plain, "def f():\n    if True:\n        a\n        if b:\n            c\n") == (
        "def f():\n    a\n    if b:\n        c\n"
    )


@pytest.mark.parametrize(
    ("plain", "source"),
    [
        # A comment would be lost.
        (MUL, "x = mul(  # why\n    a, b)"),
        ({"match": "a()\nb()", "replace": "print()"}, "a()  # why\nb()\n"),
        # The body cannot move without its text changing.
        ({"match": "if True:\n    $...BODY", "replace": "$...BODY"}, "if True:\n    x = '''\n    a'''\n"),
        # No place for several statements.
        ({"match": "$X = f($Y)", "replace": "$X = open($Y)\n$X.check()"}, "a = f(b); c = 1\n"),
        ({"match": "$X = f($Y)", "replace": "$X = open($Y)\n$X.check()"}, "if c: a = f(b)\n"),
        ({"match": "if a: ...", "replace": "print()"}, "if c:\n    b\nelif a:\n    d\n"),
        # The file does not know the name.
        ({"match": "f($X)", "replace": "torch.amp.autocast($X)"}, "f(1)\n"),
        ({"match": "f($X)", "replace": "other($X)"}, "f(1)\n"),
        # It would be no Python.
        ({"match": "f($A, $...R)", "replace": "print($...R, $A)"}, "f(a, b, k=1)"),
        # The file has another thing of that name.
        ({"match": "json.f($X)", "replace": "torch.g($X)"}, "import json\nimport yaml as torch\njson.f(1)\n"),
    ],
)  # fmt: skip
def test_a_fix_that_could_spoil_something_is_not_made(plain: dict[str, object], source: str) -> None:
    assert fixed(plain, source) == source


def test_a_name_is_written_as_the_file_imports_it() -> None:
    plain: dict[str, object] = {"match": "f($X)", "replace": "torch.distributed.all_reduce($X)"}
    for head, call in (
        ("import torch", "torch.distributed.all_reduce"),
        ("import torch.distributed as dist", "dist.all_reduce"),
        ("from torch import distributed", "distributed.all_reduce"),
        ("from torch.distributed import all_reduce as reduce", "reduce"),
        ("import torch\nimport torch.distributed as dist", "dist.all_reduce"),
    ):
        assert fixed(plain, f"{head}\nf(a)") == f"{head}\n{call}(a)"


def test_a_name_of_another_function_is_not_known_here() -> None:
    plain: dict[str, object] = {"match": "f($X)", "replace": "torch.g($X)"}
    source = "def a():\n    import torch\ndef b():\n    f(1)\n"
    assert fixed(plain, source) == source


def test_line_ends_stay() -> None:
    source = "import torch\r\nx = torch.load(a,\r\n    b)\r\n"
    pattern = Pattern(LOAD)
    module = Module("x.py", source, ast.parse(source))
    (match,) = pattern.matches(module)
    assert isinstance(match, Match)
    (edit,) = pattern.edits(module, match)
    assert (edit.span.line, edit.span.column, edit.span.end_line, edit.span.end_column) == (2, 5, 3, 7)
    assert edit.text == "torch.load(a,\n    b, weights_only=True)"


def test_a_replacement_of_a_constraint_is_unsafe_unless_it_says_why_not() -> None:
    assert Pattern({"match": "f($X)"}).fix is None
    unsafe = Pattern({"match": "f($X)", "replace": "g($X)"}).fix
    assert unsafe is not None
    assert unsafe[0] is False
    assert Pattern({"match": "f($X)", "replace": "g($X)", "safe": "it is an alias"}).fix == (True, "it is an alias")


@pytest.mark.parametrize(
    "plain",
    [
        {"match": "f($...A)", "replace": "g(f($...A))"},
        {"match": "f($X)", "inside": "for $I in $L: ...", "replace": "f(f($X))"},
        {"match": "$X = f()", "replace": "$X = f()\nlog()"},
    ],
)
def test_a_replacement_that_would_be_made_again_is_refused(plain: dict[str, object]) -> None:
    from shardlint.knowledge.problem import CheckProblem

    with pytest.raises(CheckProblem, match="would never end"):
        Pattern(plain)
