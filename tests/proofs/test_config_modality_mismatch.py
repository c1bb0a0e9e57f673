"""Proof of config-modality-mismatch: what its frameworks do with such configs, done with the classes of transformers.

LLaMA-Factory loads the processor of the model with `AutoProcessor`, keeps it only if it is one, and renders samples
with the template that the config names. axolotl loads `processor_type` and calls its `apply_chat_template` with the
template and raw messages. Model, tokenizer and image processor are tiny and made here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.proves("config-modality-mismatch")

torch = pytest.importorskip("torch", reason="the proof runs a tiny model")
transformers = pytest.importorskip("transformers", reason="the proof runs a processor and a model of transformers")
tokenizers = pytest.importorskip("tokenizers", reason="the proof makes a tokenizer")
pytest.importorskip("PIL", reason="processors of images need Pillow")

IMAGE = 9
SIDE, PATCH = 8, 4
FEATURES = (SIDE // PATCH) ** 2
FOR_TEXT = "{% for m in messages %}{% for p in m.content if p.type == 'text' %}{{ p.text }} {% endfor %}{% endfor %}"
FOR_IMAGES = (
    "{% for m in messages %}{% for p in m.content %}{{ '<image>' if p.type == 'image' else p.text }} "
    "{% endfor %}{% endfor %}"
)
TEXT = {"vocab_size": 16, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


def tokenizer() -> Any:
    """One of fifteen words and the token of an image."""
    words = {f"w{number}": number for number in range(16) if number != IMAGE} | {"<image>": IMAGE}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w0"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="w0", unk_token="w0", extra_special_tokens={"image_token": "<image>"}
    )


def processor() -> Any:
    """Of a LLaVA that takes images of 8 x 8 pixels, and scales them."""

    def scaled(_: Any, images: Any, **__: Any) -> Any:
        stacked = torch.stack([torch.as_tensor(one) / 255 for row in images for one in row])
        return transformers.BatchFeature({"pixel_values": stacked})

    made = {"model_input_names": ["pixel_values"], "__call__": scaled}
    return transformers.LlavaProcessor(
        type("Pixels", (transformers.BaseImageProcessor,), made)(),
        tokenizer(),
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=FOR_IMAGES,
    )


def model() -> Any:
    """A LLaVA of that size."""
    sizes = {key: size for key, size in TEXT.items() if key != "vocab_size"}
    vision = transformers.CLIPVisionConfig(**sizes, image_size=SIDE, patch_size=PATCH)
    return transformers.LlavaForConditionalGeneration(
        transformers.LlavaConfig(
            vision_config=vision,
            text_config=transformers.LlamaConfig(**TEXT),
            image_token_id=IMAGE,
            vision_feature_layer=-1,
        )
    )


def messages() -> list[dict[str, Any]]:
    """A question about an image."""
    picture = torch.randint(255, (3, SIDE, SIDE), dtype=torch.uint8).numpy()
    return [{"role": "user", "content": [{"type": "image", "image": picture}, {"type": "text", "text": "w1 w2"}]}]


def batch(taker: Any, template: str, chat: list[dict[str, Any]] | None = None) -> Any:
    """What a processor or tokenizer makes of messages with a template."""
    return taker.apply_chat_template(
        [chat or messages()], chat_template=template, tokenize=True, return_dict=True, return_tensors="pt"
    )


def saved(folder: Path) -> str:
    """The folder of a model for text alone."""
    transformers.LlamaConfig(**TEXT).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return str(folder)


def test_the_template_of_the_model_gives_a_token_for_each_feature_of_the_image() -> None:
    made = batch(processor(), FOR_IMAGES)
    assert int((made["input_ids"] == IMAGE).sum()) == FEATURES
    assert torch.isfinite(model()(**made, labels=made["input_ids"]).loss)


def test_a_template_for_text_leaves_the_tokens_of_the_image_out_and_the_first_batch_fails() -> None:
    """The processor counts; in versions where it does not, the model does."""
    with pytest.raises(ValueError, match=r"0 <image> tokens and 1 images|[Ii]mage features and image tokens do not"):
        model()(**batch(processor(), FOR_TEXT))


def test_a_template_for_text_is_enough_where_no_sample_has_an_image() -> None:
    words = [{"role": "user", "content": [{"type": "text", "text": "w1 w2"}]}]
    made = batch(processor(), FOR_TEXT, words)
    assert made["input_ids"].tolist() == [[1, 2]]
    assert torch.isfinite(model()(**made, labels=made["input_ids"]).loss)


def test_the_processor_of_a_model_for_text_is_its_tokenizer(tmp_path: Path) -> None:
    """LLaMA-Factory drops it and stops at the first image; axolotl takes it for a processor."""
    loaded = transformers.AutoProcessor.from_pretrained(saved(tmp_path))
    assert isinstance(loaded, transformers.PreTrainedTokenizerBase)
    assert "Processor" not in type(loaded).__name__
    assert not hasattr(loaded, "image_processor")


def test_what_a_model_for_text_loads_as_its_processor_leaves_the_pixels_out(tmp_path: Path) -> None:
    loaded = transformers.AutoProcessor.from_pretrained(saved(tmp_path))
    made = batch(loaded, FOR_IMAGES)
    assert "pixel_values" not in made
    assert int((made["input_ids"] == IMAGE).sum()) == 1, "one placeholder, and no image behind it"
    trained = transformers.LlamaForCausalLM(transformers.LlamaConfig(**TEXT))
    assert torch.isfinite(trained(input_ids=made["input_ids"], labels=made["input_ids"]).loss)
