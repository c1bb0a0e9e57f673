"""`shardlint check` from the files to the report and the exit code."""

from __future__ import annotations

import json
import subprocess

import pytest

from shardlint_rules.checkpoint.rank_guarded_checkpoint import RankGuardedCheckpoint

from ..conftest import GUARDED, PLAIN, Lint

RATE = """\
model: {config_path: ./configs/model.json}
data: {train_path: tulu}
train:
  accelerator: {fsdp_config: {fsdp_mode: fsdp2}}
  lr: 1e-5
"""
"""A config in which `yaml-float-is-string` fires at line 5."""
RULE = "rank-guarded-checkpoint"


def settings(lint: Lint, text: str = "") -> None:
    lint.project.write("pyproject.toml", f"[tool.shardlint]\n{text}")


def concise(lint: Lint, *arguments: str) -> list[str]:
    """The reported `path:line rule` of a run."""
    answer = lint("check", "--output-format", "concise", *arguments)
    lines = [line for line in answer.out.splitlines() if ": " in line and line.split(":")[1].isdigit()]
    return [f"{':'.join(line.split(':')[:2])} {line.split()[2]}" for line in lines]


def test_a_healthy_project_is_exit_code_0(lint: Lint) -> None:
    lint.project.write("train.py", PLAIN)

    answer = lint("check")

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("no findings. 1 file")


def test_a_finding_is_exit_code_1_and_shows_the_line(lint: Lint) -> None:
    lint.project.write("train.py", GUARDED)

    answer = lint("check")

    assert (answer.code, answer.err) == (1, "")
    assert "train.py:6:9  error  rank-guarded-checkpoint\n" in answer.out
    assert "   6 |         dcp.save(state, checkpoint_id=path)\n" in answer.out
    assert "more: shardlint explain rank-guarded-checkpoint\n" in answer.out


def test_a_second_run_says_the_same(lint: Lint) -> None:
    lint.project.write("train.py", GUARDED)
    lint.project.write("sft.yaml", RATE)

    first, second = lint("check"), lint("check")

    assert first.out.count("  error  ") == 2
    assert (second.code, second.out, second.err) == (first.code, first.out, first.err)


def test_a_syntax_error_where_a_rule_would_look_is_a_finding(lint: Lint) -> None:
    lint.project.write("train.py", GUARDED + "def (\n")

    assert concise(lint) == ["train.py:7 syntax-error"]


@pytest.mark.parametrize("arguments", [[], ["--no-cache"], ["--exit-zero"]])
def test_a_rule_that_crashes_is_exit_code_2_in_every_run(
    lint: Lint, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    def judge(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(RankGuardedCheckpoint, "judge", judge)
    lint.project.write("train.py", GUARDED.replace("path)\n", "path)  # shardlint: ignore[rank-guarded-checkpoint]\n"))
    lint.project.write("sft.yaml", RATE)

    for _ in range(2):
        answer = lint("check", "--output-format", "concise", *arguments)
        assert answer.code == 2
        assert "rule `rank-guarded-checkpoint` failed on train.py (ZeroDivisionError: by zero)" in answer.err
        assert [line.split()[2] for line in answer.out.splitlines()[:-1]] == ["yaml-float-is-string"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 1),
        (["--exit-zero"], 0),
        (["--fail-on", "error"], 1),
        (["--min-confidence", "0.99"], 0),
        (["--ignore", RULE], 0),
        (["--ignore", "checkpoint"], 0),
        (["--ignore", "ALL"], 0),
        (["--select", "config"], 0),
        (["--select", RULE], 1),
        (["--select", "config", "--extend-select", RULE], 1),
    ],
)
def test_options_that_decide_the_exit_code(lint: Lint, arguments: list[str], code: int) -> None:
    settings(lint)
    lint.project.write("train.py", GUARDED)

    assert lint("check", *arguments).code == code


@pytest.mark.parametrize(("severity", "code"), [("error", 1), ("warning", 1), ("note", 0), ("off", 0)])
def test_the_severity_of_a_rule_can_be_set(lint: Lint, severity: str, code: int) -> None:
    settings(lint, f'[tool.shardlint.severity]\n{RULE} = "{severity}"\n')
    lint.project.write("train.py", GUARDED)

    answer = lint("check")

    assert answer.code == code
    assert (f"train.py:6:9  {severity}  {RULE}" in answer.out) == (severity != "off")


