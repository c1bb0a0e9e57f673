"""A check that might tell the bad snippet of an incident from the good one."""

from __future__ import annotations

from typing import Any, NamedTuple


class Candidate(NamedTuple):
    """One proposal. `kind`, `check`: as in a constraint. `why`: what of the fix it keeps; it follows a "because"."""

    kind: str
    check: dict[str, Any]
    why: str
