"""A candidate on trial: does it tell the bad snippet from the good one, and what else of the project does it hit?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from shardlint import cache
from shardlint.engine import run
from shardlint.errors import CaptureRefused
from shardlint.knowledge.capture.candidate import Candidate
from shardlint.knowledge.capture.code_candidates import code_candidates
from shardlint.knowledge.capture.completion import completed
from shardlint.knowledge.capture.config_candidates import config_candidates
from shardlint.knowledge.capture.stated import stated
from shardlint.knowledge.constraint_file import constraint_of
from shardlint.knowledge.problem import CheckProblem
from shardlint.knowledge.proving import tested
from shardlint.knowledge.rows import add_constraints
from shardlint.request import Request
from shardlint.selection import Choice
from shardlint.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shardlint.finding import Finding
    from shardlint.knowledge.capture.incident import Incident
    from shardlint.knowledge.constraint import Constraint
    from shardlint.loading import Row

_EVERY_CONFIG = ("*.yaml", "*.yml")
_MOST = 40
"""Candidates that are tried: a fix that gives more than that changed several things at once."""


class Tried(NamedTuple):
    """A candidate and what came of it. `problem`: why it does not hold; empty if it does."""

    candidate: Candidate
    constraint: Constraint | None
    problem: str


def with_snippets(incident: Incident) -> Incident:
    """The incident with the imports that its snippets leave out. Raises CaptureRefused for broken ones."""
    if not isinstance(incident.bad, str) or not isinstance(incident.good, str):
        if isinstance(incident.bad, str) != isinstance(incident.good, str):
            raise CaptureRefused("one of the two snippets is code and the other a config: give both as the same")
        return incident
    return incident._replace(bad=_completed("bad", incident.bad), good=_completed("good", incident.good))


def _completed(side: str, snippet: str) -> str:
    try:
        return completed(snippet)
    except SyntaxError as error:
        raise CaptureRefused(f"the {side} snippet is not Python: line {error.lineno}: {error.msg}") from None


def proposals(incident: Incident, files: Sequence[str]) -> list[Candidate]:
    """The checks that might tell the snippets apart, the best first; the one that is given, if one is."""
    if incident.check is not None:
        return [Candidate(*incident.check, "it was given")]
    told = " ".join((incident.title, incident.symptom, incident.cause))
    if isinstance(incident.bad, str):
        found = code_candidates(incident.bad, incident.good, told)
    else:
        found = config_candidates(incident.bad, incident.good, tuple(files) or _EVERY_CONFIG, told)
    return found[:_MOST]


def tried(incident: Incident, candidate: Candidate, session: Session) -> Tried:
    """A candidate against the two snippets."""
    try:
        constraint = constraint_of({"title": incident.title, **stated(incident, candidate)}, {}, "the new constraint")
    except CheckProblem as problem:
        return Tried(candidate, None, str(problem))
    row, refusal = _row(constraint, session)
    if row is None:
        return Tried(candidate, None, refusal)
    result = tested(constraint, {constraint.id: row}, session.settings)
    said = "; ".join(str(one).partition(": ")[2] for one in result.problems)
    return Tried(candidate, constraint, said)


def _row(constraint: Constraint, session: Session) -> tuple[Row | None, str]:
    rows = list(session.rows)
    problems = add_constraints([constraint], rows, session.settings)
    if problems:
        return None, problems[0].message
    return next(row for row in rows if row["name"] == constraint.id), ""


def hits(constraint: Constraint, session: Session, environ: Mapping[str, str]) -> list[Finding]:
    """Every place of the project that the constraint would be reported at."""
    row, problem = _row(constraint, session)
    if row is None:
        raise CaptureRefused(problem)
    rows = [*session.rows, row]
    digest = cache.digest(session.digest + repr(row).encode())
    alone = Session(session.root, session.file, session.settings, session.environment, rows, digest)
    request = Request(choice=Choice([constraint.id], extend=()), environ=environ, use_cache=False)
    return [finding for finding in run(alone, request).findings if finding.rule == constraint.id]


def differs(snippet: Any, other: Any) -> bool:
    """Whether two snippets say different things."""
    return bool(snippet != other)
