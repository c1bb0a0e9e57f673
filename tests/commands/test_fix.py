"""`check --fix` and `check --diff`: what is written, what is refused, and what is reported afterwards."""

from __future__ import annotations

import subprocess

import pytest

from shardlint.engine import run
from shardlint.request import Outcome, Request
from shardlint.rule import unsafe
from shardlint.session import Session
from shardlint_rules.config.yaml_float_is_string import YamlFloatIsString

from ..conftest import GUARDED, LONG_AGO, Lint

RATE = """\
model: {config_path: ./configs/model.json}
data: {train_path: tulu}
train:
  accelerator: {fsdp_config: {fsdp_mode: fsdp2}}
  lr: 1e-5
  eps: 1e-8
"""
IDLE = "import os  # shardlint: ignore[rank-guarded-checkpoint] long gone\n"


def text(lint: Lint, path: str) -> str:
    return (lint.project.root / path).read_text()


def git(lint: Lint, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=lint.project.root, check=True, capture_output=True)


def test_fix_writes_safe_fixes_and_reports_the_rest(lint: Lint) -> None:
    lint.project.write("sft.yaml", RATE)
    lint.project.write("train.py", IDLE + GUARDED)

    answer = lint("check", "--fix", "--output-format", "concise")

    assert answer.code == 1
    assert answer.err == "fixed 3 findings in 2 files\n"
    assert answer.out.startswith("train.py:7:9: error rank-guarded-checkpoint")
    assert text(lint, "sft.yaml") == RATE.replace("1e-5", "1.0e-5").replace("1e-8", "1.0e-8")
    assert text(lint, "train.py") == "import os\n" + GUARDED


def test_findings_after_a_fix_stand_where_they_are_now(lint: Lint) -> None:
    lint.project.write("train.py", "# shardlint: ignore[rank-guarded-checkpoint] long gone\nimport os\n" + GUARDED)

    out = lint("check", "--fix").out

    assert "train.py:7:9  error  rank-guarded-checkpoint\n" in out
    assert "   7 |         dcp.save(state, checkpoint_id=path)\n" in out


def test_a_run_in_which_everything_was_fixed_is_exit_code_0(lint: Lint) -> None:
    lint.project.write("sft.yaml", RATE)

    assert lint("check", "--fix").code == 0
    assert lint("check").code == 0
    assert lint("check", "--fix").err == ""


def test_fix_also_works_on_results_that_were_kept(lint: Lint) -> None:
    lint.project.write("sft.yaml", RATE)
    lint("check")

    assert lint("check", "--fix").err == "fixed 2 findings in 1 file\n"


def test_diff_shows_the_change_and_writes_nothing(lint: Lint) -> None:
    lint.project.write("sft.yaml", RATE)

    answer = lint("check", "--diff")

    assert (answer.code, answer.err) == (1, "")
    assert answer.out.startswith("--- a/sft.yaml\n+++ b/sft.yaml\n")
    assert "\n-  lr: 1e-5\n-  eps: 1e-8\n+  lr: 1.0e-5\n+  eps: 1.0e-8\n" in answer.out
    assert text(lint, "sft.yaml") == RATE
    assert lint("check", "--diff", "--exit-zero").code == 0


def test_diff_without_fixes_is_empty_and_exit_code_0(lint: Lint) -> None:
    lint.project.write("train.py", GUARDED)

    assert (lint("check", "--diff").code, lint("check", "--diff").out) == (0, "")


def test_diff_wins_over_fix(lint: Lint) -> None:
    lint.project.write("sft.yaml", RATE)

    assert lint("check", "--fix", "--diff").code == 1
    assert text(lint, "sft.yaml") == RATE


@pytest.mark.parametrize(("arguments", "fixed"), [([], False), (["--unsafe-fixes"], True)])
def test_unsafe_fixes_are_written_only_when_asked_for(
    lint: Lint, monkeypatch: pytest.MonkeyPatch, arguments: list[str], fixed: bool
) -> None:
    monkeypatch.setattr(YamlFloatIsString, "fixes", unsafe("another reader may see another number"))
    lint.project.write("sft.yaml", RATE)

    lint("check", "--fix", *arguments)

    assert (text(lint, "sft.yaml") != RATE) == fixed


def test_a_file_that_changed_after_it_was_linted_is_not_written(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    def meddle(session: Session, request: Request) -> Outcome:
        outcome = run(session, request)
        (lint.project.root / "sft.yaml").write_text(RATE + "# mine\n")
        return outcome

    monkeypatch.setattr("shardlint.commands.check.run", meddle)
    lint.project.write("sft.yaml", RATE)

    answer = lint("check", "--fix")

    assert answer.code == 1
    assert "sft.yaml was not fixed, because it changed after it was linted: run shardlint again\n" in answer.err
    assert text(lint, "sft.yaml") == RATE + "# mine\n"


def test_staged_fixes_are_written_but_not_staged_and_the_run_still_fails(lint: Lint) -> None:
    git(lint, "init", "-q")
    lint.project.write("sft.yaml", RATE)
    git(lint, "add", ".")

    answer = lint("check", "--staged", "--fix", "--output-format", "concise")

    assert answer.code == 1
    assert "they are not staged yet, so what follows is still so in the commit: git add sft.yaml\n" in answer.err
    assert "sft.yaml:5:7: error yaml-float-is-string" in answer.out
    git(lint, "add", ".")
    assert lint("check", "--staged").code == 0


def test_a_file_with_unstaged_hunks_is_not_fixed_under_staged(lint: Lint) -> None:
    git(lint, "init", "-q")
    lint.project.write("sft.yaml", RATE)
    git(lint, "add", ".")
    lint.project.write("sft.yaml", RATE + "  # later\n")

    answer = lint("check", "--staged", "--fix")

    assert answer.code == 1
    assert answer.err == "sft.yaml was not fixed: it has changes that are not staged: stage or stash them first\n"
    assert text(lint, "sft.yaml") == RATE + "  # later\n"


def test_a_baseline_keeps_known_findings_from_being_fixed(lint: Lint) -> None:
    lint.project.write("sft.yaml", RATE)
    lint("check", "--write-baseline", "known.json")

    assert lint("check", "--baseline", "known.json", "--fix").code == 0
    assert text(lint, "sft.yaml") == RATE
    assert (lint.project.root / "sft.yaml").stat().st_mtime == LONG_AGO
