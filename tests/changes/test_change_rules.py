"""The change rules through the real command line, over small real histories."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from shardlint.cli import main

from .conftest import Repository

GENERATED = "models/a/generated/patched_modeling_a_gpu.py"
CONFIG = "models/a/a_gpu_patch_gen_config.py"
HEADER = """\
# AUTO-GENERATED FILE - DO NOT EDIT DIRECTLY
#
#  Source: hub.models.a.modeling_a
#  Based on: hub=={version}

"""
UNNAMED = "# AUTO-GENERATED FILE - DO NOT EDIT\n"
CODE = """\
import math
import os


def width(config):
    # rounded up
    return math.ceil(config.size / 8)


def home():
    return os.getcwd()
"""
MODEL = """\
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.{key} = nn.Linear(width, width)

    def forward(self, x):
        return self.{key}(x)
"""


def generated(code: str = CODE, version: str = "5.1") -> str:
    return HEADER.format(version=version) + code


Check = Callable[..., list[tuple[str, str, int]]]


@pytest.fixture
def check(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Check:
    """Run `shardlint check` in the repository: the rule, path and line of each finding."""
    monkeypatch.setenv("SHARDLINT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(repo.root)

    def run(*args: str, code: int | None = None) -> list[tuple[str, str, int]]:
        monkeypatch.chdir(repo.root)
        capsys.readouterr()
        got = main(["check", "--no-cache", "--output-format", "json", *args])
        out, err = capsys.readouterr()
        assert got == code if code is not None else got in (0, 1), err
        return [(finding["rule"], finding["path"], finding["line"]) for finding in json.loads(out or "[]")]

    return run


@pytest.fixture
def patched(repo: Repository) -> Repository:
    """A repository with a patch configuration and the file that is generated from it."""
    repo.write(CONFIG, "EPS = 1e-6\n")
    repo.write(GENERATED, generated())
    repo.write("train.py", "steps = 1\n")
    repo.commit()
    return repo


def stage(repo: Repository, **files: str | None) -> None:
    """Write the files of these roles (`generated`, `config`, `train`) and stage all."""
    paths = {"generated": GENERATED, "config": CONFIG, "train": "train.py"}
    for role, content in files.items():
        if content is None:
            (repo.root / paths[role]).unlink()
        else:
            repo.write(paths[role], content)
    repo("add", "--all")


EDITED = CODE.replace("/ 8", "/ 16")
FOUND = [("generated-file-edited", GENERATED, 12)]


@pytest.mark.parametrize("flags", [(), ("--staged",), ("--base", "HEAD")])
def test_a_hand_edit_is_found_where_it_begins(patched: Repository, check: Check, flags: tuple[str, ...]) -> None:
    stage(patched, generated=generated(EDITED), train="steps = 2\n")
    assert check(*flags) == FOUND


def test_a_committed_hand_edit_is_found_against_the_base(patched: Repository, check: Check) -> None:
    patched("checkout", "--quiet", "-b", "work")
    stage(patched, generated=generated(EDITED))
    patched.commit()
    patched.write("train.py", "steps = 3\n")
    patched.commit()
    assert check() == []
    assert check("--base", "main") == FOUND


def test_an_edit_that_only_lies_on_disk_is_found_against_a_base(patched: Repository, check: Check) -> None:
    patched.write(GENERATED, generated(EDITED))
    assert check() == []
    assert check("--base", "HEAD") == FOUND


@pytest.mark.parametrize(
    "files",
    [
        {"generated": generated(EDITED), "config": "EPS = 1e-5\n"},
        {"generated": generated(EDITED, version="5.2")},
        {"generated": generated(CODE.replace("(config.size / 8)", "(\n        config.size / 8\n    )"))},
        {"generated": generated(CODE.replace("# rounded up", "# rounded up to a multiple of 8"))},
        {"generated": generated(CODE.replace("import math\nimport os", "import os\nimport math"))},
        {"generated": generated('"""Sizes."""\n' + CODE)},
        {"generated": generated().replace("\n", "\r\n")},
        {"generated": EDITED},
        {"generated": None},
        {"config": "EPS = 1e-5\n"},
    ],
    ids=[
        "the source changed along",
        "the header names another version",
        "layout",
        "a comment",
        "the order of imports",
        "a docstring",
        "line ends",
        "no longer generated",
        "deleted",
        "only the source changed",
    ],
)
def test_what_is_no_hand_edit_is_silent(patched: Repository, check: Check, files: dict[str, str | None]) -> None:
    stage(patched, **files)
    assert check("--staged") == []


def test_an_edit_of_a_file_whose_source_goes_is_an_orphan_and_no_hand_edit(patched: Repository, check: Check) -> None:
    stage(patched, generated=generated(EDITED), config=None)
    assert check("--staged") == [("generated-file-orphan", GENERATED, 1)]


def test_a_generated_file_that_moves_is_silent_and_one_that_moves_and_changes_is_found(
    patched: Repository, check: Check
) -> None:
    target = GENERATED.replace("modeling_a", "modeling_b")
    patched("mv", GENERATED, target)
    assert check() == []
    patched.write(target, generated(EDITED))
    patched("add", "--all")
    assert check() == [("generated-file-edited", target, 12)]


def test_a_revert_of_a_hand_edit_is_silent(patched: Repository, check: Check) -> None:
    stage(patched, generated=generated(EDITED))
    patched.commit()
    patched("revert", "--no-commit", "HEAD")
    assert check() == []
    stage(patched, generated=generated(CODE.replace("/ 8", "/ 32")))
    assert check() == FOUND


def test_partial_staging_counts_what_is_staged_alone(patched: Repository, check: Check) -> None:
    patched.write(GENERATED, generated(EDITED))
    patched.write(CONFIG, "EPS = 1e-5\n")
    patched("add", GENERATED)
    assert check("--staged") == FOUND
    patched("add", CONFIG)
    assert check("--staged") == []


def test_a_conflict_and_a_file_taken_from_a_merged_branch_are_silent(patched: Repository, check: Check) -> None:
    patched("checkout", "--quiet", "-b", "other")
    stage(patched, generated=generated(EDITED))
    patched.commit()
    patched("checkout", "--quiet", "main")
    patched.write("train.py", "steps = 9\n")
    patched.commit()
    patched("merge", "--no-commit", "--no-ff", "other")
    assert check("--staged") == []


def test_a_release_stamp_is_no_edit(repo: Repository, check: Check) -> None:
    stamp = (
        "# file generated by setuptools-scm\n# don't change, don't track in version control\n\n__version__ = \"{}\"\n"
    )
    repo.write("pkg/_version.py", stamp.format("1.0"))
    repo.commit()
    repo.write("pkg/_version.py", stamp.format("1.1"))
    repo("add", "--all")
    assert check() == []


def test_a_model_that_extends_another_is_regenerated_with_it(repo: Repository, check: Check) -> None:
    head = (
        "# This file was automatically generated from src/p/models/b/modular_b.py.\n# Do NOT edit this file manually.\n"
    )
    repo.write("src/p/models/a/modeling_a.py", "scale = 1\n")
    repo.write("src/p/models/b/modular_b.py", "from ..a.modeling_a import A\n")
    repo.write("src/p/models/b/modeling_b.py", head + "scale = 1\n")
    repo.commit()
    repo.write("src/p/models/b/modeling_b.py", head + "scale = 2\n")
    repo("add", "--all")
    assert check() == [("generated-file-edited", "src/p/models/b/modeling_b.py", 3)]
    repo.write("src/p/models/a/modeling_a.py", "scale = 2\n")
    repo("add", "--all")
    assert check() == []


def test_a_changed_pin_explains_what_is_generated_from_another_package(patched: Repository, check: Check) -> None:
    patched.write("requirements.txt", "hub==5.2\n")
    stage(patched, generated=generated(EDITED))
    assert check() == []


def test_settings_call_a_file_generated(repo: Repository, check: Check) -> None:
    repo.write(
        "pyproject.toml",
        '[[tool.shardlint.generated]]\npaths = ["tables/*.py"]\nsources = ["ops.yaml"]\ncommand = "make tables"\n',
    )
    repo.write("ops.yaml", "a: 1\n")
    repo.write("tables/a.py", "A = 1\n")
    repo.commit()
    repo.write("tables/a.py", "A = 2\n")
    repo("add", "--all")
    assert check() == [("generated-file-edited", "tables/a.py", 1)]
    repo.write("ops.yaml", "a: 2\n")
    repo("add", "--all")
    assert check() == []


def test_attributes_call_a_python_file_generated_or_not(repo: Repository, check: Check) -> None:
    repo.write(".gitattributes", "gen.py linguist-generated\nhand.py -linguist-generated\n*.lock linguist-generated\n")
    repo.write("gen.py", "A = 1\n")
    repo.write("hand.py", UNNAMED + "A = 1\n")
    repo.write("a.lock", "1\n")
    repo.commit()
    for path, content in (("gen.py", "A = 2\n"), ("hand.py", UNNAMED + "A = 2\n"), ("a.lock", "2\n")):
        repo.write(path, content)
        repo("add", path)
        assert check() == ([("generated-file-edited", "gen.py", 1)] if path == "gen.py" else [])
        repo.commit()


def test_a_rename_without_a_mapping_is_found_and_one_with_a_mapping_is_not(repo: Repository, check: Check) -> None:
    repo.write("pkg/model.py", MODEL.format(key="wq"))
    repo.write("pkg/deep/load.py", 'RENAMES = {"wk": "k_proj"}\n')
    repo.commit()
    repo.write("pkg/model.py", MODEL.format(key="q_proj"))
    repo("add", "--all")
    assert check() == [("state-key-rename", "pkg/model.py", 7)]
    repo.write("pkg/deep/load.py", 'RENAMES = {"wk": "k_proj", "wq": "q_proj"}\n')
    assert check() == [("state-key-rename", "pkg/model.py", 7)]
    repo("add", "--all")
    assert check() == []
    repo.commit()
    repo.write("pkg/model.py", MODEL.format(key="query"))
    repo("add", "--all")
    assert check() == [("state-key-rename", "pkg/model.py", 7)]


def test_a_mapping_that_was_there_before_counts(repo: Repository, check: Check) -> None:
    repo.write("pkg/model.py", MODEL.format(key="wq"))
    repo.write("pkg/deep/load.py", 'RENAMES = {"wq": "q_proj"}\n')
    repo.commit()
    repo.write("pkg/model.py", MODEL.format(key="q_proj"))
    repo("add", "--all")
    assert check() == []


def test_a_rename_in_a_file_that_moves_is_found(repo: Repository, check: Check) -> None:
    repo.write("pkg/model.py", MODEL.format(key="wq") + "\n# one\n" * 20)
    repo.commit()
    repo("mv", "pkg/model.py", "pkg/attention.py")
    assert check() == []
    repo.write("pkg/attention.py", MODEL.format(key="q_proj") + "\n# one\n" * 20)
    repo("add", "--all")
    assert check() == [("state-key-rename", "pkg/attention.py", 7)]


def test_a_suppression_hides_a_rename_and_is_used(repo: Repository, check: Check) -> None:
    repo.write("model.py", MODEL.format(key="wq"))
    repo.commit()
    line = "        self.q_proj = nn.Linear(width, width)"
    text = MODEL.format(key="q_proj").replace(line, line + "  # shardlint: ignore[state-key-rename] no checkpoint yet")
    repo.write("model.py", text)
    repo("add", "--all")
    assert check("--staged") == []


def test_a_renamed_class_and_a_test_are_silent(repo: Repository, check: Check) -> None:
    repo.write("model.py", MODEL.format(key="wq"))
    repo.write("tests/test_model.py", MODEL.format(key="wq"))
    repo.commit()
    repo.write("model.py", MODEL.format(key="wq").replace("Attention", "SelfAttention"))
    repo.write("tests/test_model.py", MODEL.format(key="q_proj"))
    repo("add", "--all")
    assert check() == []


def test_the_first_commit_and_an_unchanged_index_are_silent(repo: Repository, check: Check) -> None:
    repo.write(GENERATED, generated())
    repo("add", "--all")
    assert check() == []
    repo.commit()
    assert check() == []


@pytest.mark.usefixtures("patched")
def test_an_unknown_base_is_refused(check: Check) -> None:
    assert check("--base", "nowhere", code=2) == []


def test_settings_hide_an_edit_of_a_generated_file(patched: Repository, check: Check) -> None:
    patched.write("pyproject.toml", '[tool.shardlint.per-file-ignores]\n"models/**" = ["generated-file-edited"]\n')
    patched.commit()
    stage(patched, generated=generated(EDITED))
    assert check() == []


@pytest.mark.parametrize(
    ("along", "found"),
    [("docs/a.md", True), ("tables/b.py", True), ("ops.yaml", False), ("pkg/a.py", False)],
    ids=["a document", "another generated file", "data", "code"],
)
def test_where_no_source_is_known_any_other_code_or_data_can_be_it(
    repo: Repository, check: Check, along: str, found: bool
) -> None:
    head = UNNAMED if along.startswith("tables/") else ""
    repo.write("tables/a.py", UNNAMED + "A = 1\n")
    repo.write(along, head + "# one\n")
    repo.commit()
    repo.write("tables/a.py", UNNAMED + "A = 2\n")
    repo.write(along, head + "# two\n")
    repo("add", "--all")
    assert check() == ([("generated-file-edited", "tables/a.py", 2)] if found else [])


def test_a_changed_generator_explains_what_it_writes(patched: Repository, check: Check) -> None:
    patched.write("tools/patchgen/emit.py", "spaces = 4\n")
    stage(patched, generated=generated(EDITED))
    assert check() == []


def test_a_rename_in_a_generated_file_and_one_from_a_merged_branch_are_silent(repo: Repository, check: Check) -> None:
    repo.write("gen.py", UNNAMED + MODEL.format(key="wq"))
    repo.write("model.py", MODEL.format(key="wq"))
    repo.commit()
    repo("checkout", "--quiet", "-b", "other")
    repo.write("model.py", MODEL.format(key="q_proj"))
    repo.commit()
    repo("checkout", "--quiet", "main")
    repo.write("a.py", "a = 1\n")
    repo.commit()
    repo("merge", "--no-commit", "--no-ff", "other")
    repo.write("gen.py", UNNAMED + MODEL.format(key="q_proj"))
    repo("add", "--all")
    assert check() == []
