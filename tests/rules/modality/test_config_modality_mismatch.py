"""More cases of config-modality-mismatch: documents of the four frameworks, broken and sound."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example
from shardlint.finding import Finding

from ...conftest import Project

RULE = "config-modality-mismatch"
BAD = {
    "llamafactory-text-model-with-media-template": """
        model_name_or_path: ./weights/Qwen2.5-3B-Instruct
        stage: sft
        dataset: reviews
        template: qwen2_vl  # error
        """,
    "llamafactory-text-model-with-media-dataset": """
        model_name_or_path: Qwen/Qwen3-4B-Instruct-2507
        stage: sft
        finetuning_type: lora
        dataset:  # error
          - identity
          - mllm_demo
        """,
    "llamafactory-one-kind-of-media-too-many": """
        model_name_or_path: llava-hf/llava-1.5-7b-hf
        stage: sft
        dataset: mllm_demo, mllm_video_demo
        template: llava  # error
        """,
    "llamafactory-unknown-model-with-media-keys": """
        model_name_or_path: saves/run-7
        image_max_pixels: 262144
        stage: sft
        dataset: figures
        template: "qwen"  # error
        """,
    "llamafactory-text-model-with-pixels": """
        model_name_or_path: Qwen/Qwen2.5-3B-Instruct
        image_max_pixels: 250880  # error
        stage: sft
        dataset: reviews
        template: qwen
        """,
    "llamafactory-vision-model-with-text-template": """
        model_name_or_path: Qwen/Qwen2.5-VL-7B-Instruct
        infer_backend: vllm
        template: qwen  # error
        """,
    "axolotl-vision-template": """
        base_model: NousResearch/Meta-Llama-3-8B
        datasets: [{path: some/chats, type: chat_template}]
        chat_template: llama3_2_vision  # error
        """,
    "axolotl-text-template-with-processor": """
        base_model: some/model
        processor_type: AutoProcessor
        chat_template: chatml  # error
        datasets: [{path: some/figures, type: chat_template}]
        """,
    "axolotl-packing": """
        base_model: Qwen/Qwen2-VL-7B-Instruct
        processor_type: AutoProcessor
        skip_prepare_dataset: true
        sample_packing: true  # error
        chat_template: qwen2_vl
        datasets: [{path: some/figures, type: chat_template}]
        """,
    "axolotl-no-processor": """
        base_model: OpenGVLab/InternVL3_5-8B
        skip_prepare_dataset: true  # error
        remove_unused_columns: false
        datasets: [{path: some/figures, type: chat_template}]
        """,
    "ms-swift-text-template": """
        model: Qwen/Qwen2.5-VL-3B-Instruct
        rlhf_type: grpo
        template: qwen2_5  # error
        """,
    "ms-swift-text-model-with-media-dataset": """
        model: Qwen/Qwen2.5-7B-Instruct
        tuner_type: lora
        dataset: ['AI-ModelScope/LaTeX_OCR#500']  # error
        template: qwen2_5_vl
        """,
    "ms-swift-text-model-with-vision-keys": """
        model: Qwen/Qwen2.5-7B-Instruct
        train_type: lora
        vit_lr: 1.0e-5  # error
        """,
    "veomni-vision-template": """
        model: {model_path: Qwen3-8B-Base}
        data:
          train_path: figures
          chat_template: qwen3vl  # error
        train: {}
        """,
    "veomni-media-keys-of-a-text-model": """
        model: {model_path: meta-llama/Llama-3.1-8B}
        data:
          train_path: figures
          mm_configs:  # error
            fps: 2
        train: {}
        """,
    "veomni-text-template-in-a-run-for-media": """
        model: {model_path: /models/unknown}
        data: {train_path: figures, chat_template: chatml}  # error
        train: {freeze_vit: false}
        """,
    "veomni-preferences": """
        model: {model_path: /models/unknown}
        data:
          data_type: dpo  # error
          train_path: pairs
          chat_template: qwen2_5vl
        train: {}
        """,
    "veomni-diffusion-data": """
        model: {model_path: Qwen/Qwen3-VL-8B-Instruct}
        data:
          data_type: diffusion  # error
          train_path: figures
        train: {}
        """,
}
GOOD = {
    "llamafactory-vision": """
        model_name_or_path: Qwen/Qwen3-VL-4B-Instruct
        image_max_pixels: 262144
        stage: sft
        freeze_vision_tower: true
        dataset: mllm_demo,identity
        template: qwen3_vl_nothink
        """,
    "llamafactory-vision-model-on-text": """
        model_name_or_path: Qwen/Qwen3-VL-30B-A3B-Instruct
        stage: sft
        dataset: alpaca_zh_demo, alpaca_en_demo
        template: qwen3_vl
        """,
    "llamafactory-text-template-and-text-alone": """
        model_name_or_path: Qwen/Qwen2-VL-7B-Instruct
        stage: sft
        dataset: identity,alpaca_en_demo
        template: qwen
        """,
    "llamafactory-native-model-on-text": """
        model_name_or_path: Qwen/Qwen3.5-4B
        stage: sft
        dataset: chats
        template: qwen3
        """,
    "llamafactory-unknown-names": """
        model_name_or_path: ours/Qwen2.5-VL-mini
        stage: sft
        dataset: figures
        template: ours
        """,
    "llamafactory-names-in-another-folder": """
        model_name_or_path: ours/mini
        stage: sft
        dataset_dir: /data/sets
        dataset: mllm_demo
        template: qwen
        """,
    "llamafactory-pretraining-takes-no-template": """
        model_name_or_path: Qwen/Qwen3-4B-Instruct-2507
        stage: pt
        dataset: c4_demo
        template: qwen2_vl
        """,
    "llamafactory-before-templates-had-media": """
        model_name_or_path: llava-hf/llava-1.5-7b-hf
        visual_inputs: true
        stage: sft
        dataset: mllm_demo
        template: vicuna
        """,
    "llamafactory-placeholders": """
        model_name_or_path: Qwen/Qwen2-VL-7B-Instruct
        stage: sft
        dataset: "{{ dataset }}"
        template: ${template}
        """,
    "another-framework": """
        model_name_or_path: Qwen/Qwen2.5-7B-Instruct
        dataset_name: mllm_demo
        template: qwen2_vl
        """,
    "axolotl-vision": """
        base_model: Qwen/Qwen2.5-VL-7B-Instruct
        processor_type: AutoProcessor
        skip_prepare_dataset: true
        remove_unused_columns: false
        sample_packing: false
        chat_template: qwen2_vl
        datasets: [{path: some/figures, type: chat_template}]
        """,
    "axolotl-packing-of-prepared-media": """
        base_model: Qwen/Qwen2.5-VL-7B-Instruct
        processor_type: AutoProcessor
        sample_packing: true
        chat_template: qwen2_vl
        datasets: [{path: some/figures, type: chat_template}]
        """,
    "axolotl-small-gemma-has-the-template-of-its-family": """
        base_model: google/gemma-3-1b-it
        chat_template: gemma3
        sample_packing: true
        datasets: [{path: some/chats, type: chat_template}]
        """,
    "axolotl-vision-model-on-text": """
        base_model: Qwen/Qwen2-VL-7B-Instruct
        chat_template: chatml
        sample_packing: true
        datasets: [{path: some/chats, type: chat_template}]
        """,
    "axolotl-processor-named-but-empty": """
        base_model: NousResearch/Meta-Llama-3-8B
        processor_type:
        datasets: [{path: some/chats, type: alpaca}]
        """,
    "ms-swift-vision": """
        model: Qwen/Qwen2.5-VL-3B-Instruct
        rlhf_type: grpo
        dataset: AI-ModelScope/clevr_cogen_a_train#2000
        freeze_vit: true
        """,
    "veomni-vision": """
        model: {model_path: Qwen/Qwen2.5-VL-7B-Instruct}
        data: {train_path: figures, data_type: conversation, chat_template: qwen2_5vl, mm_configs: {fps: 2}}
        train: {freeze_vit: false}
        """,
    "veomni-native-model-on-text": """
        model: {model_path: Qwen3.5-9B}
        data: {train_path: chats, data_type: conversation, chat_template: chatml}
        train: {}
        """,
    "veomni-diffusion": """
        model: {model_path: Wan-AI/Wan2.1-I2V-14B-480P}
        data: {train_path: clips, data_type: diffusion, text_keys: text}
        train: {vit_lr: 5.0e-5}
        """,
    "veomni-omni-model-takes-no-template": """
        model: {model_path: Qwen3-Omni-30B-A3B-Instruct}
        data: {train_path: clips, chat_template: chatml, mm_configs: {fps: 2}}
        train: {}
        """,
    "veomni-encoders-around-a-text-model": """
        model: {model_path: Qwen3-8B, encoders: {image: {model_path: vit}}}
        data: {train_path: figures, chat_template: qwen2vl}
        train: {}
        """,
    "several-documents": """
        model_name_or_path: Qwen/Qwen2.5-7B-Instruct
        stage: sft
        ---
        template: qwen2_vl
        """,
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_parts_for_different_modalities_are_reported(problems: Callable[[str, Example], list[str]], text: str) -> None:
    assert problems(RULE, Example(text, path="configs/run.yaml")) == []


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD.keys())
def test_parts_that_agree_or_are_not_known_are_left_alone(
    problems: Callable[[str, Example], list[str]], text: str
) -> None:
    assert problems(RULE, Example(text, path="configs/run.yaml")) == []


def test_json_is_read_as_well(findings: Callable[[str, Example], list[Finding]]) -> None:
    text = '{"model": "Qwen/Qwen2.5-7B-Instruct", "tuner_type": "lora", "template": "qwen2_5_vl"}'
    (found,) = findings(RULE, Example(text, path="sft.json"))
    assert found.key == "template"


def test_the_finding_names_both_keys_and_points_at_the_other_one(
    findings: Callable[[str, Example], list[Finding]],
) -> None:
    (found,) = findings(RULE, Example(BAD["llamafactory-text-model-with-media-template"], path="run.yaml"))
    assert "`template: qwen2_vl`" in found.message
    assert "`model_name_or_path: ./weights/Qwen2.5-3B-Instruct`" in found.message
    assert [related.line for related in found.related] == [1]


def test_templates_and_datasets_that_a_project_adds_are_known(project: Project) -> None:
    head = "model_name_or_path: Qwen/Qwen3-4B-Instruct-2507\nstage: sft\n"
    project.write("a.yaml", head + "template: scenes\ndataset: identity\n")
    project.write("b.yaml", head + "template: qwen3\ndataset: street_views\n")

    def found() -> list[str]:
        return [f"{one.path}:{one.span.line}" for one in project.outcome(select=(RULE,)).findings]

    assert found() == []
    added = 'templates = {scenes = "text image"}\ndatasets = {street_views = "text image"}\n'
    project.write("pyproject.toml", "[tool.shardlint.modality]\n" + added)
    assert found() == ["a.yaml:3", "b.yaml:4"]


def test_a_config_whose_model_is_not_known_is_counted(project: Project) -> None:
    project.write("a.yaml", "model_name_or_path: saves/our-own\nstage: sft\ntemplate: qwen3\ndataset: identity\n")
    project.write("b.yaml", "model_name_or_path: Qwen/Qwen3-4B-Instruct-2507\nstage: sft\ntemplate: qwen3\n")
    outcome = project.outcome(select=(RULE,))
    assert [(path, pointer, line) for path, pointer, line, _ in outcome.not_judged] == [
        ("a.yaml", "model_name_or_path", 1)
    ]
    _, out = project.check("--select", RULE)
    assert "not judged: 1 config" in out
    _, out = project.check("--select", RULE, "--show-unknown")
    assert "a.yaml:1:1: note not-checked `model_name_or_path` could not be judged: what the model `saves/our" in out
