"""Proof of collator-modality-mismatch: tiny models of text and images, a tokenizer, and collators of the other kind."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.proves("collator-modality-mismatch")

torch = pytest.importorskip("torch", reason="the proof runs tiny models")
transformers = pytest.importorskip("transformers", reason="the proof runs collators and models of transformers")
tokenizers = pytest.importorskip("tokenizers", reason="the proof makes a tokenizer")

IMAGE = 9
"""The token that stands for a part of an image."""

TEXT = {"vocab_size": 16, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
VISION = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 4,
    "patch_size": 2,
}


def tokenizer() -> Any:
    """One of sixteen words."""
    words = tokenizers.models.WordLevel({f"w{number}": number for number in range(16)}, unk_token="w0")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(words), pad_token="w0", unk_token="w0"
    )


def seeing() -> Any:
    """A model of text that sees through a tower of its own."""
    torch.manual_seed(0)
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**VISION),
        text_config=transformers.LlamaConfig(**TEXT),
        image_token_id=IMAGE,
        vision_feature_layer=-1,
    )
    return transformers.LlavaForConditionalGeneration(config)


def samples() -> list[dict[str, Any]]:
    """Four parts of an image and two words in each."""
    ids = [IMAGE] * 4 + [1, 2]
    return [{"input_ids": ids, "labels": ids, "pixel_values": torch.rand(3, 4, 4)} for _ in range(2)]


def both(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A collator for every key."""
    return {key: torch.stack([torch.as_tensor(row[key]) for row in rows]) for key in rows[0]}


def learns_to_see(batch: dict[str, Any]) -> bool:
    """Whether one step gives the vision tower a gradient."""
    model = seeing()
    model(**batch).loss.backward()
    tower = [weight for name, weight in model.named_parameters() if "vision_tower" in name]
    assert tower
    return any(weight.grad is not None and bool(weight.grad.abs().sum() > 0) for weight in tower)


def test_a_collator_of_text_leaves_the_images_behind_without_a_word() -> None:
    batch = transformers.DataCollatorWithFlattening()(samples())
    assert "pixel_values" not in batch
    assert (batch["input_ids"] == IMAGE).sum() == 8  # the model trains on the placeholders
    assert not learns_to_see({key: batch[key] for key in ("input_ids", "labels", "position_ids")})


def test_a_collator_for_every_key_trains_the_tower() -> None:
    assert learns_to_see(both(samples()))


def test_padding_for_text_fails_on_samples_of_images() -> None:
    collate = transformers.DataCollatorWithPadding(tokenizer())
    with pytest.raises(ValueError, match="includes input_ids"):
        collate([{"pixel_values": torch.rand(3, 4, 4), "labels": 1} for _ in range(2)])


def test_token_ids_alone_fail_in_a_model_of_images() -> None:
    model = transformers.ViTForImageClassification(transformers.ViTConfig(**VISION))
    batch = transformers.DataCollatorWithPadding(tokenizer())([{"input_ids": [1, 2]}, {"input_ids": [1]}])
    with pytest.raises((AttributeError, TypeError, ValueError)):
        model(**batch)


def test_images_change_nothing_in_a_model_of_text() -> None:
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**TEXT)).eval()
    batch = both(samples())
    try:
        seen = model(**batch).loss
    except TypeError:  # of versions whose models refuse an argument that they do not know
        return
    del batch["pixel_values"]
    assert torch.equal(seen, model(**batch).loss)


def test_a_tokenizer_that_is_handed_images_fails_or_loses_them() -> None:
    given = {"text": ["w1 w2"], "images": [torch.rand(3, 4, 4)]}
    try:
        batch = tokenizer()(**given)
    except TypeError:  # of versions whose tokenizers refuse an argument that they do not know
        return
    assert set(batch) <= {"input_ids", "attention_mask", "token_type_ids"}
