"""The names that hold the result of a call: in its own function, and where the function that returns it is called."""

from __future__ import annotations

import ast

from shardlint.facts.site import Expression, Site, file_calls
from shardlint.query import Call


def holders(made: Site) -> list[Expression]:
    """The targets that get the result of a call, at most one `return` away: `loader` of `x, loader = build()`.

    Args:
        made: the call; a result that is handed on as an argument or stored in a container is not followed.
    """
    found = list(made.targets)
    calls_of_owner = Call(f"{made.module.dotted}.{made.function.name}")
    for given in [made, *(read for target in made.targets for read in target.reads)]:
        out = given.module.statement(given.ast)
        if not isinstance(out, ast.Return):
            continue
        whole = out.value.elts if isinstance(out.value, ast.Tuple) else [out.value]
        place = next((number for number, part in enumerate(whole) if part is given.ast), None)
        for call in file_calls(made, calls_of_owner):
            found += [part for target in call.targets for part in _part(target, place, len(whole))]
    return found


def _part(target: Expression, place: int | None, count: int) -> list[Expression]:
    """The part of an assignment target that gets the returned value number `place` of `count`."""
    parts = target.ast.elts if isinstance(target.ast, ast.Tuple) else [target.ast]
    if place is None or len(parts) != count:
        return []
    return [Expression(target.module, parts[place], target.voice)]


__all__ = ["holders"]
