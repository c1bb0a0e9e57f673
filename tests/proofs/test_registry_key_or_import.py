"""Proof of registry-key-or-import: the rule's own examples are imported, and the registry says which keys it has."""

from __future__ import annotations

import builtins
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from shardlint.example import Example

from .conftest import bad, good

pytestmark = pytest.mark.proves("registry-key-or-import")

REGISTRY = """
import builtins

class Registry(dict):
    def register(self, key, value=None):
        if value is None:
            return lambda made: self.register(key, made)
        self[key] = value
        return value

builtins.Registry, builtins.B = Registry, object
"""
LLAMA = "from transformers import LlamaConfig\n"


def write(folder: Path, example: Example) -> None:
    for path, text in example.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text((LLAMA if "(LlamaConfig)" in text else "") + text, encoding="utf-8")


def run(folder: Path, example: Example, code: str) -> str:
    """The output of code beside an example's files."""
    write(folder, example)
    command = [sys.executable, "-c", REGISTRY + code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_what_nothing_imports_or_calls_is_not_in_the_registry(tmp_path: Path) -> None:
    code = "import zoo, other.late\nprint(sorted(zoo.registry.MODEL_REGISTRY))"
    assert run(tmp_path, bad("registry-key-or-import"), code) == "['first']\n"


def test_what_the_package_imports_is_in_the_registry(tmp_path: Path) -> None:
    example = good("registry-key-or-import")
    package = {path: text.replace("add_models()\n", "first.add_models()\n") for path, text in example.files.items()}
    code = "import zoo\nprint(sorted(zoo.registry.MODEL_REGISTRY))"
    assert run(tmp_path, Example(package), code) == "['first', 'more', 'third']\n"


def test_transformers_refuses_a_key_that_is_not_the_model_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers", reason="the proof registers with `AutoConfig`")
    write(tmp_path, bad("registry-key-or-import"))
    monkeypatch.setattr(builtins, "Registry", None, raising=False)
    monkeypatch.setattr(builtins, "B", None, raising=False)
    exec(REGISTRY, {})
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(ValueError, match=r"(?s)llama_vl.*llamavl"):
        importlib.import_module("llama_vl")
    for name in [name for name in sys.modules if name.partition(".")[0] in ("llama_vl", "zoo")]:
        del sys.modules[name]
