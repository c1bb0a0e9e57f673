"""Python patterns: code with metavariables that a constraint looks for, and what it forbids by name. See README.md."""

from shardlint.not_judged import NotJudged as Unjudged
from shardlint.syntax.patterns.forbidden import Forbidden
from shardlint.syntax.patterns.match import Match
from shardlint.syntax.patterns.pattern import Pattern

__all__ = ["Forbidden", "Match", "Pattern", "Unjudged"]
