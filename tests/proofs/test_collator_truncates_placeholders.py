"""Proof of collator-truncates-placeholders: a tiny LLaVA, made here, and a batch whose tokens are cut."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.proves("collator-truncates-placeholders")

torch = pytest.importorskip("torch", reason="the proof runs a tiny model")
transformers = pytest.importorskip("transformers", reason="the proof runs a tiny LLaVA")

IMAGE, PATCHES = 9, 4


def model() -> Any:
    """A LLaVA with four image features for an image of 8 x 8 pixels."""
    vision = transformers.CLIPVisionConfig(
        hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2, image_size=8, patch_size=4
    )
    text = transformers.LlamaConfig(
        vocab_size=16, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
    )
    return transformers.LlavaForConditionalGeneration(
        transformers.LlavaConfig(vision_config=vision, text_config=text, image_token_id=IMAGE)
    )


def collate(limit: int, *, labels_cut: bool = True) -> dict[str, object]:
    """One sample, a token and the placeholders of its image and a word, cut to a limit; its pixels stay whole."""
    batch = {"input_ids": torch.tensor([[1, *[IMAGE] * PATCHES, 2]]), "pixel_values": torch.zeros(1, 3, 8, 8)}
    batch["labels"] = batch["input_ids"].clone()
    batch["input_ids"] = batch["input_ids"][:, :limit]
    if labels_cut:
        batch["labels"] = batch["labels"][:, :limit]
    return batch


def test_a_cut_through_the_placeholders_stops_the_step() -> None:
    with pytest.raises(ValueError, match=r"[Ii]mage features and image tokens do not match"):
        model()(**collate(limit=3))


def test_a_cut_that_leaves_the_labels_out_stops_the_step() -> None:
    with pytest.raises(ValueError, match="to match target batch_size"):
        model()(**collate(limit=5, labels_cut=False))


def test_a_limit_behind_the_placeholders_trains() -> None:
    assert torch.isfinite(model()(**collate(limit=5)).loss)
