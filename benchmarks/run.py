"""Speed and memory of shardlint beside ruff, on a source tree of your choice: `make bench CORPUS=folder`.

Costs are CPU seconds (user and system, of a command and all its children), medians of interleaved rounds, because wall
time on a busy machine says little. Only the ratios compare between machines. Exit code 1: a bound was not held.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROUNDS = 5
SAMPLE_SECONDS = 0.003
QUIET_WORDS = (b"barrier", b"distributed", b"grad", b"load", b"optim", b"rank", b"save")
"""A file without any of these gives no rule a reason to look closer."""
QUIET_BYTES = range(4_000, 20_000)


class Command(NamedTuple):
    """A command line, where it runs, and what to do before each run (not measured)."""

    argv: list[str]
    cwd: Path
    environment: dict[str, str]
    prepare: Callable[[], None] = lambda: None


class Figure(NamedTuple):
    """One line of the result: two costs side by side, and the highest ratio that is accepted, if any."""

    name: str
    ours: str
    theirs: str
    bound: float | None = None


FIGURES = (
    Figure("cold, results not cached", "cold", "ruff cold", 3.0),
    Figure("cold, cache folder empty", "first run", "ruff cold"),
    Figure("warm, nothing changed", "warm", "ruff warm", 1.0),
    Figure("three changed files without suspects", "three files", "python -c pass", 3.0),
)
LIBCST_BOUND = 0.01
MEMORY_BOUND = 200_000_000
"""Bytes, for any run of shardlint, all its processes together."""
MEMORY = (
    ("cold", MEMORY_BOUND),
    ("first run", MEMORY_BOUND),
    ("warm", MEMORY_BOUND),
    ("three files", MEMORY_BOUND),
    ("ruff cold", None),
    ("ruff warm", None),
)


def beside_python(name: str) -> str:
    """The executable installed with this interpreter, else the one on PATH."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        sys.exit(f"`{name}` is not installed: run `make dev` first")
    return found


def start(command: Command, output: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command.argv, cwd=command.cwd, env=command.environment, stdout=output, stderr=output)


def refuse_failure(command: Command, status: int) -> None:
    """Both tools exit 1 for findings; anything above is a failed run, whose cost means nothing."""
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1):
        sys.exit(f"`{' '.join(command.argv)}` in {command.cwd} ended with exit code {code}")


def cpu_seconds(command: Command) -> float:
    """User and system time of one run, children included."""
    command.prepare()
    process = start(command)
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


def peak_bytes(command: Command) -> int:
    """The most memory that one run held at once, over all its processes, in bytes; 0 where there is no /proc."""
    command.prepare()
    process = start(command)
    peak = 0
    while True:
        pid, status, _ = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            refuse_failure(command, status)
            return peak
        peak = max(peak, proportional_bytes(process.pid))
        time.sleep(SAMPLE_SECONDS)


def timings(command: Command) -> bytes:
    """What `--timings` says of one run, findings included."""
    command.prepare()
    process = start(command._replace(argv=[*command.argv, "--timings"]), subprocess.PIPE)
    said = b"\n".join(process.communicate())
    if process.returncode not in (0, 1):
        sys.exit(f"`{' '.join(command.argv)} --timings` ended with exit code {process.returncode}")
    return said


def libcst_and_read(said: bytes) -> tuple[int, int]:
    """How many bytes LibCST parsed, and how many were read at all, as `--timings` tells."""
    found = re.search(rb"libcst: (\d+) of (\d+) bytes", said)
    if found is None:
        sys.exit("`shardlint check --timings` does not say how many bytes LibCST parsed")
    return int(found[1]), int(found[2])


def refuse_other_work(command: Command, files: list[Path]) -> None:
    """Ends the benchmark unless a run reads nothing but these files and finds no rule a reason to look at them."""
    said = timings(command)
    _, read = libcst_and_read(said)
    if read != sum(path.stat().st_size for path in files) or b"none ran" not in said:
        sys.exit("the run of three changed files did more than read them, so it says nothing about a commit")


def size_and_name(path: Path) -> tuple[int, str]:
    return path.stat().st_size, str(path)


def quiet_files(tree: Path) -> list[Path]:
    """Three files of middling size in which no rule has anything to look at."""
    fitting = sorted((path for path in tree.rglob("*.py") if path.stat().st_size in QUIET_BYTES), key=size_and_name)
    quiet = [path for path in fitting if not any(word in path.read_bytes() for word in QUIET_WORDS)]
    if len(quiet) < 3:
        sys.exit(f"{tree} has fewer than three files without suspects: take a larger tree")
    middle = len(quiet) // 2
    return quiet[middle - 1 : middle + 2]


