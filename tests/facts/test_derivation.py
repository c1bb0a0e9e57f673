"""What a function computes from a value, and the conditions on it that part the ranks."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.derivation import Derivation, derivation
from shardlint.facts.matching import matches
from shardlint.facts.module import Module
from shardlint.facts.partings import partings
from shardlint.facts.site import Site
from shardlint.finding import Evidence
from shardlint.query import Call
from shardlint.voice import Voice

VOICE = Voice("some-rule", "some", "error", Evidence("research", ("https://example.org",)), 0.85)
ENDS, TOGETHER = Call("m.share"), Call("m.meet", "*.step")


def of(source: str, *, written: bool = True) -> Derivation:
    """What comes of the argument of `m.write(x)`, or of what `m.make()` returns."""
    text = "import m\n" + dedent(source)
    module = Module("pkg/x.py", text, ast.parse(text))
    (hit,) = matches(module, Call("m.write" if written else "m.make"))
    site = Site(module, hit, VOICE)
    return derivation(site, site.argument("x", 0) if written else None, site.function.calls(ENDS))


TESTS: dict[str, tuple[str, list[str]]] = {
    "the value itself": ("m.write(x)\nif x > 1: pass", ["x > 1"]),
    "before the call": ("if x > 1: pass\nm.write(x)", []),
    "in the next round": ("while x < 3:\n    m.write(x)", ["x < 3"]),
    "through names": ("m.write(x)\na = x.item()\nb, c = a * 2, 1\nif b: pass\nif c: pass", ["b"]),
    "through a container": ("m.write(x)\nd = {}\nd['x'] = x\nlist_.append(d)\nif list_[0]: pass", ["list_[0]"]),
    "through a loop": ("m.write(x)\nfor part in x:\n    if part: pass", ["part"]),
    "through an augmented assignment": ("m.write(x)\ns = 0\ns += x\nif s: pass", ["s"]),
    "through a walrus": ("m.write(x)\nif (y := x + 1) and y > 2: pass", ["(y := (x + 1)) and y > 2"]),
    "through a method that fills": ("m.write(x)\ny.copy_(x)\nif y: pass", ["y"]),
    "not through a function of a module": ("m.write(x)\nm.zero_(x)\nif m.flag: pass", []),
    "another value under the name": ("m.write(x)\nx = 3\nif x: pass", []),
    "another value on one way": ("m.write(x)\nif c:\n    x = 3\nif x: pass", ["x"]),
    "its form": ("m.write(x)\nif x.shape[0] > 1 or len(x) or x is None or x.numel(): pass", []),
    "an attribute": ("m.write(self.x)\nif self.x: pass\nif self.y: pass", ["self.x"]),
    "an attribute of it": ("m.write(x)\nif x.grad: pass", ["x.grad"]),
    "the same memory": ("m.write(x.view(-1).data)\nif x: pass", ["x"]),
    "the name that it is another name of": ("y = x\nm.write(y)\nif x: pass", ["x"]),
    "shared": ("m.write(x)\nm.share(x)\nif x: pass", []),
    "another shared": ("m.write(self.x)\nm.share(self.y)\nif self.x: pass", ["self.x"]),
    "in a nested definition": ("m.write(x)\ndef f():\n    if x: pass\ng = lambda: x\nif g: pass", []),
}


@pytest.mark.parametrize(("source", "tests"), TESTS.values(), ids=TESTS)
def test_the_conditions_that_a_value_decides(source: str, tests: list[str]) -> None:
    assert [test.text for test in of(source).tests] == tests


def test_what_a_call_returns_is_followed_like_a_value() -> None:
    made = of("def f():\n    low, high = m.make()\n    if low:\n        return high\n    return 1", written=False)
    assert [test.text for test in made.tests] == ["low"]
    assert [value.text for value in made.returned] == ["high"]


PARTINGS: dict[str, tuple[str, list[str]]] = {
    "a jump before a common call": ("for b in bs:\n    m.write(b)\n    if b: break\n    m.meet()", ["b"]),
    "a common call under it": ("m.write(x)\nif x:\n    m.meet()", ["x"]),
    "a loop of common calls": ("m.write(x)\nwhile x:\n    opt.step()", ["x"]),
    "nothing in common follows": ("m.write(x)\nif x:\n    print(x)\nfor a in c:\n    if x: break", []),
    "an error ends the job": ("m.write(x)\nif x:\n    raise ValueError\nm.meet()", []),
    "no jump": ("m.write(x)\nif x:\n    print(x)\nm.meet()", []),
    "one rank decides": ("m.write(x)\nif rank == 0 and x:\n    m.meet()", []),
    "one rank is left": (
        "for b in bs:\n    m.write(b)\n    if not is_main: continue\n    if b: break\n    m.meet()",
        [],
    ),
    "a helper returns it": (
        "def f(x):\n    m.write(x)\n    return x > 1\ndef g(y):\n    if f(y):\n        return\n    m.meet()",
        ["f(y)"],
    ),
    "a helper's helper": (
        "def f(x):\n    m.write(x)\n    return x\ndef g(y):\n    return f(y)\ndef h(y):\n    if g(y): m.meet()",
        [],
    ),
}


@pytest.mark.parametrize(("source", "tests"), PARTINGS.values(), ids=PARTINGS)
def test_the_conditions_that_part_the_ranks(source: str, tests: list[str]) -> None:
    assert [test.text for test in partings(of(source), together=TOGETHER, shared=ENDS)] == tests
