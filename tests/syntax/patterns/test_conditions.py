"""What must, or must not, be around a match, before it, after it, or in a metavariable."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from shardlint.environment import Environment
from shardlint.facts.module import Module
from shardlint.prefilter import Words, passes
from shardlint.syntax.patterns import Match, Pattern, Unjudged

TORCH = {
    "torch/__init__.py": "",
    "torch/optim/__init__.py": "from torch.optim.adamw import AdamW\nfrom torch.optim.optimizer import Optimizer\n",
    "torch/optim/adamw.py": "from torch.optim.optimizer import Optimizer\nclass AdamW(Optimizer): ...\n",
    "torch/optim/optimizer.py": "class Optimizer: ...\n",
    "torch/nn.py": "class Module: ...\n",
}
"""The source of an installed package."""


def found(plain: Mapping[str, object], source: str, files: dict[str, str] | None = None) -> list[Match | Unjudged]:
    pattern = Pattern(plain)
    module = Module("pkg/x.py", source, ast.parse(source), environment=Environment({}, files=files or {}))
    answers = list(pattern.matches(module))
    if any(isinstance(answer, Match) for answer in answers):
        assert passes(pattern.needs(), Words(source.encode(), None, "pkg/x.py"))
    return answers


def lines(plain: Mapping[str, object], source: str) -> list[int]:
    return [answer.span.line for answer in found(plain, source) if isinstance(answer, Match)]


LOOP = {"match": "f()", "inside": "for $X in $Y: ..."}
NO_GRAD = ["with torch.no_grad(): ...", "@torch.no_grad()\ndef $F(...): ..."]


@pytest.mark.parametrize(
    ("plain", "source", "expected"),
    [
        (LOOP, "for a in b:\n    if c:\n        f()", [3]),
        (LOOP, "for a in f(): ...", []),
        (LOOP, "for a in b: ...\nelse: f()", []),
        (LOOP, "for a in b:\n    def g():\n        f()", []),
        (LOOP, "for a in b:\n    g = lambda: f()", []),
        (LOOP, "for a in b:\n    def g(x=f()): ...", [2]),
        (LOOP, "async def g():\n    async for a in b: f()", [2]),
        (LOOP, "x = [f() for a in b]", []),
        ({"match": "f()", "inside": "[... for $X in $Y]"}, "x = [g(f()) for a in b]\nf()", [1]),
        ({"match": "f()", "inside": "def train(...): ..."}, "def train(x):\n    def g():\n        f()\nf()", [3]),
        ({"match": "f()", "inside": "def train(...): ..."}, "@f()\ndef train(x=f()): ...", []),
        ({"match": "f()", "inside": "class $C(Base): ..."}, "class A(Base):\n    def g(self):\n        f()", [3]),
        ({"match": "f()", "inside": "if x: ..."}, "if x: f()\nelse: f()\nif y: f()", [1]),
        ({"match": "f()", "inside": "try: ...\nexcept: ..."}, "try: f()\nexcept: f()", [1]),
        ({"match": "f()", "inside": "g(...)"}, "g(1, x=f())\nf()", [1]),
        ({"match": "f()", "inside": "$X = ..."}, "x = f()\nf()", [1]),
        ({"match": "f()", "inside": ["for $X in $Y: ...", "def g(): ..."]}, "def g():\n    for a in b: f()", [2]),
        ({"match": "f()", "inside": ["for $X in $Y: ...", "def g(): ..."]}, "def h():\n    for a in b: f()", []),
        ({"match": "f($X)", "inside": "for $X in $Y: ..."}, "for a in b:\n    f(a)\n    f(c)", [2]),
        ({"match": "f($X)", "inside": "for $X in $Y: ..."}, "for a in b:\n    for c in d:\n        f(a)", [3]),
        ({"match": "f()", "not_inside": NO_GRAD}, "import torch\nwith torch.no_grad(): f()\nf()", [3]),
        ({"match": "f()", "not_inside": NO_GRAD}, "import torch\n@torch.no_grad()\ndef g(): f()", []),
        ({"match": "f()", "not_inside": NO_GRAD}, "from torch import no_grad as n\nwith a, n(): f()", []),
        ({"match": "f()", "not_inside": "def $F(...): ..."}, "f()\ndef g(): f()\nclass A:\n    x = f()", [1, 4]),
    ],
)
def test_inside(plain: Mapping[str, object], source: str, expected: list[int]) -> None:
    assert lines(plain, source) == expected


UNSCALE = {"match": "$S.step($O)", "not_after": "$S.unscale_($O)"}


@pytest.mark.parametrize(
    ("plain", "source", "expected"),
    [
        (UNSCALE, "s.unscale_(o)\ns.step(o)", []),
        (UNSCALE, "s.step(o)\ns.unscale_(o)", [1]),
        (UNSCALE, "if c:\n    s.unscale_(o)\ns.step(o)", [3]),
        (UNSCALE, "if c:\n    s.unscale_(o)\n    s.step(o)", []),
        (UNSCALE, "for a in b:\n    s.step(o)\n    s.unscale_(o)", [2]),
        (UNSCALE, "s.unscale_(p)\ns.step(o)", [2]),
        (UNSCALE, "s.unscale_(o)\ndef f():\n    s.step(o)", [3]),
        ({"match": "f()", "after": "g()"}, "g()\nf()", [2]),
        ({"match": "f()", "after": "g()"}, "f()\ng()", []),
        ({"match": "f()", "after": "g()"}, "c and g()\nf()", []),
        ({"match": "f()", "after": ["g()", "h()"]}, "g()\nf()\nh()\nf()", [4]),
        ({"match": "f($X)", "after": "$X = g()"}, "x = g()\nf(x)\nf(y)", [2]),
        ({"match": "f()", "before": "g()"}, "f()\nif c: g()", [1]),
        ({"match": "f()", "before": "g()"}, "g()\nf()", []),
        ({"match": "f()", "before": "g()"}, "while c:\n    g()\n    f()", [3]),
        ({"match": "f()", "not_before": "g()"}, "f()\ng()\nf()", [3]),
    ],
)
def test_order(plain: Mapping[str, object], source: str, expected: list[int]) -> None:
    assert lines(plain, source) == expected


NPU = {"match": "npu.f()", "not_within_guard": ["is_npu_available()", "try"]}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("npu.f()", [1]),
        ("if is_npu_available():\n    npu.f()\nelse:\n    npu.f()", [4]),
        ("if not is_npu_available():\n    npu.f()\nelse:\n    npu.f()", [2]),
        ("if a and is_npu_available():\n    npu.f()", []),
        ("if a or is_npu_available():\n    npu.f()", [2]),
        ("if not (a or not is_npu_available()):\n    npu.f()", []),
        ("def g():\n    if not is_npu_available():\n        return\n    npu.f()", []),
        ("def g():\n    if not is_npu_available():\n        log()\n    npu.f()", [4]),
        ("if is_npu_available():\n    def g():\n        npu.f()", []),
        ("if is_npu_available():\n    class A:\n        def g(self):\n            return lambda: npu.f()", []),
        ("x = npu.f() if is_npu_available() else npu.f()", [1]),
        ("x = is_npu_available() and npu.f()", []),
        ("x = is_npu_available() or npu.f()", [1]),
        ("x = [npu.f() for a in b if is_npu_available()]", []),
        ("while is_npu_available():\n    npu.f()", []),
        ("NPU = is_npu_available()\nif NPU:\n    npu.f()", []),
        ("NPU = is_npu_available()\nNPU = True\nif NPU:\n    npu.f()", [4]),
        ("class A:\n    def __init__(self):\n        self.npu = is_npu_available()\n    def g(self):\n"
         "        if self.npu:\n            npu.f()", []),
        ("assert is_npu_available()\nnpu.f()", []),
        ("npu.f()\nassert is_npu_available()", [1]),
        ("if (n := is_npu_available()):\n    npu.f()", []),
        ("@pytest.mark.skipif(not is_npu_available(), reason='')\ndef test():\n    npu.f()", []),
        ("@unittest.skipUnless(is_npu_available(), '')\nclass T:\n    def test(self):\n        npu.f()", []),
        ("@unittest.skipIf(is_npu_available(), '')\ndef test():\n    npu.f()", [3]),
        ("try:\n    npu.f()\nexcept ImportError:\n    npu.f()", [4]),
        ("try:\n    npu.f()\nexcept (KeyError, ModuleNotFoundError):\n    pass", []),
        ("try:\n    npu.f()\nexcept KeyError:\n    pass", [2]),
        ("try:\n    def g():\n        npu.f()\nexcept ImportError:\n    pass", [3]),
        ("from contextlib import suppress\nwith suppress(ImportError):\n    npu.f()", []),
    ],
)  # fmt: skip
def test_guards(source: str, expected: list[int]) -> None:
    assert lines(NPU, source) == expected


@pytest.mark.parametrize(
    ("guard", "source", "expected"),
    [
        ("torch.distributed.get_rank() == 0", "import torch.distributed as d\nif d.get_rank() == 0:\n    f()", [3]),
        ("torch.distributed.get_rank() == 0", "import torch.distributed as d\nif d.get_rank() == 1:\n    f()", []),
        ("rank == 0", "def g():\n    if rank != 0:\n        return\n    f()", [4]),
        ("not is_main()", "if not is_main():\n    f()\nelse:\n    f()", [2]),
        ("not is_main()", "def g():\n    if is_main(): return\n    f()", [3]),
        ("$X is not None", "if a is not None:\n    f()", [2]),
        ("$X is not None", "def g():\n    if a is None: return\n    f()", [3]),
        ("requires_npu", "@requires_npu\ndef g():\n    f()", [3]),
        ("requires($X)", "@requires('npu')\ndef g():\n    f()", [3]),
        ("try", "try:\n    f()\nexcept Exception:\n    pass", [2]),
    ],
)
def test_within_guard(guard: str, source: str, expected: list[int]) -> None:
    assert lines({"match": "f()", "within_guard": guard}, source) == expected


def test_not_leaves_out_what_another_pattern_matches() -> None:
    plain: Mapping[str, object] = {"match": "torch.load($...A)", "not": "torch.load(..., weights_only=$W, ...)"}
    source = "import torch\ntorch.load(a)\ntorch.load(a, weights_only=True)\ntorch.load(a, **b)"
    first, second = found(plain, source)
    assert isinstance(first, Match)
    assert first.span.line == 2
    assert isinstance(second, Unjudged)
    assert second.line == 4


OPTIMIZER: Mapping[str, object] = {"match": "$O.step()", "where": {"O": {"type": "torch.optim.Optimizer"}}}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch\no = torch.optim.Optimizer()\no.step()", [3]),
        ("import torch\no = torch.optim.AdamW(p)\no.step()", [3]),
        ("from torch.optim import AdamW\no = AdamW(p)\no.step()", [3]),
        ("import torch\ndef f(o: 'torch.optim.AdamW | None'):\n    o.step()", [3]),
        ("import torch\nclass Own(torch.optim.AdamW): ...\no = Own()\no.step()", [4]),
        ("import torch\nclass A:\n    def __init__(self):\n        self.o = torch.optim.AdamW(p)\n"
         "    def f(self):\n        self.o.step()", [6]),
        ("import torch\no = torch.nn.Module()\no.step()", []),
        ("import torch\no = make(torch)\no.step()", ["the class of `$O` is not known"]),
        ("import torch\no = torch.optim.Lion(p)\no.step()", ["is not known whether `torch.optim.Lion`"]),
    ],
)  # fmt: skip
def test_a_type_is_known_or_the_place_is_not_judged(source: str, expected: list[int | str]) -> None:
    answers = found(OPTIMIZER, source, TORCH)
    assert len(answers) == len(expected)
    for answer, wanted in zip(answers, expected, strict=True):
        if isinstance(answer, Match):
            assert answer.span.line == wanted
            assert answer.certainty == 1.0
        else:
            assert isinstance(wanted, str)
            assert wanted in answer.reason


def test_without_an_environment_only_the_class_itself_is_known() -> None:
    source = "import torch\no = torch.optim.{}(p)\no.step()"
    assert isinstance(found(OPTIMIZER, source.format("Optimizer"))[0], Match)
    assert isinstance(found(OPTIMIZER, source.format("AdamW"))[0], Unjudged)


def test_several_types() -> None:
    plain: Mapping[str, object] = {
        "match": "$O.step()",
        "where": {"O": {"type": ["torch.optim.SGD", "torch.optim.AdamW"]}},
    }
    assert lines(plain, "import torch\no = torch.optim.AdamW(p)\no.step()") == [3]


@pytest.mark.parametrize(
    ("pattern", "regex", "source", "expected"),
    [
        ("gate($V)", r"^4\.", "gate('4.50')\ngate('5.0')", [1]),
        ("gate($V)", r"^4\.", "V = '4.50'\ngate(V)", [2]),
        ("def $V(...): ...", "^test_", "def test_a(): ...\ndef a(): ...", [1]),
        ("self.$V = $X", "_group$", "self.dp_group = 1\nself.group_dp = 1", [1]),
        ("f($V)", r"^self\.", "f(self.a.b)\nf(a.b)", [1]),
    ],
)
def test_a_regular_expression(pattern: str, regex: str, source: str, expected: list[int]) -> None:
    assert lines({"match": pattern, "where": {"V": {"regex": regex}}}, source) == expected


def test_a_text_that_is_not_known_is_not_judged() -> None:
    (answer,) = found({"match": "gate($V)", "where": {"V": {"regex": "a"}}}, "gate(f'{a}')")
    assert isinstance(answer, Unjudged)
    assert "`$V`" in answer.reason


def test_metavariables_of_a_condition_are_bound() -> None:
    (answer,) = found({"match": "f()", "inside": "class $C(Base): ..."}, "class A(Base):\n    x = f()")
    assert isinstance(answer, Match)
    assert answer.bindings == {"C": "A"}


def test_conditions_are_tried_until_all_hold_together() -> None:
    plain: Mapping[str, object] = {"match": "f()", "inside": "for $X in $Y: ...", "after": "g($X)"}
    assert lines(plain, "g(a)\nfor a in b:\n    for c in d:\n        f()") == [4]


def test_what_a_condition_cannot_tell_is_not_judged() -> None:
    (answer,) = found({"match": "f()", "not_after": "g(k=1)"}, "g(**a)\nf()")
    assert isinstance(answer, Unjudged)
