"""The heads along a projection are those of the configuration that explain its size."""

from __future__ import annotations

import pytest

from shardlint.runtime.heads import Heads, heads_of
from shardlint.runtime.model_facts import Parameter, Setting

GROUPED: dict[str, Setting] = {"num_attention_heads": 8, "num_key_value_heads": 2, "hidden_size": 64}
EIGHT, TWO = Heads("num_attention_heads", 8), Heads("num_key_value_heads", 2)


@pytest.mark.parametrize(
    ("name", "rows", "config", "expected"),
    [
        ("q_proj", 64, GROUPED, (EIGHT,)),
        ("q_proj", 128, GROUPED, (EIGHT,)),
        ("k_proj", 16, GROUPED, (TWO,)),
        ("wv", 16, {"n_heads": 8, "n_kv_heads": 2, "dim": 64}, (Heads("n_kv_heads", 2),)),
        ("v_proj", 64, {"num_attention_heads": 8, "hidden_size": 64}, (EIGHT,)),
        ("qkv_proj", 96, GROUPED, (EIGHT, TWO)),
        ("k_proj", 64, GROUPED | {"head_dim": 32}, (TWO,)),
        ("kv_b_proj", 200, GROUPED, (EIGHT,)),
        ("k_proj", 48, GROUPED, ()),
        ("q_proj", 96, GROUPED, ()),
        ("o_proj", 64, GROUPED, ()),
        ("q_proj", 64, {}, ()),
        ("q_proj", 64, {"num_attention_heads": 8}, ()),
        ("q_proj", 64, {"num_attention_heads": [8, 4], "hidden_size": 64}, ()),
        ("k_proj", 16, GROUPED | {"audio.num_heads": 4, "audio.hidden_size": 16}, ()),
    ],
)
def test_heads_explain_the_size_of_a_projection(
    name: str, rows: int, config: dict[str, Setting], expected: tuple[Heads, ...]
) -> None:
    assert heads_of(Parameter(f"layers.0.attn.{name}.weight", (rows, 64), "int8"), config) == expected


def test_heads_of_a_part_are_named_by_the_part() -> None:
    config: dict[str, Setting] = {"vision_config.num_heads": 4, "vision_config.hidden_size": 32}
    parameter = Parameter("visual.attn.q_proj.weight", (32, 32), "int8")
    assert heads_of(parameter, config) == (Heads("vision_config.num_heads", 4),)


def test_a_bias_has_no_heads_of_its_own() -> None:
    assert heads_of(Parameter("attn.q_proj.bias", (64,), "int8"), GROUPED) == ()
