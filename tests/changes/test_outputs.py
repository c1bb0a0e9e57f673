"""What is generated from a changed source, through the real command line, over small real histories."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from shardlint.cli import main

from .conftest import Repository

CONFIG = "m/a/a_gpu_patch_gen_config.py"
NPU = "m/a/a_npu_patch_gen_config.py"
OUTPUT = "m/a/generated/patched_modeling_a_gpu.py"
NPU_OUTPUT = "m/a/generated/patched_modeling_a_npu.py"
SPEC = """\
from patchgen import PatchConfig

config = PatchConfig(source_module="hub.a", target_file="patched_modeling_a_gpu.py")


@config.override_method("A.forward")
def a_forward(self, x):
    return x * {scale}
"""
NPU_SPEC = """\
from .a_gpu_patch_gen_config import a_forward

config = PatchConfig(source_module="hub.a", target_file="patched_modeling_a_npu.py")
config.override_method("A.forward", replacement=a_forward)
"""
HEADER = "# AUTO-GENERATED FILE - DO NOT EDIT DIRECTLY\n#  Source: hub.a\n#    - method_override: A.forward\n\n"
BODY = HEADER + "\nclass A(Module):\n    width = 8\n\n    def forward(self, x):\n        return x * {scale}\n"
MODELING = "# This file was automatically generated from m/b/modular_b.py. Do NOT edit it.\nscale = {scale}\n"

Check = Callable[[], list[tuple[str, str, int]]]


@pytest.fixture
def check(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Check:
    """Stage all and run `shardlint check` in the repository: the rule, path and line of each finding."""
    monkeypatch.setenv("SHARDLINT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(repo.root)

    def run() -> list[tuple[str, str, int]]:
        repo("add", "--all")
        capsys.readouterr()
        assert main(["check", "--no-cache", "--select", "generated", "--output-format", "json"]) in (0, 1)
        out, err = capsys.readouterr()
        assert not err
        return [(finding["rule"], finding["path"], finding["line"]) for finding in json.loads(out or "[]")]

    return run


@pytest.fixture
def patched(repo: Repository) -> Repository:
    """Two patch configurations, one of which takes from the other, and what is generated from them."""
    repo.write(CONFIG, SPEC.format(scale=2))
    repo.write(NPU, NPU_SPEC)
    repo.write(OUTPUT, BODY.format(scale=2))
    repo.write(NPU_OUTPUT, BODY.format(scale=2))
    repo.write("train.py", "steps = 1\n")
    repo.commit()
    return repo


def test_a_configuration_that_changes_without_its_outputs_is_found(patched: Repository, check: Check) -> None:
    patched.write(CONFIG, SPEC.format(scale=3))
    assert check() == [("generated-file-stale", CONFIG, 8)]


def test_an_output_of_another_configuration_that_takes_from_the_changed_one_counts(
    patched: Repository, check: Check
) -> None:
    patched.write(CONFIG, SPEC.format(scale=3))
    patched.write(OUTPUT, BODY.format(scale=3))
    assert check() == [("generated-file-stale", CONFIG, 8)]
    patched.write(NPU_OUTPUT, BODY.format(scale=3))
    assert check() == []


@pytest.mark.parametrize(
    "spec",
    [
        "# why\n" + SPEC.format(scale="(2)"),
        SPEC.format(scale=2) + '\n\nNOTE = "nothing that is written"\n',
        SPEC.format(scale=2).replace("self, x", "self,\n    x"),
        SPEC.format(scale=2).replace("def a_forward(self, x):", 'def a_forward(self, x):\n    """Scales."""'),
    ],
    ids=["a comment", "unused code", "layout", "a docstring"],
)
def test_a_configuration_whose_output_stays_right_is_silent(patched: Repository, check: Check, spec: str) -> None:
    patched.write(CONFIG, spec)
    assert check() == []


def test_an_edit_by_hand_is_found_although_its_source_changed_along(patched: Repository, check: Check) -> None:
    patched.write(CONFIG, SPEC.format(scale=3))
    patched.write(OUTPUT, BODY.format(scale=4))
    patched.write(NPU_OUTPUT, BODY.format(scale=3))
    assert check() == [("generated-file-edited", OUTPUT, 10)]


def test_an_edit_by_hand_is_found_although_the_header_changed_along(patched: Repository, check: Check) -> None:
    patched.write(OUTPUT, "# hub==5.2\n" + BODY.format(scale=4))
    assert check() == [("generated-file-edited", OUTPUT, 11)]
    patched.write(OUTPUT, "# hub==5.2\n" + BODY.format(scale=2).replace("width = 8", "width = 9"))
    assert check() == []


def test_a_new_output_is_compared_with_its_configuration(repo: Repository, check: Check) -> None:
    repo.write(CONFIG, SPEC.format(scale=2))
    repo.commit()
    repo.write(OUTPUT, BODY.format(scale=2))
    assert check() == []
    repo.write(OUTPUT, BODY.format(scale=3))
    assert check() == [("generated-file-edited", OUTPUT, 10)]


def test_a_new_file_that_the_settings_call_generated_is_silent(repo: Repository, check: Check) -> None:
    settings = '[[tool.shardlint.generated]]\npaths = ["tables/*.py"]\nsources = ["ops.yaml"]\n'
    repo.write("pyproject.toml", settings)
    repo.write("ops.yaml", "a: 1\n")
    repo.commit()
    repo.write("tables/a.py", "A = 1\n")
    assert check() == []


def test_an_older_drift_is_not_reported_again(patched: Repository, check: Check) -> None:
    patched.write(OUTPUT, BODY.format(scale=4))
    patched.commit()
    patched.write(CONFIG, "import os\n\n" + SPEC.format(scale=2))
    patched.write(OUTPUT, BODY.format(scale=4).replace("width = 8", "width = 9"))
    assert check() == []


def test_a_revert_of_a_source_and_its_outputs_is_silent(patched: Repository, check: Check) -> None:
    patched.write(CONFIG, SPEC.format(scale=3))
    patched.write(OUTPUT, BODY.format(scale=3))
    patched.write(NPU_OUTPUT, BODY.format(scale=3))
    patched.commit()
    patched("revert", "--no-commit", "HEAD")
    assert check() == []


def test_the_move_of_a_source_with_its_output_is_silent(patched: Repository, check: Check) -> None:
    patched("mv", "m/a", "m/c")
    assert check() == []


def test_the_last_source_that_goes_leaves_an_orphan(patched: Repository, check: Check) -> None:
    patched("rm", "--quiet", NPU)
    assert check() == []
    patched("rm", "--quiet", CONFIG)
    assert check() == [("generated-file-orphan", OUTPUT, 1), ("generated-file-orphan", NPU_OUTPUT, 1)]
    patched.write(OUTPUT, "class A(Module):\n    width = 8\n")
    patched("rm", "--quiet", NPU_OUTPUT)
    assert check() == []


def test_a_modular_file_and_its_output(repo: Repository, check: Check) -> None:
    repo.write("m/b/modular_b.py", "scale = 1\n")
    repo.write("m/b/modeling_b.py", MODELING.format(scale=1))
    repo.write("m/b/processing_b.py", "size = 1\n")
    repo.commit()
    repo.write("m/b/modular_b.py", "scale = 2\n")
    assert check() == [("generated-file-stale", "m/b/modular_b.py", 1)]
    repo.write("m/b/modeling_b.py", MODELING.format(scale=2))
    assert check() == []
    repo("rm", "--quiet", "--force", "m/b/modular_b.py")
    assert check() == [("generated-file-orphan", "m/b/modeling_b.py", 1)]


def test_imports_and_exports_of_a_modular_file_are_not_what_is_generated(repo: Repository, check: Check) -> None:
    repo.write("m/b/modular_b.py", "import a\n\nscale = 1\n")
    repo.write("m/b/modeling_b.py", MODELING.format(scale=1))
    repo.commit()
    repo.write("m/b/modular_b.py", 'import b\n\nscale = 1\n\n__all__ = ["scale"]\n')
    assert check() == []


def test_a_source_that_the_settings_name(repo: Repository, check: Check) -> None:
    settings = '[[tool.shardlint.generated]]\npaths = ["tables/*.py"]\nsources = ["ops.yaml"]\ncommand = "make t"\n'
    repo.write("pyproject.toml", settings)
    repo.write("ops.yaml", "a: 1\n")
    repo.write("tables/a.py", "A = 1\n")
    repo.commit()
    repo.write("ops.yaml", "a: 2\n")
    assert check() == [("generated-file-stale", "ops.yaml", 1)]
    repo.write("tables/a.py", "A = 2\n")
    assert check() == []


def test_a_generator_that_changes_alone_is_silent(repo: Repository, check: Check) -> None:
    repo.write("tools/gen.py", "a = 1\n")
    repo.write("tools/table.py", "# Auto-generated by tools/gen.py. Do not edit.\nA = 1\n")
    repo.commit()
    repo.write("tools/gen.py", "a = 2\n")
    assert check() == []


@pytest.mark.usefixtures("check")
def test_the_message_says_which_evidence_there_is(patched: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    def message() -> str:
        patched("add", "--all")
        capsys.readouterr()
        main(["check", "--no-cache", "--select", "generated-file-edited", "--output-format", "json"])
        (finding,) = json.loads(capsys.readouterr().out)
        return str(finding["message"])

    assert main(["generated", "lock"]) == 0
    patched.commit()
    patched.write(OUTPUT, BODY.format(scale=4))
    assert "`A.forward` is not what `a_forward` generates" in message()
    patched.write(OUTPUT, BODY.format(scale=2).replace("width = 8", "width = 9"))
    assert "but its recorded sources did not (`generated.lock.json`)" in message()
    (patched.root / "generated.lock.json").unlink()
    patched("add", "--all")
    patched.commit()
    patched.write(OUTPUT, BODY.format(scale=2).replace("width = 8", "width = 10"))
    assert f"but `{CONFIG}` did not" in message()


def test_a_drift_that_was_recorded_with_a_reason_is_silent(patched: Repository, check: Check) -> None:
    patched.write(OUTPUT, BODY.format(scale=4))
    assert check() == [("generated-file-edited", OUTPUT, 10)]
    assert main(["generated", "lock"]) == 1
    assert main(["generated", "lock", "--accept", "until the generator is mended"]) == 0
    assert check() == []
