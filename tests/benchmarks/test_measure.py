"""Costs are those of a command and all its children, and a failed run has none."""

import os
import sys
from pathlib import Path

import pytest

from benchmarks.measure import Command, cpu_seconds, medians, peak_bytes, watched

BUSY = "import time\nwhile time.process_time() < 0.2: pass"
HOLD = "import time; kept = bytearray(b'x') * 60_000_000; time.sleep(0.4)"


def command(code: str) -> Command:
    return Command([sys.executable, "-c", code], Path.cwd(), dict(os.environ))


def with_child(here: str, there: str) -> Command:
    return command(
        f"import subprocess, sys\nchild = subprocess.Popen([sys.executable, '-c', {there!r}])\n{here}\nchild.wait()"
    )


def test_time_of_a_child_counts() -> None:
    assert cpu_seconds(with_child("", BUSY)) >= 0.2


def test_time_and_output_of_a_watched_run_include_the_child() -> None:
    run = watched(with_child("print('parent', flush=True)", BUSY + "\nprint('child')"))

    assert run.seconds >= 0.2
    assert run.said.split() == [b"parent", b"child"]


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is read from /proc")
def test_memory_of_parent_and_child_is_added() -> None:
    assert peak_bytes(with_child(HOLD, HOLD)) > 115_000_000


@pytest.mark.parametrize("cost", [cpu_seconds, watched])
def test_findings_are_no_failure_but_a_failed_run_ends_the_benchmark(cost: object) -> None:
    assert callable(cost)
    cost(command("raise SystemExit(1)"))
    with pytest.raises(SystemExit, match="ended with exit code 2"):
        cost(command("raise SystemExit(2)"))


def test_rounds_take_turns_and_what_keeps_results_runs_once_before() -> None:
    ran: list[str] = []
    plain = command("pass")._replace(prepare=lambda: ran.append("cold"))
    kept = command("pass")._replace(prepare=lambda: ran.append("warm"), primed=True)

    costs = medians({"cold": plain, "warm": kept}, 3)

    assert ran == ["warm", "cold", "warm", "cold", "warm", "cold", "warm"]
    assert costs.keys() == {"cold", "warm"}
    assert all(cost > 0 for cost in costs.values())
