"""Renamed, removed and reshaped keys between two versions of a file."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest

from shardlint.facts.key_changes import KeyChange, compare
from shardlint.facts.module_tree import module_classes

HEAD = "import torch\nfrom torch import nn\n"


def changes(before: str, after: str) -> list[KeyChange]:
    return compare(module_classes(ast.parse(HEAD + dedent(before))), module_classes(ast.parse(HEAD + dedent(after))))


def brief(found: list[KeyChange]) -> list[tuple[str, str, str]]:
    return [(one.kind, one.old, one.new) for one in found]


def module(body: str, arguments: str = "h, f, config") -> str:
    head = f"class M(nn.Module):\n    def __init__(self, {arguments}):\n        super().__init__()\n"
    return head + indent(dedent(body).strip(), " " * 8) + "\n"


def of_bodies(before: str, after: str) -> list[tuple[str, str, str]]:
    return brief(changes(module(before), module(after)))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("self.w1 = nn.Linear(h, f)", "self.gate_proj = nn.Linear(h, f)", [("renamed", "w1", "gate_proj")]),
        (
            "self.w = nn.Parameter(torch.zeros(h))",
            "self.weight = nn.Parameter(torch.ones(h))",
            [("renamed", "w", "weight")],
        ),
        (
            "self.register_buffer('a', torch.zeros(h))",
            "self.register_buffer('b', torch.zeros(h))",
            [("renamed", "a", "b")],
        ),
        ("self.add_module('a', nn.Linear(h, f))", "self.b = torch.nn.Linear(h, f)", [("renamed", "a", "b")]),
        (
            "for i in range(f): setattr(self, f'block_{i}', nn.Linear(h, h))",
            "for i in range(f): setattr(self, f'layer_{i}', nn.Linear(h, h))",
            [("renamed", "block_{}", "layer_{}")],
        ),
        (
            "self.h = nn.ModuleList([nn.Linear(h, h) for _ in range(f)])",
            "self.layers = nn.ModuleList([nn.Linear(h, h) for _ in range(f)])",
            [("renamed", "h", "layers")],
        ),
        (
            "self.x = nn.ModuleDict({'q': nn.Linear(h, h)})",
            "self.x = nn.ModuleDict({'query': nn.Linear(h, h)})",
            [("renamed", "x.q", "x.query")],
        ),
        (
            "self.x = nn.Sequential(nn.Linear(h, f), nn.ReLU(), nn.Linear(f, h))",
            "self.x = nn.Sequential(nn.Linear(h, f), nn.Dropout(), nn.ReLU(), nn.Linear(f, h))",
            [("renamed", "x.2", "x.3")],
        ),
        (
            "self.x = nn.Linear(h, f)",
            "self.x = nn.Sequential(nn.Dropout(), nn.Linear(h, f))",
            [("renamed", "x", "x.1")],
        ),
        ("self.proj = nn.Linear(h, f)", "self.out_proj = nn.Linear(h, 2 * f)", [("renamed", "proj", "out_proj")]),
        (
            "self.w1 = nn.Linear(h, f)\nself.w2 = nn.Linear(f, h)\nself.w3 = nn.Linear(h, f)",
            "self.gate = nn.Linear(h, f)\nself.down = nn.Linear(f, h)\nself.up = nn.Linear(h, f)",
            [("renamed", "w1", "gate"), ("renamed", "w2", "down"), ("renamed", "w3", "up")],
        ),
        ("self.a = nn.Linear(h, f)\nself.b = nn.LayerNorm(h)", "self.b = nn.LayerNorm(h)", [("removed", "a", "")]),
        (
            "self.q = nn.Linear(h, h)\nself.k = nn.Linear(h, h)",
            "self.qk = nn.Linear(h, 2 * h)",
            [("removed", "q", ""), ("removed", "k", "")],
        ),
        ("self.norm = nn.LayerNorm(h)", "self.scale = nn.Parameter(torch.ones(h))", [("removed", "norm", "")]),
        ("self.norm = nn.LayerNorm(h)", "self.norm = nn.Identity()", [("removed", "norm", "")]),
        (
            "self.register_buffer('a', torch.zeros(h))",
            "self.register_buffer('a', torch.zeros(h), persistent=False)",
            [("removed", "a", "")],
        ),
        ("self.a = nn.Linear(10, 20)", "self.a = nn.Linear(10, 30)", [("reshaped", "a", "a")]),
        ("self.a = nn.Linear(h, f)", "self.a = nn.Linear(h, f, bias=False)", [("reshaped", "a", "a")]),
        (
            "self.a = nn.Linear(h, f)\nself.b = nn.Linear(f, h)",
            "self.a = nn.Linear(f, h)\nself.b = nn.Linear(f, h)",
            [("reshaped", "a", "a")],
        ),
        ("self.a = nn.Linear(h, 4 * h)", "self.a = nn.Linear(h, 3 * h)", [("reshaped", "a", "a")]),
        (
            "self.a = nn.Parameter(torch.zeros(1, 1, h))",
            "self.a = nn.Parameter(torch.zeros(1, h))",
            [("reshaped", "a", "a")],
        ),
        ("self.a = nn.Conv2d(3, h, 3)", "self.a = nn.Conv2d(3, h, 5)", [("reshaped", "a", "a")]),
    ],
)
def test_what_changes_keys(before: str, after: str, expected: list[tuple[str, str, str]]) -> None:
    assert of_bodies(before, after) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "self.a = nn.Linear(h, f)\nself.b = nn.LayerNorm(h)",
            "self.b = nn.LayerNorm(h)\n# note\nself.a = nn.Linear(h,  f)",
        ),
        ("self.a = nn.Linear(h, f)", "self.a = nn.Linear(out_features=f, in_features=h)"),
        ("self.a = nn.Linear(h, f)", "self.a = nn.Linear(h, f, bias=True)"),
        ("self.a = nn.Linear(h, f)", "self.add_module('a', nn.Linear(h, f))"),
        ("self.a = nn.Linear(h, f)", "layer = nn.Linear(h, f)\nself.a = layer"),
        ("self.a = nn.Linear(config.h, f)", "size = config.h\nself.a = nn.Linear(size, f)"),
        ("size = config.h\nself.a = nn.Linear(size, f)", "hidden = config.h\nself.a = nn.Linear(hidden, f)"),
        ("self.a = nn.Linear(config.h, f)", "self.a = nn.Linear(config.hidden_size, f)"),
        ("self.a = nn.Linear(64, f)", "self.a = nn.Linear(SIZE, f)"),
        ("self.a = nn.Linear(h, 2 * h)", "self.a = nn.Linear(h, h * 2)"),
        ("self.a = nn.Conv2d(3, h, 3)", "self.a = nn.Conv2d(3, h, kernel_size=(3, 3), stride=2)"),
        ("self.a = nn.LayerNorm(h, eps=1e-5)", "self.a = nn.LayerNorm((h,), eps=1e-6)"),
        ("self.a = nn.Parameter(torch.zeros(h, f))", "self.a = nn.Parameter(torch.randn((h, f)) * 0.02)"),
        ("self.a = nn.Linear(h, f, bias=False)", "self.a = nn.Linear(h, f, bias=config.bias)"),
        ("self.drop = nn.Dropout(0.1)", "self.dropout = nn.Dropout(0.1)"),
        ("self.act = nn.GELU()", "self.activation = nn.GELU()"),
        ("self.scale = 5", "self.factor = 5"),
        ("self.t = torch.zeros(h)", "self.u = torch.zeros(h)"),
        ("self.x = [nn.Linear(h, f)]", "self.y = [nn.Linear(h, f)]"),
        (
            "self.register_buffer('a', torch.zeros(h), persistent=False)",
            "self.register_buffer('b', torch.zeros(h), persistent=False)",
        ),
        ("self.bias = None", "self.b = None"),
        ("self.a = nn.Linear(h, f)", "self.a = nn.Linear(h, f)\nself.b = nn.Linear(h, f)"),
        ("self.a = nn.Linear(h, f)", "if config.a:\n    self.a = nn.Linear(h, f)"),
        (
            "self.q_proj = nn.Linear(h, f)\nself.k_proj = nn.Linear(h, f)",
            "for n in ('q', 'k'):\n    setattr(self, n + '_proj', nn.Linear(h, f))",
        ),
        ("self.q_proj = nn.Linear(h, f)", "for n in config.names:\n    setattr(self, n + '_proj', nn.Linear(h, f))"),
        ("self.q_proj = nn.Linear(h, f)", "for n, m in config.parts:\n    self.add_module(n, m)"),
        (
            "self.a = nn.ModuleList([nn.Linear(h, h) for _ in range(f)])",
            "self.a = nn.Sequential(*[nn.Linear(h, h) for i in range(f)])",
        ),
        (
            "self.a = nn.ModuleList([nn.Linear(h, h), nn.Linear(h, h)])",
            "self.a = nn.ModuleList([nn.Linear(h, h) for _ in range(2)])",
        ),
        ("self.a = nn.Linear(h, f)", "self.a = ColumnLinear(h, f)"),
    ],
)
def test_what_changes_no_keys(before: str, after: str) -> None:
    assert of_bodies(before, after) == []


def test_a_renamed_argument_of_the_constructor_is_no_reshape() -> None:
    before = module("self.a = nn.Linear(dim, 4 * dim)\nself.b = nn.Linear(4 * dim, dim)", "dim")
    after = module("self.a = nn.Linear(size, 4 * size)\nself.b = nn.Linear(4 * size, size)", "size")
    assert changes(before, after) == []


def test_a_rename_is_found_although_the_argument_was_renamed_too() -> None:
    assert brief(
        changes(module("self.w1 = nn.Linear(dim, 2)", "dim"), module("self.gate = nn.Linear(size, 2)", "size"))
    ) == [("renamed", "w1", "gate")]


def test_projections_fused_into_one_are_removed_not_renamed() -> None:
    before = "self.q_proj = nn.Linear(h, h)\nself.k_proj = nn.Linear(h, h)\nself.v_proj = nn.Linear(h, h)"
    assert of_bodies(before, "self.qkv_proj = nn.Linear(h, 3 * h)") == [
        ("removed", "q_proj", ""),
        ("removed", "k_proj", ""),
        ("removed", "v_proj", ""),
    ]


def test_a_renamed_class_changes_no_key() -> None:
    before = module("self.a = nn.Linear(h, f)")
    assert changes(before, before.replace("class M(", "class N(")) == []


def test_a_member_of_a_renamed_class_may_be_renamed_too() -> None:
    part = module("self.w = nn.Linear(h, h)").replace("M(", "Part(")
    before = part + module("self.part = Part(h)")
    after = part.replace("Part", "Piece") + module("self.piece = Piece(h)")
    assert brief(changes(before, after)) == [("renamed", "part", "piece")]


BASE = """
class Base(nn.Module):
    def __init__(self, h):
        super().__init__()
        {base}
