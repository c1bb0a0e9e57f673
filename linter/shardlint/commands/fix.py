"""`check --fix` and `check --diff`: the fixes of a run, written or shown."""

from __future__ import annotations

from shardlint.arguments import Parsed
from shardlint.errors import FixRefused
from shardlint.finding import Finding, Fix
from shardlint.fixes import FixResult, plan_fixes, unified_diff, write_fixes
from shardlint.report.terminal import escaped
from shardlint.request import Outcome
from shardlint.session import Session


class Fixed:
    """What became of the fixes: the findings that `remain`, the `diff`, a `note` for the user, the files `written`."""

    __slots__ = ("diff", "note", "remain", "written")

    def __init__(self, remain: list[Finding], diff: str, note: str, written: list[str]) -> None:
        self.remain = remain
        self.diff = diff
        self.note = note
        self.written = written


def apply_fixes(session: Session, outcome: Outcome, findings: list[Finding], parsed: Parsed) -> Fixed:
    """Write the fixes of `findings`, or under `--diff` only show them: safe ones, and unsafe ones if asked for.

    A file that may not be changed keeps its findings, and the note says why. The edits of a finding lie in one file,
    its own or another, so they are made together or not at all.
    """
    by_path: dict[str, list[Fix]] = {}
    for finding in findings:
        fix = finding.fix
        if fix is not None and fix.edits and (fix.safe or parsed.flag("unsafe-fixes")):
            by_path.setdefault(fix.path or finding.path, []).append(fix)
    make = plan_fixes if parsed.flag("diff") else write_fixes
    refuse = _refused(session, outcome, list(by_path), parsed)
    results: list[FixResult] = []
    refusals: list[str] = []
    for path, fixes in sorted(by_path.items()):
        try:
            results.append(make(session.root, path, fixes, outcome.hashes.get(path, b""), refuse=refuse))
        except FixRefused as refusal:
            refusals.append(f"{escaped(str(refusal))}\n")
    done = {id(fix) for result in results for fix in result.applied}
    remain = [finding for finding in findings if finding.fix is None or id(finding.fix) not in done]
    changed = [result for result in results if result.after != result.before]
    diff = "".join(unified_diff(result.path, result.before, result.after) for result in changed)
    if parsed.flag("diff"):
        return Fixed(remain, diff, "".join(refusals), [])
    written = [result.path for result in changed]
    count = sum(len(result.applied) for result in changed)
    note = (
        _note(count, written, staged=parsed.flag("staged") or _of_index(session, findings, done, parsed))
        if count
        else ""
    )
    return Fixed(remain, diff, note + "".join(refusals), written)


def _refused(session: Session, outcome: Outcome, paths: list[str], parsed: Parsed) -> dict[str, str]:
    """The paths that may not be changed, each with the reason."""
    refuse = dict.fromkeys(outcome.generated, "it is generated, so the next generation would undo the fix")
    if parsed.flag("staged") and paths:
        from shardlint.changes.git import Git

        git = Git.at(session.root)
        unstaged = git.unstaged(paths) if git is not None else set[str]()
        refuse.update(dict.fromkeys(unstaged, "it has changes that are not staged: stage or stash them first"))
    return refuse


def _of_index(session: Session, findings: list[Finding], done: set[int], parsed: Parsed) -> bool:
    """Whether one of the fixed findings speaks of the index, where a fix is seen only once it is staged."""
    changes = {row["name"] for row in session.rows if row["kind"] == "change"}
    fixed = any(id(finding.fix) in done and finding.rule in changes for finding in findings)
    return fixed and parsed.one("base") is None


def _note(count: int, written: list[str], *, staged: bool) -> str:
    findings = "1 finding" if count == 1 else f"{count} findings"
    files = "1 file" if len(written) == 1 else f"{len(written)} files"
    names = " ".join(escaped(path) for path in written)
    stage = f"; they are not staged yet, so what follows is still so in the commit: git add {names}" if staged else ""
    return f"fixed {findings} in {files}{stage}\n"