class Touch:
    """Makes files differ from what a cache remembers, anew at each call."""

    def __init__(self, files: list[Path]) -> None:
        self.originals = {path: path.read_bytes() for path in files}
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        for path, original in self.originals.items():
            path.write_bytes(original + b"\n# changed %d\n" % self.calls)


def commands(tree: Path, scratch: Path) -> dict[str, Command]:
    """Every command that is measured; all run on copies, with caches of their own."""
    shardlint, ruff = beside_python("shardlint"), [beside_python("ruff"), "check", "--isolated"]
    changing = scratch / "changing"
    shutil.copytree(tree, changing)
    three = quiet_files(changing)
    caches = {name: scratch / f"cache-{name}" for name in ("kept", "emptied", "changing")}
    # As after `pip install`, which compiles: else an editable install would be compiled anew by every run.
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    around = {name: usual | {"XDG_CACHE_HOME": str(cache)} for name, cache in caches.items()}
    ruff_cache = ["--select", "F", "--cache-dir", str(scratch / "cache-ruff")]

    def empty() -> None:
        shutil.rmtree(caches["emptied"], ignore_errors=True)

    whole = Command([shardlint, "check"], changing, around["changing"])
    cpu_seconds(whole)  # facts of the whole tree, so that only the three files are new
    commit = whole._replace(
        argv=[*whole.argv, *(str(path.relative_to(changing)) for path in three)], prepare=Touch(three)
    )
    refuse_other_work(commit, three)
    return {
        "cold": Command([shardlint, "check", "--no-cache"], tree, around["kept"]),
        "first run": Command([shardlint, "check"], tree, around["emptied"], empty),
        "warm": Command([shardlint, "check"], tree, around["kept"]),
        "three files": commit,
        "ruff cold": Command([*ruff, "--no-cache", "--output-format", "concise", "."], tree, usual),
        "ruff warm": Command([*ruff, *ruff_cache, "--output-format", "concise", "."], tree, usual),
        "python -c pass": Command([sys.executable, "-c", "pass"], tree, usual),
    }


def medians(measured: dict[str, Command], rounds: int) -> dict[str, float]:
    """CPU seconds of each command: one run that is thrown away, then rounds in which each runs once."""
    for name in ("warm", "ruff warm", "cold"):
        cpu_seconds(measured[name])
    costs: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(rounds):
        for name, command in measured.items():
            costs[name].append(cpu_seconds(command))
    return {name: median(values) for name, values in costs.items()}


def report(measured: dict[str, Command], rounds: int) -> bool:
    """Prints the figures; true if every bound is held."""
    held = True
    costs = medians(measured, rounds)
    print(f"{'CPU seconds':<40}{'shardlint':>12}{'peer':>12}  {'peer is':<16}{'ratio':>8}  at most")
    for figure in FIGURES:
        ours, theirs = costs[figure.ours], costs[figure.theirs]
        ratio = ours / theirs
        bound = "" if figure.bound is None else f"{figure.bound:.2f}"
        line = f"{figure.name:<40}{ours:>12.4f}{theirs:>12.4f}  {figure.theirs:<16}{ratio:>8.2f}  {bound}"
        print(line.rstrip())
        held = held and (figure.bound is None or ratio <= figure.bound)
    parsed, read = libcst_and_read(timings(measured["first run"]))
    share = parsed / read
    print(f"\n{'bytes parsed by LibCST, cold':<40}{share:>12.2%}{'':>40}  {LIBCST_BOUND:.0%}")
    held = held and share <= LIBCST_BOUND
    for name, most in MEMORY:
        peak = peak_bytes(measured[name])
        line = f"{f'peak memory, all processes, {name}':<40}{peak / 1e6:>9.0f} MB{'':>40}"
        print((line if most is None else f"{line}  {most / 1e6:.0f} MB").rstrip())
        held = held and (most is None or peak <= most)
    return held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="an unpacked source tree; it is copied and not changed")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds to take the median of (default %(default)s)")
    options = parser.parse_args()
    if not options.tree.is_dir():
        sys.exit(f"{options.tree} is not a folder: unpack a source distribution there (see benchmarks/README.md)")
    with tempfile.TemporaryDirectory(prefix="shardlint-bench-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(options.tree, tree, ignore=shutil.ignore_patterns(".ruff_cache", "__pycache__"))
        return 0 if report(commands(tree, Path(folder)), options.rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