class M(Base):
    def __init__(self, h):
        super().__init__(h)
        {own}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("pass", "self.a = nn.Linear(h, h)"), ("self.a = nn.Linear(h, h)", "pass")),
        (("self.a = nn.Linear(h, h)", "pass"), ("pass", "self.a = nn.Linear(h, h)")),
    ],
)
def test_a_move_within_inheritance_changes_no_key(before: tuple[str, str], after: tuple[str, str]) -> None:
    assert changes(*(BASE.format(base=base, own=own) for base, own in (before, after))) == []


def test_a_rename_in_a_base_is_reported_once_at_the_base() -> None:
    before = BASE.format(base="self.a = nn.Linear(h, h)", own="self.b = nn.LayerNorm(h)")
    (change,) = changes(before, before.replace("self.a", "self.renamed"))
    assert (change.class_name, change.old, change.new) == ("Base", "a", "renamed")


def test_a_base_outside_of_the_file_that_came_may_hold_the_member() -> None:
    after = "from .base import BaseBlock\n" + module("self.b = nn.LayerNorm(h)").replace("nn.Module", "BaseBlock")
    assert changes(module("self.a = nn.Linear(h, f)\nself.b = nn.LayerNorm(h)"), after) == []


def test_a_member_moved_into_a_new_submodule_is_renamed() -> None:
    part = module("self.fc = nn.Linear(h, h)").replace("M(", "MLP(")
    found = changes(part + module("self.fc = nn.Linear(h, h)"), part + module("self.mlp = MLP(h)"))
    assert brief(found) == [("renamed", "fc", "mlp.fc")]


