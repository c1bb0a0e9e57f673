"""`check --write-baseline` and `check --baseline`: findings that a project knows and has put off."""

from __future__ import annotations

import os

from shardlint.arguments import Parsed
from shardlint.baseline import Entry, load_baseline, write_baseline
from shardlint.errors import BaselineError
from shardlint.finding import Finding
from shardlint.report.terminal import escaped
from shardlint.request import Outcome
from shardlint.selection import Choice, active_rows, engine_rules, known_names
from shardlint.session import Session

_NARROWING = ("select", "ignore", "extend-select", "base", "staged", "min-confidence", "fix", "diff", "baseline")
"""Options with which a run sees less, or other, than what the project holds."""
_NAMED = 5
"""How many stale entries are named before the rest is counted."""


def written_baseline(parsed: Parsed, outcome: Outcome, target: str, findings: list[Finding]) -> str:
    """Write all findings of a full run to `target` and say so.

    Raises BaselineError for a run that was narrowed or that failed, because its baseline would lose entries.
    """
    given = [f"--{name}" for name in _NARROWING if name in parsed.options]
    if parsed.operands:
        given.insert(0, "PATHS")
    if given:
        raise BaselineError(f"a baseline is written by a full run only: leave out {', '.join(given)}")
    if outcome.crashes:
        raise BaselineError(
            f"the baseline was not written, because the rule `{outcome.crashes[0].rule}` failed on "
            f"{outcome.crashes[0].path}: its findings would be missing"
        )
    kept = [finding for finding in findings if finding.rule != "not-checked"]
    write_baseline(target, kept)
    return f"wrote {_number(len(kept), 'finding')} to {escaped(target)}\n"


def against_baseline(
    session: Session, outcome: Outcome, parsed: Parsed, choice: Choice, file: str, findings: list[Finding]
) -> tuple[list[Finding], str]:
    """The findings that the baseline does not list, and a note about its stale entries."""
    judged = _Judged(session, outcome, parsed, choice)
    known = load_baseline(file)
    new, _, stale = known.split(findings, lambda path: os.path.lexists(os.path.join(session.root, path)), judged)
    return new, _stale(file, stale)


class _Judged:
    """Whether this run would have found what an entry stands for."""

    def __init__(self, session: Session, outcome: Outcome, parsed: Parsed, choice: Choice) -> None:
        assert outcome.discovery is not None
        self.whole = not parsed.operands
        self.nothing = "min-confidence" in parsed.options
        self.files = {file[0] for file in outcome.discovery.files}
        self.known = known_names(session.rows)
        # Findings of change rules belong to one change: in the next state they are gone, and not repaired.
        self.active = {row["name"] for row in active_rows(session, choice) if row["kind"] != "change"}
        self.active |= engine_rules(session, choice)
        self.crashed = {crash.rule for crash in outcome.crashes}

    def __call__(self, entry: Entry) -> bool:
        if self.nothing or entry.rule in self.crashed:
            return False
        ran = entry.rule in self.active or entry.rule not in self.known
        return ran and (self.whole or entry.path in self.files)


def _stale(file: str, stale: list[Entry]) -> str:
    if not stale:
        return ""
    named = ", ".join(f"{escaped(entry.path)} {escaped(entry.rule)}" for entry in stale[:_NAMED])
    more = f" and {len(stale) - _NAMED} more" if len(stale) > _NAMED else ""
    verb = "is" if len(stale) == 1 else "are"
    shown = escaped(os.path.relpath(file))
    count = "1 entry" if len(stale) == 1 else f"{len(stale)} entries"
    return (
        f"{count} of {shown} {verb} stale: {named}{more}; "
        f"write it anew with `shardlint check --write-baseline {shown}`\n"
    )


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
