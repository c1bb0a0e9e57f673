"""How much of the code with collectives the linter can judge, and how much it has to be silent about.

python -m corpus.silence            (make silence)
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import shardlint_rules
from shardlint.facts.effects import Effects
from shardlint.facts.module import Module
from shardlint.facts.program import package_name
from shardlint.facts.trace import Step, Trace, trace
from shardlint.parsing import parse
from shardlint.rule import table

from .running import not_judged_in
from .sources import FOLDER, HERE, NotAvailable, packages, tree

PAGE = HERE / "silence.md"
_TABLES = ("collectives", "checkpoints", "process_groups")
_PARTED = re.compile(r"parts the ranks|all ranks give the same answer")
"""What the linter says of functions in which it cannot follow ranks; it cannot judge others for other reasons."""


_INTRODUCTION = """\
# How much is judged

Where ranks part and a call on one side is not known, nothing is reported, and the function is counted as not judged
(`--show-unknown` names it). Here that number stands beside all functions that issue a collective of the tables,
themselves or through functions of their package. In the others either no test parts the ranks, or both sides of each
are known.

Written by `make silence`.
"""


class Silence(NamedTuple):
    """Functions with collectives in one package: all of them, and those that could not be judged."""

    functions: int
    not_judged: int

    @property
    def share(self) -> float:
        """The part that could not be judged."""
        return self.not_judged / self.functions if self.functions else 0.0


def effects() -> Effects:
    """The collectives of all tables."""
    return Effects.catalogue(*(table(name, of=shardlint_rules.__name__) for name in _TABLES))


def silence_in(at: Path, known: Effects) -> Silence:
    """What can be judged in one tree."""
    silent = {(path, function) for path, function, reason in not_judged_in(at) if _PARTED.search(reason)}
    return Silence(len(_issuing(at, known) | silent), len(silent))


def _issuing(at: Path, known: Effects) -> set[tuple[str, str]]:
    """The functions of a tree that issue a collective, themselves or through functions of the tree."""
    paths = {file.relative_to(at).as_posix() for file in at.rglob("*.py")}
    called: dict[tuple[str, str], set[str]] = {}
    names: dict[str, tuple[str, str]] = {}
    found: set[tuple[str, str]] = set()
    for path in sorted(paths):
        text = (at / path).read_bytes().decode("utf-8", "replace")
        parsed = parse(text)
        if isinstance(parsed, SyntaxError):
            continue
        module = Module(path, text, parsed, dotted=package_name(path, paths))
        for function in module.functions:
            place = (path, module.qualified(function))
            names[f"{module.dotted}.{place[1]}"] = place
            steps = list(_calls(trace(module, function, known.words)))
            called[place] = {str(name) for step in steps for name in step[1]}
            if any(known.of(step, path) is not None for step in steps):
                found.add(place)
    callers: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for place, of in called.items():
        for name in of & names.keys():
            callers.setdefault(names[name], []).append(place)
    pending = list(found)
    while pending:
        fresh = [caller for caller in callers.get(pending.pop(), ()) if caller not in found]
        found.update(fresh)
        pending += fresh
    return found


def _calls(steps: Trace) -> Iterator[Step]:
    """The calls of a trace, in whatever branch."""
    for step in steps:
        if step[0] == "call":
            yield step
        elif step[0] == "if":
            yield from _calls(step[3])
            yield from _calls(step[4])
        elif step[0] == "loop":
            yield from _calls(step[2])


def page(counted: Iterable[tuple[str, Silence]]) -> str:
    """The text of `corpus/silence.md`."""
    counted = list(counted)
    whole = Silence(sum(one.functions for _, one in counted), sum(one.not_judged for _, one in counted))
    lines = [_INTRODUCTION, "| package | functions with collectives | not judged | share |", "|---|---:|---:|---:|"]
    for name, one in (*counted, ("all", whole)):
        lines.append(f"| {name} | {one.functions} | {one.not_judged} | {one.share:.0%} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Count in all pinned distributions and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m corpus.silence", description="Count what cannot be judged in the pinned packages."
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where downloads and trees lie (default: .corpus)")
    folder: Path = parser.parse_args().folder
    known = effects()
    counted: list[tuple[str, Silence]] = []
    for package in (one for one in packages() if one.kind != "repository"):
        try:
            at = tree(package, folder)
        except NotAvailable as error:
            print(f"nothing is written, since a package is missing: {error}", file=sys.stderr)
            return 2
        counted.append((package.shown, silence_in(at, known)))
        print(f"{package.shown}: {counted[-1][1].not_judged} of {counted[-1][1].functions} not judged", flush=True)
    PAGE.write_text(page(counted), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
