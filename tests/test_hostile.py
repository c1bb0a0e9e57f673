"""A repository that wants to run code, to hang the linter or to write on the user's terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import GUARDED, Project

MODULES = (
    "sitecustomize.py",
    "usercustomize.py",
    "conftest.py",
    "setup.py",
    "ast.py",
    "re.py",
    "json.py",
    "types.py",
    "enum.py",
    "marshal.py",
    "tempfile.py",
    "yaml.py",
    "tomllib.py",
    "pathspec.py",
    "jsonschema/__init__.py",
    "libcst/__init__.py",
    "importlib/__init__.py",
    "shardlint_rules/__init__.py",
    "torch/__init__.py",
    "noxfile.py",
    "backend/hook.py",
)
GIT_SETTINGS = (
    "core.fsmonitor",
    "core.sshCommand",
    "core.pager",
    "core.editor",
    "diff.external",
    "diff.evil.command",
    "diff.evil.textconv",
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
)
OBJECTS = """\
a: !!python/object/apply:os.system ["touch {marker}"]
b: !!python/object/new:subprocess.Popen [["touch", "{marker}"]]
c: !!python/name:os.system
lr: 1e-5
"""
FORMATS = ("text", "concise", "json", "github")
COMMANDS = ((), ("--no-cache",), ("--staged",), ("--base", "HEAD"), ("--statistics",), ("--show-files",))


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "marker"


@pytest.fixture
def hostile(project: Project, marker: Path, tmp_path: Path) -> Project:
    """Everything in a repository that some tool would run writes the marker."""
    root = project.root
    project.write("train.py", GUARDED)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    _commit(root)
    program = tmp_path / "evil.sh"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {marker}\ncat\n')
    program.chmod(0o755)
    payload = f"open({str(marker)!r}, 'a').write(__file__)\n"
    for name in MODULES:
        project.write(name, payload)
    project.write(
        "pyproject.toml",
        '[build-system]\nrequires = []\nbuild-backend = "hook"\nbackend-path = ["backend"]\n'
        '[tool.shardlint]\nenvironment = ".venv"\n[project.entry-points."shardlint.rules"]\nevil = "backend.hook"\n',
    )
    project.write("conf.yaml", OBJECTS.replace("{marker}", str(marker)))
    project.write("results.pkl", b"cposix\nsystem\n(S'touch " + os.fsencode(marker) + b"'\ntR.")
    project.write("evil.egg-info/entry_points.txt", "[shardlint.rules]\nevil = backend.hook\n")
    project.write("evil-1.dist-info/entry_points.txt", "[shardlint.rules]\nevil = backend.hook\n")
    project.write(".venv/pyvenv.cfg", "home = /nowhere\nversion = 3.11.0\n")
    project.write(".venv/lib/python3.11/site-packages/evil.pth", f"import os; os.system('touch {marker}')\n")
    for name in ("python", "python3", "git", "shardlint"):
        project.write(f".venv/bin/{name}", program.read_bytes()).chmod(0o755)
        project.write(name, program.read_bytes()).chmod(0o755)
    for hook in ("pre-commit", "post-index-change", "fsmonitor-watchman"):
        project.write(f".git/hooks/{hook}", program.read_bytes()).chmod(0o755)
    project.write(".gitattributes", "* filter=evil diff=evil\n")
    for setting in GIT_SETTINGS:
        subprocess.run(["git", "config", setting, str(program)], cwd=root, check=True)
    marker.unlink(missing_ok=True)
    return project


def _commit(root: Path) -> None:
    person = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "add", "--all"], cwd=root, check=True)
    subprocess.run(["git", *person, "commit", "--quiet", "-m", "first"], cwd=root, check=True)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_nothing_of_a_repository_is_run_by_the_console_script(
    hostile: Project, marker: Path, arguments: tuple[str, ...]
) -> None:
    code, out, err = hostile.run("check", *arguments)
    assert not marker.exists(), marker.read_text()
    assert code == (0 if "--show-files" in arguments else 1), err
    assert b"train.py" in out or "--statistics" in arguments or arguments in (("--staged",), ("--base", "HEAD"))


@pytest.mark.parametrize("command", ["rules", "explain", "init"])
def test_other_commands_run_nothing_either(hostile: Project, marker: Path, command: str) -> None:
    hostile.run(command, *(["rank-guarded-checkpoint"] if command == "explain" else []))
    assert not marker.exists(), marker.read_text()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no safe mode")
def test_the_module_runs_nothing_of_a_repository_in_safe_mode(hostile: Project, marker: Path) -> None:
    hostile.write("shardlint.py", f"open({str(marker)!r}, 'a').write(__file__)\n")
    hostile.environ["PYTHONSAFEPATH"] = "1"
    code, out, err = hostile.run("check", python=("-m", "shardlint"))
    assert not marker.exists(), marker.read_text()
    assert (code, b"train.py:6:9" in out) == (1, True), err


def test_the_module_drops_the_working_directory(hostile: Project, marker: Path) -> None:
    """What Python itself imports before the module starts cannot be held back; all later imports can."""
    for name in ("types.py", "enum.py", "importlib/__init__.py", "marshal.py", "re.py", "sitecustomize.py"):
        (hostile.root / name).unlink()
    code, out, err = hostile.run("check", python=("-m", "shardlint"))
    assert not marker.exists(), marker.read_text()
    assert (code, b"train.py:6:9" in out) == (1, True), err


@pytest.mark.parametrize("output", FORMATS)
def test_names_and_texts_are_escaped(project: Project, output: str) -> None:
    names = (
        "new\nline.py",
        "\n::error file=x::injected.py",
        "\x1b[2Jclear.py",
        "\x1b]0;title\x07.py",
        "car\rriage.py",
        "%0A::error::injected.py",
        "bell\x07.py",
        "\u202eright.py",
        "sur\udcffrogate.py",
        "quote'\",;.py",
        " space .py",
    )
    for name in names:
        text = GUARDED.replace("dist.get_rank() == 0", "dist.get_rank() == 0 and '\x1b[31m\n::error::x' != ''")
        project.write(name, text.replace("\n::error", "::error"))
    code, out, err = project.run("check", "--output-format", output)
    assert code == 1, err
    assert out.count(b"rank-guarded-checkpoint") >= len(names)
    for byte in (b"\x1b", b"\r", b"\x07", b"\x9b"):
        assert byte not in out + err, byte
    lines = out.decode("utf-8", "surrogateescape").split("\n")
    if output == "github":
        assert [line for line in lines if line.startswith("::error file=x")] == []
        assert len([line for line in lines if line.startswith("::error ")]) == len(names)
    else:
        assert [line for line in lines if line.lstrip().startswith("::")] == []
    assert "\u202e" not in out.decode("utf-8", "surrogateescape") or output == "json"


def test_control_characters_of_a_document_are_escaped(project: Project) -> None:
    project.write("a.yaml", 'lr: 1e-5 # \x7f\n"\\e[31mkey": 1e-5\n')
    project.write("b.py", b"rank = 0\n\x1b[31m = 1\n")
    for output in FORMATS:
        _, out, err = project.run("check", "--output-format", output)
        assert b"\x1b" not in out + err


def test_large_files_pipes_and_links_stop_nothing(project: Project, tmp_path: Path) -> None:
    project.write("train.py", GUARDED)
    project.write("large.py", b"rank = 0\n" * 3_400_000)
    project.write("large.json", b"[" + b"1," * 1_000_000 + b"1]")
    os.mkfifo(project.root / "pipe.py")
    os.mkfifo(project.root / "pipe.yaml")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text(GUARDED)
    (project.root / "secret.py").symlink_to(outside / "secret.py")
    (project.root / "folder").symlink_to(outside)
    (project.root / "loop").symlink_to(project.root)
    (project.root / "self.py").symlink_to("self.py")
    (project.root / "null.py").symlink_to("/dev/zero")
    code, out = project.check()
    assert code == 1
    assert "secret" not in out
    assert out.count("rank-guarded-checkpoint") == 1
    for name in ("pipe.py", "null.py", "self.py", "secret.py"):
        code, report, _ = project.run("check", name)
        assert b"rank-guarded-checkpoint" not in report
        assert code in (0, 2)


def test_what_a_repository_says_is_escaped_outside_of_reports_too(project: Project) -> None:
    project.write("a.py", GUARDED + "\x1b[31m = 1\n")
    project.write("\x1b[2J.py", GUARDED)
    project.write("\n::error::x.py", GUARDED)
    for arguments in (
        ("check", "--show-files"),
        ("check", "--why", "a.py:7"),
        ("check", "--why", "\x1b[2J.py:5"),
        ("check", "\x1b[3J.py"),
        ("check", "--select", "\x1b[31m"),
        ("explain", "\x1b[31m"),
        ("check", "--why", "\n::error::x.py:9"),
        ("check", "--why", "\n::error::x.py:6"),
        ("check", "\n::error::y.py"),
    ):
        _, out, err = project.run(*arguments)
        assert out + err
        assert b"\x1b" not in out + err, arguments
        assert not [line for line in (out + err).split(b"\n") if line.lstrip().startswith(b"::")], arguments


@pytest.mark.parametrize("text", ["[tool.shardlint]\nexclude = ['" + "(a*)*" * 50 + "']\n", "[" * 100_000, "\0", "é"])
def test_hostile_settings_are_an_error_or_nothing(project: Project, text: str) -> None:
    project.write("a" * 200 + ".py", GUARDED)
    (project.root / "pyproject.toml").write_text(text + "\n# shardlint\n", encoding="latin-1")
    code, out, err = project.run("check")
    assert code in (0, 1, 2)
    assert b"Traceback" not in out + err
    assert (code == 2) == bool(err)
