"""An incident and a check -> the mapping that the block of a constraint states."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardlint.knowledge.capture.candidate import Candidate
    from shardlint.knowledge.capture.incident import Incident

_LONGEST_ID = 60


def stated(incident: Incident, candidate: Candidate, *, why: bool = True) -> dict[str, Any]:
    """The mapping, its keys in the order in which a reader wants them. The title stands in the statement around it.

    `why`: whether the rationale stands in the block, and not in the statement around it.
    """
    found: dict[str, Any] = {"id": incident.id or id_of(incident.title)}
    for name in ("severity", "evidence", "confidence"):
        if getattr(incident, name) not in ("", None):
            found[name] = getattr(incident, name)
    if why:
        found["rationale"] = rationale(incident)
    for name in ("message", "help"):
        if getattr(incident, name):
            found[name] = getattr(incident, name)
    for name in ("paths", "exclude"):
        if getattr(incident, name):
            found[name] = list(getattr(incident, name))
    found[candidate.kind] = candidate.check
    found["tests"] = {"bad": [incident.bad], "good": [incident.good]}
    return found


def rationale(incident: Incident) -> str:
    """Why the constraint is there: symptom, cause and verification as sentences."""
    parts = [incident.symptom, incident.cause, f"Verified: {incident.verification}" if incident.verification else ""]
    return " ".join(_sentence(part) for part in parts if part)


def _sentence(text: str) -> str:
    whole = " ".join(text.split())
    whole = whole[:1].upper() + whole[1:]
    return whole if whole.endswith((".", "!", "?")) else f"{whole}."


def id_of(title: str) -> str:
    """A name for the rule, made from the words of a title."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    while len("-".join(words)) > _LONGEST_ID and len(words) > 1:
        words.pop()
    return "-".join(words) or "constraint"
