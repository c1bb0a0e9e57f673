"""A constraint at work: what it says of one file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shardlint.finding import Evidence, Finding, Fix, Related
from shardlint.knowledge.checks import code_check, config_check
from shardlint.knowledge.constraint import Constraint
from shardlint.not_judged import NotJudged
from shardlint.rule import Rule
from shardlint.voice import Voice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shardlint.configs.document import Document
    from shardlint.environment import Environment
    from shardlint.facts.module import Module
    from shardlint.loading import Row
    from shardlint.rule import Judgements

_METAVARIABLE = re.compile(r"\$(?:\.\.\.)?([A-Z][A-Z0-9_]*)")


def made(row: Row) -> CodeConstraint | ConfigConstraint:
    """The constraint of a row, with its voice."""
    constraint = Constraint(*row["constraint"])
    fix = None if row["fix"] is None else Fix(*row["fix"])
    kind, references = row["evidence"]
    evidence = Evidence(kind, tuple(references))
    voice = Voice(row["name"], row["family"], row["severity"], evidence, row["confidence"], fix)
    if constraint.kind == "config":
        return ConfigConstraint(constraint, voice)
    return CodeConstraint(constraint, voice)


class CodeConstraint(Rule):
    """A constraint on code: a pattern, or something forbidden."""

    kind = "local"

    def __init__(self, constraint: Constraint, voice: Voice) -> None:
        super().__init__(voice)
        self.constraint = constraint
        self.check = code_check(constraint)

    def judge(self, module: Module, *, edits: bool = False) -> Judgements:
        """The findings in a file, with the edits of their fixes if these are asked for."""
        for found in self.check.matches(module):
            if isinstance(found, NotJudged):
                yield found
                continue
            finding = self.voice.finding(
                module.path,
                found.span,
                _filled(self.constraint.message or self.constraint.title, found.bindings),
                help=_filled(self.constraint.help, found.bindings),
                related=(place_of(self.constraint),),
                certainty=found.certainty,
                scope=module.qualified(module.function(found.node)),
                line="".join(module.lines[found.span.line - 1 : found.span.line]),
            )
            if edits and finding.fix is not None:
                written = self.check.edits(module, found)
                finding = finding.replace(fix=Fix(finding.fix.safe, finding.fix.reason, written) if written else None)
            yield finding


class ConfigConstraint(Rule):
    """A constraint on config files."""

    kind = "config"

    def __init__(self, constraint: Constraint, voice: Voice) -> None:
        super().__init__(voice)
        self.constraint = constraint
        self.check = config_check(constraint)
