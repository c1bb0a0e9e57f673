"""Findings of stale-parameter-pattern lie in files that did not change."""

from __future__ import annotations

import subprocess

import pytest

from ...conftest import Lint

MODEL = """\
from torch import nn

class Attention(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.wq = nn.Linear(n, n)
"""
PLAN = "tp_plan = {'wq': 'colwise'}\n"


@pytest.fixture
def renamed(lint: Lint) -> Lint:
    """A repository in which a rename of `wq` is staged, beside a plan that still names it."""
    lint.project.write("net/model.py", MODEL)
    lint.project.write("net/plan.py", PLAN)
    for arguments in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "a commit")):
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=lint.project.root, check=True, capture_output=True)
    lint.project.write("net/model.py", MODEL.replace("wq", "query_in"))
    subprocess.run(["git", "add", "--all"], cwd=lint.project.root, check=True)
    return lint


@pytest.mark.parametrize("paths", [(), ("net/model.py",), ("net/plan.py",)])
def test_the_plan_is_reported_whichever_of_the_two_files_is_named(renamed: Lint, paths: tuple[str, ...]) -> None:
    answer = renamed("check", "--select", "stale-parameter-pattern", *paths)

    assert answer.code == 1
    assert "net/plan.py:1:12  warning  stale-parameter-pattern\n" in answer.out
    assert "net/model.py:6" in answer.out
    assert "help: write `query_in`" in answer.out


def test_a_comment_in_the_unchanged_file_suppresses_it(renamed: Lint) -> None:
    ignored = PLAN.rstrip("\n") + "  # shardlint: ignore[stale-parameter-pattern] for older models\n"
    renamed.project.write("net/plan.py", ignored)
    subprocess.run(["git", "add", "--all"], cwd=renamed.project.root, check=True)

    assert renamed("check", "--select", "stale-parameter-pattern").code == 0
