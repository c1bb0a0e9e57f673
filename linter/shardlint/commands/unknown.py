"""`check --show-unknown`: what could not be judged, as notes, so that silence is not taken for health."""

from __future__ import annotations

from shardlint.finding import Evidence, Finding, Span
from shardlint.fingerprint import fingerprint
from shardlint.request import Outcome

_RULE = "not-checked"
_IN_PYTHON = "make the call resolvable (import it by name, annotate its receiver), or check this place by hand"
_IN_CONFIG = "check this file by hand, or name what is missing in the settings"


def not_checked(outcome: Outcome) -> list[Finding]:
    """A note for each function, config and file that was not judged, sorted."""
    notes: list[Finding] = []
    for path, function, line, reason in outcome.not_judged:
        where = f"`{function}`" if function else "the body of this file"
        message = f"{where} could not be judged: {reason}"
        advice = _IN_PYTHON if path.endswith(".py") else _IN_CONFIG
        notes.append(_note(path, line, function, message, advice))
    for path in outcome.not_recognised:
        message = "this file was not judged: no rule that is on and no known loader claims it"
        notes.append(_note(path, 1, "", message, "nothing to do, unless a training job reads it"))
    discovery = outcome.discovery
    if discovery is not None:
        skipped = {path: f"this file was not read: {reason}" for path, reason in discovery.skipped}
        skipped.update(dict.fromkeys(discovery.excluded, "this path was named, but it is excluded"))
        notes += [_note(path, 1, "", message, "nothing to do, if that is meant") for path, message in skipped.items()]
    return sorted(notes)


def _note(path: str, line: int, scope: str, message: str, advice: str) -> Finding:
    return Finding(
        path=path,
        span=Span(line, 1, line, 1),
        rule=_RULE,
        family="engine",
        severity="note",
        confidence=0.95,
        evidence=Evidence("observation"),
        message=message,
        help=advice,
        fingerprint=fingerprint(_RULE, scope, message),
    )
