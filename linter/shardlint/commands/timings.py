"""`check --timings`: where the time went."""

from __future__ import annotations

from collections.abc import Iterable

from shardlint.request import Outcome


def shown_timings(outcome: Outcome) -> str:
    """The stages in order and the rules by time, in milliseconds, and how much of the source LibCST parsed."""
    rules = sorted(outcome.seconds.items(), key=lambda item: (-item[1], item[0]))
    lines = ["stages", *_rows(outcome.stages), "rules, inside of the stage `files`", *_rows(rules)]
    lines.append(f"libcst: {outcome.parsed} of {outcome.total_bytes} bytes")
    return "\n".join(lines) + "\n"


def _rows(times: Iterable[tuple[str, float]]) -> list[str]:
    rows = [f"  {seconds * 1000:9.2f} ms  {name}" for name, seconds in times]
    return rows or ["  none ran"]