def test_a_change_lies_at_the_new_member_and_says_how_sure_it_is() -> None:
    (sure,) = changes(module("self.a = nn.Linear(h, f)"), module("self.x = 1\nself.b = nn.Linear(h, f)"))
    assert (sure.line, sure.column, sure.sure) == (7, 9, True)
    imported = "from .layers import FusedLinear\n"
    (unsure,) = changes(imported + module("self.a = FusedLinear(h)"), imported + module("self.b = FusedLinear(h)"))
    assert not unsure.sure


def test_a_removal_lies_at_the_class() -> None:
    (change,) = changes(module("self.a = nn.Linear(h, f)"), module("pass"))
    assert (change.line, change.column, change.after) == (3, 1, None)


def test_comparing_a_version_with_itself_finds_nothing() -> None:
    source = module("self.a = nn.Linear(h, f)\nself.b = nn.ModuleList([nn.Linear(h, h) for _ in range(f)])")
    assert changes(source, source) == []


def test_an_attribute_that_only_one_version_could_read_is_neither_removed_nor_renamed() -> None:
    assert of_bodies("self.norm = nn.LayerNorm(h)", "self.norm = make(h)") == []
    assert of_bodies("self.norm = nn.LayerNorm(h)", "self.norm = make(h)\nself.other = nn.LayerNorm(h)") == []
    assert of_bodies("self.a = nn.Linear(h, f)\nself.b = make(h)", "self.b = nn.Linear(h, f)") == [("removed", "a", "")]
    assert of_bodies("self.norm = nn.LayerNorm(h)", "self.norm = None") == [("removed", "norm", "")]
