"""The change rules over two states of the repository."""

from __future__ import annotations

from shardlint.changes.git import same_text
from shardlint.changes.states import change_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shardlint.analysis import Analysis
    from shardlint.changes.generated_file import Declared
    from shardlint.changes.git import Git
    from shardlint.changes.states import ChangeSet, FileChange
    from shardlint.finding import Finding
    from shardlint.loading import Row


def run_changes(
    rows: list[Row],
    git: Git,
    analysis: Callable[[], Analysis],
    generated: Sequence[Declared],
    staged: bool,
    base: str | None,
    environ: Mapping[str, str],
    linted: Callable[[str], bytes | None],
) -> list[Finding]:
    """The findings of all change rules. A run without changes imports no rule.

    Args:
        rows: the change rules that are on.
        analysis: makes the analysis, which holds the rules; called only if something changed.
        generated: the settings of that name.
        staged, base, environ: which two states are compared, see `change_set`.
        linted: the content of a file that a fix would be written to; None if it may not be written.

    Raises:
        GitFailed: the states cannot be read.
    """
    changes = change_set(git, staged=staged, base=base, environ=environ)
    concerned = [row for row in rows if any(_concerns(row, file, changes, generated) for file in changes.changes)]
    if not concerned:
        return []
    findings = judge_changes(concerned, analysis(), changes, generated)
    return [finding if _writable(finding, changes, linted) else finding.replace(fix=None) for finding in findings]


def _writable(finding: Finding, changes: ChangeSet, linted: Callable[[str], bytes | None]) -> bool:
    """Whether the file of a fix has the content on disk that its edits were made for, but for line ends."""
    if finding.fix is None:
        return True
    path = finding.fix.path or finding.path
    wanted, present = changes.read_after(path), linted(path)
    return wanted is not None and present is not None and same_text(wanted, present)


def _concerns(row: Row, file: FileChange, changes: ChangeSet, generated: Sequence[Declared]) -> bool:
    """Whether a rule can fire on a changed file, told without the rule: most commits import none."""
    if not file.path.endswith(row["suffixes"] or ("",)):
        return False
    if not row["generated"]:
        return True
    from shardlint.changes.generated_file import declaration, generated_file

    return generated_file(file, changes, declaration(file.path, generated)) is not None


def judge_changes(
    rows: list[Row], analysis: Analysis, changes: ChangeSet, generated: Sequence[Declared] = ()
) -> list[Finding]:
    """The findings of all change rules on one change set."""
    from shardlint.changes.site import Change
    from shardlint.query import ChangedFiles
    from shardlint.rule import ChangeRule

    findings: list[Finding] = []
    for row in rows:
        rule = analysis.rule(row)
        assert isinstance(rule, ChangeRule)
        suspects = rule.suspects
        assert isinstance(suspects, ChangedFiles)
        for file in changes.changes:
            if not file.path.endswith(suspects.suffixes or ("",)):
                continue
            change = Change(file, changes, rule.voice, generated)
            try:
                if not suspects.generated or change.generated is not None:
                    findings += rule.judge(change)
            except Exception:
                analysis.crashed(row, file.path)
    return sorted(findings)
