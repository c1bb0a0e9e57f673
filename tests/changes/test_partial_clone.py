"""A clone without the content of some files (`git clone --filter=blob:none`): files are judged, changes are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardlint.cli import main

from .conftest import Repository


@pytest.fixture
def partial(repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository with a changed file whose committed content is not there."""
    repo.commit(model__py="class Model:\n    pass\n")
    name = repo("rev-parse", "HEAD:model.py")
    (repo.root / ".git" / "objects" / name[:2] / name[2:]).unlink()
    repo.write("model.py", "class Model:\n    x = 1\n")
    repo("add", "--all")
    monkeypatch.chdir(repo.root)
    monkeypatch.setenv("SHARDLINT_CACHE_DIR", str(tmp_path / "cache"))
    return repo


def test_files_are_judged_and_the_rest_is_said(partial: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    out, err = capsys.readouterr()
    assert out == "no findings. 1 file checked\n"
    assert err.startswith(f"shardlint: changes were not judged: this clone of {partial.root} lacks the content of ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("asked", [["--staged"], ["--base", "HEAD"]])
def test_a_run_that_asks_for_changes_fails(
    partial: Repository, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert partial("diff", "--cached", "--name-only", "--no-renames") == "model.py"
    assert main(["check", *asked]) == 2
    assert "lacks the content of" in capsys.readouterr().err
