"""Keys of the state dict of a class, through the classes of its file."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.module_tree import module_classes
from shardlint.facts.state_keys import MAX_KEYS, state_keys
from shardlint.facts.torch_layers import tensors


def paths(source: str, root: str = "M") -> list[str]:
    head = "import torch\nfrom torch import nn\n"
    return sorted(key.path for key in state_keys(module_classes(ast.parse(head + dedent(source))), root))


def of_layer(expression: str) -> list[str]:
    head = "class M(nn.Module):\n    def __init__(self, flag):\n        super().__init__()\n"
    return [path.removeprefix("x.") for path in paths(f"{head}        self.x = {expression}\n")]


def test_keys_go_through_classes_and_containers_of_the_file() -> None:
    found = paths("""
        class MLP(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.gate_proj = nn.Linear(d, d, bias=False)
                self.act = nn.SiLU()
        class Block(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.mlp = MLP(d)
                self.register_buffer("cos", torch.zeros(2), persistent=False)
        class M(nn.Module):
            def __init__(self, d, n):
                super().__init__()
                self.layers = nn.ModuleList([Block(d) for _ in range(n)])
                self.scale = nn.Parameter(torch.ones(d))
    """)
    assert found == ["layers.{}.mlp.gate_proj.weight", "scale"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("nn.Linear(1, 2)", ["bias", "weight"]),
        ("nn.Linear(1, 2, False)", ["weight"]),
        ("nn.LayerNorm(2)", ["bias", "weight"]),
        ("nn.LayerNorm(2, bias=False)", ["weight"]),
        ("nn.LayerNorm(2, elementwise_affine=False)", []),
        ("nn.RMSNorm(2)", ["weight"]),
        ("nn.Embedding(2, 2)", ["weight"]),
        ("nn.Conv2d(1, 1, 3, bias=False)", ["weight"]),
        ("nn.BatchNorm2d(3)", ["bias", "num_batches_tracked", "running_mean", "running_var", "weight"]),
        ("nn.BatchNorm2d(3, affine=False)", ["num_batches_tracked", "running_mean", "running_var"]),
        ("nn.InstanceNorm2d(3)", []),
        ("nn.MultiheadAttention(8, 2)", ["in_proj_bias", "in_proj_weight", "out_proj.bias", "out_proj.weight"]),
        ("nn.GRUCell(2, 2)", ["bias_hh", "bias_ih", "weight_hh", "weight_ih"]),
        ("nn.CrossEntropyLoss()", []),
        ("nn.CrossEntropyLoss(weight=flag)", ["weight"]),
        ("nn.Dropout(0.1)", []),
        ("nn.NewLayer(1)", ["*"]),
    ],
)
def test_tensors_of_built_in_layers(expression: str, expected: list[str]) -> None:
    assert of_layer(expression) == expected


def test_a_flag_that_only_the_run_knows_makes_a_key_conditional() -> None:
    assert [(one.name, one.conditional) for one in tensors("Linear", {"bias": "config.bias"}) or ()] == [
        ("weight", False),
        ("bias", True),
    ]


def test_layers_from_elsewhere_and_open_bases_are_opaque() -> None:
    found = paths("""
        from .layers import FusedLinear, BaseBlock
        class M(BaseBlock):
            def __init__(self):
                super().__init__()
                self.x = FusedLinear(1, 2)
    """)
    assert found == ["*", "x.*"]


def test_bases_known_to_bring_nothing_leave_a_class_closed() -> None:
    found = paths("""
        from transformers import PreTrainedModel, GenerationMixin
        class M(PreTrainedModel, GenerationMixin):
            def __init__(self):
                super().__init__()
                self.x = nn.Linear(1, 2, bias=False)
    """)
    assert found == ["x.weight"]


def test_alternatives_are_united() -> None:
    assert of_layer("nn.Linear(1, 1) if flag else nn.RMSNorm(1)") == ["bias", "weight"]


def test_a_module_inside_itself_ends_with_an_opaque_key() -> None:
    found = paths("""
        class M(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.w = nn.Parameter(torch.zeros(1))
                if n:
                    self.inner = M(n - 1)
    """)
    assert found == ["inner.*", "w"]


def test_the_number_of_keys_is_bounded() -> None:
    levels = "class C0(nn.Module):\n    def __init__(self):\n        self.w = nn.Parameter(torch.zeros(1))\n"
    for level in range(1, 21):
        body = "".join(f"        self.m{i} = C{level - 1}()\n" for i in range(4))
        levels += f"class C{level}(nn.Module):\n    def __init__(self):\n{body}"
    found = paths(levels, "C20")
    assert len(found) <= MAX_KEYS + 1
    assert "*" in found


def test_an_unknown_root_is_an_error() -> None:
    with pytest.raises(KeyError):
        paths("", "M")
