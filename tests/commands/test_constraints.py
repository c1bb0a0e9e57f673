"""`shardlint constraints`, and a constraint that behaves like any rule."""

from __future__ import annotations

import json

import pytest

from ..conftest import Lint

PAGE = """\
# C

1. **No direct CUDA calls.** Other accelerators have none.

   ```yaml constraint
   id: no-cuda
   severity: error
   evidence: observation
   help: call the helper
   exclude: [device.py]
   pattern:
     match: torch.cuda.synchronize()
     replace: torch.accelerator.synchronize()
   tests:
     bad: ["import torch\\ntorch.cuda.synchronize()  # error\\n"]
     good: ["import torch\\ntorch.cpu.synchronize()\\n"]
   ```
2. **Only prose.**
3. **Batches divide.**

   ```yaml constraint
   id: batches-divide
   config: {files: ["configs/*.yaml"], require: batch % micro == 0}
   tests: {bad: [{batch: 5, micro: 2}], good: [{batch: 4, micro: 2}]}
   ```
4. **Saving is collective.**

   ```yaml constraint
   id: save-together
   severity: note
   enforced_by: {rule: rank-guarded-checkpoint}
   ```
"""
CODE = "import torch\n\n\ndef wait():\n    torch.cuda.synchronize()\n"


@pytest.fixture
def page(lint: Lint) -> Lint:
    lint.project.write(".agents/knowledge/constraints.md", PAGE)
    return lint


def concise(lint: Lint, *arguments: str) -> list[str]:
    answer = lint("check", "--output-format", "concise", *arguments)
    assert answer.err == ""
    return [" ".join(line.split()[:3]) for line in answer.out.splitlines()[:-1]]


def test_findings_of_all_kinds(page: Lint) -> None:
    page.project.write("train.py", CODE)
    page.project.write("device.py", CODE)
    page.project.write("configs/a.yaml", "batch: 5\nmicro: 2\n")
    page.project.write("other/a.yaml", "batch: 5\nmicro: 2\n")

    assert concise(page) == ["configs/a.yaml:1:1: warning batches-divide", "train.py:5:5: error no-cuda"]
    assert concise(page) == ["configs/a.yaml:1:1: warning batches-divide", "train.py:5:5: error no-cuda"]


def test_a_finding_says_which_constraint_it_breaks(page: Lint) -> None:
    page.project.write("train.py", CODE)
    (found,) = json.loads(page("check", "--output-format", "json").out)

    assert (found["rule"], found["family"], found["confidence"]) == ("no-cuda", "constraint", 0.95)
    assert (found["message"], found["help"]) == ("No direct CUDA calls", "call the helper")
    assert found["related"] == [
        {
            "path": ".agents/knowledge/constraints.md",
            "line": 6,
            "column": 1,
            "message": "constraint 1: No direct CUDA calls",
        }
    ]
    assert found["fix"]["safe"] is False


def test_a_rule_that_enforces_a_constraint_says_so(page: Lint) -> None:
    code = "import torch.distributed as dist\nimport torch.distributed.checkpoint as dcp\n\n\ndef save(state):\n"
    page.project.write("train.py", code + "    if dist.get_rank() == 0:\n        dcp.save(state)\n")
    (found,) = json.loads(page("check", "--output-format", "json").out)

    assert (found["rule"], found["severity"]) == ("rank-guarded-checkpoint", "note")
    assert found["related"][-1]["message"] == "constraint 4: Saving is collective"


def test_it_is_selected_ignored_suppressed_and_explained_like_a_rule(page: Lint) -> None:
    page.project.write("train.py", CODE)

    assert concise(page, "--select", "constraint") == ["train.py:5:5: error no-cuda"]
    assert concise(page, "--select", "no-cuda") == ["train.py:5:5: error no-cuda"]
    assert concise(page, "--ignore", "constraint") == []
    assert concise(page, "--min-confidence", "0.96") == []
    assert "Other accelerators have none" in page("explain", "no-cuda").out
    assert "is enforced by this rule" in page("explain", "save-together").out
    page.project.write("train.py", CODE.replace("()\n", "()  # shardlint: ignore[no-cuda] measured\n"))
    assert concise(page) == []
    page.project.write("train.py", "x = 1  # shardlint: ignore[no-cuda] measured\n")
    assert concise(page) == ["train.py:1:8: warning unused-suppression"]


def test_a_baseline_holds_it_and_a_fix_is_written(page: Lint) -> None:
    page.project.write("train.py", CODE)
    page("check", "--write-baseline", "known.json")
    assert concise(page, "--baseline", "known.json") == []
    page("check", "--fix", "--unsafe-fixes")
    assert "    torch.accelerator.synchronize()\n" in (page.project.root / "train.py").read_text()


