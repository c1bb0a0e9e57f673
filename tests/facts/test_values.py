"""Values: constants, what a value was made from, which expressions are the same object."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.module import Module
from shardlint.facts.values import MISSING, identity, literal, made_from, parameter_default


def read(source: str) -> tuple[Module, list[ast.expr]]:
    """A file, and the arguments of its calls of `see(...)` in order."""
    text = dedent(source)
    module = Module("x.py", text, ast.parse(text))
    return module, [argument for call in module.calls.get("see", ()) for argument in call.args]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("see(3)", 3),
        ("see(-3.5)", -3.5),
        ("see(not True)", False),
        ("see(- -2)", 2),
        ("n = 'nccl'\nm = n\nsee(m)", "nccl"),
        ("n = 1\ndef f():\n    see(n)", 1),
        ("see((n := 4))\n", MISSING),
        ("(n := 4)\nsee(n)", 4),
        ("n = 1\nif c:\n    n = 2\nsee(n)", MISSING),
        ("def f(n=1):\n    see(n)", MISSING),
        ("for n in 1, 2:\n    see(n)", MISSING),
        ("n = 1\nn += 1\nsee(n)", MISSING),
        ("see(-x)", MISSING),
        ("see(-'a')", MISSING),
        ("see(f())", MISSING),
        ("a, b = 1, 2\nsee(b)", 2),
        ("a, b = *x, 2\nsee(b)", MISSING),
        ("global_value = 1\ndef f():\n    global global_value\n    global_value = 2\nsee(global_value)", MISSING),
    ],
)
def test_literal(source: str, value: object) -> None:
    module, (argument,) = read(source)
    assert literal(module, argument) == value or literal(module, argument) is value


def test_a_missing_literal_is_false_and_says_so() -> None:
    assert not MISSING
    assert repr(MISSING) == "MISSING"


S = "import torch\nfrom torch.amp import GradScaler\n"
SCALER = ("torch.amp.GradScaler",)


@pytest.mark.parametrize(
    ("source", "names", "certainty"),
    [
        ("see(GradScaler())", SCALER, 1.0),
        ("s = GradScaler()\nsee(s)", SCALER, 1.0),
        ("s = t = GradScaler()\nsee(t)", SCALER, 1.0),
        ("if c:\n    s = GradScaler()\nelse:\n    s = None\nsee(s)", SCALER, 1.0),
        ("s = GradScaler() if c else None\nsee(s)", SCALER, 1.0),
        ("s = GradScaler() if c else other()\nsee(s)", SCALER, 0.8),
        ("s = given or GradScaler()\nsee(s)", SCALER, 0.8),
        ("def f(s: GradScaler):\n    see(s)", SCALER, 1.0),
        ("def f(s: 'GradScaler'):\n    see(s)", SCALER, 1.0),
        ("def f(s: 'GradScaler | None' = None):\n    see(s)", SCALER, 1.0),
        ("from typing import Optional\ndef f(s: Optional[GradScaler]):\n    see(s)", SCALER, 1.0),
        ("import typing as t\ndef f(s: t.Annotated[GradScaler, 1]):\n    see(s)", SCALER, 0.8),
        ("def f(s: GradScaler | None):\n    see(s)", SCALER, 1.0),
        ("s: GradScaler\nsee(s)", SCALER, 1.0),
        ("s: GradScaler = make()\nsee(s)", ("x.make",), 1.0),
        ("with GradScaler() as s:\n    see(s)", SCALER, 0.8),
        (
            "class A:\n    def __init__(self):\n        self.s = GradScaler()\n    def f(self):\n        see(self.s)",
            SCALER,
            1.0,
        ),
        ("class A:\n    s = GradScaler()\n    def f(self):\n        see(self.s)", SCALER, 1.0),
        (
            "class A:\n    def __init__(self):\n        self.s = None\n        self.s = GradScaler()\n"
            "    def f(self):\n        see(self.s)",
            SCALER,
            1.0,
        ),
        (
            "class A:\n    def __init__(self, d):\n        self.s = GradScaler()\n        m, self.s = d.wrap(self.s)\n"
            "    def f(self):\n        see(self.s)",
            SCALER,
            0.8,
        ),
        ("class A:\n    def f(self):\n        s = self.s = GradScaler()\n        see(s)", SCALER, 1.0),
        ("from functools import partial\nsee(partial(GradScaler))", (), 1.0),
        ("from functools import partial\nMake = partial(GradScaler, enabled=True)\nsee(Make())", SCALER, 1.0),
        ("while c:\n    a = b\n    b = a\nsee(a)", (), 1.0),
        ("for s in scalers:\n    see(s)", (), 1.0),
        ("def f(s):\n    see(s)", (), 1.0),
        ("def f(s: '][' ):\n    see(s)", (), 1.0),
        ("async def f():\n    see(await GradScaler())", SCALER, 1.0),
        ("see(x.y)", (), 1.0),
        ("class A:\n    s = GradScaler()\n    def f(self):\n        see(getattr(self, 's', None))", SCALER, 1.0),
        ("class A:\n    s = GradScaler()\n    def f(self, k):\n        see(getattr(self, k))", (), 1.0),
        ("see(getattr(x, 'y'))", (), 1.0),
        ("see(getattr())", (), 1.0),
    ],
)
def test_made_from(source: str, names: tuple[str, ...], certainty: float) -> None:
    module, (argument,) = read(S + "def make(): ...\n" + source)
    found = made_from(module, argument)
    assert (found.names, found.certainty) == (names, certainty)


@pytest.mark.parametrize(
    ("source", "same"),
    [
        ("m = f()\nsee(m, m)", True),
        ("m = f()\na = m\nsee(a, m)", True),
        ("m = f()\nb = a = m\nsee(a, b)", True),
        ("m = f()\nsee(m)\nm = g(m)\nsee(m)", False),
        ("m = f()\nn = f()\nsee(m, n)", False),
        ("def g(m):\n    a = m\n    see(a, m)", True),
        ("def g(m):\n    see(m)\ndef h(m):\n    see(m)", False),
        ("class A:\n    def f(self):\n        m = self.m\n        see(m, self.m)", True),
        ("class A:\n    def f(self):\n        see(self.m)\n    def g(me):\n        see(me.m)", True),
        ("class A:\n    def f(self):\n        see(self.m)\nclass B:\n    def g(self):\n        see(self.m)", False),
        ("def g(t):\n    see(t.m, t.m)", True),
        ("def g(t, u):\n    see(t.m, u.m)", False),
        ("def g(t):\n    see(t[0], t[0])", True),
        ("def g(t):\n    see(t[0], t[1])", False),
        ("def g(t):\n    i = 'a'\n    see(t[i], t['a'])", True),
        ("def g(t, i):\n    see(t[i], t[i])", False),
        ("see(f(), f())", False),
        ("see(unknown, unknown)", False),
        ("m = f()\ndef g():\n    see(m)\nsee(m)", True),
    ],
)
def test_identity(source: str, same: bool) -> None:
    module, (one, other) = read(source)
    first, second = identity(module, one), identity(module, other)
    assert (first is not None and first == second) is same


@pytest.mark.parametrize(
    ("signature", "default"),
    [
        ("n=1", "1"),
        ("n", None),
        ("a, n=2", "2"),
        ("a, /, n=3", "3"),
        ("a=1, *, n=4", "4"),
        ("*, n", None),
        ("*n", None),
        ("**n", None),
    ],
)
def test_parameter_default(signature: str, default: str | None) -> None:
    module, (argument,) = read(f"def f({signature}):\n    see(n)")
    assert isinstance(argument, ast.Name)
    found = parameter_default(module, argument)
    assert (None if found is None else ast.unparse(found)) == default


def test_a_name_that_is_no_parameter_has_no_default() -> None:
    module, (argument,) = read("n = 1\nsee(n)")
    assert isinstance(argument, ast.Name)
    assert parameter_default(module, argument) is None
