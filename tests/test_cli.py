"""The command line: what is answered to right and wrong words, and the exit codes."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from shardlint import __version__, cli

from .conftest import CONSOLE_SCRIPT, GUARDED, Lint, Project


def test_bare_shardlint_says_what_to_type_and_fails(lint: Lint) -> None:
    answer = lint()

    assert (answer.code, answer.out) == (2, "")
    assert "Start with: shardlint check" in answer.err


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_lists_every_command_on_standard_output(lint: Lint, word: str) -> None:
    answer = lint(word)

    assert (answer.code, answer.err) == (0, "")
    assert all(f"\n  {name} " in answer.out for name in cli.COMMANDS)


@pytest.mark.parametrize("command", list(cli.COMMANDS))
def test_each_command_has_a_help_with_every_option(lint: Lint, command: str) -> None:
    answer = lint(command, "--help")

    assert answer.code == 0
    assert answer.out.startswith(f"usage: shardlint {command}")
    assert all(option in answer.out for option in cli.COMMANDS[command].options)


def test_help_of_a_command_has_a_short_form(lint: Lint) -> None:
    assert lint("check", "-h").out == lint("check", "--help").out


def test_version(lint: Lint) -> None:
    assert lint("--version").out == f"shardlint {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["chekc"], "`chekc` is no command; did you mean `check`?"),
        (["--fix"], "put a command first: shardlint check --fix"),
        (["pyproject.toml"], "put a command first: shardlint check pyproject.toml"),
        (["check", "--selct", "a"], "`shardlint check` has no option `--selct`; did you mean `--select`?"),
        (["check", "--select"], "`--select` needs a value: --select NAMES"),
        (["check", "--select", "--fix"], "`--select` needs a value: --select NAMES"),
        (["check", "--select", ","], "`--select` needs a value, and it is empty: --select NAMES"),
        (["check", "--baseline="], "`--baseline` needs a value, and it is empty: --baseline FILE"),
        (["check", "--fix=yes"], "`--fix` takes no value"),
        (["check", "--output-format", "xml"], "`--output-format` must be one of text, concise, json, github"),
        (["check", "--fail-on", "warn"], "`--fail-on` must be one of error, warning, note, not `warn`"),
        (["check", "--min-confidence", "2"], "`--min-confidence` takes a number from 0 to 1, not `2`"),
        (["check", "--min-confidence", "nan"], "`--min-confidence` takes a number from 0 to 1, not `nan`"),
        (["check", "--jobs", "0"], "`--jobs` takes a number of processes, 1 or more, not `0`"),
        (["check", "--why", "train.py"], "`--why` takes FILE:LINE, such as train.py:41, not `train.py`"),
        (["check", "no/such.py"], "no/such.py cannot be read"),
        (["check", "/"], "/ lies outside of the project"),
        (["check", "--select", "rank-guarded"], "--select: `rank-guarded` is no rule and no family; did you mean"),
        (
            ["check", "--ignore", "qqqqq"],
            "--ignore: `qqqqq` is no rule and no family; `shardlint rules` lists the names",
        ),
        (["check", "--staged"], "`--staged` needs a git repository"),
        (["check", "--base", "main"], "`--base` needs a git repository"),
        (["check", "--baseline", "known.json"], "the baseline known.json does not exist"),
        (["explain"], "name a rule: shardlint explain rank-guarded-checkpoint"),
        (["explain", "a", "b"], "`shardlint explain` takes RULE; got 2"),
        (["init", "x"], "`shardlint init` takes no arguments; got 1"),
        (["rules", "tst"], "`rules` takes nothing or `test [PACK]`, not `tst`"),
    ],
)
def test_a_wrong_command_line_is_answered_in_one_sentence(lint: Lint, arguments: list[str], sentence: str) -> None:
    lint.project.write("train.py", "")

    answer = lint(*arguments)

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("shardlint: ")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


def test_words_after_two_dashes_are_paths(lint: Lint) -> None:
    lint.project.write("--fix", "")

    assert lint("check", "--", "--fix").code == 0


def test_values_of_a_repeated_option_add_up(lint: Lint) -> None:
    answer = lint("check", "--select", "checkpoint,config", "--select=engine", "--show-settings")

    assert answer.code == 0
    assert "#   rank-guarded-checkpoint\n" in answer.out
    assert "#   yaml-float-is-string\n" in answer.out


def test_broken_settings_stop_a_run(lint: Lint) -> None:
    lint.project.write("pyproject.toml", '[tool.shardlint]\nselekt = ["x"]\n')

    answer = lint("check")

    assert (answer.code, answer.out) == (2, "")
    assert "pyproject.toml:2: `selekt` is no setting of shardlint; did you mean `select`?" in answer.err


def test_a_mistake_of_shardlint_itself_is_no_finding(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("lost")

    monkeypatch.setattr("shardlint.commands.check.open_session", fail)

    answer = lint("check")

    assert answer.code == 2
    assert "RuntimeError: lost" in answer.err


def test_an_interrupted_run_has_no_traceback(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shardlint.commands.check.open_session", interrupt)

    assert (lint("check").code, lint("check").err) == (2, "shardlint: interrupted\n")


def test_a_reader_that_has_seen_enough_leaves_no_traceback(project: Project) -> None:
    project.write("train.py", GUARDED * 400)
    command = f"{shlex.quote(CONSOLE_SCRIPT)} check --no-cache --show-unknown | head -n 1"
    done = subprocess.run(command, shell=True, cwd=project.root, env=project.environ, capture_output=True, check=False)
    assert done.stdout.startswith(b"train.py:")
    assert done.stderr == b""
