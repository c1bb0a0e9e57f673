"""Whether a value from a file is a container, in words that type checkers follow: of its items nothing is known."""

from __future__ import annotations

from typing import TypeGuard


def is_dict(value: object) -> TypeGuard[dict[object, object]]:
    """Whether a value is a dict."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Whether a value is a list."""
    return isinstance(value, list)


def is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    """Whether a value is a tuple."""
    return isinstance(value, tuple)
