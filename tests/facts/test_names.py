"""Names: aliases, imports of every form, shadowing, re-assignment, `self`."""

from __future__ import annotations

import ast
import sys
from textwrap import dedent

import pytest

from shardlint.facts.module import Module
from shardlint.facts.names import lookup, resolve, self_values


def module(source: str, *, path: str = "pkg/train.py", dotted: str = "pkg.train") -> Module:
    text = dedent(source)
    return Module(path, text, ast.parse(text), dotted=dotted)


def called(source: str, **where: str) -> tuple[tuple[str, ...], float]:
    """What the function of the last call named `target(...)`, or of the call with the argument `HERE`, stands for."""
    parsed = module(source, **where)
    for node in ast.walk(parsed.tree):
        if isinstance(node, ast.Call) and any(isinstance(a, ast.Name) and a.id == "HERE" for a in node.args):
            found = resolve(parsed, node.func)
            return found.names, found.certainty
    raise AssertionError("no call has the argument HERE")


SURE: dict[str, str] = {
    "import torch.distributed as dist\ndist.barrier(HERE)": "torch.distributed.barrier",
    "import torch.distributed\ntorch.distributed.barrier(HERE)": "torch.distributed.barrier",
    "import torch\nimport torch.distributed\ntorch.distributed.barrier(HERE)": "torch.distributed.barrier",
    "from torch import distributed as d\nd.barrier(HERE)": "torch.distributed.barrier",
    "from torch.distributed import barrier as wait\nwait(HERE)": "torch.distributed.barrier",
    "from torch.distributed import *\nbarrier(HERE)": "torch.distributed.barrier",
    "from . import comm\ncomm.wait(HERE)": "pkg.comm.wait",
    "from .comm import wait\nwait(HERE)": "pkg.comm.wait",
    "from .. import comm\ncomm.wait(HERE)": "comm.wait",
    "def f():\n    import torch.distributed as dist\n    dist.barrier(HERE)": "torch.distributed.barrier",
    "def f():\n    dist.barrier(HERE)\nimport torch.distributed as dist": "torch.distributed.barrier",
    "import torch.distributed as dist\nwait = dist.barrier\nwait(HERE)": "torch.distributed.barrier",
    "import torch.distributed as dist\na = dist\nb = a\nb.barrier(HERE)": "torch.distributed.barrier",
    "import torch.distributed as dist\n(w := dist.barrier)(HERE)": "torch.distributed.barrier",
    "import torch, functools\nf = functools.partial(torch.load, map_location='cpu')\nf(HERE)": "torch.load",
    "import torch\nfrom functools import partial as p\np(torch.load)(HERE)": "torch.load",
    "import torch\ngetattr(torch, 'load')(HERE)": "torch.load",
    "import torch\nname = 'load'\ngetattr(torch, name)(HERE)": "torch.load",
    "import importlib\nt = importlib.import_module('torch')\nt.load(HERE)": "torch.load",
    "from importlib import import_module as get\nget('torch.distributed').barrier(HERE)": "torch.distributed.barrier",
    "try:\n    import torch as t\nexcept ImportError:\n    t = None\nt.load(HERE)": "torch.load",
    "if fast:\n    from torch import load\nload(HERE)": "torch.load",
    "open(HERE)": "builtins.open",
    "from torch import *\nopen(HERE)": "builtins.open",
    "a, b = torch, None\nimport torch\ndef f():\n    a.load(HERE)": "torch.load",
    "import torch\ndef f():\n    def g():\n        torch.load(HERE)": "torch.load",
    "import torch\nclass A:\n    def torch(self): ...\n    def f(self):\n        torch.load(HERE)": "torch.load",
    "import torch\nx = [p for p in torch.load(HERE)]": "torch.load",
    "import torch\nx = [torch for torch in torch.load(HERE)]": "torch.load",
    "import torch\nf = lambda torch=torch.load(HERE): torch": "torch.load",
    "import torch\n@torch.compile(HERE)\ndef torch(): ...": "torch.compile",
    "import torch\ndef f(torch=torch.load(HERE)): ...": "torch.load",
    "import torch\nasync def f():\n    await torch.load(HERE)": "torch.load",
    "import torch\nclass A:\n    loader = torch.load\n    def f(self):\n        self.loader(HERE)": "torch.load",
    "import torch\nclass A:\n    def __init__(self):\n        self.l = torch.load\n"
    "    def f(self):\n        self.l(HERE)": "torch.load",
    "import torch\nclass B:\n    def __init__(self):\n        self.l = torch.load\n"
    "class A(B):\n    def f(self):\n        self.l(HERE)": "torch.load",
    "class A:\n    def f(self):\n        self.g(HERE)": "pkg.train.A.g",
    "class A:\n    def f(self):\n        def g():\n            self.h(HERE)": "pkg.train.A.h",
    "class A:\n    @classmethod\n    def f(cls):\n        cls.g(HERE)": "pkg.train.A.g",
    "import torch\nclass A(torch.nn.Module):\n    def f(self):\n        super().f(HERE)": "torch.nn.Module.f",
    "import torch\nclass A(torch.nn.Module):\n    def f(self):\n        super(A, self).f(HERE)": "torch.nn.Module.f",
    "def g(): ...\ng(HERE)": "pkg.train.g",
    "def f():\n    def g(): ...\n    g(HERE)": "pkg.train.f.g",
}


