"""Findings as annotations in GitHub Actions.

Syntax and escaping are those of the workflow commands
(https://docs.github.com/actions/reference/workflow-commands-for-github-actions) and of `command.ts` in
https://github.com/actions/toolkit.
"""

from __future__ import annotations

from shardlint.report.terminal import escaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardlint.finding import Finding

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render_github(findings: Iterable[Finding]) -> str:
    """One workflow command a finding, the gravest first: GitHub shows only the first ten of a kind in a step."""
    ranks = {severity: rank for rank, severity in enumerate(_COMMANDS)}
    ordered = sorted(findings, key=lambda finding: (ranks[finding.severity], finding.sort_key()))
    return "".join([f"{_command(finding)}\n" for finding in ordered])


def escape_data(text: str) -> str:
    """The message of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """The value of a property of a command."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def _command(finding: Finding) -> str:
    span = finding.span
    properties: dict[str, object] = {"file": finding.path, "line": span.line}
    # GitHub takes columns only for an annotation within one line.
    if span.line == span.end_line:
        properties |= {"col": span.column, "endLine": span.end_line, "endColumn": span.end_column}
    else:
        properties |= {"endLine": span.end_line}
    properties["title"] = f"shardlint {finding.rule}" + (f" ({finding.key})" if finding.key is not None else "")
    values = ",".join([f"{name}={escape_property(escaped(str(value)))}" for name, value in properties.items()])
    text = f"{finding.message}\nhelp: {finding.help}" if finding.help else finding.message
    message = "\n".join([escaped(line) for line in text.splitlines()])
    return f"::{_COMMANDS[finding.severity]} {values}::{escape_data(message)}"
