"""A rule's voice: what it is called and how sure it may be. Every finding of a rule is made here, so that name, family,
severity, evidence, confidence and fingerprint are the same for all kinds of rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardlint.finding import Evidence, Finding, Fix, Related, Span
from shardlint.fingerprint import fingerprint

if TYPE_CHECKING:
    from shardlint.finding import Severity

CEILINGS = {"inference": 0.70, "research": 0.85, "observation": 0.95}
"""The most that each kind of evidence for the mechanism can justify."""

UNPROVED = 0.8
"""The share of the ceiling that a rule may claim before its precision has been measured on real code."""


class Voice:
    """Who speaks. `confidence` is the rule's ceiling already lowered by its measured precision."""

    def __init__(
        self,
        rule: str,
        family: str,
        severity: Severity,
        evidence: Evidence,
        confidence: float,
        fix: Fix | None = None,
    ) -> None:
        self.rule = rule
        self.family = family
        self.severity: Severity = severity
        self.evidence = evidence
        self.confidence = confidence
        self.fix = fix

    def finding(
        self,
        path: str,
        span: Span,
        message: str,
        *,
        help: str,
        related: tuple[Related, ...] = (),
        certainty: float = 1.0,
        scope: str = "",
        line: str = "",
        key: str | None = None,
        fixable: bool = True,
    ) -> Finding:
        """A finding of this rule.

        Args:
            path: the file, relative to the project root.
            certainty: of the match: 1.0 names resolved, 0.8 inferred, 0.6 by name only.
            scope: the qualified function or the config pointer around it, and
            line: the text of its first line, which together name the finding across edits.
            key: the config key path, for findings in documents.
            fixable: whether the rule's fix applies here.
        """
        return Finding(
            path=path,
            span=span,
            rule=self.rule,
            family=self.family,
            severity=self.severity,
            confidence=round(min(self.confidence, certainty), 2),
            evidence=self.evidence,
            message=message,
            help=help,
            key=key,
            related=related,
            fix=self.fix if fixable else None,
            help_url=self.evidence.references[0] if self.evidence.references else "",
            fingerprint=fingerprint(self.rule, scope, line),
        )
