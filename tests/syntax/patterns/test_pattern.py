"""Where patterns match. Each case is also sifted: a file with a match must meet the needs of the pattern."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from shardlint.environment import Environment
from shardlint.facts.module import Module
from shardlint.prefilter import Words, passes
from shardlint.syntax.patterns import Match, Pattern, Unjudged

LOAD = "torch.load($F, ...)"
IMPORT = "import torch\n"

Case = tuple[str, str, list[int]]
"""Pattern, source, and the lines at which it matches."""


def found(plain: str | Mapping[str, object], source: str, path: str = "pkg/x.py") -> list[Match | Unjudged]:
    """What a pattern says about a file. One that is a text is its `match`."""
    pattern = Pattern({"match": plain} if isinstance(plain, str) else plain)
    module = Module(path, source, ast.parse(source), environment=Environment({}))
    answers = list(pattern.matches(module))
    if any(isinstance(answer, Match) for answer in answers):
        assert passes(pattern.needs(), Words(source.encode(), None, path))
    return answers


def lines(plain: str | Mapping[str, object], source: str, path: str = "pkg/x.py") -> list[int]:
    return [answer.span.line for answer in found(plain, source, path) if isinstance(answer, Match)]


NAMES: list[Case] = [
    # What a dotted name means.
    (LOAD, "import torch\ntorch.load(a)", [2]),
    (LOAD, "import torch as t\nt.load(a)", [2]),
    (LOAD, "from torch import load\nload(a)", [2]),
    (LOAD, "from torch import load as read\nread(a)", [2]),
    (LOAD, "from torch import *\nload(a)", [2]),
    (LOAD, "import torch\nread = torch.load\nread(a)", [3]),
    (LOAD, "import torch\nif x:\n    read = torch.load\nelse:\n    read = open\nread(a)", [6]),
    (LOAD, "import torch\ngetattr(torch, 'load')(a)", [2]),
    (LOAD, "import torch\nfrom functools import partial\nread = partial(torch.load, mmap=True)\nread(a)", [4]),
    (LOAD, "import torch\nclass A:\n    read = torch.load\n    def f(self):\n        self.read(a)", [5]),
    (LOAD, "torch.load(a)", [1]),
    (LOAD, "def f(torch):\n    torch.load(a)", [2]),
    (LOAD, "import json as torch\ntorch.load(a)", []),
    (LOAD, "import json\njson.load(a)", []),
    (LOAD, "import torch\ntorch = json\ntorch.loads(a)", []),
    (LOAD, "def torch(): ...\ntorch.load(a)", []),
    (LOAD, "import torch\ntorch.load", []),
    (LOAD, "import torch\nx.torch.load(a)", []),
    ("torch.distributed.barrier()", "import torch.distributed as dist\ndist.barrier()", [2]),
    ("torch.distributed.barrier()", "from torch import distributed\ndistributed.barrier()", [2]),
    ("torch.distributed.barrier()", "import torch\nd = torch.distributed\nd.barrier()", [3]),
    ("dist.barrier()", "import torch.distributed as dist\ndist.barrier()", []),
    ("dist.barrier()", "def f(dist):\n    dist.barrier()", [2]),
    # Names of the project itself, relative imports included.
    ("pkg.device.get()", "from .device import get\nget()", [2]),
    ("pkg.device.get()", "from . import device\ndevice.get()", [2]),
    ("pkg.device.get()", "from .device import get as g\ng()", [2]),
    ("pkg.x.get()", "def get(): ...\nget()", [2]),
    ("pkg.x.A.get()", "class A:\n    def f(self):\n        self.get()", [3]),
    ("pkg.other.get()", "def get(): ...\nget()", []),
    # Bare names.
    ("print($X)", "print(1)", [1]),
    ("print($X)", "p = print\np(1)", [2]),
    ("print($X)", "def print(x): ...\nprint(1)", []),
    ("print($X)", "def f(print):\n    print(1)", []),
    ("print($X)", "import builtins\nbuiltins.print(1)", [2]),
    ("helper($X)", "def helper(x): ...\nhelper(1)", [2]),
    ("helper($X)", "def helper(x): ...\nh = helper\nh(1)", [3]),
    ("helper($X)", "from lib import helper\nhelper(1)", [2]),
    ("helper($X)", "lib.helper(1)", []),
    ("self.model.eval()", "class A:\n    def f(self):\n        self.model.eval()", [3]),
    ("self.model.eval()", "class A:\n    def f(self):\n        self.other.eval()", []),
    ("self.model.eval()", "class A:\n    def f(self):\n        model = self.model\n        model.eval()", []),
    # Attributes and members.
    ("$X.item()", "loss.item()", [1]),
    ("$X.item()", "f(x)[0].item()", [1]),
    ("$X.item()", "item()", []),
    ("$X.item()", "loss.item", []),
    ("$X.item", "a = loss.item", [1]),
    ("torch.float16", "import torch\nx = torch.float16", [2]),
    ("torch.float16", "from torch import float16 as half\nx = half", [2]),
    ("torch.float16", "import torch\ntorch.float16.x = 1", [2]),
    ("torch.cuda.$F(...)", "import torch\ntorch.cuda.synchronize()\ntorch.cpu.synchronize()", [2]),
    ("torch.cuda.$F(...)", "from torch.cuda import synchronize as s\ns()", [2]),
    ("torch.cuda.$F(...)", "from torch import cuda\ncuda.a.b()", []),
    ("torch.backends.cudnn.benchmark = $X", "import torch\ntorch.backends.cudnn.benchmark = True", [2]),
    ("torch.load = $X", "import torch\ntorch.load = f\nself.load = torch.load", [2]),
]

ARGUMENTS: list[Case] = [
    ("f($X)", "f(1)\nf()\nf(1, 2)\nf(x=1)", [1]),
    ("f(...)", "f()\nf(1, *a, k=2, **b)", [1, 2]),
    ("f($X, ...)", "f()\nf(1)\nf(1, k=2)", [2, 3]),
    ("f(..., $X)", "f()\nf(1)\nf(2, 1)\nf(1, k=2)", [2, 3, 4]),
    ("f(..., 1, ...)", "f(1)\nf(2, 1, 3)\nf(2)", [1, 2]),
    ("f($A, ..., $A)", "f(1, 2, 1)\nf(1, 2)", [1]),
    ("f(a=1, b=2)", "f(b=2, a=1)\nf(a=1)\nf(a=1, b=2, c=3)", [1]),
    ("f(a=1, ...)", "f(b=2, a=1)\nf(0, a=1)\nf(a=2)", [1, 2]),
    ("f(a=$X, b=$X)", "f(a=1, b=1)\nf(a=1, b=2)", [1]),
    ("f($K=1)", "f(a=1)\nf(a=2)", [1]),
    ("f(*$X)", "f(*a)\nf(a)", [1]),
    ("f(**$X)", "f(**a)\nf(a=1)", [1]),
    ("f($...A, last)", "f(last)\nf(1, 2, last)\nf(last, 1)", [1, 2]),
    ("f($...A, k=1)", "f(k=1)\nf(1, k=1, m=2)\nf(1)", [1, 2]),
    ("f($...A) + f($...A)", "f(1, k=2) + f(1, k=2)\nf(1) + f(2)", [1]),
    ("f($_, $_)", "f(1, 2)\nf(1)", [1]),
    ("f($X, $X)", "f(a, a)\nf(a, b)\nf(a . b, a.b)\nf('a', \"a\")\nf((a), a)", [1, 3, 4, 5]),
    ("f([1, ...])", "f([1])\nf([1, 2])\nf([2, 1])", [1, 2]),
    ("f([..., $X])", "f([])\nf([1])", [2]),
    ("f(($A, $B))", "f((1, 2))\nf([1, 2])", [1]),
    ('f({"a": $X, **...})', "f({'b': 1, 'a': 2})\nf({'a': 1})\nf({'b': 1})", [1, 2]),
    ('f({"a": $X})', "f({'a': 1})\nf({'a': 1, 'b': 2})\nf({**a})", [1]),
    ('f({"a": ..., ...})', "f({'a': 1, **b})\nf({'b': 1})", [1]),
    ("f({**$X})", "f({**a})\nf({1: a})", [1]),
]

VALUES: list[Case] = [
    ("f(True)", "f(True)\nf(1)\nf(x)", [1]),
    ("f(1)", "f(1)\nf(1.0)\nf(True)\nONE = 1\nf(ONE)\ndef g(ONE):\n    f(ONE)", [1, 5]),
    ("f(-100)", "f(-100)\nf(100)\nI = -100\nf(I)", [1, 4]),
    ("f(None)", "f(None)\nf()", [1]),
    ('f("gloo")', "f('gloo')\nf(\"\"\"gloo\"\"\")\nf(b'gloo')\nB = 'gloo'\nf(B)\nf('glo')", [1, 2, 5]),
    ('f("...")', "f('a')\nf(f'{a}')\nf(a)\nf(1)", [1, 2]),
    ('"nccl"', "x = 'nccl'\ny = 'gloo'", [1]),
    ("1e-8", "x = 1e-8\ny = 1e-5", [1]),
    ("$X == -1", "a == -1\na == 1", [1]),
]

EXPRESSIONS: list[Case] = [
    ("$X == None", "a == None\na is None\na != None", [1]),
    ("rank < $Y < $Z", "rank < b < c\nrank < b\nrank < b > c", [1]),
    ("0 < $X", "0 < a\n0 < a < b", [1]),
    ("$X == $X", "a.b == a.b\na == b", [1]),
    ("$X if torch.cuda.is_available() else $Y", IMPORT + "a if torch.cuda.is_available() else b", [2]),
    ("$A and $A", "a and a\na and a and a", [1]),
    ("x or ...", "x or a or b\na or x", [1]),
    ("not torch.distributed.is_initialized()", "import torch.distributed as d\nif not d.is_initialized(): ...", [2]),
    ("$X @ $X.T", "a @ a.T\na @ b.T", [1]),
    ("lambda $X: $X", "lambda a: a\nlambda a: b", [1]),
    ("lambda ...: None", "lambda: None\nlambda a, *b: None\nlambda a: 1", [1, 2]),
    ("[$X.item() for $X in $Y]", "[a.item() for a in b]\n[a.item() for b in c]\n[a.item() for a in b if a]", [1]),
    ("[$X for $X in $Y if ...]", "[a for a in b if a]\n[a for a in b]\n[a for a in b if a if b]", [1, 2, 3]),
    ("sum($X for $X in $Y)", "sum(a for a in b)\nsum([a for a in b])", [1]),
    ("await $X.all_reduce(...)", "async def f():\n    await g.all_reduce(1)\n    g.all_reduce(1)", [2]),
    ("g.all_reduce(...)", "async def f():\n    await g.all_reduce(1)", [2]),
    ("($X := torch.load(...))", IMPORT + "while (c := torch.load(f)): ...\nc = torch.load(f)", [2]),
    ("torch.load($X)", IMPORT + "if (c := torch.load(f)): ...\nif (g := torch.load): g(f)", [2, 3]),
    ("torch.load($X)", IMPORT + "x = f'{torch.load(f)}'", [2]),
    ("torch.load($X)", IMPORT + "x = {k: [torch.load(v) for v in w] for k in z}", [2]),
    ('$X["pixel_values"]', "a['pixel_values']\na[pixel_values]", [1]),
    ("labels[:, :$N]", "labels[:, :5]\nlabels[:, 5]\nlabels[:5]\nx[:, :5]", [1]),
    ("labels[...]", "labels[0]\nlabels[1:2]\nlabels[a, b]\nother[0]", [1, 2, 3]),
    ("super().__init__(...)", "class A(B):\n    def __init__(self):\n        super().__init__()", [3]),
    ("$F(...).wait()", "f(1).wait()\nf.wait()", [1]),
    ("int(os.environ['RANK'])", "import os\nint(os.environ['RANK'])\nint(os.environ['SIZE'])", [2]),
]

STATEMENTS: list[Case] = [
    ("$X = torch.load(...)", IMPORT + "a = torch.load(f)\nb: dict = torch.load(f)\na = b = torch.load(f)", [2, 3, 4]),
    ("$X = torch.load(...)", IMPORT + "torch.load(f)\nreturn_ = [torch.load(f)]\na.b = torch.load(f)", [4]),
    ("$A, $B = f()", "a, b = f()\na = f()\na, b, c = f()", [1]),
    ("$X: int = 0", "a: int = 0\na = 0\na: str = 0", [1]),
    ("$X += $X", "a += a\na += b\na -= a", [1]),
    ("return torch.load(...)", IMPORT + "def f():\n    return torch.load(a)\ndef g():\n    torch.load(a)", [3]),
    ("raise NotImplementedError", "raise NotImplementedError\nraise NotImplementedError()\nraise", [1]),
    ("raise RuntimeError(...)", "raise RuntimeError('a') from e\nraise ValueError", [1]),
    ("assert torch.distributed.is_initialized()", IMPORT + "assert torch.distributed.is_initialized(), 'why'", [2]),
    ("global $X", "def f():\n    global a\ndef g():\n    global a, b", [2]),
    ("del model", "del model\ndel other", [1]),
    ("for $X in range(...): ...", "for a in range(3):\n    b\nfor a in c: b", [1]),
    ("for batch in $L: ...", "for batch in a: ...\nfor item in a: ...", [1]),
    ("for $X in $Y.keys():\n    ...\n    del $Y[$X]", "for k in d.keys():\n    print(k)\n    del d[k]\n", [1]),
    ("for $X in set($Y): ...", "async def f():\n    async for a in set(b): ...\n    for a in set(b): ...", [2, 3]),
    ("async for $X in set($Y): ...", "async def f():\n    async for a in set(b): ...\n    for a in set(b): ...", [2]),
    ("while True: ...", "while True: ...\nwhile a: ...", [1]),
    ("with torch.no_grad(): ...", IMPORT + "with torch.no_grad(): ...\nwith torch.no_grad: ...", [2]),
    ("with torch.no_grad(): ...", IMPORT + "with open(f) as g, torch.no_grad():\n    a\n    b", [2]),
    ("with torch.no_grad(): ...", IMPORT + "async def f():\n    async with torch.no_grad(): ...", [3]),
    ("with open($F) as $X: ...", "with open(a) as b: ...\nwith open(a): ...", [1]),
    ("with $A, torch.no_grad(): ...", IMPORT + "with torch.no_grad(), b: ...\nwith torch.no_grad(): ...", [2]),
    ("if $X == 0:\n    torch.distributed.barrier()", IMPORT + "if r == 0:\n    torch.distributed.barrier()", [2]),
    ("if $X == 0:\n    torch.distributed.barrier()", IMPORT + "if r == 0:\n    a\n    torch.distributed.barrier()", []),
    ("if $X == 0:\n    barrier()", "if r == 0:\n    barrier()\nelse:\n    other()", [1]),
    (
        "if $X == 0:\n    barrier()\nelse: ...",
        "if r == 0:\n    barrier()\nif r == 0:\n    barrier()\nelse:\n    o()",
        [3],
    ),
    ("try: ...\nexcept: ...", "try: a\nexcept: b\ntry: a\nexcept ValueError: b", [1]),
    (
        "try: ...\nexcept Exception: pass",
        "try:\n    a\nexcept (ValueError, Exception):\n    pass\nfinally:\n    b",
        [1],
    ),
    ("try: ...\nexcept Exception: pass", "try:\n    a\nexcept Exception:\n    raise", []),
    ("try: ...\nexcept $E as $X: raise $X", "try: a\nexcept ValueError as e: raise e", [1]),
    (
        "import torch_npu",
        "import torch_npu\nimport torch_npu as t\nimport os, torch_npu\nimport torch_npu.x",
        [1, 2, 3],
    ),
    ("import torch.fft", "import torch.fft\nfrom torch import fft\nimport torch", [1, 2]),
    ("from torch_npu import ...", "from torch_npu import a\nfrom torch_npu.x import a\nimport torch_npu", [1]),
    ("from torch import $X", "from torch import load\nfrom json import load", [1]),
    ("from $M import set_seed", "from a.b import set_seed\nfrom a import b", [1]),
    ("import numpy as np", "import numpy as np\nimport numpy", [1]),
    ("from pkg.device import get", "from .device import get\nfrom .other import get", [1]),
    ("from torch import load", "import torch.load\nfrom torch import save, load", [1, 2]),
    (
        "match $X:\n    case 0: ...",
        "match a:\n    case 0:\n        b\nmatch a:\n    case 1:\n        b",
        [1],
    ),
]

DEFINITIONS: list[Case] = [
    ("def forward(...): ...", "def forward(self, x): return x\ndef back(): ...", [1]),
    (
        "def forward(self, $X): ...",
        "def forward(self, x): ...\ndef forward(self): ...\ndef forward(self, x, y): ...",
        [1],
    ),
    ("def $F(self, ..., loss=None, ...): ...", "def f(self, a, loss=None): ...\ndef f(self, loss): ...", [1]),
    ("def $F(..., *, group=$G): ...", "def f(a, *, group=1): ...\ndef f(group=1): ...", [1]),
    ("def $F(..., **kwargs): ...", "def f(a, **kwargs): ...\ndef f(a): ...", [1]),
    ("def $F(x: torch.Tensor): ...", IMPORT + "def f(x: torch.Tensor): ...\ndef f(x): ...", [2]),
    ("def $F(...) -> torch.Tensor: ...", IMPORT + "def f() -> torch.Tensor: ...\ndef f(): ...", [2]),
    ("def $F(x=[]): ...", "def f(x=[]): ...\ndef f(x=()): ...\ndef f(x=[1]): ...", [1]),
    ("def f():\n    return 1", "def f():\n    return 1\ndef f():\n    a\n    return 1", [1]),
    ("def f():\n    ...\n    return 1", "def f():\n    a\n    return 1\ndef f():\n    return 1", [1, 4]),
    ("def f(): ...", "async def f(): ...\nclass A:\n    def f(): ...", [1, 3]),
    ("async def f(): ...", "async def f(): ...\ndef f(): ...", [1]),
    (
        "def $F($X, ...):\n    ...\n    $X.backward()",
        "def f(a, b):\n    c\n    a.backward()\ndef g(a):\n    b.backward()",
        [1],
    ),
    ("@torch.no_grad()\ndef $F(...): ...", IMPORT + "@a\n@torch.no_grad()\n@b\ndef f(): ...\ndef g(): ...", [5]),
    ("@$R.register($N)\nclass $C: ...", "@R.register('a')\nclass A: ...\n@R.other('a')\nclass B: ...", [2]),
    ("@property\ndef device(self): ...", "class A:\n    @property\n    def device(self): ...", [3]),
    ("class $C(torch.nn.Module): ...", "from torch import nn\nclass A(X, nn.Module, k=1): ...\nclass B: ...", [2]),
    ("class $C(torch.nn.Module): ...", "import torch\nclass A(torch.nn.Module): ...\nclass B(A): ...", [2, 3]),
    ("class $C(Base):\n    ...\n    def f(self): ...", "class A(Base):\n    x = 1\n    def f(self): ...", [1]),
    ("class $C(metaclass=M): ...", "class A(B, metaclass=M): ...\nclass C(B): ...", [1]),
    ("class $C: ...\nx = $C()", "class A: ...\nx = A()\nclass A: ...\nx = B()", [1]),
]

SEQUENCES: list[Case] = [
    ("a()\nb()", "a()\nb()\na()\nc()\nb()", [1]),
    ("a()\n...\nb()", "a()\nc()\nb()", [1]),
    ("a()\n...\nb()", "if x:\n    a()\nb()", []),
    ("a()\n...\nb()", "def f():\n    a()\n    b()\ndef g():\n    a()", [2]),
    ("...\na()\n...", "a()", [1]),
    ("$X = f()\n...\n$X.step()", "a = f()\nb = f()\nb.step()", [2]),
    ("$X = f()\n$Y = f()", "a = f()\nb = f()\nc = f()", [1, 2]),
    ("$M = fully_shard($M)\n...\n$O = optim($M)", "m = fully_shard(m)\nx\no = optim(m)", [1]),
    ("lock()\n$...BODY\nunlock()", "lock()\na\nb\nunlock()", [1]),
    ("if x:\n    ...\nelse:\n    a()\n    b()", "if x: c\nelse:\n    a()\n    b()", [1]),
]

CASES = [*NAMES, *ARGUMENTS, *VALUES, *EXPRESSIONS, *STATEMENTS, *DEFINITIONS, *SEQUENCES]


@pytest.mark.parametrize(("pattern", "source", "expected"), CASES)
def test_where_a_pattern_matches(pattern: str, source: str, expected: list[int]) -> None:
    assert lines(pattern, source) == expected


def test_there_are_enough_cases_of_both_kinds() -> None:
    assert sum(bool(expected) for _, _, expected in CASES) > 100
    assert sum(not expected or len(expected) < source.count("\n") + 1 for _, source, expected in CASES) > 100


def test_one_of_several_alternatives() -> None:
    plain = {"any": ["torch.load(...)", "json.load(...)"]}
    assert lines(plain, "import torch, json\ntorch.load(a)\njson.load(a)\npickle.load(a)") == [2, 3]


def test_an_alternative_that_matches_settles_what_another_cannot_tell() -> None:
    (answer,) = found({"any": ["f(k=1, ...)", "f(...)"]}, "f(**a)")
    assert isinstance(answer, Match)


@pytest.mark.parametrize(
    ("pattern", "source", "certainty"),
    [
        ("torch.load(...)", "import torch\ntorch.load(a)", 1.0),
        ("torch.load(...)", "import torch\nread = torch.load if c else other()\nread(a)", 0.8),
        ("torch.load(...)", "def f(torch):\n    torch.load(a)", 0.6),
        ("$X.item()", "a.item()", 0.8),
        ("print($X)", "print(a)", 1.0),
        ("helper($X)", "def helper(x): ...\nhelper(a)", 1.0),
        ("helper($X)", "from lib import helper\nhelper(a)", 0.6),
        ("self.f($X)", "class A:\n    def g(self):\n        self.f(1)", 1.0),
        ("import torch_npu", "import torch_npu", 1.0),
    ],
)
def test_certainty_is_that_of_the_names(pattern: str, source: str, certainty: float) -> None:
    (answer,) = found(pattern, source)
    assert isinstance(answer, Match)
    assert answer.certainty == certainty


def test_bindings_are_source_on_one_line() -> None:
    source = "def f():\n    x = torch.cat(\n        [a, b],\n        dim=1, out=c)\n"
    (answer,) = found("$X = torch.cat($T, $...REST)", source)
    assert isinstance(answer, Match)
    assert answer.bindings == {"X": "x", "T": "[a, b]", "REST": "dim=1, out=c"}


def test_an_empty_list_of_arguments_is_an_empty_text() -> None:
    (answer,) = found("f($...A)", "f()")
    assert isinstance(answer, Match)
    assert answer.bindings == {"A": ""}


@pytest.mark.parametrize(
    ("pattern", "source", "span"),
    [
        ("torch.load(...)", "import torch\nx = 'é模' + torch.load(a)", (2, 12, 2, 25)),
        ("torch.load(...)", "import torch\nx = torch.load(\n    é,\n)", (2, 5, 4, 2)),
        ("def $F(x): ...", "@d\ndef größe(x):\n    a\n    b", (2, 1, 2, 10)),
        ("class $C(Base): ...", "class A(Base):\n    a\n    b", (1, 1, 1, 8)),
        ("for $X in set(a): ...", "for é in set(a):\n    b", (1, 1, 1, 16)),
        ("with f() as $X: ...", "with f() as g:\n    b", (1, 1, 1, 14)),
        ("try: ...\nexcept: ...", "try:\n    a\nexcept:\n    b", (1, 1, 1, 4)),
        ("a()\n...\nb()", "a()\nc\nb()", (1, 1, 3, 4)),
    ],
)
def test_what_a_match_points_at(pattern: str, source: str, span: tuple[int, int, int, int]) -> None:
    (answer,) = found(pattern, source)
    assert isinstance(answer, Match)
    found_span = answer.span
    assert (found_span.line, found_span.column, found_span.end_line, found_span.end_column) == span


@pytest.mark.parametrize(
    ("pattern", "source", "reason"),
    [
        ("f(k=1, ...)", "f(**a)", "`**`"),
        ("f($X, $Y)", "f(*a)", "`*`"),
        ("f(1, $Y)", "f(1, *a)", "`*`"),
    ],
)
def test_what_arguments_hide_is_not_judged(pattern: str, source: str, reason: str) -> None:
    (answer,) = found(pattern, source)
    assert isinstance(answer, Unjudged)
    assert answer.line == 1
    assert reason in answer.reason


@pytest.mark.parametrize(
    ("pattern", "source"),
    [("f(1, $Y)", "f(2, *a)"), ("f($X)", "f(1, 2, *a)"), ("f(...)", "g(**a)"), ("f(k=1, ...)", "g(**a)")],
)
def test_what_is_no_match_whatever_is_hidden(pattern: str, source: str) -> None:
    assert found(pattern, source) == []


def test_nested_matches_are_all_found_in_order() -> None:
    answers = found("f(...)", "f(f(1), x=f(f()))")
    assert [answer.span.column for answer in answers if isinstance(answer, Match)] == [1, 3, 11, 13]


def test_the_text_of_a_pattern_may_be_indented() -> None:
    assert lines("\n    with torch.no_grad():\n        ...\n", "import torch\nwith torch.no_grad(): ...") == [2]


def test_nothing_keeps_a_file_alive() -> None:
    """A run works without a garbage collector: a cycle would keep every tree."""
    import gc
    import weakref

    gc.collect()
    gc.disable()
    try:
        source = "import torch\nfor a in b:\n    torch.load(a)\n"
        module = Module("x.py", source, ast.parse(source))
        pattern = Pattern({"match": "torch.load(...)", "inside": "for $X in $Y: ...", "not_within_guard": "a()"})
        assert len(list(pattern.matches(module))) == 1
        gone = weakref.ref(module)
        del module
        assert gone() is None
    finally:
        gc.enable()