def test_a_changed_constraint_is_judged_anew(page: Lint) -> None:
    page.project.write("train.py", CODE)
    assert concise(page) == ["train.py:5:5: error no-cuda"]
    page.project.write(
        ".agents/knowledge/constraints.md", PAGE.replace("cuda.synchronize()\n     r", "cpu.x()\n     r")
    )
    page.project.write("pyproject.toml", '[tool.shardlint]\nfail-on = "error"\n', settled=False)
    assert concise(page) == []


def test_check_names_every_problem_with_its_line(page: Lint) -> None:
    page.project.write(
        ".agents/knowledge/constraints.md", PAGE.replace("match:", "mach:").replace("% micro", "** micro")
    )
    answer = page("constraints", "check")

    assert answer.code == 1
    lines = answer.out.splitlines()
    assert [line.split(" ")[0] for line in lines[:2]] == [
        ".agents/knowledge/constraints.md:12:",
        ".agents/knowledge/constraints.md:23:",
    ]
    assert lines[2] == "1 file, 1 constraint: 2 problems"
    assert page("check").code == 2


def test_the_tests_of_a_file(page: Lint) -> None:
    answer = page("constraints", "test")
    assert (answer.code, answer.out) == (0, "3 constraints, 4 tests: all hold; 1 constraint without a test\n")
    page.project.write(
        ".agents/knowledge/constraints.md",
        PAGE.replace("synchronize()  # error", "synchronize()\\nx = 1  # error").replace("batch: 4", "batch: 3"),
    )
    answer = page("constraints", "test")
    assert answer.code == 1
    assert answer.out.splitlines() == [
        ".agents/knowledge/constraints.md:15: no-cuda, bad test 1: nothing is reported at example.py:3, "
        "example.py:2 is reported and not marked",
        ".agents/knowledge/constraints.md:24: batches-divide, good test 1: a finding is reported",
        "3 constraints, 4 tests: 2 tests fail; 1 constraint without a test",
    ]
    assert page("constraints", "test", "save-together").out.startswith("1 constraint, 0 tests: all hold")
    assert "`nothing` is no constraint" in page("constraints", "test", "nothing").err


def test_list_and_coverage(page: Lint) -> None:
    listed = page("constraints", "list").out.splitlines()
    assert [line.split()[:4] for line in listed[1:4]] == [
        ["1.", "no-cuda", "error", "pattern"],
        ["3.", "batches-divide", "warning", "config"],
        ["4.", "save-together", "note", "enforced_by"],
    ]
    covered = page("constraints", "coverage").out
    assert "   2. Only prose\n       only prose\n" in covered
    assert "enforced: rule rank-guarded-checkpoint" in covered
    assert covered.endswith("3 of 4 enforced, 1 only prose\n")
    found = json.loads(page("constraints", "coverage", "--output-format", "json").out)
    assert [one["enforced_by"] for one in found] == [["no-cuda"], [], ["batches-divide"], ["rank-guarded-checkpoint"]]


def test_a_wrong_action_says_what_there_is(lint: Lint) -> None:
    assert "check|test|list|coverage" in lint("constraints").err
    assert "check|test|list|coverage" in lint("constraints", "lst").err
    assert lint("constraints", "list").out.startswith("no constraints")
    assert lint("constraints", "coverage").out.startswith("nothing to cover")


def test_an_unknown_rule_is_refused_with_a_hint(page: Lint) -> None:
    page.project.write(
        ".agents/knowledge/constraints.md", PAGE.replace("rank-guarded-checkpoint", "rank-guarded-chekpoint")
    )

    assert "did you mean `rank-guarded-checkpoint`?" in page("constraints", "check").out


def test_the_manifest_of_state_keys_must_be_there(lint: Lint) -> None:
    text = "version: 1\nconstraints:\n  - id: keys\n    title: T\n    state_keys: {manifest: state-keys.json}\n"
    lint.project.write("constraints/c.yaml", text)

    assert "write it with `shardlint keys lock`" in lint("constraints", "check").out
    lint.project.write("state-keys.json", "{}")
    assert lint("constraints", "check").code == 0


def test_options_of_a_rule_reach_it(lint: Lint) -> None:
    text = """\
1. **Our gather is collective.**

   ```yaml constraint
   id: our-gather
   enforced_by:
     rule: rank-guarded-collective
     options: {collectives: {mylib.comm.gather: {group: 1}}}
   tests:
     bad:
       - |
         import torch.distributed as dist
         from mylib.comm import gather

         def log(x):
             if dist.get_rank() == 0:
                 gather(x)  # error
   ```
"""
    lint.project.write(".agents/knowledge/constraints.md", text)
    answer = lint("constraints", "test")

    assert (answer.code, answer.out) == (0, "1 constraint, 1 test: all hold\n")