def test_settings_can_ignore_a_rule_in_some_files(lint: Lint) -> None:
    settings(lint, f'[tool.shardlint.per-file-ignores]\n"legacy/*" = ["{RULE}"]\n')
    lint.project.write("legacy/train.py", GUARDED)
    lint.project.write("train.py", GUARDED)

    assert concise(lint) == ["train.py:6 rank-guarded-checkpoint"]


def test_a_comment_hides_a_finding_in_python_and_in_yaml(lint: Lint) -> None:
    lint.project.write(
        "train.py", GUARDED.replace("path)\n", f"path)  # shardlint: ignore[{RULE}] one rank in tests\n")
    )
    lint.project.write("sft.yaml", RATE.replace("1e-5", "1e-5  # shardlint: ignore[yaml-float-is-string] converted"))

    assert concise(lint) == []


def test_a_comment_that_hides_nothing_is_a_finding(lint: Lint) -> None:
    lint.project.write("train.py", f"import os  # shardlint: ignore[{RULE}]\n")
    lint.project.write("sft.yaml", "lr: 1.0e-5  # shardlint: ignore[no-such-rule]\n")

    assert concise(lint) == ["sft.yaml:1 unknown-suppression", "train.py:1 unused-suppression"]
    assert concise(lint, "--select", "config") == ["sft.yaml:1 unknown-suppression"]
    assert concise(lint, "--ignore", "engine") == []


def test_paths_choose_where_findings_are_reported(lint: Lint) -> None:
    lint.project.write("a/train.py", GUARDED)
    lint.project.write("b/train.py", GUARDED)

    assert concise(lint, "a") == ["a/train.py:6 rank-guarded-checkpoint"]
    assert concise(lint, "b/train.py") == ["b/train.py:6 rank-guarded-checkpoint"]


def test_json_is_an_array_of_findings_with_edits(lint: Lint) -> None:
    lint.project.write("sft.yaml", RATE)

    answer = lint("check", "--output-format", "json")
    (finding,) = json.loads(answer.out)

    assert answer.code == 1
    assert (finding["rule"], finding["path"], finding["line"]) == ("yaml-float-is-string", "sft.yaml", 5)
    assert finding["fix"]["edits"][0]["text"] == "1.0e-5"


def test_json_without_findings_is_an_empty_array(lint: Lint) -> None:
    assert json.loads(lint("check", "--output-format", "json").out) == []


def test_github_gives_one_workflow_command_a_finding(lint: Lint) -> None:
    lint.project.write("train.py", GUARDED)

    assert lint("check", "--output-format", "github").out.startswith("::error file=train.py,line=6,")


def test_statistics_count_findings_by_rule(lint: Lint) -> None:
    lint.project.write("a.py", GUARDED)
    lint.project.write("b.py", GUARDED)

    answer = lint("check", "--statistics")

    assert answer.code == 1
    assert answer.out.splitlines()[0] == "2  error    rank-guarded-checkpoint"


