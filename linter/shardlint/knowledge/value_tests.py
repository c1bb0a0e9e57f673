"""What a value of YAML is, in tests that type checkers follow into the values inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard


def is_list(value: object) -> TypeGuard[list[object]]:
    """Whether a value is a list."""
    return isinstance(value, list)


def is_items(value: object) -> TypeGuard[Sequence[object]]:
    """Whether a value is a list or a tuple; a text is neither."""
    return isinstance(value, (list, tuple))


def is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    """Whether a value is a mapping."""
    return isinstance(value, Mapping)
