"""Look at suspects, in this process or, when there are enough bytes of them, in several.

Threads would not help: neither CPython's parser nor Python code lets go of the interpreter lock. A worker is a plain
fork that sends its records back through a pipe; it costs a few milliseconds, so it pays only for megabytes.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Callable, Iterable
from typing import Any

from shardlint.analysis import Analysis, Crash
from shardlint.questions import Questions
from shardlint.record import Record
from shardlint.sieve import Suspect

WORTH = 6_000_000
"""Bytes of suspects from which a second process pays."""


def look_at(
    analysis: Analysis,
    suspects: list[Suspect],
    dotted: Callable[[str], str],
    jobs: int,
) -> dict[str, Record]:
    """The record of each suspect by path. Facts, crashes and what was asked are left in `analysis`."""
    total = sum(len(suspect.data) for suspect in suspects)
    count = min(jobs, os.cpu_count() or 1, total // (WORTH // 2))
    if count < 2 or not hasattr(os, "fork"):
        return {suspect.path: analysis.look(suspect, dotted(suspect.path)) for suspect in suspects}
    shares = _shares(suspects, count)
    children = [_start(analysis, share, dotted) for share in shares[1:]]
    records = {suspect.path: analysis.look(suspect, dotted(suspect.path)) for suspect in shares[0]}
    for (process, pipe), share in zip(children, shares[1:], strict=True):
        answer = _answer(process, pipe) if process else None
        if answer is None:
            # A worker that died or never started (out of memory, killed) must not lose files: its share is done here.
            records.update((suspect.path, analysis.look(suspect, dotted(suspect.path))) for suspect in share)
            continue
        plain, facts, crashes, seconds, questions = answer
        records.update((path, Record.from_plain(record)) for path, record in plain)
        analysis.facts.update(facts)
        analysis.crashes += [Crash(*crash) for crash in crashes]
        analysis.words.questions.add(Questions.from_plain(questions))
        for name, spent in seconds.items():
            analysis.seconds[name] = analysis.seconds.get(name, 0.0) + spent
    return records


def _shares(suspects: Iterable[Suspect], count: int) -> list[list[Suspect]]:
    """Shares of about equal bytes: the largest file goes to the lightest share."""
    shares: list[list[Suspect]] = [[] for _ in range(count)]
    weights = [0] * count
    for suspect in sorted(suspects, key=lambda suspect: -len(suspect.data)):
        lightest = weights.index(min(weights))
        shares[lightest].append(suspect)
        weights[lightest] += len(suspect.data)
    return shares


def _start(analysis: Analysis, share: list[Suspect], dotted: Callable[[str], str]) -> tuple[int, int]:
    """The process id of a worker, 0 when none can be started, and the end of the pipe to read from."""
    reading, writing = os.pipe()
    try:
        process = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return 0, -1
    if process:
        os.close(writing)
        return process, reading
    code = 1
    try:
        os.close(reading)
        records = [(suspect.path, analysis.look(suspect, dotted(suspect.path)).as_plain()) for suspect in share]
        crashes = [(crash.rule, crash.path, crash.detail) for crash in analysis.crashes]
        asked = analysis.words.questions.as_plain()
        view = memoryview(marshal.dumps((records, analysis.facts, crashes, analysis.seconds, asked)))
        while view:
            view = view[os.write(writing, view) :]
        code = 0
    finally:
        os._exit(code)


def _answer(process: int, pipe: int) -> Any:
    parts: list[bytes] = []
    while part := os.read(pipe, 1 << 20):
        parts.append(part)
    os.close(pipe)
    _, status = os.waitpid(process, 0)
    return marshal.loads(b"".join(parts)) if status == 0 else None
