"""Proof of monkeypatch-dead-target: the rule's own example patches the package that its example installs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import bad

pytestmark = pytest.mark.proves("monkeypatch-dead-target")

ASKED = """
import transformers.masking as masking
import example
print(hasattr(masking, "_make_mask"), masking.make_mask is example.patched)
"""


def patched(folder: Path, source: str) -> str:
    """What is there after the patch: the name that was assigned, and whether the package's function is the patch."""
    example = bad("monkeypatch-dead-target")
    for path, text in {**example.installed, "example.py": source, "asked.py": ASKED}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    command = [sys.executable, "asked.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_the_patch_makes_a_new_attribute_and_the_package_keeps_its_own_function(tmp_path: Path) -> None:
    (source,) = bad("monkeypatch-dead-target").files.values()
    assert patched(tmp_path, source) == "True False\n"


def test_a_patch_of_the_name_that_is_there_takes_its_place(tmp_path: Path) -> None:
    (source,) = bad("monkeypatch-dead-target").files.values()
    assert patched(tmp_path, source.replace("masking._make_mask", "masking.make_mask")) == "False True\n"
