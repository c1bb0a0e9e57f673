"""What the proofs share: two ranks that run code, and the examples of the rules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest

from shardlint.example import Example
from shardlint.loading import make
from shardlint.registry import load_rows
from shardlint.rule import Rule

FOLDER = Path(__file__).parent
NURSERY = Path(__file__).with_name("nursery.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The pair is one for the run; where torch is installed, a run of all tests takes one proof of each module."""
    proofs = [item for item in items if FOLDER in item.path.parents and "ranks" in getattr(item, "fixturenames", ())]
    for item in proofs:
        item.add_marker(pytest.mark.xdist_group("ranks"))
    asked = any(
        FOLDER in (path, *path.parents) for path in (Path(arg.partition("::")[0]).absolute() for arg in config.args)
    )
    if asked or find_spec("torch") is None:
        return
    proving = [item for item in items if FOLDER in item.path.parents and item.get_closest_marker("proves") is not None]
    first = {item.path: item for item in reversed(proving)}
    left_out = [item for item in proving if item is not first[item.path]]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@cache
def rules() -> Mapping[str, Rule]:
    """The built-in rules by name."""
    return {row["name"]: make(row) for row in load_rows()[0] if row["pack"] == "builtin"}


def bad(name: str, number: int = 0) -> Example:
    """A bad example of a rule."""
    return rules()[name].bad[number]


def good(name: str, number: int = 0) -> Example:
    """A good example of a rule."""
    return rules()[name].good[number]


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
        examples = [part for part in code if isinstance(part, Example)]
        files = dict(
            examples[0].files
            if examples
            else next((part for part in code if isinstance(part, Mapping)), dict[str, str]())
        )
        if not main and (examples or len(files) == 1):
            main = examples[0].main if examples else next(iter(files))
        self.jobs += 1
        folder = self.folder / str(self.jobs)
        source = folder / "code"
        for path, text in files.items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_text(text, encoding="utf-8")
        module = main.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
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


def _answer(said: Mapping[str, Any], code: Path) -> Answer:
    stack = tuple(
        Frame(os.path.relpath(path, code) if Path(path).is_relative_to(code) else path, line, function)
        for path, line, function in said.get("stack", ())
    )
    return Answer(said["state"], said.get("value"), said.get("error", ""), stack)


@pytest.fixture(scope="session")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ranks]:
    """The pair of this run."""
    if find_spec("torch") is None:
        pytest.skip("the proof runs torch, which is not installed")
    pair = Ranks(tmp_path_factory.mktemp("ranks"))
    yield pair
    pair.end()
