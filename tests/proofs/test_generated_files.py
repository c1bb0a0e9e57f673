"""Proof of the rules about generated files: a small generator runs in the states of the rules' own examples.

It writes what the examples have: under the header of the output, the text of its source.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from .conftest import bad, good

GENERATOR = """
import sys

source, output, header = sys.argv[1:]
with open(source) as file:
    text = file.read()
with open(output, "w") as file:
    file.write(header + text)
"""
PATCH = ("models/a/a_gpu_patch_gen_config.py", "models/a/generated/patched_modeling_a_gpu.py")
MODULAR = ("m/b/modular_b.py", "m/b/modeling_b.py")


def write(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def generate(folder: Path, source: str, output: str) -> subprocess.CompletedProcess[str]:
    """Run the generator; the comments at the top of the output are its header."""
    lines = (folder / output).read_text(encoding="utf-8").splitlines(keepends=True)
    body = next(number for number, line in enumerate(lines) if line.strip() and not line.startswith("#"))
    command = [sys.executable, "-c", GENERATOR, source, output, "".join(lines[:body])]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def defined(folder: Path, output: str) -> dict[str, object]:
    """What a module defines when it runs."""
    names: dict[str, object] = {}
    exec((folder / output).read_text(encoding="utf-8"), names)
    return names


@pytest.mark.proves("generated-file-edited")
def test_the_next_run_of_the_generator_drops_an_edit_made_by_hand(tmp_path: Path) -> None:
    example = bad("generated-file-edited")
    write(tmp_path, example.files)
    assert defined(tmp_path, PATCH[1])["EPS"] == 1e-5
    done = generate(tmp_path, *PATCH)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / PATCH[1]).read_text(encoding="utf-8") == (example.before or {})[PATCH[1]]


@pytest.mark.proves("generated-file-edited")
def test_an_edit_of_the_source_survives_the_generator(tmp_path: Path) -> None:
    example = good("generated-file-edited")
    write(tmp_path, example.files)
    assert generate(tmp_path, *PATCH).returncode == 0
    assert (tmp_path / PATCH[1]).read_text(encoding="utf-8") == example.files[PATCH[1]]
    assert defined(tmp_path, PATCH[1])["EPS"] == 1e-5


@pytest.mark.proves("generated-file-stale")
def test_a_run_goes_on_with_the_old_code_until_the_generator_runs(tmp_path: Path) -> None:
    write(tmp_path, bad("generated-file-stale", 1).files)
    assert (defined(tmp_path, MODULAR[0])["scale"], defined(tmp_path, MODULAR[1])["scale"]) == (2, 1)
    assert generate(tmp_path, *MODULAR).returncode == 0
    assert defined(tmp_path, MODULAR[1])["scale"] == 2


@pytest.mark.proves("generated-file-stale")
def test_a_source_whose_code_is_the_same_gives_the_same_code(tmp_path: Path) -> None:
    write(tmp_path, good("generated-file-stale", 3).files)
    before = defined(tmp_path, MODULAR[1])["scale"]
    assert generate(tmp_path, *MODULAR).returncode == 0
    assert defined(tmp_path, MODULAR[1])["scale"] == before


@pytest.mark.proves("generated-file-orphan")
def test_nothing_writes_a_file_whose_source_is_gone(tmp_path: Path) -> None:
    example = bad("generated-file-orphan", 1)
    write(tmp_path, example.files)
    done = generate(tmp_path, *MODULAR)
    assert "No such file or directory: 'm/b/modular_b.py'" in done.stderr
    assert (tmp_path / MODULAR[1]).read_text(encoding="utf-8") == example.files[MODULAR[1]]


@pytest.mark.proves("generated-file-orphan")
def test_the_generator_writes_it_while_the_source_is_there(tmp_path: Path) -> None:
    write(tmp_path, bad("generated-file-orphan", 1).before or {})
    assert generate(tmp_path, *MODULAR).returncode == 0
