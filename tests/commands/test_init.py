"""`shardlint init`: the change is shown first, and written only when it is wanted."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from shardlint import cli
from shardlint.commands.init import init

from ..conftest import Lint


def run(answer: str, *, yes: bool = False) -> tuple[int, str]:
    out = io.StringIO()
    return init(yes, io.StringIO(answer), out), out.getvalue()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "Makefile").write_text("all:\n\ttrue\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_change_is_shown_as_a_diff_before_the_question(root: Path) -> None:
    code, out = run("n\n")

    assert code == 1
    assert out.index("+++ b/Makefile") < out.index("write this? [y/N] ") < out.index("nothing was written")
    assert [path.name for path in root.iterdir()] == ["Makefile"]


@pytest.mark.parametrize(("answer", "yes"), [("y\n", False), ("YES\n", False), ("", True)])
def test_what_was_agreed_to_is_written(root: Path, answer: str, yes: bool) -> None:
    code, out = run(answer, yes=yes)

    assert code == 0
    assert out.endswith("next: pre-commit install, shardlint check\n")
    assert ("write this?" in out) != yes
    assert sorted(path.name for path in root.iterdir()) == [".pre-commit-config.yaml", "Makefile", "shardlint.toml"]
    assert (root / "Makefile").read_text().startswith("all:\n\ttrue\n\n.PHONY: shardlint\n")


def test_no_answer_is_no(root: Path) -> None:
    assert run("")[0] == 1
    assert not (root / "shardlint.toml").exists()


@pytest.mark.usefixtures("root")
def test_a_second_time_there_is_nothing_to_do() -> None:
    run("", yes=True)

    assert run("n\n") == (0, "everything that init adds is there already; next: pre-commit install, shardlint check\n")


def test_settings_that_init_wrote_are_understood(lint: Lint) -> None:
    (lint.project.root / "pyproject.toml").unlink()

    assert cli.main(["init", "--yes"]) == 0
    assert lint("check", "--show-settings").code == 0
