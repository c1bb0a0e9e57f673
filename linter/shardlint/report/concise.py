"""One line a finding, for editors, grep and long lists."""

from __future__ import annotations

from shardlint.report.terminal import escaped, line_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardlint.finding import Finding


def render_concise(findings: Iterable[Finding]) -> str:
    """`path:line:column: severity rule message`; line breaks of the message are folded into spaces."""
    return "".join([f"{_line(finding)}\n" for finding in findings])


def _line(finding: Finding) -> str:
    message = " ".join([part.strip() for part in finding.message.splitlines() if part.strip()])
    place = f"{line_start(finding.path)}:{finding.span.line}:{finding.span.column}"
    return f"{place}: {finding.severity} {finding.rule} {escaped(message)}"
