"""`shardlint checkpoint DIR` on checkpoints that torch wrote."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from ..conftest import Lint

WRITTEN = Path(__file__).parents[1] / "runtime" / "checkpoint" / "written"
FACTS = WRITTEN / "facts.json"


def changed(folder: Path, change: Any) -> Path:
    """Facts of a model that differ from what was saved."""
    facts = json.loads(FACTS.read_text())
    change(facts)
    folder.joinpath("facts.json").write_text(json.dumps(facts))
    return folder / "facts.json"


def rename(old: str, new: str) -> Any:
    def change(facts: dict[str, Any]) -> None:
        for one in facts["parameters"]:
            one["name"] = re.sub(old, new, one["name"])
            one["tied_to"] = one["tied_to"] and re.sub(old, new, one["tied_to"])

    return change


@pytest.mark.parametrize("saved", ["torch-2.4/full", "torch-2.4/titan", "torch-2.13/full", "torch-2.13/titan"])
def test_a_healthy_checkpoint_has_no_findings(lint: Lint, saved: str) -> None:
    answer = lint("checkpoint", str(WRITTEN / saved), "--facts-in", str(FACTS), "--resume")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("no findings. DCP: ")
    assert answer.out.endswith("30 of 30 tensors of the model found\n")


def test_findings_name_the_file_with_the_keys_and_fail_the_run(lint: Lint, tmp_path: Path) -> None:
    shutil.copytree(WRITTEN / "torch-2.13" / "full", lint.project.root / "saved")
    facts = changed(tmp_path, rename(r"\.attn\.", ".attention."))

    answer = lint("checkpoint", "saved", "--facts-in", str(facts), "--output-format", "json")

    found = json.loads(answer.out)
    assert answer.code == 1
    assert [(one["rule"], one["path"]) for one in found] == [("checkpoint-key-missing", "saved/.metadata")]
    assert "`layers.*.attn.bias`" in found[0]["message"]
    for form in ("text", "concise", "github"):
        shown = lint("checkpoint", "saved", "--facts-in", str(facts), "--output-format", form)
        assert "checkpoint-key-missing" in shown.out
    assert lint("checkpoint", "saved", "--facts-in", str(facts), "--exit-zero").code == 0
    assert lint("checkpoint", "saved", "--facts-in", str(facts), "--ignore", "checkpoint-key-missing").code == 0
    lint.project.write("pyproject.toml", '[tool.shardlint.severity]\ncheckpoint-key-missing = "note"\n')
    assert lint("checkpoint", "saved", "--facts-in", str(facts)).code == 0


def test_the_table_of_renames_is_python_that_restores_the_keys(lint: Lint, tmp_path: Path) -> None:
    facts = changed(tmp_path, rename(r"\.attn\.", ".attention."))

    answer = lint("checkpoint", str(WRITTEN / "torch-2.13/full"), "--facts-in", str(facts), "--write-mapping")

    table = re.search(r'\(r"(.*)", r"(.*)"\),  # candidate', answer.out)
    assert table is not None
    assert re.sub(table[1], table[2], "layers.3.attn.bias", count=1) == "layers.3.attention.bias"
    assert "_checkpoint_conversion_mapping = {" in answer.out
    assert answer.code == 1


def test_odd_names_in_the_table_of_renames_are_written_as_python_would(lint: Lint, tmp_path: Path) -> None:
    facts = changed(tmp_path, rename(r"attn", "at\x1b[31m\nn"))
    answer = lint("checkpoint", str(WRITTEN / "torch-2.13/full"), "--facts-in", str(facts), "--write-mapping")
    assert "\x1b" not in answer.out + answer.err
    compile(answer.out, "table", "exec")


def test_a_hostile_file_is_exit_code_2_and_is_not_run(lint: Lint) -> None:
    lint.project.write("saved/.metadata", b"\x80\x04cos\nsystem\n\x8c\x09touch ran\x85R.")
    answer = lint("checkpoint", "saved", "--facts-in", str(FACTS))
    assert (answer.code, answer.out) == (2, "")
    assert "saved/.metadata asks for `os.system`" in answer.err
    assert not (lint.project.root / "ran").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("checkpoint",), "name the folder of a checkpoint"),
        (("checkpoint", "."), "`--facts-in FILE` or `--target NAME`"),
        (("checkpoint", ".", "--facts-in", "a", "--target", "b"), "one of them"),
        (("checkpoint", ".", "--target", "b"), "have no plan target"),
        (("checkpoint", ".", "--facts-in", "absent.json"), "absent.json is no file"),
        (("checkpoint", ".", "--facts-in", "pyproject.toml"), "pyproject.toml is broken JSON"),
        (("checkpoint", ".", "--facts-in", str(FACTS)), "holds no checkpoint"),
        (("checkpoint", "absent", "--facts-in", str(FACTS)), "cannot be read as a folder"),
    ],
)
def test_what_cannot_be_compared_is_exit_code_2(lint: Lint, arguments: tuple[str, ...], said: str) -> None:
    answer = lint(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
