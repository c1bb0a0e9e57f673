"""A project on disk with a cache folder of its own, and a rule pack whose rules the tests know."""

# Tests replace private parts, and some libraries have no types.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import gc
import os
import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from shardlint import cli
from shardlint.engine import run
from shardlint.request import Outcome, Request
from shardlint.selection import Choice
from shardlint.session import open_session

CONSOLE_SCRIPT = os.path.join(sysconfig.get_path("scripts"), "shardlint")
LONG_AGO = 1_600_000_000

GUARDED = """\
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

def save(state, path):
    if dist.get_rank() == 0:
        dcp.save(state, checkpoint_id=path)
"""
"""A file in which `rank-guarded-checkpoint` fires."""

PLAIN = "def add(a, b):\n    return a + b\n"
"""A file in which no rule can fire."""

_RULE = '''
class {name}({kind}):
    """For tests.

    Why is this bad?
    It is not.

    Use instead
    Nothing.

    Known limits
    None.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation()
    suspects = {suspects}
    bad = ({bad},)
    good = ({good},)
    def judge(self, site):
{judge}
'''


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: all of what another test samples; runs only with `-m slow`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("markexpr"):
        return
    slow = [item for item in items if item.get_closest_marker("slow") is not None]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]


class Project:
    """A folder that is linted, and how to lint it."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root = root
        self.cache = cache
        self.environ: dict[str, str] = {**_quiet(os.environ), "SHARDLINT_CACHE_DIR": str(cache)}

    def write(self, path: str, content: str | bytes, *, settled: bool = True) -> Path:
        """Write a file; a settled one is old enough to be believed by its time stamp."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
        if settled:
            os.utime(file, (LONG_AGO, LONG_AGO))
        return file

    def start(self, *arguments: str, python: tuple[str, ...] = (), cwd: Path | None = None) -> subprocess.Popen[bytes]:
        """Start `shardlint ARGUMENTS` in the folder; `python` replaces the console script by a Python command line."""
        command = (sys.executable, *python) if python else (CONSOLE_SCRIPT,)
        return subprocess.Popen(
            [*command, *arguments],
            cwd=cwd or self.root,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments: str, python: tuple[str, ...] = (), cwd: Path | None = None) -> tuple[int, bytes, bytes]:
        """Exit code, standard output and standard error of `shardlint ARGUMENTS`."""
        process = self.start(*arguments, python=python, cwd=cwd)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def check(self, *arguments: str) -> tuple[int, str]:
        """Exit code and concise report of `shardlint check`; nothing may be said on standard error."""
        code, out, err = self.run("check", "--output-format", "concise", *arguments)
        assert err == b"", err.decode()
        return code, out.decode()

    def outcome(
        self, *paths: str, use_cache: bool = True, select: tuple[str, ...] | None = None, jobs: int = 1
    ) -> Outcome:
        """A run in this process. Paths are relative to the root."""
        session = open_session(str(self.root), self.environ)
        named = [str(self.root / path) for path in paths]
        return run(session, Request(named, choice=Choice(select), environ=self.environ, use_cache=use_cache, jobs=jobs))

    def cache_files(self, kind: str = "") -> list[Path]:
        """The files of the cache of one kind: session, results or facts."""
        return sorted(path for path in self.cache.rglob("*") if path.is_file() and f".{kind}" in path.name)


def _quiet(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would change what a run does or says."""
    dropped = ("VIRTUAL_ENV", "CONDA_PREFIX", "XDG_CACHE_HOME", "FORCE_COLOR", "PRE_COMMIT_FROM_REF", "PYTHONSTARTUP")
    return {
        name: value for name, value in environ.items() if name not in dropped and not name.startswith(("GIT_", "COV"))
    }


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").write_text('[tool.shardlint]\nfail-on = "note"\n')
    os.utime(root / "pyproject.toml", (LONG_AGO, LONG_AGO))
    return Project(root, tmp_path / "cache")


def write_rule(folder: Path, kind: str, suspects: str, judge: str, *, bad: str, good: str) -> None:
    """Write the module of a rule, named after `folder`'s last part."""
    name = "".join(part.capitalize() for part in folder.stem.split("_"))
    body = textwrap.indent(textwrap.dedent(judge).strip("\n"), " " * 8)
    rule = _RULE.format(name=name, kind=kind, suspects=suspects, judge=body, bad=bad, good=good)
    folder.write_text(f"from shardlint.rule import Bad, Call, {kind}, Good, observation\n{rule}")


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A folder to put on the import path: a rule pack `probe` with the rules `probe-load` and `probe-crash`."""
    site = tmp_path / "site"
    family = site / "probe_rules" / "probe"
    family.mkdir(parents=True)
    (site / "probe_rules" / "__init__.py").write_text('"""A pack."""\n')
    (family / "__init__.py").write_text('"""A family."""\n')
    information = site / "probe_rules-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: probe-rules\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[shardlint.rules]\nprobe = probe_rules\n")
    write_rule(
        family / "probe_load.py",
        "LocalRule",
        'Call("probe.load")',
        'yield site.finding("loaded", help="leave it")',
        bad='Bad("import probe\\nprobe.load()  # error\\n")',
        good='Good("pass\\n")',
    )
    write_rule(
        family / "probe_crash.py",
        "LocalRule",
        'Call("probe.crash")',
        'raise ValueError("broken rule")\nyield',
        bad='Bad("import probe\\nprobe.crash()  # error\\n")',
        good='Good("pass\\n")',
    )
    for path in [site, *site.rglob("*")]:
        os.utime(path, (LONG_AGO, LONG_AGO))
    return site


@pytest.fixture
def packed(project: Project, pack: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project that is linted with the pack `probe` too, in this process and in others."""
    project.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(pack), os.environ.get("PYTHONPATH"))))
    monkeypatch.syspath_prepend(pack)
    yield project
    for name in [name for name in sys.modules if name.partition(".")[0] == "probe_rules"]:
        del sys.modules[name]


class Answer:
    """What one command line gave."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


class Lint:
    """`shardlint ARGUMENTS` in this process, in the folder of a project."""

    def __init__(self, project: Project, capture: pytest.CaptureFixture[str]) -> None:
        self.project = project
        self.capture = capture

    def __call__(self, *arguments: str) -> Answer:
        try:
            code = cli.main(arguments)
        finally:
            gc.enable()  # a run turns it off, because its process ends soon
        out, err = self.capture.readouterr()
        return Answer(code, out, err)


@pytest.fixture
def lint(project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lint:
    """Command lines in the folder of `project`."""
    monkeypatch.chdir(project.root)
    for name in set(os.environ) - set(project.environ):
        monkeypatch.delenv(name)
    monkeypatch.setenv("SHARDLINT_CACHE_DIR", str(project.cache))
    return Lint(project, capsys)
