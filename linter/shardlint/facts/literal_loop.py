"""Loops over literals, whose rounds can be read one by one."""

from __future__ import annotations

import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def names_of(target: ast.expr) -> Iterator[str]:
    """The names that a target binds."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from names_of(part)
    elif isinstance(target, ast.Starred):
        yield from names_of(target.value)


def literal_rounds(target: ast.expr, iterable: ast.expr) -> list[dict[str, str]] | None:
    """For ``for name in ("q", "k")``: the strings bound in each round; None unless every round is literal.

    At most 64 rounds, so that a long table of names costs no more than a loop.
    """
    if (
        isinstance(iterable, ast.Call)
        and isinstance(iterable.func, ast.Attribute)
        and iterable.func.attr in ("items", "keys")
    ):
        iterable = iterable.func.value
    if isinstance(iterable, ast.Dict):
        elements: list[ast.expr] = [key for key in iterable.keys if key is not None]
        target = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
    elif isinstance(iterable, (ast.Tuple, ast.List, ast.Set)):
        elements = iterable.elts
    else:
        return None
    if not 0 < len(elements) <= 64:
        return None
    rounds: list[dict[str, str]] = []
    for element in elements:
        bound: dict[str, str] = {}
        pairs = [(target, element)]
        if isinstance(target, ast.Tuple) and isinstance(element, (ast.Tuple, ast.List)):
            pairs = list(zip(target.elts, element.elts, strict=False))
        for name, value in pairs:
            if isinstance(name, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, (str, int)):
                bound[name.id] = str(value.value)
        if not bound:
            return None
        rounds.append(bound)
    return rounds
