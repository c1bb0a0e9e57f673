"""What a command costs: CPU seconds and memory of all its processes together."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

SAMPLE_SECONDS = 0.003
READ_SHARE = 9
"""Sampling sleeps this many times as long as it reads."""
PEAK_RUNS = 5
LONG_SECONDS = 0.5


class Command(NamedTuple):
    """A command line, where it runs, and what to do before each run (not measured)."""

    argv: list[str]
    cwd: Path
    environment: dict[str, str]
    prepare: Callable[[], None] = lambda: None
    primed: bool = False
    """Runs once before it is measured, because it answers from what an earlier run kept."""


class Watched(NamedTuple):
    """What one run cost and said: CPU seconds, the most bytes held at once, standard output and error."""

    seconds: float
    peak: int
    said: bytes


def refuse_failure(command: Command, status: int) -> None:
    """Every tool here exits 1 for findings; anything above is a failed run, whose cost means nothing."""
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1):
        sys.exit(f"`{' '.join(command.argv)}` in {command.cwd} ended with exit code {code}")


def start(command: Command, output: int) -> subprocess.Popen[bytes]:
    command.prepare()
    return subprocess.Popen(command.argv, cwd=command.cwd, env=command.environment, stdout=output, stderr=output)


def cpu_seconds(command: Command) -> float:
    """User and system time of one run, children included."""
    process = start(command, subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    refuse_failure(command, status)
    return usage.ru_utime + usage.ru_stime


def proportional_bytes(pid: int) -> int:
    """Memory of a process and its descendants now: pages that several share are counted once in the sum."""
    total = 0
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        total = 1024 * int(rollup.partition("\nPss:")[2].split()[0])
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            total += sum(proportional_bytes(int(child)) for child in children.read_text(encoding="ascii").split())
    except (OSError, IndexError):
        pass  # the process ended while it was read
    return total


def watched(command: Command) -> Watched:
    """One run whose memory is sampled over all its processes; the peak is 0 where there is no /proc."""
    with tempfile.TemporaryFile() as output:
        process = start(command, output.fileno())
        peak = 0
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                break
            began = time.monotonic()
            peak = max(peak, proportional_bytes(process.pid))
            # Reading the memory of large processes takes long and holds them up, so it is then done less often.
            time.sleep(max(SAMPLE_SECONDS, READ_SHARE * (time.monotonic() - began)))
        output.seek(0)
        said = output.read()
    refuse_failure(command, status)
    return Watched(usage.ru_utime + usage.ru_stime, peak, said)


def peak_bytes(command: Command) -> int:
    """The most memory that a run held at once, in bytes. A short run is sampled seldom, so several are looked at."""
    most = 0
    for _ in range(PEAK_RUNS):
        run = watched(command)
        most = max(most, run.peak)
        if run.seconds > LONG_SECONDS:
            break
    return most


def medians(commands: Mapping[str, Command], rounds: int) -> dict[str, float]:
    """CPU seconds of each command over rounds in which each runs once, so that a slow moment hits all of them."""
    for command in commands.values():
        if command.primed:
            cpu_seconds(command)
    costs: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds):
        print(f"  round {turn + 1} of {rounds}", file=sys.stderr, flush=True)
        for name, command in commands.items():
            costs[name].append(cpu_seconds(command))
    return {name: median(values) for name, values in costs.items()}
