"""Whether the tests of a constraint hold: each bad snippet gives a finding, no good one does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shardlint.knowledge.constraint_file import Problem
from shardlint.knowledge.problem import CheckProblem
from shardlint.knowledge.rules import ConfigConstraint, made
from shardlint.knowledge.snippet import example_of, is_document, names_paths
from shardlint.trial import Failed, findings_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from shardlint.example import Example
    from shardlint.knowledge.constraint import Constraint
    from shardlint.loading import Row
    from shardlint.session import Session
    from shardlint.settings import Settings


class Tested(NamedTuple):
    """What the tests of one constraint came to. `tests`: how many there are; `problems`: those that do not hold."""

    constraint: Constraint
    tests: int
    problems: tuple[Problem, ...]


def tested(constraint: Constraint, rows: Mapping[str, Row], settings: Settings) -> Tested:
    """Run the tests of a constraint. `rows`: every rule of the project by name, the constraints among them."""
    problems: list[Problem] = []
    count = 0
    for side, snippets in (("bad", constraint.bad), ("good", constraint.good)):
        for number, snippet in enumerate(snippets):
            count += 1
            where = ("tests", side, number)
            try:
                said = _wrong(constraint, rows, settings, snippet, where, bad=side == "bad")
            except CheckProblem as problem:
                said = str(problem)
            if said:
                message = f"{constraint.id}, {side} test {number + 1}: {said}"
                problems.append(Problem(constraint.file, constraint.line_of(where), message))
    return Tested(constraint, count, tuple(problems))


def _wrong(
    constraint: Constraint,
    rows: Mapping[str, Row],
    settings: Settings,
    snippet: Any,
    where: tuple[str | int, ...],
    *,
    bad: bool,
) -> str:
    """What is wrong with one test, or nothing."""
    config = constraint.kind == "config"
    if config and is_document(snippet):
        rule = made(rows[constraint.id])
        assert isinstance(rule, ConfigConstraint)
        fires = rule.breaks(snippet)
        return "" if fires == bad else _verdict(fires)
    example = example_of(snippet, where, bad=bad, config=config)
    try:
        judged = _rows(constraint, rows, snippet)
        findings = [finding for row in judged for finding in findings_of(row, example, settings=settings)]
    except Failed as failure:
        return str(failure)
    if bad and example.marked:
        return _off_the_marks(example, {(finding.path, finding.span.line) for finding in findings})
    if bool(findings) == bad:
        return ""
    return _verdict(bool(findings)) + (f" at line {findings[0].span.line}" if findings else "")


def example_and_row(constraint: Constraint, session: Session) -> tuple[Example, Row]:
    """The first bad test of a constraint that is not among the session's yet, as an example, and its row."""
    from shardlint.knowledge.rows import add_constraints

    rows = list(session.rows)
    add_constraints([constraint], rows, session.settings)
    row = next(row for row in rows if row["name"] == constraint.id)
    snippet = constraint.bad[0]
    config = constraint.kind == "config"
    if config and is_document(snippet):
        from shardlint.knowledge.capture.formatting import block_text

        snippet = block_text(snippet)
    example = example_of(snippet, ("tests", "bad", 0), bad=True, config=config)
    return example, row if names_paths(snippet) else {**row, "where": None}


def _rows(constraint: Constraint, rows: Mapping[str, Row], snippet: Any) -> Iterable[Row]:
    """The rules that check a constraint. A snippet without a path is judged as if it lay where the constraint holds."""
    if constraint.id in rows:
        row = rows[constraint.id]
        return [row if names_paths(snippet) else {**row, "where": None}]
    return [row for row in rows.values() if any(entry[2] == constraint.id for entry in row["enforces"])]


def _verdict(fires: bool) -> str:
    return "a finding is reported" if fires else "nothing is reported"


def _off_the_marks(example: Example, got: set[tuple[str, int]]) -> str:
    missing, extra = sorted(example.marked - got), sorted(got - example.marked)
    said = [f"nothing is reported at {path}:{line}" for path, line in missing]
    said += [f"{path}:{line} is reported and not marked" for path, line in extra]
    return ", ".join(said)
