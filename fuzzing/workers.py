"""Forked workers, each with a few inputs: warm, bounded, and replaced when one dies or does not come back."""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import selectors
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from fuzzing.case import Failure
from fuzzing.limits import PATIENCE, bound_memory, bound_time
from fuzzing.place import Place

_CHUNK = 50
"""Inputs of one worker: few enough that what a run leaves behind does not add up."""

Try = Callable[[Place, int], Failure | None]


@dataclass(frozen=True)
class Result:
    """What became of one input, and how long it took, in seconds of the clock."""

    number: int
    seconds: float
    failure: Failure | None


@dataclass
class _Worker:
    process: int
    pipe: int
    folder: str
    left: list[int]
    since: float = field(default_factory=time.monotonic)
    text: bytes = b""


def over(numbers: Sequence[int], jobs: int, attempt: Try) -> Iterator[Result]:
    """Try all inputs, in `jobs` processes side by side, and give the results as they come."""
    waiting = [list(numbers[at : at + _CHUNK]) for at in range(0, len(numbers), _CHUNK)]
    waiting.reverse()
    gc.collect()
    gc.freeze()  # children that look at old objects would copy them
    chosen = selectors.DefaultSelector()
    running: dict[int, _Worker] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                worker = _start(waiting.pop(), attempt)
                running[worker.pipe] = worker
                chosen.register(worker.pipe, selectors.EVENT_READ)
            for key, _ in chosen.select(1.0):
                worker = running[key.fd]
                part = os.read(worker.pipe, 1 << 16)
                yield from _told(worker, part)
                if not part:
                    chosen.unregister(worker.pipe)
                    del running[worker.pipe]
                    yield from _ended(worker)
                    if worker.left:
                        waiting.append(worker.left)
            for worker in running.values():
                if time.monotonic() - worker.since > PATIENCE:
                    os.kill(worker.process, signal.SIGKILL)
                    worker.since = time.monotonic()
    finally:
        for worker in running.values():
            os.kill(worker.process, signal.SIGKILL)
            _gone(worker)


def _start(numbers: list[int], attempt: Try) -> _Worker:
    reading, writing = os.pipe()
    folder = tempfile.mkdtemp(prefix="fuzzing-")
    process = os.fork()
    if process:
        os.close(writing)
        return _Worker(process, reading, folder, list(numbers))
    code = 1
    try:
        os.close(reading)
        faulthandler.enable(open(os.path.join(folder, "fault"), "w"))  # noqa: SIM115 - open as long as the process
        bound_memory()
        place = Place(folder)
        for number in numbers:
            bound_time()
            started = time.monotonic()
            try:
                failure = attempt(place, number)
            except Exception:
                failure = Failure("the fuzzer itself failed", traceback.format_exc())
            told = None if failure is None else [failure.mark, failure.detail]
            line = json.dumps([number, time.monotonic() - started, told]).encode() + b"\n"
            while line:
                line = line[os.write(writing, line) :]
        code = 0
    finally:
        os._exit(code)


def _told(worker: _Worker, part: bytes) -> Iterator[Result]:
    """The results in what a worker wrote."""
    worker.text += part
    *lines, worker.text = worker.text.split(b"\n")
    for line in lines:
        number, seconds, told = json.loads(line)
        worker.left.remove(number)
        worker.since = time.monotonic()
        yield Result(number, seconds, None if told is None else Failure(*told))


def _ended(worker: _Worker) -> Iterator[Result]:
    """The failure of the input that a worker died of, if it died."""
    status, fault = _gone(worker)
    if worker.left and status:
        number = worker.left.pop(0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXCPU):
            mark = "hang, or killed from outside"
        else:
            at = next((line.strip() for line in fault.split("\n") if "shardlint" in line), "")
            mark = f"the process died: {os.waitstatus_to_exitcode(status)} {at}"
        yield Result(number, time.monotonic() - worker.since, Failure(mark, fault[:4000]))


def _gone(worker: _Worker) -> tuple[int, str]:
    """The exit status of a worker, and what a crash of the interpreter left behind."""
    os.close(worker.pipe)
    _, status = os.waitpid(worker.process, 0)
    try:
        with open(os.path.join(worker.folder, "fault"), encoding="utf-8", errors="replace") as file:
            fault = file.read()
    except OSError:
        fault = ""
    shutil.rmtree(worker.folder, ignore_errors=True)
    return status, fault
