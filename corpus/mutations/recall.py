"""The record of a recall run, `corpus/recall.jsonl`, and its table."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

_NOT_MEASURED = (
    "Not measured: rules about plans and checkpoints, which need facts of a model; `monkeypatch-dead-target`, of which "
    "two ways to put in the defect had 4 of 20 and 0 of 20 caught, for a reason that is not settled; "
    "`modality-conditional-submodule`, `packing-without-boundaries`, `all-gather-drops-grad` and "
    "`background-save-shares-group`, which have no mutator."
)
RECORD = Path(__file__).parents[1] / "recall.jsonl"


@dataclass(frozen=True, order=True)
class Trace:
    """One injected defect. `reason`: for a miss, why; by the run or, where it does not say, by a reader."""

    rule: str
    package: str
    path: str
    line: int
    changed: str
    caught: bool
    reason: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What stays the same when lines move."""
        return self.rule, self.package, self.path, self.changed


@dataclass(frozen=True)
class Row:
    """The figures of one rule. `sources`: packages and repositories that had a site which was drawn."""

    rule: str
    caught: int
    injected: int
    sources: int
    reasons: tuple[tuple[str, int], ...]

    @property
    def recall(self) -> float:
        """The share that is caught."""
        return self.caught / self.injected


def read(file: Path = RECORD) -> list[Trace]:
    """The traces of the last run; none if there is no record."""
    if not file.exists():
        return []
    return [Trace(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def write(traces: Iterable[Trace], file: Path = RECORD) -> None:
    """Write the record, one trace a line, sorted."""
    lines = [json.dumps(asdict(trace), ensure_ascii=False) + "\n" for trace in sorted(traces)]
    file.write_text("".join(lines), encoding="utf-8")


def rows(traces: Iterable[Trace]) -> list[Row]:
    """The figures of each rule, by name."""
    by_rule: dict[str, list[Trace]] = defaultdict(list)
    for trace in traces:
        by_rule[trace.rule].append(trace)
    return [_row(rule, found) for rule, found in sorted(by_rule.items())]


def section(traces: Iterable[Trace]) -> str:
    """The table as Markdown, without a heading: what was caught of what was injected, and why the rest was not."""
    return "\n".join([*_lines(rows(traces)), "", _NOT_MEASURED])


def _row(rule: str, traces: list[Trace]) -> Row:
    missed = Counter(trace.reason or "not explained" for trace in traces if not trace.caught)
    caught = sum(trace.caught for trace in traces)
    sources = len({trace.package for trace in traces})
    return Row(rule, caught, len(traces), sources, tuple(sorted(missed.items(), key=lambda item: (-item[1], item[0]))))


def _lines(figures: list[Row]) -> Iterator[str]:
    yield "| rule | caught | injected | recall | sources | misses |"
    yield "|---|---:|---:|---:|---:|---|"
    for row in figures:
        misses = "; ".join(f"{count} x {reason}" for reason, count in row.reasons)
        yield f"| {row.rule} | {row.caught} | {row.injected} | {row.recall:.0%} | {row.sources} | {misses} |"
    caught, injected = sum(row.caught for row in figures), sum(row.injected for row in figures)
    share = f"{caught / injected:.0%}" if injected else ""
    yield f"| all | {caught} | {injected} | {share} | | |"