@pytest.mark.parametrize("source", SURE)
def test_a_name_with_one_meaning_is_certain(source: str) -> None:
    names, certainty = called(source)
    expected = SURE[source]
    assert (names, certainty) == ((expected,), 1.0)


HIDDEN = [
    "import torch\ndef f(torch):\n    torch.load(HERE)",
    "import torch\ndef f(*torch):\n    torch.load(HERE)",
    "import torch\nf = lambda torch: torch.load(HERE)",
    "import torch\nfor torch in things:\n    torch.load(HERE)",
    "import torch\ndef f():\n    for torch in things:\n        torch.load(HERE)",
    "import torch\ndef f():\n    torch.load(HERE)\n    torch = other",
    "import torch\nx = [torch.load(HERE) for torch in things]",
    "import torch\nx = {torch.load(HERE): 1 for torch in things}",
    "import torch\ndef f():\n    with g() as torch:\n        torch.load(HERE)",
    "import torch\ndef f():\n    try: ...\n    except E as torch:\n        torch.load(HERE)",
    "import torch\ndef f(x):\n    match x:\n        case [torch, *_]:\n            torch.load(HERE)",
    "import torch\ndef f(x):\n    match x:\n        case {'a': 1, **torch}:\n            torch.load(HERE)",
    "import torch\ndef f():\n    (torch := other)\n    torch.load(HERE)",
    "import torch\ndef f():\n    torch = torch.load\n    torch += 1\n    torch(HERE)",
    "import torch\nclass torch: ...\ndef f():\n    a, torch = 1, 2\n    torch.load(HERE)",
    "def f():\n    unknown(HERE)",
    "class A:\n    @staticmethod\n    def f(self):\n        self.g(HERE)",
    "class A:\n    def __init__(self):\n        self.a, self.b = make()\n    def f(self):\n        self.b(HERE)",
    "while True:\n    a = b\n    b = a\n    a(HERE)",
    "a = a or b\nb = a or b\na(HERE)",
]


@pytest.mark.parametrize("source", HIDDEN)
def test_a_shadowed_or_unknown_name_stands_for_nothing(source: str) -> None:
    assert called(source)[0] == ()


