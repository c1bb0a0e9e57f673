"""Proof of collator-columns-removed: the Trainer, a tiny model, and a collator of raw columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.proves("collator-columns-removed")

torch = pytest.importorskip("torch", reason="the proof trains a tiny model")
transformers = pytest.importorskip("transformers", reason="the proof runs the Trainer of transformers")
pytest.importorskip("accelerate", reason="the Trainer needs accelerate")


def collate(samples: list[dict[str, Any]]) -> dict[str, Any]:
    """Makes token ids of the raw texts."""
    ids = torch.tensor([[ord(letter) % 16 for letter in sample["text"]] for sample in samples])
    return {"input_ids": ids, "labels": ids}


def train(folder: Path, samples: object, collator: object = collate, **arguments: object) -> None:
    """One step of a Llama with 16 tokens."""
    config = transformers.LlamaConfig(
        vocab_size=16, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
    )
    options = transformers.TrainingArguments(
        str(folder), max_steps=1, use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True, **arguments
    )
    model = transformers.LlamaForCausalLM(config)
    transformers.Trainer(model, options, data_collator=collator, train_dataset=samples).train()


SAMPLES = [{"text": "abcd", "input_ids": [1, 2]} for _ in range(8)]


def test_a_column_without_a_parameter_is_gone_before_the_collator(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="text"):
        train(tmp_path, SAMPLES)


def test_a_dataset_without_any_known_column_does_not_start(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="the proof removes columns of a `datasets.Dataset`")
    with pytest.raises(ValueError, match="No columns in the dataset match"):
        train(tmp_path, datasets.Dataset.from_list([{"text": "abcd"}] * 8))


def test_all_columns_reach_the_collator_when_none_is_removed(tmp_path: Path) -> None:
    train(tmp_path, SAMPLES, remove_unused_columns=False)
