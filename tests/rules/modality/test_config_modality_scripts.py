"""The script's side of config-modality-mismatch: a config, the command that names it, and the code that reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import dedent

import pytest

from shardlint.example import Example
from shardlint.finding import Finding

from ...conftest import Project

RULE = "config-modality-mismatch"

_CODE = {
    "lib/__init__.py": "",
    "lib/load.py": """
        from transformers import AutoProcessor, AutoTokenizer

        def build_tokenizer(path):
            return AutoTokenizer.from_pretrained(path, padding_side="right")

        def build_processor(path, **kwargs):
            return AutoProcessor.from_pretrained(path, **kwargs)
        """,
    "lib/base.py": """
        class Base:
            def build_model(self):
                self.model = load(self.args.model.model_path)

            def build_assets(self):
                self.tokenizer = build_tokenizer(self.args.model.model_path)
        """,
    "lib/text.py": """
        from .base import Base
        from .load import build_tokenizer

        class TextTrainer:
            def __init__(self, args):
                self.base = Base.__new__(Base)
                self.base.args = args
                with state("base"):
                    self.base.build_model()
                    self.build_assets()

            def build_assets(self):
                args = self.base.args
                self.base.tokenizer = build_tokenizer(args.model.tokenizer_path)
        """,
    "lib/vlm.py": """
        from .base import Base
        from .load import build_processor

        class VLMTrainer:
            def __init__(self, args):
                self.base = Base.__new__(Base)
                self.base.args = args
                self.base.build_model()
                self.build_assets()

            def build_assets(self):
                args = self.base.args
                self.base.processor = build_processor(args.model.tokenizer_path, max_pixels=1)
                self.base.template = template(args.data.chat_template, self.base.processor.tokenizer)
                self.base.transform = transform(processor=self.base.processor, **args.data.mm_configs)
        """,
    "lib/dit.py": """
        from .base import Base

        class DiTTrainer:
            def __init__(self, args):
                self.base = Base.__new__(Base)
                self.base.build_model()
                self.condition = load(args.model.condition_model_path)
        """,
    "tasks/train_text.py": """
        from lib.text import TextTrainer

        if __name__ == "__main__":
            TextTrainer(parse_args()).train()
        """,
    "tasks/train_vlm.py": """
        from lib.vlm import VLMTrainer

        if __name__ == "__main__":
            trainer = VLMTrainer(parse_args())
            trainer.train()
        """,
    "tasks/train_dit.py": """
        from lib.dit import DiTTrainer

        def main():
            DiTTrainer(parse_args()).train()

        if __name__ == "__main__":
            main()
        """,
    "tasks/train_unknown.py": "from elsewhere import Trainer\n\nTrainer(parse_args()).train()",
}
_VLM = """
    model: {model_path: Qwen/Qwen3-VL-8B-Instruct}
    data:
      train_path: figures
      data_type: conversation
      chat_template: qwen3vl{template}
      mm_configs: {fps: 2}{media}
    train: {}
    """
_TEXT = """
    model: {model_path: Qwen3-8B-Base}{model}
    data:
      train_path: chats
      data_type: {type}{data}
      chat_template: chatml{template}
    train: {}
    """
_DIT = """
    model: {model_path: Wan-AI/Wan2.1-I2V-14B-480P}
    data:
      data_type: diffusion{data}
      train_path: clips
    train: {}
    """
_MARK = "  # error"


def _filled(config: str, **marks: str) -> str:
    """A config with marks at some of its values, and nothing at the others."""
    text = dedent(config)
    for name in ("template", "media", "model", "data", "type"):
        text = text.replace(f"{{{name}}}", marks.get(name, "conversation" if name == "type" else ""))
    return text


def _files(command: str, config: str, path: str = "run.sh") -> dict[str, str]:
    text = f"```bash\n{command}\n```\n" if path.endswith(".md") else command + "\n"
    return {**_CODE, path: text, "configs/c.yaml": config}


BAD = {
    "media keys for a text script": ("bash train.sh tasks/train_text.py configs/c.yaml", _filled(_VLM, media=_MARK)),
    "media template for a text script": (
        "torchrun tasks/train_text.py configs/c.yaml --data.mm_configs.fps 1 --data.mm_configs ''",
        _filled(_VLM, template=_MARK),
    ),
    "text template for a vision script": (
        "bash train.sh tasks/train_vlm.py configs/c.yaml --model.model_path $MODEL",
        _filled(_TEXT, template=_MARK),
    ),
    "plain text for a vision script": (
        "bash train.sh tasks/train_vlm.py configs/c.yaml",
        _filled(_TEXT, type="plaintext", data=_MARK),
    ),
    "text model for a vision script": (
        "python tasks/train_vlm.py configs/c.yaml",
        "model:\n  model_path: Qwen3-8B-Base  # error\ndata: {train_path: chats}\n",
    ),
    "diffusion data for a text script": ("python tasks/train_text.py configs/c.yaml", _filled(_DIT, data=_MARK)),
    "diffusion data for a vision script": ("python tasks/train_vlm.py --c=configs/c.yaml", _filled(_DIT, data=_MARK)),
    "condition model for a text script": (
        "python tasks/train_text.py configs/c.yaml",
        "model:\n  model_path: wan\n  condition_model_path: wan/t5  # error\ndata: {train_path: clips}\n",
    ),
    "vision config for a diffusion script": (
        "python tasks/train_dit.py configs/c.yaml",
        _filled(_VLM, template=_MARK),
    ),
    "text model for a diffusion script": (
        "python tasks/train_dit.py configs/c.yaml",
        "model:\n  model_path: Qwen3-8B-Base  # error\ndata: {train_path: chats}\n",
    ),
    "variables of the script": (
        'T=tasks/train_text.py\nCONFIG=configs/c.yaml\nARGS=(--train.lr 1e-5)\ntorchrun $T "$CONFIG" "${ARGS[@]}"',
        _filled(_VLM, media=_MARK),
    ),
}
GOOD = {
    "vision": ("bash train.sh tasks/train_vlm.py configs/c.yaml", _filled(_VLM)),
    "text": ("bash train.sh tasks/train_text.py configs/c.yaml", _filled(_TEXT)),
    "plain text": ("bash train.sh tasks/train_text.py configs/c.yaml", _filled(_TEXT, type="plaintext")),
    "diffusion": ("bash train.sh tasks/train_dit.py configs/c.yaml", _filled(_DIT)),
    "condition model": (
        "bash train.sh tasks/train_dit.py configs/c.yaml",
        "model: {model_path: Qwen-Image, condition_model_path: t5}\ndata: {train_path: c, mm_configs: {fps: 1}}\n",
    ),
    "vision model on text by a text script": (
        "bash train.sh tasks/train_text.py configs/c.yaml",
        "model: {model_path: Qwen/Qwen3-VL-8B-Instruct}\ndata: {train_path: chats, data_type: conversation}\n",
    ),
    "native model": (
        "bash train.sh tasks/train_text.py configs/c.yaml",
        "model: {model_path: Qwen3.5-9B}\ndata: {train_path: chats, chat_template: chatml}\n",
    ),
    "what the command sets is its own affair": (
        "bash train.sh tasks/train_vlm.py configs/c.yaml --model.model_path VL --data.chat_template qwen3vl",
        _filled(_TEXT),
    ),
    "all data are set by the command": (
        "bash train.sh tasks/train_text.py configs/c.yaml --data figures.json",
        _filled(_VLM),
    ),
    "a model that is put together": (
        "bash train.sh tasks/train_text.py configs/c.yaml",
        "model: {model_path: x, encoders: {image: {}}}\ndata: {train_path: figures, mm_configs: {fps: 2}}\n",
    ),
    "unknown script": ("bash train.sh tasks/train_unknown.py configs/c.yaml", _filled(_VLM)),
    "another config": ("bash train.sh tasks/train_text.py configs/d.yaml", _filled(_VLM)),
    "a script that a branch chooses": (
        "S=tasks/train_vlm.py\nif [ -n $T ]; then S=tasks/train_text.py; fi\npython $S configs/c.yaml",
        _filled(_VLM),
    ),
}


@pytest.mark.parametrize("path", ["run.sh", "docs/how.md"])
@pytest.mark.parametrize(("command", "config"), BAD.values(), ids=BAD.keys())
def test_a_config_handed_to_a_script_for_other_samples_is_reported(
    problems: Callable[[str, Example], list[str]], command: str, config: str, path: str
) -> None:
    assert problems(RULE, Example(_files(command, config, path))) == []


@pytest.mark.parametrize(("command", "config"), GOOD.values(), ids=GOOD.keys())
def test_a_config_that_fits_its_script_is_left_alone(
    problems: Callable[[str, Example], list[str]], command: str, config: str
) -> None:
    assert problems(RULE, Example(_files(command, config))) == []


def test_the_finding_names_the_script_and_points_at_the_command_and_the_code(
    findings: Callable[[str, Example], list[Finding]],
) -> None:
    command, config = BAD["media keys for a text script"]
    (found,) = findings(RULE, Example(_files(command, config, "docs/how.md")))
    assert found.key == "data.mm_configs"
    assert "`tasks/train_text.py`, which reads this file, makes its samples with a tokenizer alone" in found.message
    assert [(one.path, one.line) for one in found.related] == [("docs/how.md", 2), ("lib/text.py", 14)]


def test_a_command_that_may_override_makes_a_less_certain_finding(
    findings: Callable[[str, Example], list[Finding]],
) -> None:
    _, config = BAD["media keys for a text script"]
    (sure,) = findings(RULE, Example(_files("python tasks/train_text.py configs/c.yaml", config)))
    (open_,) = findings(RULE, Example(_files("python tasks/train_text.py configs/c.yaml $@", config)))
    assert open_.confidence < sure.confidence


def _write(project: Project, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        project.write(path, dedent(text).lstrip())


def _found(project: Project) -> list[str]:
    return [f"{one.path}:{one.span.line}" for one in project.outcome(select=(RULE,)).findings]


def test_a_change_of_the_command_or_of_the_code_is_seen(project: Project) -> None:
    _write(project, _files("bash train.sh tasks/train_vlm.py configs/c.yaml", _filled(_VLM), "docs/how.md"))
    assert _found(project) == []
    project.write("docs/how.md", "```\nbash train.sh tasks/train_text.py configs/c.yaml\n```\n", settled=False)
    assert _found(project) == ["configs/c.yaml:6"]
    assert _found(project) == ["configs/c.yaml:6"]
    project.write("lib/text.py", dedent(_CODE["lib/vlm.py"]).replace("VLM", "Text"), settled=False)
    assert _found(project) == []
    project.write("lib/text.py", dedent(_CODE["lib/text.py"]), settled=False)
    assert _found(project) == ["configs/c.yaml:6"]
    (project.root / "docs/how.md").unlink()
    assert _found(project) == []
    project.write("scripts/run.sh", "torchrun tasks/train_text.py configs/c.yaml\n")
    assert _found(project) == ["configs/c.yaml:6"]


def test_an_unchanged_project_is_not_read_again(project: Project) -> None:
    _write(project, _files("bash train.sh tasks/train_text.py configs/c.yaml", _filled(_VLM), "docs/how.md"))
    assert _found(project) == ["configs/c.yaml:6"]
    outcome = project.outcome(select=(RULE,))
    assert outcome.total_bytes == 0
    assert len(outcome.findings) == 1


def test_documents_are_read_only_if_a_config_asks(project: Project) -> None:
    text = "```\nbash train.sh tasks/train_text.py configs/c.yaml\n```\n"
    project.write("docs/how.md", text)
    project.write("configs/c.yaml", "lr: 1.0\n")
    size = (project.root / "configs/c.yaml").stat().st_size + (project.root / "pyproject.toml").stat().st_size
    assert project.outcome(select=(RULE,)).total_bytes == size
    _write(project, {"configs/c.yaml": _filled(_VLM)})
    size = (project.root / "configs/c.yaml").stat().st_size + len(text)
    assert project.outcome(select=(RULE,)).total_bytes == size


def test_prose_without_commands_changes_no_answer(project: Project) -> None:
    _write(project, _files("bash train.sh tasks/train_text.py configs/c.yaml", _filled(_VLM), "docs/how.md"))
    project.write("README.md", "# One\n")
    assert _found(project) == ["configs/c.yaml:6"]
    project.write("README.md", "# Two\n", settled=False)
    config = project.root / "configs/c.yaml"
    config_read = project.outcome(select=(RULE,)).total_bytes
    assert config_read == len("# Two\n") < config.stat().st_size


def test_a_script_of_which_nothing_is_known_is_counted(project: Project) -> None:
    _write(project, _files("bash train.sh tasks/train_unknown.py configs/c.yaml", _filled(_VLM)))
    outcome = project.outcome(select=(RULE,))
    assert outcome.findings == []
    ((path, pointer, _, reason),) = outcome.not_judged
    assert (path, pointer) == ("configs/c.yaml", "model.model_path")
    assert "`tasks/train_unknown.py`" in reason


def test_several_workers_say_the_same(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(project, _files("bash train.sh tasks/train_text.py configs/c.yaml", _filled(_VLM), "docs/how.md"))
    _write(project, {"configs/d.yaml": _filled(_VLM), "configs/e.yaml": _filled(_TEXT)})
    monkeypatch.setattr("shardlint.workers.WORTH", 2)
    assert [one.path for one in project.outcome(select=(RULE,), jobs=2).findings] == ["configs/c.yaml"]
    again = project.outcome(select=(RULE,), jobs=2)
    assert [one.path for one in again.findings] == ["configs/c.yaml"]
    assert again.total_bytes == 0
    project.write("docs/how.md", "```\nbash train.sh tasks/train_text.py configs/d.yaml\n```\n", settled=False)
    assert [one.path for one in project.outcome(select=(RULE,), jobs=2).findings] == ["configs/d.yaml"]
