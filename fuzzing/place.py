"""A folder to lint in, used for one input after another, and `shardlint` in this process."""

from __future__ import annotations

import gc
import io
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Mapping

from fuzzing.case import Broken
from fuzzing.limits import limited
from shardlint import cli
from shardlint.engine import run
from shardlint.finding import Finding
from shardlint.request import Outcome, Request
from shardlint.selection import Choice
from shardlint.session import open_session

SETTINGS = b'[tool.shardlint]\nfail-on = "note"\n'
_LONG_AGO = 1_600_000_000
_ODD_ENVIRONMENT = ("VIRTUAL_ENV", "CONDA_PREFIX", "XDG_CACHE_HOME", "FORCE_COLOR", "GITHUB_ACTIONS")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SENTENCE = re.compile(r"shardlint: \s*\S")
_MISTAKE = "this is a mistake in shardlint itself"
_CRASHED = re.compile(r"rule `([\w-]+)` failed on .* \((.*)\); its other findings stand")


class Answer:
    """What one command line gave: exit code, standard output and standard error."""

    def __init__(self, arguments: tuple[str, ...], code: int, out: str, err: str) -> None:
        self.arguments = arguments
        self.code = code
        self.out = out
        self.err = err

    def judged(self) -> Answer:
        """This answer, if it is one that a user may get. Raises Broken."""
        said = f"$ shardlint {' '.join(self.arguments)}\n{self.err[-3000:]}"
        if _MISTAKE in self.err or "Traceback" in self.err:
            lines = self.err.strip().split("\n")
            at = [line.strip() for line in lines if line.lstrip().startswith("File ")]
            raised = next(
                (line for line in reversed(lines) if re.match(r"[\w.]+(Error|Exception|Time|Warning)\b", line)), ""
            )
            raise Broken(f"traceback {raised.partition(':')[0]} {_short(at[-1] if at else '')}", said)
        crash = _CRASHED.search(self.err)
        if crash is not None:
            raise Broken(f"rule {crash[1]} crashed: {crash[2][:100]}", said)
        if self.code not in (0, 1, 2):
            raise Broken(f"exit code {self.code}", said)
        if self.code == 2 and not _SENTENCE.search(self.err):
            raise Broken("exit code 2 without a sentence", said)
        control = _CONTROL.search(self._told()) or _CONTROL.search(self.err)
        if control is not None:
            raise Broken(f"control character {control[0]!r} is shown", said + self.out[-2000:])
        return self

    def _told(self) -> str:
        """What shardlint says by itself: in a diff the lines of a file stand as they are, or nobody could apply it."""
        if "--diff" not in self.arguments:
            return self.out
        lines = self.out.split("\n")
        return "\n".join(line for line in lines if line[:1] not in (" ", "+", "-") or line[:4] in ("--- ", "+++ "))


def _short(frame: str) -> str:
    found = re.match(r'File "(?:.*/)?([^"/]+)", line (\d+)', frame)
    return f"{found[1]}:{found[2]}" if found else frame


class Place:
    """A folder with a project and a cache folder beside it. Made anew for every input but for what costs time."""

    def __init__(self, above: str) -> None:
        self.root = os.path.join(above, "project")
        self.cache = os.path.join(above, "cache")
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        for name in _ODD_ENVIRONMENT:
            self.environ.pop(name, None)
        self.environ |= {"SHARDLINT_CACHE_DIR": self.cache, "HOME": above, "GIT_CONFIG_NOSYSTEM": "1"}
        os.makedirs(self.root)
        os.environ.clear()
        os.environ.update(self.environ)
        self._stamp = _LONG_AGO

    def clear(self) -> None:
        """Drop the project, and the results and facts of the cache; its session table holds for the next one too."""
        os.chdir("/")
        shutil.rmtree(self.root)
        os.mkdir(self.root)
        os.chdir(self.root)
        for path in self.cache_files():
            if not path.endswith(".session"):
                os.unlink(path)

    def cache_files(self) -> list[str]:
        """The files of the cache, sorted."""
        return sorted(os.path.join(at, name) for at, _, names in os.walk(self.cache) for name in names)

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write files that are old enough to be believed by their time stamps, each time by another one."""
        self._stamp += 10
        for path, data in {"pyproject.toml": SETTINGS, **files}.items():
            file = os.path.join(self.root, path)
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "wb") as opened:
                opened.write(data)
            stamp = _LONG_AGO if path == "pyproject.toml" and data == SETTINGS else self._stamp
            os.utime(file, (stamp, stamp))

    def read(self, path: str) -> bytes:
        """The content of a file of the project."""
        with open(os.path.join(self.root, path), "rb") as file:
            return file.read()

    def git(self, *arguments: str) -> None:
        """Run git on the project."""
        person = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(
            ["git", *person, *arguments], cwd=self.root, env=self.environ, check=True, capture_output=True, timeout=30
        )

    def lint(self, *arguments: str) -> Answer:
        """`shardlint ARGUMENTS` in the project, under the limits. Raises Broken for an answer that no user may get."""
        out, err = _stream("surrogateescape"), _stream("backslashreplace")  # as in the locale C
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = out, err
        try:
            with limited(arguments), warnings.catch_warnings():
                warnings.simplefilter("error", ResourceWarning)
                code = cli.main(arguments)
        finally:
            sys.stdout, sys.stderr = before
            gc.enable()  # a run turns it off, because its process ends soon
        return Answer(arguments, code, _text(out), _text(err)).judged()

    def outcome(self, previews: tuple[str, ...], *paths: str, prefilter: bool = True) -> Outcome:
        """A run over the project in this process without its cache, with edits."""
        session = open_session(self.root, self.environ)
        named = [os.path.join(self.root, path) for path in paths]
        choice = Choice(extend=previews)
        request = Request(
            named, choice=choice, environ=self.environ, edits=True, use_cache=False, prefilter=prefilter, jobs=1
        )
        with limited(("a run", *paths)):
            return run(session, request)


def _stream(errors: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=errors, newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "surrogateescape")


def shown(findings: list[Finding]) -> str:
    """Findings for a message, one line each."""
    return "\n".join(f"{one.path}:{one.span.line}:{one.span.column} {one.rule} {one.message[:80]}" for one in findings)
