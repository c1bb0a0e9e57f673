"""Small git repositories, made for one test each."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from shardlint.changes.git import Git


class Repository:
    """A repository on disk and the commands that a test needs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self("init", "--quiet", "--initial-branch=main")
        self("config", "user.name", "A Tester")
        self("config", "user.email", "tester@example.org")
        self("config", "commit.gpgsign", "false")

    def __call__(self, *args: str) -> str:
        done = subprocess.run(("git", *args), cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def write(self, path: str, content: str | bytes) -> Path:
        """Write a file of the working tree."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def commit(self, **files: str) -> str:
        """Write files (`a__py` stands for `a.py`), stage everything, commit, and give the commit."""
        for name, content in files.items():
            self.write(name.replace("__", "."), content)
        self("add", "--all")
        self("commit", "--quiet", "--allow-empty", "--message", "a commit")
        return self("rev-parse", "HEAD")

    @property
    def git(self) -> Git:
        found = Git.at(str(self.root))
        assert found is not None
        return found


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a setting of the person who runs the tests nor a hook that runs them reaches them."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "PRE_COMMIT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str], Repository]:
    """A new repository in a folder of that name."""
    return lambda name: Repository(tmp_path / name)


@pytest.fixture
def repo(make: Callable[[str], Repository]) -> Repository:
    """An empty repository."""
    return make("repo")
