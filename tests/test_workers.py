"""Suspects that are looked at in several processes give what one process gives."""

# Tests replace private parts, and some libraries have no types.
# pyright: reportPrivateUsage=false
from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from shardlint import workers
from shardlint.analysis import Analysis
from shardlint.record import Record
from shardlint.sieve import Suspect

from .conftest import GUARDED, Project


@pytest.fixture
def many(packed: Project) -> Project:
    for number in range(12):
        packed.write(f"m{number}.py", GUARDED * (number + 1))
        packed.write(f"c{number}.yaml", "lr: 1e-5\n" * (number + 1))
        packed.write(f"l{number}.py", "import probe\nprobe.load()\n")
    packed.write("broken.py", "if rank == 0:\n")
    packed.write("crash.py", "import probe\nprobe.crash()\n")
    return packed


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make a second process pay for any amount of work; the processes that were started."""
    started: list[int] = []
    real = os.fork

    def fork() -> int:
        process = real()
        started.append(process)
        return process

    monkeypatch.setattr(workers, "WORTH", 2)
    monkeypatch.setattr(os, "fork", fork)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    return started


def result(project: Project, jobs: int) -> tuple[object, ...]:
    outcome = project.outcome(use_cache=False, jobs=jobs)
    crashes = sorted((crash.rule, crash.path, crash.detail) for crash in outcome.crashes)
    return outcome.findings, outcome.not_judged, crashes, outcome.files, outcome.configs, outcome.generated


def test_several_processes_find_what_one_finds(many: Project, forks: list[int]) -> None:
    alone = result(many, 1)
    assert forks == []
    assert alone[0]
    assert alone[2]
    assert result(many, 4) == alone
    assert len(forks) == 3


def test_a_worker_that_dies_loses_nothing(many: Project, forks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    alone = result(many, 1)
    parent = os.getpid()
    real = Analysis.look

    def die(analysis: Analysis, suspect: Suspect, dotted: str = "") -> Record:
        if os.getpid() != parent and suspect.path.startswith("m"):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(analysis, suspect, dotted)

    monkeypatch.setattr(Analysis, "look", die)
    assert result(many, 3) == alone
    assert len(forks) == 2


def test_a_worker_that_fails_loses_nothing(many: Project, forks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    alone = result(many, 1)
    parent = os.getpid()
    real = Analysis.look

    def fail(analysis: Analysis, suspect: Suspect, dotted: str = "") -> Record:
        if os.getpid() != parent:
            raise MemoryError
        return real(analysis, suspect, dotted)

    monkeypatch.setattr(Analysis, "look", fail)
    assert result(many, 2) == alone
    assert len(forks) == 1


def test_no_process_can_be_started(many: Project, forks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    alone = result(many, 1)

    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    assert result(many, 2) == alone
    assert forks == []


def test_no_child_and_no_pipe_is_left(many: Project, forks: list[int]) -> None:
    before = len(os.listdir("/dev/fd"))
    result(many, 4)
    assert len(os.listdir("/dev/fd")) == before
    assert forks
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_shares_are_of_about_equal_size() -> None:
    sizes = [90, 10, 20, 30, 40, 50, 60]
    suspects = [Suspect(str(size), "python", (0, 0, 0), b"", b"x" * size, (), ()) for size in sizes]
    make: Callable[..., list[list[Suspect]]] = workers._shares
    weights = [sum(len(suspect.data) for suspect in share) for share in make(suspects, 3)]
    assert sum(weights) == 300
    assert max(weights) <= 110
