"""shardlint on a copy of a package, healthy and with a defect in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from shardlint.engine import run
from shardlint.finding import Finding
from shardlint.request import Outcome, Request
from shardlint.selection import Choice
from shardlint.session import open_session

from .package import Package
from .site import Injection, Mutator, Place

_GIT = ("git", "-c", "user.name=corpus", "-c", "user.email=corpus@localhost", "-c", "core.hooksPath=/dev/null")
_LEFT_OUT = shutil.ignore_patterns(".git", "node_modules", "site-packages", "__pycache__", "tests")
_INSTALLED = ("transformers", "accelerate", "peft", "trl", "deepspeed", "megatron", "diffusers", "lightning")
_SHOWN = 0.5
"""The confidence from which a finding is shown when no setting says otherwise."""
_NUMBERED = re.compile(r"line \d+")
_LONG_AGO = 1_600_000_000
_LARGEST = 10_000_000


def environment(packages: Iterable[Package], folder: Path) -> Path:
    """An environment in which the libraries among some packages are installed, by links to their sources.

    Projects are judged against it, as on a machine where they train.
    """
    site = folder / "lib" / "python3" / "site-packages"
    site.mkdir(parents=True)
    for package in packages:
        for name in _INSTALLED:
            for source in (package.root / name, package.root / "src" / name):
                if not package.of and source.is_dir() and package.name.startswith(name) and not (site / name).exists():
                    (site / name).symlink_to(source, target_is_directory=True)
    return folder


class Trial:
    """A copy of a package with a cache of its own: after the first run only what a defect touches is read again.

    `versioned`: the copy is a git repository with the healthy state committed. `installed`: the environment that the
    project is taken to use.
    """

    def __init__(self, package: Package, scratch: Path, *, versioned: bool, installed: Path) -> None:
        self.package = package
        self.versioned = versioned
        self.root = scratch / package.name
        cache = str(scratch / "cache")
        self._environ = {"SHARDLINT_CACHE_DIR": cache, "PATH": os.environ["PATH"], "VIRTUAL_ENV": str(installed)}
        self._healthy: dict[tuple[str, ...], Outcome] = {}
        shutil.copytree(package.root, self.root, ignore=_ignored, symlinks=True)
        for path in self.root.rglob("*"):
            if path.is_file() and not path.is_symlink():
                os.utime(path, (_LONG_AGO, _LONG_AGO))
        if versioned:
            for command in ("init --quiet", "add --all --force", "commit --quiet --message=healthy"):
                git = [*_GIT, *command.split()]
                subprocess.run(git, cwd=self.root, check=True, env=self._environ, capture_output=True)

    def healthy(self, mutator: Mutator, places: Iterable[Place]) -> bool:
        """Whether the rule of a mutator has nothing to say of some places as they are."""
        return not any(_lies_in(finding, places) for finding in self._before(mutator).findings if _of(mutator, finding))

    def judge(self, mutator: Mutator, injection: Injection) -> tuple[bool, str]:
        """Whether a rule reports the defect where it is, at the default confidence; if not, what the run says of it."""
        before = {path: self._read(path) for path in injection.files}
        try:
            for path, text in injection.files.items():
                self._write(path, text)
            outcome = self._run(mutator)
        finally:
            for path, text in before.items():
                self._write(path, text)
                if text is not None:
                    os.utime(self.root / path, (_LONG_AGO, _LONG_AGO))
        if outcome.crashes:
            raise RuntimeError(f"{mutator.rule} crashed on {outcome.crashes[0].path}: {outcome.crashes[0].detail}")
        own = [finding for finding in outcome.findings if _of(mutator, finding)]
        found = [finding for finding in own if _lies_in(finding, injection.places)]
        shown = [finding for finding in found if finding.confidence >= _SHOWN]
        if found and not shown:
            return False, f"reported with confidence {found[0].confidence:.2f}, below what is shown by default"
        return bool(shown), "" if shown else self._not_judged(mutator, outcome, injection.places)

    def _before(self, mutator: Mutator) -> Outcome:
        """What the healthy package gives."""
        rules = mutator.beside or (mutator.rule,)
        if rules not in self._healthy:
            self._healthy[rules] = self._run(mutator)
        return self._healthy[rules]

    def _run(self, mutator: Mutator) -> Outcome:
        session = open_session(str(self.root), self._environ)
        choice, base = Choice(mutator.beside or (mutator.rule,)), "HEAD" if self.versioned else None
        return run(session, Request(choice=choice, environ=self._environ, jobs=1, base=base))

    def _not_judged(self, mutator: Mutator, outcome: Outcome, places: Iterable[Place]) -> str:
        """What the run says it could not judge there and nowhere before."""
        before = {(path, function, reason) for path, function, _, reason in self._before(mutator).not_judged}
        for path, function, line, reason in outcome.not_judged:
            there = any(place.path == path and place.first <= line <= place.last for place in places)
            if there and (path, function, reason) not in before:
                return f"not judged: {_NUMBERED.sub('a line', reason)}"
        return ""

    def _read(self, path: str) -> str | None:
        try:
            return (self.root / path).read_bytes().decode("utf-8")
        except FileNotFoundError:
            return None

    def _write(self, path: str, text: str | None) -> None:
        if text is None:
            (self.root / path).unlink()
        else:
            (self.root / path).write_bytes(text.encode("utf-8"))


def _ignored(folder: str, names: list[str]) -> set[str]:
    """What is not copied: what shardlint never reads, tests, and data that is too large to be code."""
    large = {name for name in names if _size(os.path.join(folder, name)) > _LARGEST}
    return large | _LEFT_OUT(folder, names)


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.isfile(path) else 0


def _of(mutator: Mutator, finding: Finding) -> bool:
    return finding.rule == mutator.rule


def _lies_in(finding: Finding, places: Iterable[Place]) -> bool:
    return any(finding.path == place.path and place.first <= finding.span.line <= place.last for place in places)
