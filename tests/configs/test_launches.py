"""Which program reads which config: commands in scripts, Markdown and Makefiles, and the files that they mean."""

from __future__ import annotations

import pytest

from shardlint.configs.launches import Launch, Launches

FILES = [
    "train.sh",
    "tasks/train_vlm.py",
    "tasks/train_text.py",
    "configs/vl.yaml",
    "configs/text.yml",
    "configs/ds.json",
    "src/pkg/run.py",
    "examples/a/train.py",
    "examples/a/config.yaml",
    "examples/b/train.py",
    "examples/b/config.yaml",
    "pkg/cli/__main__.py",
]
VL = "tasks/train_vlm.py", "configs/vl.yaml"


def found(text: str, path: str = "run.sh") -> list[Launch]:
    """The launches of a text, in the order of their places."""
    launches = Launches([path], [*FILES, path], lambda _: text.encode())
    return sorted(launch for file in FILES for launch in launches.of(file))


SPELLINGS = {
    "torchrun": "torchrun --nproc-per-node=8 tasks/train_vlm.py configs/vl.yaml",
    "wrapper": "bash train.sh tasks/train_vlm.py configs/vl.yaml --train.lr 1e-5",
    "wrapper that can run": "./train.sh tasks/train_vlm.py configs/vl.yaml",
    "environment": "NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1 bash train.sh tasks/train_vlm.py configs/vl.yaml",
    "env": "env A=1 python3.11 tasks/train_vlm.py configs/vl.yaml",
    "option": "python tasks/train_vlm.py --config configs/vl.yaml",
    "option with sign": "python -u ./tasks/train_vlm.py --config=configs/vl.yaml",
    "setting": "python tasks/train_vlm.py config=configs/vl.yaml",
    "accelerate": "accelerate launch --config_file configs/ds.json tasks/train_vlm.py configs/vl.yaml",
    "deepspeed": "deepspeed --num_gpus 8 tasks/train_vlm.py configs/vl.yaml",
    "launch module": "python -m torch.distributed.run --standalone tasks/train_vlm.py configs/vl.yaml",
    "srun": "srun --ntasks=4 python tasks/train_vlm.py configs/vl.yaml &> log.txt",
    "sudo": "sudo -E python tasks/train_vlm.py configs/vl.yaml",
    "uv": "uv run python tasks/train_vlm.py configs/vl.yaml",
    "inner": "srun bash -c 'torchrun tasks/train_vlm.py configs/vl.yaml'",
    "continued": "torchrun \\\n  tasks/train_vlm.py \\\n  configs/vl.yaml",
    "variables": 'S=tasks/train_vlm.py\nC="configs/vl.yaml"\ntorchrun $S "$C"',
    "folder of the project": "torchrun $ROOT/tasks/train_vlm.py ${ROOT}/configs/vl.yaml",
    "default": "torchrun tasks/train_vlm.py ${C:-configs/vl.yaml}",
    "several at once": "S=tasks/train_vlm.py C=configs/vl.yaml\npython $S $C",
    "array": 'A=(--config configs/vl.yaml)\npython tasks/train_vlm.py "${A[@]}"',
    "loop": "for c in vl text; do python tasks/train_vlm.py configs/$c.yaml; done",
    "folder": "cd tasks && python train_vlm.py ../configs/vl.yaml",
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_a_script_and_its_config_are_found(text: str) -> None:
    assert [(one.script, one.config) for one in found(text)] == [VL]


COMMANDS = {
    "llamafactory": ("FORCE_TORCHRUN=1 llamafactory-cli train configs/vl.yaml", "llamafactory-cli train", ""),
    "axolotl": ("axolotl train configs/vl.yaml --launcher accelerate", "axolotl train", ""),
    "axolotl module": ("accelerate launch -m axolotl.cli.train configs/vl.yaml", "axolotl.cli.train", ""),
    "swift": ("swift sft --custom_register_path tasks/train_vlm.py --config configs/vl.yaml", "swift sft", ""),
    "behind a runner": ("uv run axolotl preprocess configs/vl.yaml", "axolotl preprocess", ""),
    "module of the project": ("torchrun -m pkg.run --config configs/vl.yaml", "pkg.run", "src/pkg/run.py"),
    "package of the project": ("python -m pkg.cli configs/vl.yaml", "pkg.cli", "pkg/cli/__main__.py"),
    "shell script": ("bash train.sh configs/vl.yaml", "train.sh", "train.sh"),
}


@pytest.mark.parametrize(("text", "program", "script"), COMMANDS.values(), ids=COMMANDS.keys())
def test_a_program_that_is_no_script_path_is_named(text: str, program: str, script: str) -> None:
    assert [(one.program, one.script, one.config) for one in found(text)] == [(program, script, "configs/vl.yaml")]


SILENT = {
    "no such config": "python tasks/train_vlm.py configs/gone.yaml",
    "no such script": "python tasks/gone.py configs/vl.yaml",
    "placeholder": "python tasks/<model>.py configs/<model>.yaml",
    "nothing is run": "git add tasks/train_vlm.py configs/vl.yaml",
    "only named": "cat configs/vl.yaml",
    "written": "python tasks/train_vlm.py --save-config configs/vl.yaml",
    "before the script": "accelerate launch --config_file configs/vl.yaml tasks/train_vlm.py",
    "comment": "# torchrun tasks/train_vlm.py configs/vl.yaml",
    "here-document": "cat <<E\ntorchrun tasks/train_vlm.py configs/vl.yaml\nE",
    "script unknown": "python $SCRIPT configs/vl.yaml",
    "one of two": "if a; then S=tasks/train_vlm.py; else S=tasks/train_text.py; fi\npython $S configs/vl.yaml",
    "two folders": "cd examples\npython */train.py config.yaml",
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT.keys())
def test_what_is_not_certain_is_no_launch(text: str) -> None:
    assert found(text) == []


def test_settings_of_the_command_are_named() -> None:
    (one,) = found("python tasks/train_vlm.py configs/vl.yaml --train.lr 1e-5 --data.type=x model.path=y +a=b -n 1")
    assert one.options == {"train.lr", "data.type", "model.path", "a"}
    assert not one.open


@pytest.mark.parametrize("more", ["$@", '"$@"', "$EXTRA", "${ARGS[@]}", "$(cat more)"])
def test_a_command_that_may_give_more_is_open(more: str) -> None:
    (one,) = found(f"python tasks/train_vlm.py configs/vl.yaml {more}")
    assert one.open
    (one,) = found(f"python tasks/train_vlm.py configs/vl.yaml --path {more}")
    assert not one.open


def test_fenced_blocks_of_markdown_are_read_and_prose_is_not() -> None:
    command = "bash train.sh tasks/train_vlm.py configs/vl.yaml"
    text = f"""\
# How

Run `{command}`, or {command}

```bash
cd elsewhere
{command}
```

1. In a list:

    ~~~console
    $ {command}
    ~~~

```python
# {command}
```

```
{command} \\
  --train.lr 1
```

```yaml
- {command}
```
"""
    assert [(one.line, one.column) for one in found(text, "docs/how.md")] == [(7, 1), (13, 5), (21, 1)]


def test_an_unclosed_fence_ends_with_the_file() -> None:
    assert [one.line for one in found("```sh\npython tasks/train_vlm.py configs/vl.yaml", "a.md")] == [2]


def test_makefiles_are_read() -> None:
    text = "CONFIG ?= configs/vl.yaml\n\ntrain: deps\n\t@python tasks/train_vlm.py $(CONFIG) \\\n\t  --seed $$SEED\n"
    (one,) = found(text, "Makefile")
    assert (one.script, one.config, one.line) == (*VL, 4)
    assert one.options == {"seed"}


def test_files_are_those_of_the_nearest_folder_that_has_both() -> None:
    (one,) = found("python train.py --config config.yaml", "examples/a/README.sh")
    assert (one.script, one.config) == ("examples/a/train.py", "examples/a/config.yaml")


def test_a_file_that_cannot_be_read_says_nothing() -> None:
    def read(path: str) -> bytes:
        if path == "gone.sh":
            raise OSError
        return b"python tasks/train_vlm.py configs/vl.yaml"

    launches = Launches(["gone.sh", "run.sh"], FILES, read)
    assert [one.path for one in launches.of("configs/vl.yaml")] == ["run.sh"]
