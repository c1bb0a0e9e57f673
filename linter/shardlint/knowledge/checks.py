"""What a constraint checks, compiled from what its block says."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from shardlint.knowledge.problem import CheckProblem

if TYPE_CHECKING:
    from shardlint.knowledge.config_check import ConfigCheck
    from shardlint.knowledge.constraint import Constraint
    from shardlint.syntax.patterns import Forbidden, Pattern

    Check = ConfigCheck | Pattern | Forbidden | None


def compiled(constraint: Constraint) -> Check:
    """The check of a constraint; None where one of the linter's own rules does the work.

    Raises CheckProblem for a check that cannot be taken as it is written.
    """
    try:
        return _compiled(constraint)
    except CheckProblem as problem:
        if problem.where[:1] in ((constraint.kind,), ("message",), ("help",)):
            raise
        raise CheckProblem((constraint.kind, *problem.where), str(problem)) from None
