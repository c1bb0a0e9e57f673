"""The plain values of a constraint: lists and mappings, each item with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shardlint.knowledge.problem import CheckProblem

if TYPE_CHECKING:
    from typing import TypeGuard

Where = tuple[str | int, ...]
"""A place in a mapping, outermost first."""


def items(value: object, where: Where, what: str, most: int) -> list[tuple[Where, object]]:
    """One value or a list of them, each with its place.

    Args:
        what: what the items are, in the plural, for the error.
        most: how many a list may have.

    Raises:
        CheckProblem: the list is empty or too long.
    """
    if not _is_list(value):
        return [(where, value)]
    if not 0 < len(value) <= most:
        raise CheckProblem(where, f"a list of 1 to {most} {what} is wanted here")
    return [((*where, index), item) for index, item in enumerate(value)]


def mapping(value: object, where: Where, example: str) -> dict[str, object]:
    """A mapping with texts as keys. Raises CheckProblem for anything else, and for an empty one."""
    if not _is_mapping(value) or not value or not all(isinstance(key, str) for key in value):
        raise CheckProblem(where, f"a mapping is wanted here, such as `{example}`")
    return dict(value)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_mapping(value: object) -> TypeGuard[dict[Any, Any]]:
    return isinstance(value, dict)
