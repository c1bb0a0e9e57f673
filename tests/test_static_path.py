"""What a run imports: start-up is most of the time of a warm run, and torch must never be imported."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import GUARDED, PLAIN, Project

LISTING = """
import sys
before = set(sys.modules)
import os
def leave(code):
    sys.stdout.flush()
    sys.stderr.write(repr(sorted(set(sys.modules) - before)))
    sys.stderr.flush()
    real(code)
real, os._exit = os._exit, leave
from shardlint.cli import entry
entry()
"""

COSTLY = (
    "libcst",
    "yaml",
    "jsonschema",
    "tomllib",
    "tomli",
    "importlib.metadata",
    "dataclasses",
    "subprocess",
    "re",
    "typing",
    "json",
    "argparse",
    "pathlib",
    "collections",
    "enum",
    "contextlib",
    "functools",
    "tempfile",
    "ast",
    "hashlib",
    "shardlint.analysis",
    "shardlint.registry",
    "shardlint.rule",
    "shardlint_rules",
)


def imported(project: Project, *arguments: str) -> set[str]:
    """The modules that `shardlint check` imports beyond what an interpreter without `site` holds."""
    answer = subprocess.run(
        [sys.executable, "-S", "-c", _with_packages(LISTING), "check", *arguments],
        cwd=project.root,
        env=project.environ,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode in (0, 1), answer.stderr.decode()
    names = eval(answer.stderr.decode().splitlines()[-1], {"__builtins__": {}})  # a list that this test printed
    return {str(name) for name in names}


def _with_packages(text: str) -> str:
    """Without `site`, which imports what it likes, the import path is set by hand."""
    return f"import sys\nsys.path[:] = {[path for path in sys.path if path]!r}\n{text}"


def costly(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if any(name == one or name.startswith(one + ".") for one in COSTLY))


@pytest.fixture
def warm(project: Project) -> Project:
    """A project with a finding, a document and a healthy file, checked before."""
    project.write("train.py", GUARDED)
    project.write("plain.py", PLAIN)
    project.write("conf.yaml", "a: 1\n")
    imported(project)
    return project


@pytest.mark.parametrize("output", ["text", "concise", "json", "github"])
def test_a_warm_run_imports_nothing_costly(warm: Project, output: str) -> None:
    modules = imported(warm, "--output-format", output)
    assert "shardlint.engine" in modules
    allowed = ("json", "re", "enum", "collections", "functools", "contextlib", "typing") if output == "json" else ()
    assert [name for name in costly(modules) if name.partition(".")[0] not in allowed] == []


def test_a_warm_run_in_a_git_repository_imports_nothing_costly(warm: Project) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=warm.root, check=True)
    os.utime(warm.root / ".git", (1_600_000_000, 1_600_000_000))
    imported(warm)
    os.utime(warm.root / ".git")  # as every commit does
    modules = imported(warm)
    assert "shardlint.changes.git" in modules
    assert costly(modules) == []


def test_a_commit_without_suspects_imports_no_rule(warm: Project) -> None:
    for number in range(3):
        warm.write(f"new{number}.py", PLAIN)
    imported(warm)
    for number in range(3):
        warm.write(f"new{number}.py", PLAIN * 2, settled=False)
    modules = imported(warm, *(f"new{number}.py" for number in range(3)))
    assert "shardlint.sieve" in modules
    assert "shardlint.analysis" not in modules
    assert [name for name in modules if name.partition(".")[0] in ("libcst", "shardlint_rules", "torch")] == []
    assert not modules & {"importlib.metadata", "jsonschema", "tomllib", "tomli", "yaml"}


def test_no_run_imports_torch_or_the_linted_project(warm: Project, tmp_path: Path) -> None:
    site = tmp_path / "packages"
    for name in ("torch", "train", "plain"):
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").write_text("raise SystemExit('the linter ran me')\n")
    warm.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    for arguments in (("check", "--no-cache"), ("check",), ("rules",), ("check", "--fix", "--unsafe-fixes")):
        code, out, err = warm.run(*arguments)
        assert code in (0, 1), err
        assert b"the linter ran me" not in out + err


def test_without_the_results_the_session_table_is_still_used(warm: Project) -> None:
    modules = imported(warm, "--no-cache")
    assert "shardlint.analysis" in modules
    assert not modules & {"importlib.metadata", "jsonschema", "shardlint.registry"}  # a rule may read its TOML table
    before = {path: path.stat().st_mtime_ns for path in warm.cache_files()}
    time.sleep(0.01)
    imported(warm, "--no-cache")
    assert {path: path.stat().st_mtime_ns for path in warm.cache_files()} == before
