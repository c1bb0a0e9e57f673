"""Two ranks of one gloo group that run what a proof gives them, as it is asked for from a test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

from shardlint.example import Example

NURSERY = Path(__file__).with_name("nursery.py")


class Frame(NamedTuple):
    """A place in a stack. `path` is relative to the code of the job, where it lies in it."""

    path: str
    line: int
    function: str


class Answer(NamedTuple):
    """What became of a job on one rank.

    `state` is finished (with a value, in terms of JSON), raised (with an error, `Type: text`), waiting (with a stack,
    the innermost frame first) or died.
    """

    state: str
    value: Any
    error: str
    stack: tuple[Frame, ...]

    def waits_in(self, call: str, path: str, lines: set[int]) -> bool:
        """Whether the rank waits in a call that one of some lines makes."""
        at = [number for number, frame in enumerate(self.stack) if frame.path == path and frame.line in lines]
        return bool(at) and call in {frame.function for frame in self.stack[: at[0]]}


class Ranks:
    """Two ranks of one gloo group, warm as long as nothing goes wrong on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jobs = 0
        self.nursery = subprocess.Popen(
            [sys.executable, str(NURSERY)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, *code: str | Example | Mapping[str, str], main: str = "") -> list[Answer]:
        """Run a driver on both ranks.

        Args:
            code: the driver in parts, and an example or files (path -> text) that it drives. The value of the last
                expression is the answer. A driver sees `torch`, `dist`, `rank`, `folder` (an empty folder that both
                ranks see) and the names of the module `main`.
            main: the path of that module; the one Python file, or the first that an example marks, unless given.
        """
        driver = "\n".join(dedent(part).strip() for part in code if isinstance(part, str))
        files, first = _files_of(code)
        self.jobs += 1
        folder = self.folder / str(self.jobs)
        source = folder / "code"
        for path, text in files.items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_text(text, encoding="utf-8")
        module = (main or first).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        (folder / "shared").mkdir(parents=True)
        job = {"code": str(source), "folder": str(folder / "shared"), "module": module, "driver": driver}
        assert self.nursery.stdin is not None
        assert self.nursery.stdout is not None
        self.nursery.stdin.write(json.dumps(job) + "\n")
        self.nursery.stdin.flush()
        line = self.nursery.stdout.readline()
        assert line, f"the process that runs the ranks has died: {self.nursery.wait()}"
        return [_answer(said, source) for said in json.loads(line)]

    def values(self, *code: str | Example | Mapping[str, str], main: str = "") -> list[Any]:
        """What the driver gives, by rank; both must finish."""
        answers = self.run(*code, main=main)
        assert [answer.state for answer in answers] == ["finished", "finished"], answers
        return [answer.value for answer in answers]

    def end(self) -> None:
        self.nursery.communicate(timeout=30)


def _files_of(code: Iterable[str | Example | Mapping[str, str]]) -> tuple[Mapping[str, str], str]:
    """The files among the parts of a job, and which of them the driver is about."""
    for part in code:
        if isinstance(part, Example):
            return part.files, part.main
        if isinstance(part, Mapping):
            return part, next(iter(part)) if len(part) == 1 else ""
    return {}, ""


def _answer(said: Mapping[str, Any], code: Path) -> Answer:
    stack = tuple(
        Frame(os.path.relpath(path, code) if Path(path).is_relative_to(code) else path, line, function)
        for path, line, function in said.get("stack", ())
    )
    return Answer(said["state"], said.get("value"), said.get("error", ""), stack)