def test_a_report_can_go_to_a_file_which_gets_no_colour(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    lint.project.write("train.py", GUARDED)

    answer = lint("check", "--output-file", "report.txt")
    report = (lint.project.root / "report.txt").read_text()

    assert (answer.code, answer.out) == (1, "")
    assert "train.py:6:9  error" in report
    assert "\x1b[" not in report


def test_a_report_that_cannot_be_written_is_exit_code_2(lint: Lint) -> None:
    answer = lint("check", "--output-file", "missing/report.txt")

    assert answer.code == 2
    assert "`--output-file missing/report.txt` cannot be written: No such file or directory" in answer.err


def test_no_color_wins_over_force_color(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    lint.project.write("train.py", GUARDED)
    monkeypatch.setenv("FORCE_COLOR", "1")

    assert "\x1b[" in lint("check").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in lint("check").out


def test_show_files_lists_what_would_be_checked_and_judges_nothing(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardlint.commands.check.run", None)
    settings(lint, 'exclude = ["legacy"]\n')
    for path in ("train.py", "legacy/old.py", "conf/sft.yaml", "notes.txt"):
        lint.project.write(path, GUARDED if path.endswith(".py") else "")

    answer = lint("check", "--show-files")

    assert answer.code == 0
    assert answer.out.splitlines() == ["conf/sft.yaml", "pyproject.toml", "train.py"]


def test_show_settings_prints_a_settings_file_that_says_the_same(lint: Lint) -> None:
    text = (
        'select = ["ALL"]\nignore = ["config"]\nfail-on = "error"\nmin-confidence = 0.7\nbaseline = "known.json"\n'
        'exclude = ["a \\"b\\"", "ü"]\n[severity]\nrank-guarded-checkpoint = "warning"\n'
        '[per-file-ignores]\n"old/*" = ["checkpoint"]\n[collectives]\n"acme.sum" = {group = 1}\n"acme.max" = {}\n'
        '[modality.models]\n"Our.Omni" = "text audio"\n[modality.templates]\nours = "text"\n'
        '[[generated]]\npaths = ["g/*"]\nsources = ["s.py"]\ncommand = "make g"\n'
        '[[suppress]]\nrule = "config"\npath = "a.json"\npointer = "/lr"\nreason = "converted"\n'
        '[[plan]]\nname = "a"\nmodel = {factory = "m:f", kwargs = {deep = true, "two words" = [1, {x = "y"}]}}\n'
    )
    (lint.project.root / "pyproject.toml").unlink()
    lint.project.write("shardlint.toml", text)
    first = lint("check", "--show-settings")
    lint.project.write("shardlint.toml", first.out)

    second = lint("check", "--show-settings")

    assert (first.code, second.code, second.err) == (0, 0, "")
    assert second.out == first.out
    assert 'fail-on = "error"\n' in first.out
    assert "#   yaml-float-is-string\n" not in first.out


def test_a_baseline_hides_what_it_lists_and_reports_what_is_stale(lint: Lint) -> None:
    lint.project.write("train.py", GUARDED)
    lint.project.write("sft.yaml", RATE)
    written = lint("check", "--write-baseline", "known.json")

    assert (written.code, written.err) == (0, "wrote 2 findings to known.json\n")
    assert (lint("check", "--baseline", "known.json").code, lint("check").code) == (0, 1)

    lint.project.write("new.py", GUARDED)
    lint.project.write("sft.yaml", RATE.replace("1e-5", "0.1"))
    answer = lint("check", "--baseline", "known.json", "--output-format", "concise")

    assert answer.code == 1
    assert answer.out.startswith("new.py:6:9: ")
    assert answer.err.startswith("1 entry of known.json is stale: sft.yaml yaml-float-is-string; write it anew")


@pytest.mark.parametrize("arguments", [["train.py"], ["--select", RULE], ["--min-confidence", "0.9"]])
def test_a_partial_run_does_not_call_entries_stale_that_it_did_not_look_for(lint: Lint, arguments: list[str]) -> None:
    lint.project.write("train.py", GUARDED)
    lint.project.write("sft.yaml", RATE)
    lint("check", "--write-baseline", "known.json")
    lint.project.write("sft.yaml", "")

    assert lint("check", "--baseline", "known.json", *arguments).err == ""


def test_the_settings_can_name_the_baseline(lint: Lint) -> None:
    settings(lint, 'baseline = "known.json"\n')
    lint.project.write("train.py", GUARDED)

    assert "the baseline" in lint("check").err
    lint("check", "--write-baseline", "known.json")
    assert lint("check").code == 0


@pytest.mark.parametrize(
    "narrowed", [["train.py"], ["--select", RULE], ["--fix"], ["--min-confidence", "0.1"], ["--baseline", "x"]]
)
def test_only_a_full_run_writes_a_baseline(lint: Lint, narrowed: list[str]) -> None:
    lint.project.write("train.py", GUARDED)

    answer = lint("check", "--write-baseline", "known.json", *narrowed)

    assert answer.code == 2
    assert "a baseline is written by a full run only: leave out" in answer.err
    assert not (lint.project.root / "known.json").exists()


def test_a_run_in_which_a_rule_crashed_writes_no_baseline(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(RankGuardedCheckpoint, "judge", judge)
    lint.project.write("train.py", GUARDED)

    assert lint("check", "--write-baseline", "known.json").code == 2
    assert not (lint.project.root / "known.json").exists()


def test_show_unknown_lists_what_was_not_judged_and_never_fails(lint: Lint) -> None:
    settings(lint)
    lint.project.write(
        "train.py",
        GUARDED.replace("import torch.distributed as dist\n", "import torch.distributed as dist\nfrom acme import go\n")
        + "    else:\n        go(state)\n",
    )
    lint.project.write("data.json", "[]" + " " * 1_000_001)

    answer = lint("check", "--show-unknown", "--output-format", "concise")

    assert answer.code == 0
    assert "train.py:6:1: note not-checked `save` could not be judged: " in answer.out
    assert "data.json:1:1: note not-checked this file was not read: data: 1 MB\n" in answer.out
    assert lint("check").out.startswith("no findings. ")


def test_a_named_config_that_nothing_claims_is_not_recognised(lint: Lint) -> None:
    settings(lint)
    lint.project.write("data.json", "[]")

    answer = lint("check", "data.json", "--show-unknown", "--output-format", "concise")

    assert answer.code == 0
    assert "data.json:1:1: note not-checked this file was not judged" in answer.out


def test_timings_name_the_stages_the_rules_and_the_share_of_libcst(lint: Lint) -> None:
    lint.project.write("sft.yaml", RATE)

    err = lint("check", "--timings").err

    assert " ms  find files\n" in err
    assert " ms  yaml-float-is-string\n" in err
    assert err.splitlines()[-1].startswith("libcst: ")


WHY = """\
import torch.distributed as dist
import torch.distributed.checkpoint as dcp


def save(state, path, options, model):
    if not options.save:
        return
    if dist.get_rank() == 0:
        dcp.save(state, checkpoint_id=path)  # shardlint: ignore[rank-guarded-checkpoint] one rank in tests
        model.push()
"""


def test_why_tells_calls_conditions_rules_and_suppressions_of_a_line(lint: Lint) -> None:
    settings(lint, 'ignore = ["config"]\n')
    lint.project.write("train.py", WHY)

    answer = lint("check", "--why", "train.py:9")

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("train.py:9  dcp.save(state, checkpoint_id=path)")
    for line in (
        "in the function `save`, line 5",
        "  `dcp.save` is torch.distributed.checkpoint.save (certain)",
        "  line 6: left before this line if `not options.save`",
        "  line 8: only if `dist.get_rank() == 0`; differs between ranks: `dist.get_rank() == 0` (global, certain)",
        "  rank-guarded-checkpoint looks at this file",
        "  line 9: hides rank-guarded-checkpoint",
    ):
        assert f"\n{line}\n" in answer.out


def test_why_says_why_a_call_is_not_known(lint: Lint) -> None:
    lint.project.write("train.py", WHY)

    out = lint("check", "--why", "train.py:10").out

    assert "`model.push` is not known: `model` is a parameter whose class is not known" in out


def test_why_names_the_word_that_keeps_a_rule_from_a_file(lint: Lint) -> None:
    lint.project.write("train.py", PLAIN)

    out = lint("check", "--why", "train.py:2").out

    assert "rank-guarded-checkpoint passes over this file: it does not spell a rank test\n" in out


def test_why_shows_what_is_reported_and_what_was_not_judged(lint: Lint) -> None:
    lint.project.write("a.py", GUARDED)
    lint.project.write("b.py", "from acme import go\n" + GUARDED + "    else:\n        go(state)\n")

    assert "  reported by rank-guarded-checkpoint with confidence " in lint("check", "--why", "a.py:6").out
    assert "  not judged, line 6: `dist.get_rank() == 0` parts the ranks" in lint("check", "--why", "b.py:7").out


def test_why_says_that_a_file_is_excluded_or_broken(lint: Lint) -> None:
    settings(lint, 'exclude = ["old"]\n')
    lint.project.write("old/train.py", PLAIN)
    lint.project.write("broken.py", "def (\n")

    assert "the file is excluded" in lint("check", "--why", "old/train.py:1").out
    assert "the file does not parse, so no rule looks at it: line 1" in lint("check", "--why", "broken.py:1").out


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("none.py:1", "none.py cannot be read: no such file or directory"),
        ("train.py:3", "train.py has 2 lines, so there is no line 3"),
        ("train.py:0", "train.py has 2 lines, so there is no line 0"),
        ("pyproject.toml:1", "`--why` tells about Python files, and pyproject.toml is none"),
        ("../other.py:1", "../other.py lies outside of the project"),
    ],
)
def test_why_refuses_a_place_that_is_no_line_of_a_python_file(lint: Lint, place: str, sentence: str) -> None:
    lint.project.write("train.py", PLAIN)

    answer = lint("check", "--why", place)

    assert (answer.code, answer.out) == (2, "")
    assert sentence in answer.err


def test_a_report_of_staged_content_shows_the_staged_lines(lint: Lint) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=lint.project.root, check=True, capture_output=True)

    git("init", "-q")
    lint.project.write("train.py", GUARDED)
    git("add", ".")
    lint.project.write("train.py", "# moved\n" * 9 + GUARDED)

    out = lint("check", "--staged").out

    assert "train.py:6:9  error" in out
    assert "   6 |         dcp.save(state, checkpoint_id=path)\n" in out
