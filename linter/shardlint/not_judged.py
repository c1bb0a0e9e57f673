"""A place of which a rule cannot tell: counted, and shown under ``--show-unknown``, so that silence says something."""

from __future__ import annotations

from typing import NamedTuple


class NotJudged(NamedTuple):
    """`function` is the qualified function, or the key path in a document; `reason` ends a sentence."""

    function: str
    line: int
    reason: str
