"""A constraint at work: what it says of one file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from shardlint.finding import Evidence, Finding, Fix, Related
from shardlint.knowledge.checks import code_check, config_check
from shardlint.knowledge.constraint import Constraint
from shardlint.not_judged import NotJudged
from shardlint.voice import Voice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shardlint.analysis import Analysis
    from shardlint.configs.document import Document
    from shardlint.facts.module import Module
    from shardlint.loading import Row

_METAVARIABLE = re.compile(r"\$(?:\.\.\.)?([A-Z_][A-Z0-9_]*)")


class AtWork:
    """A constraint with its voice."""

    def __init__(self, constraint: Constraint, voice: Voice) -> None:
        self.constraint = constraint
        self.voice = voice

    def judge(self, subject: Any, analysis: Analysis) -> Iterator[Finding | NotJudged]:
        """The findings in a file, and the places of which it cannot tell."""
        raise NotImplementedError


def made(row: Row) -> AtWork:
    """The constraint of a row."""
    constraint = Constraint(*row["constraint"])
    fix = None if row["fix"] is None else Fix(*row["fix"])
    kind, references = row["evidence"]
    evidence = Evidence(kind, tuple(references))
    voice = Voice(row["name"], row["family"], row["severity"], evidence, row["confidence"], fix)
    if constraint.kind == "config":
        return ConfigConstraint(constraint, voice)
    return CodeConstraint(constraint, voice)


def place_of(constraint: Constraint) -> Related:
    """Where a constraint is stated, for its findings."""
    return Related(constraint.file, constraint.line, 1, f"{constraint.name}: {constraint.title}")


class CodeConstraint(AtWork):
    """A constraint on code: a pattern, or something forbidden."""

    def __init__(self, constraint: Constraint, voice: Voice) -> None:
        super().__init__(constraint, voice)
        self.check = code_check(constraint)

    def judge(self, subject: Module, analysis: Analysis) -> Iterator[Finding | NotJudged]:
        for found in self.check.matches(subject):
            if isinstance(found, NotJudged):
                yield found
                continue
            finding = self.voice.finding(
                subject.path,
                found.span,
                _filled(self.constraint.message or self.constraint.title, found.bindings),
                help=_filled(self.constraint.help, found.bindings),
                related=(place_of(self.constraint),),
                certainty=found.certainty,
                scope=subject.qualified(subject.function(found.node)),
                line="".join(subject.lines[found.span.line - 1 : found.span.line]),
            )
            if analysis.edits and finding.fix is not None:
                edits = self.check.edits(subject, found)
                finding = finding.replace(fix=Fix(finding.fix.safe, finding.fix.reason, edits) if edits else None)
            yield finding


class ConfigConstraint(AtWork):
    """A constraint on config files."""

    def __init__(self, constraint: Constraint, voice: Voice) -> None:
        super().__init__(constraint, voice)
        self.check = config_check(constraint)

    def judge(self, subject: Document, analysis: Analysis) -> Iterator[Finding | NotJudged]:
        lines = subject.text.split("\n")
        for found in self.check.judge(subject, world=analysis.world, environment=analysis.environment):
            if isinstance(found, NotJudged):
                yield found
                continue
            yield self.voice.finding(
                subject.path,
                found.span,
                found.message,
                help=found.help,
                related=(place_of(self.constraint),),
                scope=found.key,
                line=lines[found.span.line - 1] if found.span.line <= len(lines) else "",
                key=found.key or None,
            )

    def breaks(self, values: Mapping[str, Any]) -> bool:
        """Whether a document, given as a plain mapping, breaks the constraint."""
        return any(not isinstance(found, NotJudged) for found in self.check.judge_plain(values))


def _filled(text: str, bindings: Mapping[str, str]) -> str:
    """A message with what the metavariables stand for."""
    return _METAVARIABLE.sub(lambda found: bindings.get(found[1], found[0]), text)
