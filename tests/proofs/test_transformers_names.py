"""Proof of the rules about names that transformers must know: a `model_type`, and the styles of a plan."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from .conftest import rules

transformers = pytest.importorskip("transformers", reason="the proof asks transformers for the names")


def loaded(folder: Path, model_type: str) -> str:
    """The class of a config with a `model_type`, or what transformers says instead."""
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")
    try:
        return type(transformers.AutoConfig.from_pretrained(str(folder))).__name__
    except ValueError as error:
        return str(error)


@pytest.mark.proves("model-type-unknown")
def test_a_model_type_that_is_not_known_is_refused_with_the_message_of_the_rule(tmp_path: Path) -> None:
    said = loaded(tmp_path, "qwen3moe")
    assert re.search(rules()["model-type-unknown"].symptoms[0], said), said


@pytest.mark.proves("model-type-unknown")
def test_a_model_type_that_is_known_gives_its_config(tmp_path: Path) -> None:
    assert loaded(tmp_path, "qwen3_moe") == "Qwen3MoeConfig"


STYLED = "layers.*.mlp.up_proj"


def tiny() -> Any:
    """A Llama of two layers."""
    sizes = {"vocab_size": 16, "hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 2}
    return transformers.LlamaModel(transformers.LlamaConfig(**sizes, num_hidden_layers=2))


@pytest.mark.proves("plan-style-unknown")
def test_a_style_that_is_not_registered_is_refused_with_the_message_of_the_rule() -> None:
    with pytest.raises(ValueError, match=rules()["plan-style-unknown"].symptoms[0]):
        tiny().tp_plan = {STYLED: "colwize"}


@pytest.mark.proves("plan-style-unknown")
def test_a_style_that_is_registered_is_taken() -> None:
    model = tiny()
    model.tp_plan = {STYLED: "colwise"}
    assert model.tp_plan == {STYLED: "colwise"}


@pytest.mark.proves("plan-style-unknown")
def test_a_placement_without_a_dim_has_none_to_read() -> None:
    tensor = pytest.importorskip("torch.distributed.tensor", reason="the proof asks a placement of torch")
    assert tensor.Shard(1).dim == 1
    with pytest.raises(AttributeError, match=rules()["plan-style-unknown"].symptoms[2]):
        tensor.Replicate().dim  # noqa: B018 (reading it is the proof)
