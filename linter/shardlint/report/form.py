"""Findings in the form that was asked for. Each form is imported when it is used: start-up pays for one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TextIO

    from shardlint.finding import Finding
    from shardlint.report.summary import Summary


def in_form(
    form: str | None,
    findings: list[Finding],
    sources: Callable[[str], str | None],
    summary: Summary,
    *,
    terminal: TextIO | None,
    environ: Mapping[str, str],
) -> str:
    """The findings as text.

    Args:
        form: text, concise, json or github; None for text.
        sources: gives the text of a path, or None if it cannot be read.
        terminal: where the text goes; None where it goes to a file, which gets no colours.
    """
    if form == "json":
        from shardlint.report.json_format import render_json

        return render_json(findings)
    if form == "github":
        from shardlint.report.github import render_github

        return render_github(findings)
    if form == "concise":
        from shardlint.report.concise import render_concise

        return render_concise(findings) + summary.line() + "\n"
    from shardlint.report.text import render_text, wants_colour

    coloured = terminal is not None and wants_colour(terminal, environ)
    return render_text(findings, sources, colour=coloured, summary=summary)
