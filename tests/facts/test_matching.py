"""Where queries match."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.effects import Effects
from shardlint.facts.matching import last_part, matches, with_bases
from shardlint.facts.module import Module
from shardlint.query import RANK, Call, Compared, Divergence, InFileWith, InFunctionWith, Method, Query, Spelled

LOAD = Call("torch.load")
STEP = Method(("torch.amp.GradScaler", "torch.cuda.amp.GradScaler"), "step", named=("scaler",))


def hits(source: str, query: Query) -> list[tuple[int, str, float]]:
    text = dedent(source)
    module = Module("x.py", text, ast.parse(text))
    return [(hit.call.lineno, hit.name, hit.certainty) for hit in matches(module, query)]


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ntorch.load(1)",
        "import torch as t\nt.load(1)",
        "from torch import load as read\nread(1)",
        "import torch\nread = torch.load\nread(1)",
        "import torch\nread = torch.load if c else torch.load\nread(1)",
        "import torch\nread = None or torch.load\nread(1)",
        "import torch\nfrom functools import partial\nread = partial(torch.load, weights_only=True)\nread(1)",
        "import torch\nfrom functools import partial\npartial(torch.load)(1)",
        "import torch\ngetattr(torch, 'load')(1)",
        "import torch\nread = getattr(torch, 'load')\nread(1)",
        "import torch\nclass A:\n    def __init__(self):\n        self.read = torch.load\n"
        "    def f(self):\n        self.read(1)",
        "import torch\na = torch.load\nb = a\nc = b\nc(1)",
    ],
)
def test_a_call_is_found_under_any_name(source: str) -> None:
    found = hits(source, LOAD)
    assert [(line, name) for line, name, _ in found] == [(source.count("\n") + 1, "torch.load")]


@pytest.mark.parametrize(
    "source",
    [
        "import json\njson.load(1)",
        "load(1)",
        "import torch\ntorch.loads(1)",
        "import torch\nx = torch.load",
        "self.load(1)",
    ],
)
def test_another_call_is_not_found(source: str) -> None:
    assert hits(source, LOAD) == []


def test_a_star_matches_a_method_of_any_object() -> None:
    source = "m.to_empty()\nto_empty()\nf().to_empty()\nimport torch\ntorch.to_empty()"
    assert hits(source, Call("*.to_empty", "torch.to_empty")) == [
        (1, "*.to_empty", 0.8),
        (3, "*.to_empty", 0.8),
        (5, "torch.to_empty", 1.0),
    ]


def test_hits_come_in_the_order_of_the_text_and_once() -> None:
    source = """
    import torch
    from torch import load
    load(torch.load(1))
    read = load
    read(2)
    """
    assert [line for line, _, _ in hits(source, LOAD)] == [4, 4, 6]
    assert [line for line, _, _ in hits(source, LOAD | Call("torch.load"))] == [4, 4, 6]


@pytest.mark.parametrize(
    ("source", "certainty"),
    [
        ("from torch.amp import GradScaler\nscaler = GradScaler()\nscaler.step(o)", 1.0),
        ("from torch.cuda import amp\ns = amp.GradScaler()\ns.step(o)", 1.0),
        ("from torch.amp import GradScaler\ndef f(s: GradScaler):\n    s.step(o)", 1.0),
        ("def f(scaler):\n    scaler.step(o)", 0.6),
        ("class A:\n    def f(self):\n        self.scaler.step(o)", 0.6),
        ("trainer.scaler.step(o)", 0.6),
        ("import torch\nclass Mine(torch.amp.GradScaler): ...\ns = Mine()\ns.step(o)", 1.0),
        ("import torch\nclass Base(torch.amp.GradScaler): ...\nclass Mine(Base): ...\ns = Mine()\ns.step(o)", 1.0),
    ],
)
def test_a_method_is_found_by_the_class_or_the_name_of_its_receiver(source: str, certainty: float) -> None:
    assert [found[2] for found in hits(source, STEP)] == [certainty]


@pytest.mark.parametrize(
    "source",
    [
        "def f(optimizer):\n    optimizer.step()",
        "scaler = StandardScaler()\nscaler.step(1)\nclass StandardScaler: ...",
        "step(o)",
    ],
)
def test_a_method_of_another_class_is_not_found(source: str) -> None:
    assert hits(source, STEP) == []


CONDITION = """
import torch
def f():
    torch.load(1)
    torch.save(2)
