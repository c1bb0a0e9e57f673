"""Findings for programs: a JSON array, described by `finding.schema.json` beside this module."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardlint.finding import Finding, Fix, Related, TextEdit


def render_json(findings: Iterable[Finding]) -> str:
    """An array with one object a finding, in ASCII, so that it survives every encoding of standard output."""
    return json.dumps([_finding(finding) for finding in findings], indent=2) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    span = finding.span
    return {
        "rule": finding.rule,
        "family": finding.family,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "evidence": {"kind": finding.evidence.kind, "references": list(finding.evidence.references)},
        "path": finding.path,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "message": finding.message,
        "help": finding.help,
        "key": finding.key,
        "related": [_related(place) for place in finding.related],
        "fix": None if finding.fix is None else _fix(finding.fix),
        "help_url": finding.help_url,
        "fingerprint": finding.fingerprint,
    }


def _related(place: Related) -> dict[str, Any]:
    return {"path": place.path, "line": place.line, "column": place.column, "message": place.message}


def _fix(fix: Fix) -> dict[str, Any]:
    edits = None if fix.edits is None else [_edit(edit) for edit in fix.edits]
    reason = {"reason": fix.reason} if fix.reason else {}
    path = {} if fix.path is None else {"path": fix.path}
    return {"safe": fix.safe, **reason, **path, "edits": edits}


def _edit(edit: TextEdit) -> dict[str, Any]:
    span = edit.span
    return {
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "text": edit.text,
    }
