"""Bounds of time and memory. A worker sets them; what breaks one is a failure of the input."""

from __future__ import annotations

import resource
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import FrameType

from fuzzing.case import Broken, OutOfTime

SECONDS = 5.0
"""Processor time of one run of the linter."""

MEMORY = 1 << 30
"""Bytes that one run may add to those of the worker that it starts in."""

ALL_RUNS = 60
"""Processor time of one input with all of its runs; the kernel ends what does not heed a signal of Python."""

PATIENCE = 600.0
"""Seconds of the clock for one input, after which the worker is killed from outside: it waits for something."""


def bound_memory() -> None:
    """Let this process take no more than `MEMORY` besides what it has. Only Linux says what that is."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[0])
    except OSError:
        return
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def bound_time() -> None:
    """Let this process take no more than `ALL_RUNS` from now on."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime) + ALL_RUNS
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))


def peak() -> int:
    """The most memory, in bytes, that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def limited(what: Sequence[str]) -> Generator[None, None, None]:
    """Stop what takes longer than `SECONDS` or holds nearly `MEMORY`. Raises Broken."""
    expired: list[str] = []

    def stop(_signal: int, frame: FrameType | None) -> None:
        expired.append(_where(frame))
        raise OutOfTime

    held = peak()
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    except OutOfTime:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    if expired:
        raise Broken(f"hang at {expired[0]}", f"`{' '.join(what)}` takes more than {SECONDS} s")
    if peak() - held > MEMORY * 3 // 4:
        raise Broken("memory", f"`{' '.join(what)}` holds {(peak() - held) >> 20} MiB more than before")


def _where(frame: FrameType | None) -> str:
    """The innermost function of the project that runs, by name: the line would differ each time."""
    while frame is not None and "shardlint" not in frame.f_code.co_filename:
        frame = frame.f_back
    if frame is None:
        return "an unknown place"
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_code.co_name}"
