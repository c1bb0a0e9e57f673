"""`python -m fuzzing`: inputs that nobody would write, tried until the count is reached.

    python -m fuzzing --count 10000 --seed 0
    python -m fuzzing --seed 0 --number 4711 --out found    one input again, made small and written down

An input is made from the seed and its number alone, so a failure is met again by both. Real files are cut and mixed
too: those below `--corpus`, or else of Python's own library. The exit code is 1 if something failed.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Sequence

from fuzzing import trial
from fuzzing.case import Case, Failure
from fuzzing.kinds import World
from fuzzing.place import Place
from fuzzing.shrink import smallest
from fuzzing.workers import Result, over

_PROGRESS = 500
"""Inputs from one line of progress to the next."""


def main(argv: Sequence[str]) -> int:
    """Run the fuzzer and give its exit code."""
    given = _arguments(argv)
    started = time.monotonic()
    world = World.of(given.corpus, given.rule)
    numbers: Sequence[int] = range(given.count) if given.number is None else [given.number]
    if given.kind:
        numbers = [number for number in numbers if trial.kind_of(number).name == given.kind]

    if any(trial.kind_of(number).name == "whim" for number in numbers):
        print(f"{len(world.whims)} programs by hypothesmith in {time.monotonic() - started:.0f} s", flush=True)

    def attempt(place: Place, number: int) -> Failure | None:
        case = trial.made(world, given.seed, number)
        return trial.tried(world, place, trial.kind_of(number), case, given.seed, number)

    results: list[Result] = []
    for result in over(numbers, given.jobs, attempt):
        results.append(result)
        if result.failure is not None:
            print(f"{result.number} ({trial.kind_of(result.number).name}): {result.failure.mark}", flush=True)
        if len(results) % _PROGRESS == 0:
            print(f"{len(results)} of {len(numbers)} in {time.monotonic() - started:.0f} s", flush=True)
    _table(results, time.monotonic() - started)
    first = _first_of_each(results)
    for result in first:
        _write_down(world, given.seed, result, given.out, given.shrink)
    return int(bool(first))


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description="Try inputs that nobody would write.")
    parser.add_argument("--count", type=int, default=10_000, help="how many inputs (default: 10000)")
    parser.add_argument("--seed", type=int, default=0, help="another seed makes other inputs (default: 0)")
    parser.add_argument("--number", type=int, help="only the input of this number")
    parser.add_argument("--kind", help="only inputs of this kind")
    parser.add_argument("--rule", action="append", default=[], help="with the examples of this rule alone")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes side by side")
    parser.add_argument("--corpus", action="append", default=[], help="a folder with real files; may be given again")
    parser.add_argument("--out", default="fuzzing-found", help="where failing inputs are written (fuzzing-found)")
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds to make a failing input small")
    return parser.parse_args(argv)


def _table(results: Sequence[Result], seconds: float) -> None:
    """Inputs, seconds and failures by kind."""
    kinds = {result.number: trial.kind_of(result.number).name for result in results}
    count, failed = Counter(kinds.values()), Counter(kinds[one.number] for one in results if one.failure)
    print(f"{'kind':<20}{'inputs':>8}{'seconds':>9}{'slowest':>9}{'failed':>8}")
    for kind in sorted(count):
        spent = [one.seconds for one in results if kinds[one.number] == kind]
        print(f"{kind:<20}{count[kind]:>8}{sum(spent):>9.1f}{max(spent):>9.2f}{failed[kind]:>8}")
    print(f"{'all':<20}{len(results):>8}{seconds:>9.1f}{'':>9}{sum(failed.values()):>8}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"processor time of the workers: {used.ru_utime + used.ru_stime:.0f} s")


def _first_of_each(results: Sequence[Result]) -> list[Result]:
    """One result of each mark, that of the lowest number."""
    first: dict[str, Result] = {}
    for result in sorted(results, key=lambda one: one.number):
        if result.failure is not None:
            first.setdefault(result.failure.mark, result)
    return list(first.values())


def _write_down(world: World, seed: int, result: Result, out: str, seconds: float) -> None:
    """Make a failing input small, print it, and write it below `out`."""
    failure, kind = result.failure, trial.kind_of(result.number)
    assert failure is not None
    case = trial.made(world, seed, result.number)

    def fails(smaller: Case) -> bool:
        def attempt(place: Place, number: int) -> Failure | None:
            return trial.tried(world, place, kind, smaller, seed, number)

        (again,) = over([result.number], 1, attempt)
        return again.failure is not None and again.failure.mark == failure.mark

    small = smallest(case, fails, seconds)
    folder = os.path.join(out, re.sub(r"\W+", "-", failure.mark)[:60].strip("-"))
    for path, data in small.files.items():
        file = os.path.join(folder, path)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "wb") as opened:
            opened.write(data)
    print(
        f"\n{failure.mark}\n  again: python -m fuzzing --seed {seed} --number {result.number}\n  made small: {folder}"
    )
    print(failure.detail)
    for path, data in sorted(small.files.items()):
        print(f"--- {path}\n{data[:1500]!r}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
