"""Module classes and members, read from source."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest

from shardlint.facts.module_tree import Member, ModuleClass, module_classes

IMPORTS = """import copy
import torch
from collections import OrderedDict
from functools import partial
from torch import nn
"""


def classes(source: str) -> dict[str, ModuleClass]:
    return module_classes(ast.parse(IMPORTS + dedent(source)))


def built(body: str, arguments: str = "config, n") -> ModuleClass:
    """The class whose constructor is `body`."""
    head = f"class M(nn.Module):\n    def __init__(self, {arguments}):\n        super().__init__()\n"
    return classes(head + indent(dedent(body).strip(), " " * 8))["M"]


def member(body: str, key: str, arguments: str = "config, n") -> Member:
    (found,) = with_key(built(body, arguments), key)
    return found


def with_key(found: ModuleClass, key: str) -> list[Member]:
    return [one for one in found.members if one.key == key]


def keys(found: ModuleClass) -> list[str]:
    return [one.key for one in found.members]


def child_keys(found: Member) -> list[str]:
    return [child.key for child in found.children]


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("self.x = nn.Linear(1, 2)", "module"),
        ("self.x: nn.Linear = nn.Linear(1, 2)", "module"),
        ("self.x = torch.nn.Parameter(torch.zeros(2))", "parameter"),
        ("self.register_parameter('x', nn.Parameter(torch.zeros(2)))", "parameter"),
        ("self.register_parameter(name='x', param=nn.Parameter(torch.zeros(2)))", "parameter"),
        ("self.register_buffer('x', torch.zeros(2))", "buffer"),
        ("self.x = nn.Buffer(torch.zeros(2))", "buffer"),
        ("self.add_module('x', nn.Linear(1, 2))", "module"),
        ("self.register_module('x', nn.Linear(1, 2))", "module"),
        ("setattr(self, 'x', nn.Linear(1, 2))", "module"),
        ("self.x = nn.ModuleList()", "list"),
        ("self.x = nn.ParameterList([])", "list"),
        ("self.x = nn.ModuleDict({})", "dict"),
        ("self.x = nn.Sequential(nn.ReLU())", "sequential"),
        ("self.x = nn.Linear(1, 2).to('cpu').requires_grad_(False)", "module"),
        ("self.x = copy.deepcopy(nn.Linear(1, 2))", "module"),
        ("layer = nn.Linear(1, 2)\nself.x = layer", "module"),
        ("norm = partial(nn.LayerNorm, eps=1e-6)\nself.x = norm(4)", "module"),
        ("cls = nn.LayerNorm\nself.x = cls(4)", "module"),
        ("if (layer := nn.Linear(1, 1)) is not None:\n    self.x = layer", "module"),
    ],
)
def test_each_way_to_register_gives_one_member(statement: str, kind: str) -> None:
    assert [(one.key, one.kind) for one in built(statement).members] == [("x", kind)]


@pytest.mark.parametrize(
    "statement",
    [
        "self.x = 5",
        "self.x = config",
        "self.x = torch.zeros(3)",
        "self.x = None",
        "self.register_parameter('x', None)",
        "self.register_buffer('x', None)",
        "self.x = [nn.Linear(1, 2)]",
        "self.x = {'a': nn.Linear(1, 2)}",
        "self.x = lambda: nn.Linear(1, 2)",
        "self.x = nn.Linear",
        "self.x = nn.functional.relu",
        "self.x = nn.init.zeros_(torch.empty(3))",
        "self.other.x = nn.Linear(1, 2)",
        "x = nn.Linear(1, 2)",
        "self.x = nn.Linear(1, 2)\ndel self.x",
        "self.x = nn.Linear(1, 2)\nself.x = None",
        "self.x = nn.Linear(1, 2)\ndelattr(self, 'x')",
        "for k, v in config.items():\n    setattr(self, k, v)",
    ],
)
def test_what_registers_nothing_gives_no_member(statement: str) -> None:
    assert built(statement).members == ()


def test_chained_and_tuple_assignments_register_each_target() -> None:
    assert keys(built("self.a = self.b = nn.Linear(1, 1)\nself.c, self.d = nn.ReLU(), nn.Linear(1, 1)")) == list("abcd")


def test_line_and_column_count_from_one() -> None:
    found = member("self.x = nn.Linear(1, 2)", "x")
    assert (found.line, found.column) == (IMPORTS.count("\n") + 4, 9)


@pytest.mark.parametrize(
    ("argument", "persistent", "conditional"),
    [
        ("", True, False),
        (", persistent=False", False, False),
        (", False", False, False),
        (", persistent=n", True, True),
    ],
)
def test_persistence_of_a_buffer(argument: str, persistent: bool, conditional: bool) -> None:
    found = member(f"self.register_buffer('x', torch.zeros(2){argument})", "x")
    assert (found.persistent, found.conditional) == (persistent, conditional)


@pytest.mark.parametrize(
    "name", ["f'block_{i}'", "'block_%d' % i", "'block_{}'.format(i)", "'block_' + str(i)", "f'block_{i:02d}'"]
)
def test_names_made_in_a_loop_are_patterns(name: str) -> None:
    assert keys(built(f"for i in range(n):\n    self.add_module({name}, nn.Linear(1, 1))")) == ["block_{}"]


def test_a_loop_over_literal_names_gives_each_name() -> None:
    assert keys(built("for name in ('q', 'k'):\n    setattr(self, f'{name}_proj', nn.Linear(1, 1))")) == [
        "q_proj",
        "k_proj",
    ]


def test_a_loop_over_literal_pairs_gives_each_name() -> None:
    body = "for name, size in [('a', 1), ('b', 2)]:\n    self.add_module(name, nn.Linear(size, 1))"
    assert keys(built(body)) == ["a", "b"]


def test_a_name_that_cannot_be_read_leaves_the_class_incomplete() -> None:
    assert not built("self.add_module(n, nn.Linear(1, 1))").complete
    assert built("self.add_module('n', nn.Linear(1, 1))").complete


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 1))", ["0", "1", "2"]),
        ("nn.Sequential(OrderedDict([('fc', nn.Linear(1, 1)), ('act', nn.ReLU())]))", ["fc", "act"]),
        ("nn.Sequential(OrderedDict(fc=nn.Linear(1, 1)))", ["fc"]),
        ("nn.ModuleList([nn.Linear(1, 1) for _ in range(n)])", ["{}"]),
        ("nn.ModuleList(nn.Linear(1, 1) for _ in range(n))", ["{}"]),
        ("nn.ModuleList([nn.Linear(1, 1)] * n)", ["{}"]),
        ("nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])", ["0", "1"]),
        ("nn.ModuleDict({'q': nn.Linear(1, 1), 'k': nn.Linear(1, 1)})", ["q", "k"]),
        ("nn.ModuleDict({str(i): nn.Linear(1, 1) for i in range(n)})", ["{}"]),
        ("nn.ModuleDict({k: nn.Linear(1, 1) for k in ('q', 'k')})", ["q", "k"]),
        ("nn.ModuleDict(dict(q=nn.Linear(1, 1)))", ["q"]),
        ("nn.Sequential(*[nn.Linear(1, 1) for _ in range(n)], nn.ReLU())", ["{}", "{}"]),
    ],
)
def test_entries_of_containers(expression: str, expected: list[str]) -> None:
    found = member(f"self.x = {expression}", "x")
    assert child_keys(found) == expected
    assert not found.opaque


def test_a_python_list_that_is_filled_in_a_loop_and_unpacked() -> None:
    body = """
        layers = [nn.Linear(1, 1)]
        for _ in range(n):
            layers.append(nn.ReLU())
        self.x = nn.Sequential(*layers)
    """
    assert [(one.key, one.type_name) for one in member(body, "x").children] == [("0", "nn.Linear"), ("{}", "nn.ReLU")]


def test_containers_filled_after_they_were_assigned() -> None:
    body = """
        self.x = nn.ModuleList()
        self.x.append(nn.Linear(1, 1))
        self.x.extend([nn.ReLU()])
        self.d = nn.ModuleDict()
        self.d['q'] = nn.Linear(1, 1)
        self.d[f'k{n}'] = nn.Linear(1, 1)
        self.d.update({'v': nn.Linear(1, 1)})
    """
    found = built(body)
    assert child_keys(with_key(found, "x")[0]) == ["0", "1"]
    assert child_keys(with_key(found, "d")[0]) == ["q", "k{}", "v"]


def test_a_container_made_inside_a_loop_keeps_certain_indices() -> None:
    body = "self.x = nn.ModuleList()\nfor _ in range(n):\n    self.x.append(nn.Sequential(nn.ReLU(), nn.Linear(1, 1)))"
    (inner,) = member(body, "x").children
    assert (inner.key, child_keys(inner)) == ("{}", ["0", "1"])


def test_an_entry_under_a_condition_has_no_certain_index() -> None:
    body = "self.x = nn.ModuleList()\nif n:\n    self.x.append(nn.Linear(1, 1))\nself.x.append(nn.ReLU())"
    assert child_keys(member(body, "x")) == ["{}", "{}"]


def test_a_container_of_unknown_things_is_opaque() -> None:
    assert member("self.x = nn.ModuleList(config.layers)", "x").opaque


def test_alternatives_share_a_key_and_are_conditional() -> None:
    found = built("if n:\n    self.x = nn.LayerNorm(2)\nelse:\n    self.x = nn.RMSNorm(2)")
    assert [(one.type_name, one.conditional) for one in with_key(found, "x")] == [
        ("nn.LayerNorm", True),
        ("nn.RMSNorm", True),
    ]


def test_a_conditional_expression_gives_its_alternatives() -> None:
    found = built("self.x = nn.LayerNorm(2) if n else None\nself.y = nn.LayerNorm(2) if n else nn.RMSNorm(2)")
    assert [one.conditional for one in found.members] == [True] * 3


def test_a_placeholder_that_a_branch_fills_is_one_conditional_member() -> None:
    assert member("self.x = None\nif n:\n    self.x = nn.Linear(1, 1)", "x").conditional


def test_methods_called_from_the_constructor_are_read_with_their_arguments() -> None:
    found = classes("""
        class M(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self._add("q", dim)
                self.out = self._make(dim)
            def _add(self, name, size):
                setattr(self, name + "_proj", nn.Linear(size, 2))
            def _make(self, width):
                return nn.Sequential(nn.Linear(width, 1))
    """)["M"]
    assert keys(found) == ["q_proj", "out"]
    assert found.members[0].shape == "in_features=dim, out_features=2"


def test_functions_of_the_file_are_read_for_what_they_return() -> None:
    found = classes("""
        def conv3x3(i, o):
            return nn.Conv2d(i, o, kernel_size=3, bias=False)
        def clones(layer, n):
            return nn.ModuleList([copy.deepcopy(layer) for _ in range(n)])
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = conv3x3(2, 3)
                self.b = clones(nn.Linear(1, 1), 4)
    """)["M"]
    assert [one.type_name for one in found.members] == ["nn.Conv2d", "nn.ModuleList"]
    assert child_keys(found.members[1]) == ["{}"]


def test_what_forward_assigns_is_no_member() -> None:
    found = classes("""
        class M(nn.Module):
            def forward(self, x):
                self.late = nn.Linear(1, 1)
    """)["M"]
    assert found.members == ()


def test_methods_that_build_but_are_not_called_are_unsure() -> None:
    found = classes("""
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(1, 1)
            def configure_model(self):
                self.b = nn.Linear(1, 1)
    """)["M"]
    assert [(one.key, one.sure) for one in found.members] == [("a", True), ("b", False)]


def test_members_of_bases_are_merged_and_replaced() -> None:
    found = classes("""
        class Base(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.norm = nn.LayerNorm(d)
                self.mid = self.make(d)
            def make(self, d):
                return nn.Linear(d, d)
        class M(Base):
            def __init__(self, d):
                super().__init__(d)
                self.norm = nn.Identity()
            def make(self, d):
                return nn.Embedding(d, d)
    """)
    assert [(one.key, one.type_name, one.owner) for one in found["M"].members] == [
        ("mid", "nn.Embedding", "Base"),
        ("norm", "nn.Identity", "M"),
    ]
    assert [one.type_name for one in found["Base"].members] == ["nn.LayerNorm", "nn.Linear"]


def test_a_constructor_that_skips_its_base_has_none_of_its_members() -> None:
    found = classes("""
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(1, 1)
        class M(Base):
            def __init__(self):
                nn.Module.__init__(self)
                self.b = nn.Linear(1, 1)
    """)
    assert keys(found["M"]) == ["b"]


def test_mixins_and_explicit_base_calls() -> None:
    found = classes("""
        class Mixin:
            def add_head(self):
                self.head = nn.Linear(1, 1)
        class Base(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.a = nn.Linear(d, d)
        class M(Mixin, Base):
            def __init__(self):
                Base.__init__(self, 3)
                self.add_head()
    """)
    assert list(found) == ["Base", "M"]
    assert keys(found["M"]) == ["a", "head"]
    assert found["M"].members[0].shape == "in_features=3, out_features=3"


def test_a_class_that_extends_a_layer_has_its_tensors() -> None:
    found = classes("""
        class LoraLinear(nn.Linear):
            def __init__(self, i, o):
                super().__init__(i, o, bias=False)
                self.lora = nn.Parameter(torch.zeros(i))
        class Stack(nn.Sequential):
            def __init__(self):
                super().__init__(nn.Linear(1, 1), nn.ReLU())
    """)
    assert keys(found["LoraLinear"]) == ["weight", "lora"]
    assert keys(found["Stack"]) == ["0", "1"]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("class M(nn.Module): pass", True),
        ("class M(torch.nn.Module): pass", True),
        ("class M(nn.Linear): pass", True),
        ("from transformers import PreTrainedModel\nclass M(PreTrainedModel): pass", True),
        ("import lightning as L\nclass M(L.LightningModule): pass", True),
        ("from mmengine.model import BaseModule\nclass M(BaseModule): pass", False),
        ("from .layers import Attention\nclass M(Attention): pass", False),
        ("from typing import Generic\nclass M(nn.Module, Generic[T]): pass", True),
        ("Base = nn.Module\nclass M(Base): pass", True),
        ("from torch.nn import *\nclass M(Module): pass", True),
    ],
)
def test_how_sure_it_is_that_a_class_is_a_module(head: str, expected: bool) -> None:
    assert classes(f"{head}\n")["M"].known is expected


@pytest.mark.parametrize(
    "head",
    [
        "class M: pass",
        "class M(object): pass",
        "from enum import Enum\nclass M(Enum): pass",
        "from pydantic import BaseModel\nclass M(BaseModel): pass",
        "from json import JSONEncoder\nclass M(JSONEncoder): pass",
        "from flax import linen as nn\nclass M(nn.Module): pass",
        "import mlx.nn as nn2\nclass M(nn2.Module): pass",
        "from lightning import LightningDataModule\nclass M(LightningDataModule): pass",
        "from transformers import PretrainedConfig\nclass M(PretrainedConfig): pass",
        "class M(nn.Parameter): pass",
        "class M(M): pass",
    ],
)
def test_classes_that_are_no_modules(head: str) -> None:
    source = head if "flax" in head else IMPORTS + head
    assert "M" not in module_classes(ast.parse(source))


def test_bases_outside_of_the_file_are_listed() -> None:
    found = classes("""
        from .base import BaseAttention
        class Local(BaseAttention): pass
        class M(Local): pass
    """)["M"]
    assert (found.bases, found.open_bases) == (("Local",), ("BaseAttention",))


def test_nested_classes_have_qualified_names_and_are_found() -> None:
    found = classes("""
        class M(nn.Module):
            class Inner(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.w = nn.Parameter(torch.zeros(1))
            def __init__(self):
                super().__init__()
                self.inner = self.Inner()
    """)
    assert list(found) == ["M", "M.Inner"]
    assert found["M"].members[0].local == "M.Inner"


@pytest.mark.parametrize(
    ("statement", "sure"),
    [
        ("from .layers import FusedLinear\nself.x = FusedLinear(1, 2)", False),
        ("from transformers import AutoModel\nself.x = AutoModel.from_config(config)", False),
        ("self.x = build_module(config.spec)", False),
        ("self.x = nn.Linear(1, 2)", True),
    ],
)
def test_layers_from_elsewhere_are_unsure(statement: str, sure: bool) -> None:
    assert member(statement, "x").sure is sure


@pytest.mark.parametrize(
    "statement",
    [
        "from .config import ModelConfig\nself.x = ModelConfig()",
        "from .data import ChatTokenizer\nself.x = ChatTokenizer.from_pretrained('a')",
        "from threading import Lock\nself.x = Lock()",
        "from .cache import StaticCache\nself.x = StaticCache()",
    ],
)
def test_other_objects_are_no_members(statement: str) -> None:
    assert built(statement).members == ()


def test_arguments_annotated_as_modules_are_members() -> None:
    found = built(
        "self.x = inner\nself.y = scale\nself.z = maybe", "inner: nn.Module, scale: float, maybe: 'nn.Linear | None'"
    )
    assert keys(found) == ["x", "z"]


def test_a_table_of_classes_gives_alternatives() -> None:
    found = classes("""
        class A(nn.Module): pass
        class B(nn.Module): pass
        LAYERS = {"a": A, "b": B}
        class M(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.x = LAYERS[config.kind](config)
    """)["M"]
    assert [one.local for one in found.members] == ["A", "B"]


def test_shapes_name_arguments_and_see_through_locals() -> None:
    first = member("self.x = nn.Linear(config.h, 4 * config.h, bias=True)", "x")
    second = member("h = config.h\nself.x = nn.Linear(out_features=h * 4, in_features=h)", "x")
    third = member("self.h = config.h\nself.x = nn.Linear(self.h, 4 * self.h)", "x")
    assert first.shape == second.shape == third.shape == "in_features=config.h, out_features=(4 * config.h)"


@pytest.mark.parametrize(
    "data",
    [
        "torch.zeros(2, n)",
        "torch.randn((2, n)) * 0.02",
        "torch.empty(size=(2, n), dtype=torch.float32)",
        "torch.full((2, n), 1.0)",
    ],
)
def test_the_size_of_a_parameter_does_not_depend_on_its_initial_values(data: str) -> None:
    found = member(f"self.x = nn.Parameter({data})", "x")
    assert (found.shape, found.sized) == ("2, n", True)


def test_layers_without_tensors_have_none() -> None:
    found = built("self.a = nn.Dropout(0.1)\nself.b = nn.GELU()\nself.c = nn.Identity()")
    assert all(not one.tensors and not one.opaque for one in found.members)


@pytest.mark.parametrize(
    "source",
    [
        "class A(B): pass\nclass B(A): pass",
        """
        class M(nn.Module):
            def __init__(self):
                self.__init__()
                self.build()
            def build(self):
                self.build()
        """,
        """
        def f(): return f()
        class M(nn.Module):
            def __init__(self):
                self.x = f()
        """,
        """
        class M(nn.Module):
            def __init__(self):
                x = []
                x.append(x)
                self.x = nn.ModuleList(x)
        """,
        """
        class M(nn.Module):
            def __init__():
                super().__init__()
        """,
        """
        class M(nn.Module):
            def __init__(self, *a, **k):
                super(M, self).__init__(*a, **k)
                self.x = nn.Linear(*a, **k)
        """,
    ],
)
def test_odd_sources_end(source: str) -> None:
    assert isinstance(classes(source), dict)


def test_work_is_bounded_when_loops_are_nested() -> None:
    rounds = "(" + ",".join(f"'{i}'" for i in range(60)) + ")"
    loops = f"for a in {rounds}:\n for b in {rounds}:\n  for c in {rounds}:\n"
    body = f"{loops}   self.add_module(a + b + c, nn.ReLU())"
    assert not built(body).complete
