"""The text form of model facts says what it seems to say."""

from __future__ import annotations

import pytest

from shardlint.errors import PlanError
from shardlint.runtime.facts_text import parse_facts
from shardlint.runtime.model_facts import Buffer, Module, Parameter


def test_each_kind_of_line_is_read() -> None:
    facts = parse_facts(
        """
        # a whole-line comment
        embed.weight                [32, 16]  bf16   # the table
        layers.{0..1}.norm.weight   [16]      float32  frozen
        scale                       []        fp16
        tied head.weight = embed.weight
        buffer rope.inv_freq        [8]       fp32
        module layers.{0..1}        DecoderLayer
        module layers               ModuleList
        module ""                   Model  no_forward
        no_split DecoderLayer VisionBlock
        model_types llama qwen2.5_vl
        config num_attention_heads = 32
        config text_config.eps = 1.5e-6
        config tie = true
        config kinds = [8, 4]
        config model_type = qwen3_moe
        config head_dim = null
        styles colwise rowwise
        """
    )
    assert facts.parameters == {
        "embed.weight": Parameter("embed.weight", (32, 16), "bfloat16"),
        "layers.0.norm.weight": Parameter("layers.0.norm.weight", (16,), "float32", False),
        "layers.1.norm.weight": Parameter("layers.1.norm.weight", (16,), "float32", False),
        "scale": Parameter("scale", (), "float16"),
        "head.weight": Parameter("head.weight", (32, 16), "bfloat16", True, "embed.weight"),
    }
    assert facts.buffers == {"rope.inv_freq": Buffer("rope.inv_freq", (8,), "float32")}
    assert facts.modules["layers.1"] == Module("layers.1", "DecoderLayer")
    assert [facts.modules[name] for name in ("layers", "")] == [
        Module("layers", "ModuleList", None, False),
        Module("", "Model", None, False),
    ]
    assert facts.no_split == ("DecoderLayer", "VisionBlock")
    assert facts.model_types == {"llama", "qwen2.5_vl"}
    assert facts.config == {
        "num_attention_heads": 32,
        "text_config.eps": 1.5e-6,
        "tie": True,
        "kinds": [8, 4],
        "model_type": "qwen3_moe",
        "head_dim": None,
    }
    assert facts.styles == {"colwise", "rowwise"}
    assert {"", "layers", "layers.0.norm", "head", "rope"} <= set(facts.modules)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("embed.weight [32, 16]", "states no fact"),
        ("embed.weight 32x16 bf16", "states no fact"),
        ("embed.weight [32 16] bf16", "`[32 16]` is no shape"),
        ("embed.weight [32,] bf16", "is no shape"),
        ("embed.weight [-1] bf16", "is no shape"),
        ("embed.weight [8] bf15", "`bf15` is no dtype"),
        ("embed.{0..1 [8] bf16", "do not pair up"),
        ("w [4] bf16", "the parameter `w` is given twice"),
        ("tied head = w.bias", "tied to `w.bias`, which no line above gives a shape"),
        ("tied w = w", "given twice"),
        ("module {m,m} Block", "the module `m` is given twice"),
        ("buffer {b,b} [] fp32", "the buffer `b` is given twice"),
        ("module layers", "states no fact"),
        ("config heads", "states no fact"),
        ("config heads = 1 2", "`1 2` is no value of a configuration"),
        ("config heads = [a]", "is no shape"),
        ("styles", "states no fact"),
    ],
)
def test_a_line_that_states_nothing_is_refused_with_its_number(line: str, reason: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_facts(f"w [4] bf16\n{line}\n")
    assert str(caught.value).startswith("line 2: ")
    assert reason in str(caught.value)
