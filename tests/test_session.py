"""The session table: made anew when anything changes that it was read from, and for nothing else."""

# Tests replace private parts, and some libraries have no types.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from shardlint import cache
from shardlint import session as session_module
from shardlint.session import open_session

from .conftest import GUARDED, LONG_AGO, Project

SETTINGS = '[tool.shardlint]\nfail-on = "note"\n'


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders for which a table was made, in the order of the calls."""
    calls: list[str] = []
    real = session_module._make

    def counted(directory: str, *rest: object) -> object:
        calls.append(directory)
        return real(directory, *rest)  # type: ignore[arg-type]  # whatever else it takes is passed on

    monkeypatch.setattr(session_module, "_make", counted)
    return calls


def opened(project: Project, folder: str = "") -> session_module.Session:
    return open_session(str(project.root / folder), project.environ)


def test_it_is_made_once(project: Project, made: list[str]) -> None:
    first, second = opened(project), opened(project)
    assert len(made) == 1
    assert (first.digest, first.rows, first.root) == (second.digest, second.rows, second.root)
    assert first.settings == second.settings


def test_made_twice_it_is_the_same(project: Project, made: list[str]) -> None:
    first = opened(project)
    for file in project.cache_files("session"):
        file.unlink()
    assert opened(project).digest == first.digest
    assert len(made) == 2


def test_edited_settings_are_read_again(project: Project, made: list[str]) -> None:
    assert opened(project).settings.fail_on == "note"
    project.write("pyproject.toml", SETTINGS.replace("note", "error"))
    assert opened(project).settings.fail_on == "error"
    assert len(made) == 2


def test_settings_of_the_same_size_and_time_are_read_again_while_they_are_fresh(project: Project) -> None:
    now = time.time()
    project.write("pyproject.toml", SETTINGS.replace("note", "error"))
    os.utime(project.root / "pyproject.toml", (now, now))
    assert opened(project).settings.min_confidence == 0.5
    text = SETTINGS.replace('fail-on = "note"', "min-confidence=0.1")
    project.write("pyproject.toml", text + "#" * (len(SETTINGS) + 1 - len(text)))
    os.utime(project.root / "pyproject.toml", (now, now))
    assert opened(project).settings.min_confidence == 0.1


def test_settings_that_appear_above_are_noticed(project: Project, made: list[str]) -> None:
    (project.root / "pyproject.toml").unlink()
    (project.root / "sub").mkdir()
    assert opened(project, "sub").settings.fail_on == "warning"
    (project.root / "pyproject.toml").write_text(SETTINGS)
    os.utime(project.root / "pyproject.toml", (LONG_AGO, LONG_AGO))
    assert opened(project, "sub").settings.fail_on == "note"
    assert opened(project, "sub").root == str(project.root)
    (project.root / "sub" / "shardlint.toml").write_text('fail-on = "error"\n')
    assert opened(project, "sub").settings.fail_on == "error"
    assert len(made) == 3


def test_a_commit_makes_no_new_table(project: Project, made: list[str]) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=project.root, check=True)
    opened(project)
    (project.root / ".git" / "index.lock").touch()
    opened(project)
    assert len(made) == 1


def test_an_installed_pack_is_noticed(project: Project, made: list[str], pack: Path) -> None:
    site = pack.parent / "empty"
    site.mkdir()
    os.utime(site, (LONG_AGO, LONG_AGO))
    project.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    project.write("a.py", "import probe\nprobe.load()\n")
    assert project.check()[0] == 0
    for inside in pack.iterdir():
        inside.rename(site / inside.name)
    code, out = project.check()
    assert code == 1
    assert "a.py:2:1: error probe-load loaded" in out
    assert made == []  # the runs were processes of their own


def test_an_edited_rule_is_noticed(packed: Project, pack: Path) -> None:
    packed.write("a.py", "import probe\nprobe.load()\n")
    assert "probe-load loaded" in packed.check()[1]
    rule = pack / "probe_rules" / "probe" / "probe_load.py"
    rule.write_text(rule.read_text().replace('"loaded"', '"LOADED"'))
    assert "probe-load LOADED" in packed.check()[1]
    assert "probe-load LOADED" in packed.check()[1]


def test_another_environment_is_another_table(project: Project, made: list[str], tmp_path: Path) -> None:
    opened(project)
    project.environ["VIRTUAL_ENV"] = str(tmp_path)
    opened(project)
    assert len(made) == 2


@pytest.mark.parametrize("stored", [None, [], {}, {"stamps": None}, {"stamps": [], "outside": 1}, "text"])
def test_a_table_of_another_shape_is_made_anew(
    project: Project, made: list[str], stored: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "load", lambda _file: stored)
    assert opened(project).settings.fail_on == "note"
    assert len(made) == 1


def test_each_folder_has_a_table_and_all_share_the_results(project: Project) -> None:
    project.write("sub/train.py", GUARDED)
    assert project.check()[0] == 1
    code, out, _ = project.run("check", "--output-format", "concise", cwd=project.root / "sub")
    assert (code, out.count(b"rank-guarded-checkpoint")) == (1, 1)
    assert len(project.cache_files("session")) == 2
    assert len(project.cache_files("results")) == 1
