"""Conditions on a value that differs between ranks: where the two answers lead to different collectives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shardlint.facts.derivation import Derivation, derivation
from shardlint.facts.site import Expression, file_calls
from shardlint.query import Call, Query

_ONE_RANK = re.compile(r"rank|main|master|zero|first|leader|root|dst|owner|coordinator", re.IGNORECASE)
_JUMPS = (ast.Break, ast.Continue, ast.Return)
"""Ways on which a rank goes on elsewhere. One that raises ends the job, which is what its author wants."""


def partings(value: Derivation, *, together: Query, shared: Query, helpers: int = 1) -> Iterator[Expression]:
    """The conditions on a value that part the ranks, in its function or in those that the function returns it to.

    A condition parts them where a jump, or a call of `together`, stands under it, and such a call can follow. Under a
    test that speaks of one rank nothing is told.

    Args:
        value: a value that is another one on each rank.
        together: calls that the ranks make together.
        shared: calls after which all ranks have the same value.
        helpers: how many calls of functions of the same file the value is followed through when it is returned.
    """
    for test in value.tests:
        if not on_one_rank(test) and _parts(test, value, together):
            yield test
    if helpers and any(not on_one_rank(given) for given in value.returned):
        for call in file_calls(value.start, Call(f"{value.module.dotted}.{value.function.name}")):
            further = derivation(call, None, call.function.calls(shared))
            yield from partings(further, together=together, shared=shared, helpers=helpers - 1)


def on_one_rank(place: Expression) -> bool:
    """Whether a place, or a condition around or before it, speaks of one rank."""
    tests = [place.text, *(place.module.source(guard.test) for guard in place.guards if guard.test)]
    return any(_ONE_RANK.search(test) for test in tests)


def _parts(test: Expression, value: Derivation, together: Query) -> bool:
    branch = test.module.statement(test.ast)
    follow = [call for call in value.function.calls(together) if value.function.flow.reaches(branch, call.ast)]
    inside = set(ast.walk(branch))
    leaves = isinstance(branch, ast.While) or any(isinstance(node, _JUMPS) for node in inside)
    return bool(follow) and (leaves or any(call.ast in inside for call in follow))


__all__ = ["on_one_rank", "partings"]
