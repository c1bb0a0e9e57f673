"""The change rules over two states of the repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shardlint.analysis import Analysis
from shardlint.changes.git import Git
from shardlint.changes.site import Change
from shardlint.changes.states import ChangeSet, change_set
from shardlint.finding import Finding
from shardlint.query import ChangedFiles
from shardlint.registry import Row
from shardlint.rule import ChangeRule

Generated = tuple[tuple[tuple[str, ...], tuple[tuple[bool, str], ...], tuple[str, ...], str], ...]


def run_changes(
    rows: list[Row],
    git: Git,
    analysis: Callable[[], Analysis],
    generated: Generated,
    staged: bool,
    base: str | None,
    environ: Mapping[str, str],
) -> list[Finding]:
    """The findings of all change rules. A run without changes imports no rule."""
    changes = change_set(git, staged=staged, base=base, environ=environ)
    if not changes.changes:
        return []
    return judge_changes(rows, analysis(), changes, generated)


def judge_changes(rows: list[Row], analysis: Analysis, changes: ChangeSet, generated: Generated = ()) -> list[Finding]:
    """The findings of all change rules on one change set."""
    findings: list[Finding] = []
    for row in rows:
        rule = analysis.rule(row)
        assert isinstance(rule, ChangeRule)
        suspects = rule.suspects
        assert isinstance(suspects, ChangedFiles)
        for file in changes.changes:
            if not file.path.endswith(suspects.suffixes or ("",)):
                continue
            try:
                findings += rule.judge(Change(file, changes, rule.voice, generated))
            except Exception:
                analysis.crashed(row, file.path)
    return sorted(findings)
