"""Copies of examples/minitrain, each with a git history of one commit, and what shardlint says about them."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MINITRAIN = ROOT / "examples" / "minitrain"
PATCHES = sorted(MINITRAIN.glob("bugs/*.patch"))


def load_demo() -> ModuleType:
    """The script behind `make demo`."""
    spec = importlib.util.spec_from_file_location("show_bugs", ROOT / "examples" / "show_bugs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Copy:
    """A copy of minitrain, as the demo makes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "minitrain"
        self.cache = folder / "cache"
        self._demo = load_demo()
        self._demo.copy_with_history(self.folder)

    def apply(self, *names: str) -> None:
        """Apply bugs, named by their rules, and stage them."""
        patches = [str(MINITRAIN / "bugs" / f"{name}.patch") for name in names]
        self._demo.git(self.folder, "apply", "--index", *patches)

    def restore(self) -> None:
        """Take all bugs back."""
        self._demo.git(self.folder, "reset", "--quiet", "--hard")

    def shardlint(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What a command line says."""
        command = [sys.executable, "-m", "shardlint", *arguments]
        environ = {**os.environ, "SHARDLINT_CACHE_DIR": str(self.cache)}
        return subprocess.run(command, cwd=self.folder, env=environ, capture_output=True, text=True, check=False)

    def findings(self, *arguments: str) -> list[dict[str, Any]]:
        """The findings of a command line, which must end as it says."""
        done = self.shardlint(*arguments, "--output-format", "json")
        found: list[dict[str, Any]] = json.loads(done.stdout)
        assert done.returncode == (1 if found else 0), done.stderr
        return found
