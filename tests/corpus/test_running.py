"""A run judges a tree alone, whatever lies around it, and shows every finding."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from corpus.labels import line_hash
from corpus.running import Size, findings_in, size_of

LOAD = "state = torch.load('a.pt', weights_only=False)"


@pytest.fixture
def at(tmp_path: Path) -> Path:
    """A tree inside of a checkout that ignores it and has settings of its own."""
    (tmp_path / "pyproject.toml").write_text("[tool.shardlint]\nselect = []\n", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("trees/\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    at = tmp_path / "trees" / "thing"
    (at / "tests").mkdir(parents=True)
    (at / "shardlint.toml").touch()
    subprocess.run(["git", "init", "--quiet", str(at)], check=True)
    (at / "load.py").write_text(f"import torch\n\n{LOAD}\n", encoding="utf-8")
    (at / "tests" / "test_load.py").write_text(f"import torch\n\nif True:\n    {LOAD}\n", encoding="utf-8")
    (at / "sft.yaml").write_text("lr: 1e-5\n", encoding="utf-8")
    return at


def test_hidden_findings_are_found_and_marked(at: Path) -> None:
    found = findings_in(at)

    assert {(finding.path, finding.line, finding.rule, finding.shown) for finding in found} == {
        ("load.py", 3, "unsafe-checkpoint-load", True),
        ("tests/test_load.py", 4, "unsafe-checkpoint-load", False),
        ("sft.yaml", 1, "yaml-float-is-string", False),
    }
    assert {finding.hash for finding in found if finding.path.endswith(".py")} == {line_hash(LOAD)}


def test_previews_run_too(at: Path) -> None:
    (at / "load.py").write_text(
        "import torch.distributed as dist\n\n\ndef share(buffer, tp_group):\n"
        "    dist.broadcast(buffer, src=0, group=tp_group)\n",
        encoding="utf-8",
    )

    assert "subgroup-src-local-rank" in {finding.rule for finding in findings_in(at)}


def test_the_environment_of_the_caller_changes_nothing(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = at.parent / "env" / "lib" / "python3.11" / "site-packages" / "torch-2.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.1.0\n", encoding="utf-8")
    (at / "load.py").write_text("import torch\n\nstate = torch.load('a.pt')\n", encoding="utf-8")
    monkeypatch.setenv("VIRTUAL_ENV", str(at.parent / "env"))

    assert [finding for finding in findings_in(at) if finding.path == "load.py"] == []


def test_the_size_counts_what_is_looked_at(at: Path) -> None:
    assert size_of(at) == Size(python=2, lines=9, others=1)
