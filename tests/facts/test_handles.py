"""What becomes of a handle, and which uses of a tensor come too early."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.handles import handle
from shardlint.facts.matching import matches
from shardlint.facts.module import Module
from shardlint.facts.site import Site
from shardlint.facts.tensor_uses import tensor_uses
from shardlint.finding import Evidence
from shardlint.query import Call
from shardlint.voice import Voice

VOICE = Voice("some-rule", "some", "error", Evidence("research", ("https://example.org",)), 0.85)


def started(source: str) -> Site:
    """The call of `m.start` in a file."""
    text = "import m, torch; x = torch.ones(1)\n" + dedent(source)
    module = Module("pkg/x.py", text, ast.parse(text))
    (hit,) = matches(module, Call("m.start"))
    return Site(module, hit, VOICE)


DROPPED = {
    "nobody takes it": "m.start(x)",
    "nobody reads it": "h = m.start(x)",
    "read before only": "h = None\nif h: h.wait()\nh = m.start(x)",
    "in a list that nobody reads": "hs = []\nhs.append(m.start(x))",
    "a list of them": "hs = [m.start(x) for x in xs]",
    "one arm": "h = m.start(x) if c else None",
}
KEPT = {
    "waited for": "h = m.start(x)\nh.wait()",
    "at once": "m.start(x).wait()",
    "handed on": "use(m.start(x))",
    "returned": "def f(x):\n    return m.start(x)",
    "returned by name": "def f(x):\n    h = m.start(x)\n    return h",
    "in another branch": "h = m.start(x)\nif c:\n    h.wait()",
    "in the next round": "h = None\nfor x in xs:\n    if h: h.wait()\n    h = m.start(x)",
    "by a nested function": "def f(x):\n    h = m.start(x)\n    return lambda: h.wait()",
    "in an attribute": "class C:\n    def f(self, x):\n        self.h = m.start(x)",
    "in a table": "hs = {}\nhs[x] = m.start(x)",
    "from a list": "hs = []\nhs.append(m.start(x))\nfor h in hs: h.wait()",
    "in a list that is an attribute": "class C:\n    def f(self, x):\n        self.hs.append(m.start(x))",
    "a name of the whole file": "def f(x):\n    global h\n    h = m.start(x)",
    "one of two": "h, x = m.start(x), 1",
}


@pytest.mark.parametrize("source", DROPPED.values(), ids=DROPPED)
def test_nothing_can_wait_for_a_dropped_handle(source: str) -> None:
    assert handle(started(source)).dropped


@pytest.mark.parametrize("source", KEPT.values(), ids=KEPT)
def test_something_may_wait_for_a_handle(source: str) -> None:
    assert not handle(started(source)).dropped


EARLY: dict[str, tuple[str, list[int]]] = {
    "arithmetic": ("h = m.start(x)\ny = x + 1\nh.wait()", [3]),
    "a method": ("h = m.start(x)\nx.mul_(2)\nh.wait()", [3]),
    "a part of it": ("h = m.start(x)\nx[0].item()\nh.wait()", [3]),
    "a function of torch": ("h = m.start(x)\ntorch.cat(x)\nh.wait()", [3]),
    "in place": ("h = m.start(x)\nx /= 2\nh.wait()", [3]),
    "a comparison": ("h = m.start(x)\nif x > 1: pass\nh.wait()", [3]),
    "an attribute of the object": (
        "class C:\n    def f(self):\n        self.h = m.start(self.x)\n        self.x.mul_(2)\n        self.h.wait()",
        [5],
    ),
    "in time": ("h = m.start(x)\nh.wait()\nx.mul_(2)", []),
    "on one way": ("h = m.start(x)\nif c: h.wait()\nx.mul_(2)", []),
    "before": ("x.mul_(2)\nh = m.start(x)\nh.wait()", []),
    "the round before": ("for x in xs:\n    x.mul_(2)\n    h = m.start(x)\n    h.wait()", []),
    "its form": ("h = m.start(x)\nn = x.shape[0] + x.numel()\nh.wait()", []),
    "a view": ("h = m.start(x)\ny = x.view(-1)\nz = x[0]\nh.wait()", []),
    "another name": ("h = m.start(x)\ny = x\nh.wait()", []),
    "a collective": ("h = m.start(x)\ntorch.distributed.all_reduce(x)\nh.wait()", []),
    "anybody's function": ("h = m.start(x)\nlog(x)\nh.wait()", []),
    "whether it is there": ("h = m.start(x)\nif x is not None: pass\nh.wait()", []),
    "another value under the name": ("h = m.start(x)\nx = 3\ny = x + 1\nh.wait()", []),
    "a method of the file that waits": (
        "class C:\n    def f(self):\n        self.h = m.start(self.x)\n        self.done()\n        self.x.mul_(2)\n"
        "    def done(self):\n        self.h.wait()",
        [],
    ),
}


@pytest.mark.parametrize(("source", "lines"), EARLY.values(), ids=EARLY)
def test_a_tensor_is_used_while_it_is_filled(source: str, lines: list[int]) -> None:
    site = started(source)
    given = site.argument("x", 0)
    assert given is not None
    assert [use.span.line for use in handle(site).early(tensor_uses(site, given))] == lines
