"""Jobs on gloo processes, which run the code of a copy of minitrain."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

SERVER = Path(__file__).with_name("rank_server.py")
ENOUGH = 120
"""Seconds for a job that ends by itself."""


class Ranks:
    """A process that has torch, and forks itself for each job."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        environ = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER)],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()

    def ask(self, name: str, world: int, *, seconds: float = ENOUGH, **given: Any) -> list[dict[str, Any]]:
        """The answer of each rank to a job of `jobs.py`; `rank_server.py` says how they look."""
        job = {"folder": str(self._folder), "name": name, "given": given, "world": world, "seconds": seconds}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answers: list[dict[str, Any]] = json.loads(self._process.stdout.readline())
        return answers

    def result(self, name: str, world: int = 1, **given: Any) -> Any:
        """What all ranks give, which must be the same."""
        first, *others = self.ask(name, world, **given)
        assert "result" in first, first
        assert all(other == first for other in others)
        return first["result"]

    def losses(self, world: int, config: str, **overrides: Any) -> list[float]:
        """The losses of a training run."""
        found: list[float] = self.result("train", world, config=config, **overrides)
        return found

    def errors(self, world: int, config: str, **overrides: Any) -> str:
        """The error of each rank of a training run, which must end with one."""
        answers = self.ask("train", world, config=config, **overrides)
        assert all("error" in answer for answer in answers), answers
        return "\n".join(answer["error"] for answer in answers)