def g():
    torch.load(3)
"""


def test_a_condition_in_the_function_holds_in_that_function_only() -> None:
    assert [line for line, _, _ in hits(CONDITION, LOAD & InFunctionWith(Call("torch.save")))] == [4]


def test_a_condition_in_the_file_holds_everywhere() -> None:
    assert [line for line, _, _ in hits(CONDITION, LOAD & InFileWith(Call("torch.save")))] == [4, 7]
    assert hits(CONDITION, LOAD & InFileWith(Call("torch.jit.load"))) == []


def test_conditions_are_combined() -> None:
    both = InFileWith(Call("torch.save")) & InFunctionWith(Call("torch.save"))
    either = InFunctionWith(Call("torch.save")) | InFileWith(Call("torch.jit.load"))
    assert [line for line, _, _ in hits(CONDITION, LOAD & both)] == [4]
    assert [line for line, _, _ in hits(CONDITION, LOAD & either)] == [4]
    assert [line for line, _, _ in hits(CONDITION, LOAD & LOAD)] == [4, 7]


def test_a_query_for_program_rules_matches_no_single_call() -> None:
    assert hits(CONDITION, Divergence(RANK, Effects({}))) == []


def test_last_part_of_a_name() -> None:
    words = [last_part(ast.parse(text, mode="eval").body) for text in ("a", "a.b", "f().c", "f()", "a[0]")]
    assert words == ["a", "b", "c", "", ""]


def test_bases_of_a_class_that_derives_from_itself_end() -> None:
    module = Module("x.py", "", ast.parse("class A(B): ...\nclass B(A): ...\n"))
    assert with_bases(module, ["x.A"]) == ["x.A", "x.B"]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("x == tok.pad_id", ["operator.eq"]),
        ("pad_id != x", ["operator.ne"]),
        ("x.eq(tok.pad_id)", ["operator.eq"]),
        ("torch.ne(x, pad_id)", ["operator.ne"]),
        ("pad = tok.pad_id or 0\nx == pad", ["operator.eq"]),
        ("class A:\n    def f(self):\n        self.p = tok.pad_id\n        x == self.p", ["operator.eq"]),
        ("x == tok.eos_id; pad_id", []),
        ("x < tok.pad_id", []),
        ("x == y == tok.pad_id", []),
        ("x is tok.pad_id", []),
        ("x.eq(1, 2); pad_id", []),
        ("eq(x, tok.pad_id)", []),
    ],
)
def test_a_comparison_is_found_by_what_is_compared(source: str, found: list[str]) -> None:
    assert [name for _, name, _ in hits(source, Compared("pad_id"))] == found


def test_a_comparison_is_the_parent_of_its_site() -> None:
    module = Module("x.py", "y = x != pad_id", ast.parse("y = x != pad_id"))
    (hit,) = matches(module, Compared("pad_id"))
    written = module.parent(hit.call)
    assert isinstance(written, ast.Compare)
    assert module.statement(hit.call) is module.statement(written)


@pytest.mark.parametrize(("text", "count"), [("(rows):", 1), ("rows", 1), ("(row", 1), ("row", 0), ("(row):", 0)])
def test_a_text_that_is_no_identifier_is_looked_for_as_it_stands(text: str, count: int) -> None:
    source = "import torch\ndef f(rows):\n    return torch.load(rows)"
    assert len(hits(source, LOAD & Spelled(text))) == count
