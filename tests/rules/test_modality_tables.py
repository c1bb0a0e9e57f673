"""The modality tables as they are shipped, and the script that makes them, on a small tree of made-up sources."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeGuard

import pytest

from modality_table.__main__ import PINNED, found
from modality_table.tables import Entry, tables
from modality_table.words import WORDS, modality, ordered

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parents[2] / "rules" / "shardlint_rules" / "tables"
NAMES = ("collator_modalities", "model_forwards", "model_modalities", "template_modalities")
WORDED = (
    "models",
    "builders",
    "model_types",
    "processors",
    "auto",
    "templates",
    "transforms",
    "datasets",
    "multimodal",
)

SOURCES = {
    "transformers/transformers-9.0.dist-info/METADATA": "Metadata-Version: 2.4\nName: transformers\nVersion: 9.0\n",
    "transformers/transformers/models/auto/modeling_auto.py": """
        MODEL_MAPPING_NAMES = OrderedDict([("ours", "OursModel"), ("clip", "ClipModel")])
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES = OrderedDict([("ours", "OursForCausalLM")])
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES = OrderedDict([("ours", "OursForVision")])
        MODEL_FOR_VIDEO_CLASSIFICATION_MAPPING_NAMES = OrderedDict([("clip", "ClipForVideoClassification")])
        MODEL_FOR_VIDEO_CLASSIFICATION_MAPPING = _LazyAutoMapping(MODEL_FOR_VIDEO_CLASSIFICATION_MAPPING_NAMES)
        class AutoModelForCausalLM(_BaseAutoModelClass):
            _model_mapping = MODEL_FOR_CAUSAL_LM_MAPPING
        class AutoModelForImageTextToText(_BaseAutoModelClass):
            _model_mapping = MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    """,
    "transformers/transformers/models/ours/modeling_ours.py": """
        class OursModel(PreTrainedModel):
            def forward(self, input_ids=None, use_cache=None, **kwargs: Unpack[Known]): ...
        class OursForCausalLM(OursModel): ...
        class OursForVision(PreTrainedModel):
            def forward(self, input_ids, pixel_values, pixel_values_videos, image_sizes, use_images, labels, **k): ...
        class OursForAnything(PreTrainedModel):
            def forward(self, input_ids, **kwargs): ...
        class OursForNothing(PreTrainedModel):
            def forward(self, hidden_states): ...
        class OursForCodes(PreTrainedModel):
            def forward(self, input_ids):
                '''input_ids: one row for each codebook.'''
        class HiddenForCausalLM(PreTrainedModel):
            def forward(self, input_ids): ...
        __all__ = ["OursModel", "OursForCausalLM", "OursForVision", "OursForAnything", "OursForNothing", "OursForCodes"]
    """,
    "transformers/transformers/models/clip/modeling_clip.py": """
        class ClipForVideoClassification(PreTrainedModel):
            def forward(self, pixel_values): ...
        __all__ = ["ClipForVideoClassification"]
    """,
    "transformers/transformers/models/sound/modeling_sound.py": """
        class SoundModel(PreTrainedModel):
            def forward(self, input_values): ...
        class SoundTalkerModel(PreTrainedModel):
            def forward(self, input_ids): ...
        class SoundTextModel(PreTrainedModel):
            def forward(self, input_ids): ...
        __all__ = ["SoundModel", "SoundTalkerModel", "SoundTextModel"]
    """,
    "transformers/transformers/models/ours/processing_ours.py": """
        class OursProcessor(ProcessorMixin):
            def __init__(self, image_processor=None, tokenizer=None): ...
        class UnsureProcessor(ProcessorMixin):
            def __init__(self, image_processor=None, tokenizer=None): ...
            def __call__(self, text=None, videos=None): ...
    """,
    "transformers/transformers/data/data_collator.py": """
        class Collator:
            def __call__(self, features):
                features = [one for one in features if "text" in one]
                batch = {"input_ids": [one["ids"] for one in features]}
                batch["labels"] = [one.get("target") for one in features]
                return batch
    """,
    "torchtune/torchtune-1.dist-info/METADATA": "Name: torchtune\nVersion: 1\n",
    "torchtune/torchtune/models/ours/_model_builders.py": """
        def ours_8b() -> TransformerDecoder: ...
        def ours_vision(image_size: int = 560) -> DeepFusionModel: ...
        def ours_anything() -> DeepFusionModel: ...
        def ours_tokenizer(path: str) -> OursTokenizer: ...
    """,
    "torchtune/torchtune/datasets/_plain.py": "def plain_dataset(tokenizer, source): ...",
    "torchtune/torchtune/datasets/_any.py": "def any_dataset(model_transform, source): ...",
    "torchtune/torchtune/datasets/multimodal/_seen.py": "def seen_dataset(model_transform, source): ...",
    "veomni/PKG-INFO": "Name: veomni\nVersion: 1\n",
    "veomni/veomni/data/chat_template.py": """
        class Template: ...
        @CHAT_TEMPLATE_REGISTRY.register("plain")
        class Plain(Template):
            start = "<s>"
        @CHAT_TEMPLATE_REGISTRY.register("seeing")
        class Seeing(Plain):
            kinds = {"image": 1}
        CHAT_TEMPLATE_REGISTRY.register("again", Seeing)
    """,
    "veomni/veomni/data/data_transform.py": """
        @DATA_TRANSFORM_REGISTRY.register("vl")
        def vl(sample): return load(sample)
        @DATA_TRANSFORM_REGISTRY.register("text")
        def text(sample): return sample["text"]
        def load(sample): return sample["images"]
    """,
    "veomni/veomni/data/multimodal/preprocess.py": """
        @PREPROCESSOR_REGISTRY.register("captions")
        def captions(conversations): return [["user", ("image", None)], ["assistant", ("text", conversations)]]
    """,
    "axolotl/axolotl-1.dist-info/METADATA": "Name: axolotl\nVersion: 1\n",
    "axolotl/axolotl/utils/chat_templates/templates/seeing.jinja": "{% if part['type'] == 'image' %}<i>{% endif %}",
    "axolotl/axolotl/utils/chat_templates/templates/plain.jinja": "{{ message['content'] }}",
    "llamafactory/llamafactory-1.dist-info/METADATA": "Name: llamafactory\nVersion: 1\n",
    "llamafactory/llamafactory/data/template.py": """
        register_template(name="plain")
        register_template(name="seeing", mm_plugin=get_mm_plugin("p", image_token="<i>", video_token=None))
        register_template(name="hearing", mm_plugin=get_mm_plugin(name="p", audio_token="<a>"))
        register_template(name="computed", mm_plugin=PLUGIN)
    """,
    "llamafactory/llamafactory/extras/constants.py": """
        register_model_group(models={"A-Chat": {HF: "a/chat"}, "A": {HF: "a/base"}}, template="plain")
        register_model_group(models={"V": {HF: "v/v"}}, template="seeing", multimodal=True)
    """,
    "ms_swift/ms_swift-1.dist-info/METADATA": "Name: ms-swift\nVersion: 1\n",
    "ms_swift/swift/template/constant.py": """
        class LLMTemplateType:
            plain = 'plain'
        class MLLMTemplateType:
            seeing = 'seeing'
            silent = 'silent'
        class TemplateType(LLMTemplateType, MLLMTemplateType): ...
    """,
    "ms_swift/swift/model/constant.py": "class MLLMModelType:\n    seen = 'seen'",
    "ms_swift/swift/model/models/m.py": """
        register_model(ModelMeta(MLLMModelType.seen, [ModelGroup([Model('o/s', 'p/s')])], template=TemplateType.seeing,
                                 tags=['vision', 'video']))
    """,
    "ms_swift/swift/template/templates/t.py": """
        class Seeing(Template):
            def replace_tag(self, media_type: Literal['image', 'video', 'audio'], inputs):
                return inputs.images
        class Silent(Template): ...
        register_template(Meta(LLMTemplateType.plain))
        register_template(Meta(MLLMTemplateType.seeing, template_cls=Seeing))
        register_template(Meta(MLLMTemplateType.silent, template_cls=Silent))
    """,
}
SUPPLEMENT: dict[str, dict[str, dict[str, Entry]]] = {
    "transformers": {
        "data/data_collator.py": {"Collator": {"pads": "input_ids", "packs": False, "reads": "ids target text"}}
    }
}


@pytest.fixture
def made(tmp_path: Path) -> dict[str, object]:
    """What the script makes of the made-up sources: every table, as it is read back."""
    for path, text in SOURCES.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
    packages = found(sorted(tmp_path.iterdir()))
    versions = dict.fromkeys(("axolotl", "llamafactory", "ms_swift", "torchtune", "veomni"), "1")
    assert {name: package.version for name, package in packages.items()} == {"transformers": "9.0", **versions}
    texts = tables(packages, SUPPLEMENT)
    assert texts == tables(packages, SUPPLEMENT)
    return {name: tomllib.loads(text) for name, text in texts.items()}


def test_models_take_what_their_signatures_say(made: dict[str, object]) -> None:
    assert made["model_modalities"] == {
        "builders": {
            "torchtune.models.ours.ours_8b": "text",
            "torchtune.models.ours.ours_tokenizer": "text",
            "torchtune.models.ours.ours_vision": "text image",
        },
        "models": {
            "ClipForVideoClassification": "video",
            "OursForCausalLM": "text",
            "OursForVision": "text image video",
            "OursModel": "text",
            "SoundModel": "audio",
            "SoundTextModel": "text",
        },
        "model_types": {"ours": "text image video"},
        "processors": {"OursProcessor": "text image"},
        "auto": {"AutoModelForCausalLM": "text", "AutoModelForImageTextToText": "text image video"},
    }
    assert made["model_forwards"] == {
        "forwards": {
            "ClipForVideoClassification": "pixel_values",
            "SoundModel": "input_values",
            "OursForVision": "input_ids pixel_values pixel_values_videos image_sizes use_images labels **",
        }
    }


def test_templates_take_what_they_have_placeholders_for(made: dict[str, object]) -> None:
    assert made["template_modalities"] == {
        "templates": {
            "llamafactory": {"hearing": "text audio", "plain": "text", "seeing": "text image"},
            "ms_swift": {"plain": "text", "seeing": "text image video"},
            "veomni": {"again": "text image", "plain": "text", "seeing": "text image"},
            "axolotl": {"seeing": "text image"},
        },
        "datasets": {"veomni": {"captions": "text image"}},
        "transforms": {"veomni": {"text": "text", "vl": "text image"}},
        "llamafactory": {"models": {"plain": "a/chat", "seeing": "v/v"}, "multimodal": {"models": "v/v"}},
        "ms_swift": {
            "model_types": {"seen": "seeing"},
            "multimodal": {"seen": "text image video"},
            "models": {"seen": "o/s p/s"},
        },
    }


def test_collators_read_and_emit_what_their_code_names(made: dict[str, object]) -> None:
    entry = {"reads": "ids target text", "pads": "input_ids", "packs": False, "emits": "input_ids labels"}
    assert made["collator_modalities"] == {
        "collators": {"transformers.Collator": entry},
        "datasets": {
            "torchtune.datasets.multimodal.seen_dataset": "text image",
            "torchtune.datasets.plain_dataset": "text",
        },
    }


def test_a_collator_that_is_gone_stops_the_script(tmp_path: Path) -> None:
    for path in (
        "transformers/transformers-9.0.dist-info/METADATA",
        "transformers/transformers/models/auto/modeling_auto.py",
    ):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(SOURCES[path]), encoding="utf-8")
    with pytest.raises(LookupError, match=r"transformers 9\.0 has no Collator in data/data_collator\.py"):
        tables(found([tmp_path / "transformers"]), SUPPLEMENT)


@pytest.mark.parametrize(
    ("argument", "word"),
    [
        ("input_ids", "text"),
        ("pixel_values", "image"),
        ("pixel_values_videos", "video"),
        ("input_features", "audio"),
        ("audio_values", "audio"),
        ("image_or_video", ""),
        ("output_images", ""),
        ("image_labels", ""),
        ("attention_mask", ""),
    ],
)
def test_an_argument_names_its_modality(argument: str, word: str) -> None:
    assert modality(argument) == word


def is_table(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def leaves(table: Mapping[str, object], *above: str) -> Iterator[tuple[tuple[str, ...], object]]:
    for key, value in table.items():
        if is_table(value):
            yield from leaves(value, *above, key)
        else:
            yield (*above, key), value


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_table_says_where_it_is_from_and_is_sorted(name: str) -> None:
    text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    header = text.partition("\n[")[0]
    assert "Generated by `make modality-table`" in header
    assert ", ".join(f"{package} {version}" for package, version in sorted(PINNED.items())) in header
    for section in text.split("\n[")[1:]:
        keys = [line.split(" = ")[0].strip('"') for line in section.split("]\n", 1)[1].split("\n") if line]
        assert keys == sorted(keys)
        assert keys


@pytest.mark.parametrize("name", NAMES)
def test_shipped_modalities_are_known_words_in_order(name: str) -> None:
    table = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    looked_at = 0
    for path, value in leaves(table):
        words = (
            path[-1] == "modalities"
            or (path[0] in WORDED and path[:1] != ("llamafactory",))
            or path[1:2] == ("multimodal",)
        )
        if words and path[0] != "llamafactory":
            assert isinstance(value, str)
            assert value == ordered(value.split())
            assert value
            assert set(value.split()) <= set(WORDS)
            looked_at += 1
    assert looked_at or name == "model_forwards"


def test_the_shipped_tables_know_what_everyone_knows() -> None:
    models = tomllib.loads((FOLDER / "model_modalities.toml").read_text(encoding="utf-8"))
    assert models["models"]["LlamaForCausalLM"] == "text"
    assert models["models"]["WhisperForConditionalGeneration"] == "audio"
    assert models["model_types"]["qwen2_vl"] == "text image video"
    assert "AutoModelForCausalLM" not in models["auto"]  # it also makes models with vision
