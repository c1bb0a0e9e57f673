"""What the child itself refuses, in a sentence."""

from __future__ import annotations


class Refused(Exception):
    """What was asked cannot be done; the text is a clause for the user, without a full stop."""