SEVERAL = {
    "import torch\ndef f():\n    global torch\n    torch = other\ntorch.load(HERE)": (("torch.load",), 0.8),
    "if c:\n    from a import f\nelse:\n    from b import f\nf(HERE)": (("a.f", "b.f"), 1.0),
    "try:\n    from a import f\nexcept ImportError:\n    from b import f\nf(HERE)": (("a.f", "b.f"), 1.0),
    "import a, b\nf = a.f if c else b.f\nf(HERE)": (("a.f", "b.f"), 1.0),
    "import a\nf = a.f if c else other\nf(HERE)": (("a.f",), 0.8),
    "import a\nf = other or a.f\nf(HERE)": (("a.f",), 0.8),
    "from a import *\nfrom b import *\nf(HERE)": (("a.f", "b.f"), 0.8),
    "import a\ndef g(f=None):\n    if f is None:\n        f = a.f\n    f(HERE)": (("a.f",), 0.8),
    "import a, b\nf = a.f\nf = b.f\nf(HERE)": (("b.f",), 1.0),
    "import a, b\nf = a.f\ndef g():\n    f(HERE)\nf = b.f": (("a.f", "b.f"), 1.0),
    "import a, b\nf = a.f\nwhile c:\n    f(HERE)\n    f = b.f": (("a.f", "b.f"), 1.0),
    "import a, b\nf = a.f\ndel f\nfrom b import f\nf(HERE)": (("b.f",), 1.0),
    "import a, b\ndef g():\n    f = a.f\n    def h():\n        nonlocal f\n        f = b.f\n    h()\n    f(HERE)": (
        ("a.f", "b.f"),
        1.0,
    ),
}


@pytest.mark.parametrize("source", SEVERAL)
def test_a_name_with_several_meanings_has_them_all(source: str) -> None:
    names, certainty = called(source)
    assert (tuple(sorted(names)), certainty) == SEVERAL[source]


def test_a_relative_import_in_a_package_file_starts_at_the_package() -> None:
    source = "from .comm import wait\nwait(HERE)"
    assert called(source, path="pkg/sub/__init__.py", dotted="pkg.sub")[0] == ("pkg.sub.comm.wait",)


def test_a_relative_import_that_leaves_the_project_keeps_its_last_part() -> None:
    assert called("from ....comm import wait\nwait(HERE)")[0] == ("comm.wait",)


def test_global_skips_the_function_in_between() -> None:
    source = """
    import a, b
    f = a.f
    def outer():
        f = b.f
        def inner():
            global f
            f(HERE)
    """
    assert called(source) == (("a.f",), 1.0)


def test_nonlocal_reads_the_function_around() -> None:
    source = """
    import a, b
    f = b.f
    def outer():
        f = a.f
        def inner():
            nonlocal f
            f(HERE)
    """
    assert called(source) == (("a.f",), 1.0)


def test_global_declared_in_one_branch_holds_in_the_other() -> None:
    parsed = module("""
    def f():
        if c:
            global x
            x = 1
        else:
            x = 2
    """)
    assert len(parsed.scopes[parsed.tree].bindings["x"]) == 2


def test_many_rebindings_of_a_loop_of_names_are_walked_once() -> None:
    lines = "\n".join(f"    if c{i}:\n        x = x or y or f{i}\n        y = y or x" for i in range(60))
    assert called(f"while c:\n{lines}\n    x(HERE)")[0] == ()


def test_a_class_that_derives_from_itself_ends() -> None:
    parsed = module("class A(A):\n    x = f\nclass B(C):\n    y = 1\nclass C(B):\n    z = 1\n")
    owner = parsed.tree.body[0]
    assert isinstance(owner, ast.ClassDef)
    assert [ast.unparse(value) for value in self_values(parsed, owner, "x")] == ["f"]


def test_self_values_lists_class_body_methods_and_bases() -> None:
    parsed = module("""
    class B:
        def base(self):
            self.x = 3
    class A(B):
        x = 1
        def f(me):
            me.x: int = 2
            (me.x, y) = make()
            other.x = 9
    """)
    owner = parsed.tree.body[1]
    assert isinstance(owner, ast.ClassDef)
    assert sorted(ast.unparse(value) for value in self_values(parsed, owner, "x")) == ["*make()", "1", "2", "3"]


def test_lookup_tells_the_scope_that_binds() -> None:
    parsed = module("x = 1\ndef f():\n    return x\n")
    use = next(node for node in ast.walk(parsed.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    found = lookup(parsed, "x", use)
    assert found is not None
    assert found[0].node is parsed.tree
    assert lookup(parsed, "y", use) is None


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters came with Python 3.12")
def test_type_parameters_and_type_aliases_are_read() -> None:
    source = """
    import torch
    type Load = torch.load
    class A[T: torch.Tensor]:
        def f[**P, *Ts](self, x: T):
            Load(HERE)
    """
    assert called(source) == (("torch.load",), 1.0)
