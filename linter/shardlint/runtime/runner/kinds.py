"""What kind of thing the user's code gave. The answers are plain: what is inside stays unknown to type checkers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_mapping(thing: Any) -> bool:
    """A dict, or what is used as one."""
    return isinstance(thing, Mapping)


def is_listing(thing: Any) -> bool:
    """A list, tuple or set."""
    return isinstance(thing, (list, tuple, set, frozenset))
