"""examples/minitrain as a repository: its page names its bugs, and its types hold where torch is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .copies import MINITRAIN, PATCHES


def test_the_page_of_minitrain_names_its_bugs() -> None:
    page = (MINITRAIN / "README.md").read_text(encoding="utf-8")
    assert [patch.stem for patch in PATCHES if f"`{patch.stem}`" not in page] == []
    assert len(PATCHES) >= 20


def test_the_types_of_minitrain_hold(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="minitrain is checked against the types of torch")
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=MINITRAIN, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
