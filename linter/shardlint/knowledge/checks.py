"""What a constraint checks, compiled from what its block says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardlint.knowledge.problem import CheckProblem

if TYPE_CHECKING:
    from shardlint.knowledge.config_check import ConfigCheck
    from shardlint.knowledge.constraint import Constraint
    from shardlint.syntax.patterns import Forbidden, Pattern

    CodeCheck = Pattern | Forbidden


def validate(constraint: Constraint) -> None:
    """Raise CheckProblem for a check that cannot be taken as it is written. `where` begins at the block."""
    try:
        if constraint.kind == "config":
            config_check(constraint)
        elif constraint.kind in ("pattern", "forbidden"):
            code_check(constraint)
    except CheckProblem as problem:
        if problem.where[:1] in (("message",), ("help",)):
            raise
        raise CheckProblem((constraint.kind, *problem.where), str(problem)) from None


def config_check(constraint: Constraint) -> ConfigCheck:
    """The check of a constraint on config files. Raises CheckProblem; `where` begins below the kind."""
    from shardlint.knowledge.config_check import ConfigCheck

    return ConfigCheck(constraint.check, message=constraint.message, help=constraint.help, title=constraint.title)


def code_check(constraint: Constraint) -> CodeCheck:
    """The check of a constraint on code. Raises CheckProblem; `where` begins below the kind."""
    from shardlint.syntax.patterns import Forbidden, Pattern

    return Pattern(constraint.check) if constraint.kind == "pattern" else Forbidden(constraint.check)
