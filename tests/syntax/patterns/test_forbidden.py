"""What may not be imported, called or read."""

from __future__ import annotations

import ast

import pytest

from shardlint.facts.module import Module
from shardlint.prefilter import Words, passes
from shardlint.syntax.patterns import Forbidden, Match


def found(plain: dict[str, object], source: str, path: str = "pkg/x.py") -> list[Match]:
    forbidden = Forbidden(plain)
    module = Module(path, source, ast.parse(source))
    answers = list(forbidden.matches(module))
    assert not answers or passes(forbidden.needs(), Words(source.encode(), None, path))
    return answers


def lines(plain: dict[str, object], source: str, path: str = "pkg/x.py") -> list[int]:
    return [answer.span.line for answer in found(plain, source, path)]


NPU: dict[str, object] = {"imports": ["torch_npu"], "guards": ["is_torch_npu_available()", "try"]}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch_npu", [1]),
        ("import torch_npu as t", [1]),
        ("import os, torch_npu.x", [1]),
        ("from torch_npu import a", [1]),
        ("from torch_npu.x.y import a", [1]),
        ("from torch_npu import *", [1]),
        ("import torch_npu_x\nfrom torch import torch_npu", []),
        ("import torch\ntorch.torch_npu", []),
        ("from importlib import import_module\nimport_module('torch_npu.x')", [2]),
        ("__import__('torch_npu')", [1]),
        ("def import_module(x): ...\nimport_module('torch_npu')", []),
        ("def f():\n    import torch_npu", [2]),
        ("if is_torch_npu_available():\n    import torch_npu", []),
        ("from transformers import utils\nif utils.is_torch_npu_available():\n    import torch_npu", []),
        ("from u import is_torch_npu_available as has\nif has():\n    import torch_npu", []),
        ("if not is_torch_npu_available():\n    import torch_npu", [2]),
        ("def f():\n    if not is_torch_npu_available():\n        return\n    import torch_npu", []),
        ("NPU = is_torch_npu_available()\nif NPU:\n    import torch_npu", []),
        ("try:\n    import torch_npu\nexcept ImportError:\n    torch_npu = None", []),
        ("try:\n    import torch_npu\nexcept:\n    raise", []),
        ("try:\n    import torch_npu\nexcept AttributeError:\n    raise", [2]),
        ("try:\n    a\nexcept ImportError:\n    import torch_npu", [4]),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch_npu", []),
        ("import typing as t\nif t.TYPE_CHECKING:\n    import torch_npu\nelse:\n    import torch_npu", [5]),
    ],
)
def test_imports(source: str, expected: list[int]) -> None:
    assert lines(NPU, source) == expected


def test_an_import_for_types_is_no_import_without_guards_either() -> None:
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\nimport a"
    assert lines({"imports": "a"}, source) == [4]


@pytest.mark.parametrize(
    ("source", "path", "expected"),
    [
        ("from .kernels import npu", "pkg/x.py", [1]),
        ("from . import kernels", "pkg/x.py", []),
        ("from ..kernels.npu import f", "pkg/sub/x.py", [1]),
        ("from . import npu", "pkg/kernels/x.py", [1]),
        ("from .npu import f", "pkg/kernels/__init__.py", [1]),
        ("from .npu import f", "other/__init__.py", []),
        ("from pkg.kernels import npu", "x.py", [1]),
        ("import pkg.kernels.npu.f", "x.py", [1]),
    ],
)
def test_a_module_of_the_project(source: str, path: str, expected: list[int]) -> None:
    assert lines({"imports": ["pkg.kernels.npu"]}, source, path) == expected


@pytest.mark.parametrize(
    ("calls", "source", "expected"),
    [
        ("torch.cuda.*", "import torch\ntorch.cuda.synchronize()\ntorch.cuda.memory.x()\ntorch.cpu.y()", [2, 3]),
        ("torch.cuda.*", "from torch import cuda\ncuda.synchronize()", [2]),
        ("torch.cuda.*", "from torch.cuda import synchronize as s\ns()", [2]),
        ("torch.cuda.*", "import torch\ntorch.cuda()", []),
        ("torch.cuda.*", "def f(torch):\n    torch.cuda.synchronize()", [2]),
        ("torch.cuda.*", "import torch\nx = torch.cuda.synchronize", []),
        ("torch.cuda.*_all", "import torch\ntorch.cuda.manual_seed_all(1)\ntorch.cuda.manual_seed(1)", [2]),
        ("torch.cuda.synchronize", "import torch as t\nt.cuda.synchronize()\nt.cuda.x()", [2]),
        ("torch.cuda.synchronize()", "import torch\ns = torch.cuda.synchronize\ns()", [3]),
        ("print", "print(1)\ndef f(print):\n    print(2)", [1]),
    ],
)
def test_calls(calls: str, source: str, expected: list[int]) -> None:
    assert lines({"calls": [calls]}, source) == expected


@pytest.mark.parametrize(
    ("attributes", "source", "expected"),
    [
        ("torch.cuda.*", "import torch\nx = torch.cuda.Stream\ny = torch.cuda", [2]),
        ("torch.cuda.*", "import torch\nx = torch.cuda.amp.autocast", [2]),
        ("torch.cuda", "import torch\nx = torch.cuda.Stream\ny = torch.cpu", [2]),
        ("torch.cuda.*", "from torch.cuda import Stream\nx = Stream", [2]),
        ("torch.float64", "import torch\nf(dtype=torch.float64)", [2]),
        ("torch.float64", "import torch\ntorch.float64 = 1", []),
    ],
)
def test_attributes(attributes: str, source: str, expected: list[int]) -> None:
    assert lines({"attributes": [attributes]}, source) == expected


def test_a_name_is_reported_once() -> None:
    plain: dict[str, object] = {"calls": ["torch.cuda.*"], "attributes": ["torch.cuda.*"]}
    (answer,) = found(plain, "import torch\ntorch.cuda.amp.x(1)")
    assert isinstance(answer.node, ast.Call)
    assert answer.bindings == {"NAME": "torch.cuda.amp.x"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [("pkg/utils/device.py", []), ("tests/deep/test_x.py", []), ("pkg/train.py", [2]), ("device.py", [2])],
)
def test_files_in_which_it_is_allowed(path: str, expected: list[int]) -> None:
    plain: dict[str, object] = {"calls": ["torch.cuda.*"], "allowed_in": ["pkg/utils/device.py", "tests/"]}
    assert lines(plain, "import torch\ntorch.cuda.synchronize()", path) == expected


def test_certainty_is_that_of_the_name() -> None:
    plain: dict[str, object] = {"imports": ["a"], "calls": ["torch.load", "torch.cuda.*"]}
    source = "import a\nimport torch\ntorch.load(x)\ndef f(torch):\n    torch.load(x)\n    torch.cuda.y()"
    assert [answer.certainty for answer in found(plain, source)] == [1.0, 1.0, 0.6, 0.6]


def test_there_is_no_fix() -> None:
    forbidden = Forbidden({"calls": "f"})
    module = Module("x.py", "f()", ast.parse("f()"))
    (match,) = forbidden.matches(module)
    assert forbidden.edits(module, match) == ()
    assert forbidden.fix is None
