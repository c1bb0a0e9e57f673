"""From what rules said to what is shown: severities, ignored paths, suppressions, and the state of suppressions."""

from __future__ import annotations

from shardlint.finding import Finding, Related
from shardlint.selection import UNREAD, known_names
from shardlint.suppress import Suppressions, settings_hide, unknown_findings, unpack_suppressions, unused_findings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardlint.knowledge.rows import Enforced
    from shardlint.loading import Row
    from shardlint.record import Record
    from shardlint.settings import Settings


class Filters:
    """The filters of one run. `rows`: rules that are on; `every`: all rules; `engine`: the engine's own that are on."""

    def __init__(self, settings: Settings, rows: list[Row], every: list[Row], engine: frozenset[str]) -> None:
        self.settings = settings
        self.engine = engine
        self.enforced: dict[str, tuple[Enforced, ...]] = {
            row["name"]: row["enforces"] for row in rows if row["enforces"]
        }
        self.known = known_names(every)
        # A comment is idle only if all that it names was judged here; change and plan rules judge other states.
        judged = {row["name"] for row in rows if row["kind"] not in ("change", "plan")}
        partly = {row["family"] for row in every if row["name"] not in judged}
        self.active = frozenset(judged | {row["family"] for row in every} - partly)

    def apply(self, findings: Iterable[Finding], records: dict[str, Record], reported: set[str]) -> list[Finding]:
        """The findings to show. Comments are read from the record of each finding's file."""
        comments = {
            path: unpack_suppressions(records[path].suppressions) for path in reported if records[path].suppressions
        }
        said = list(findings)
        kept = [finding for finding in said if not self._hidden(finding, comments, records)]
        # No rule has looked at a file that cannot be read, so nothing is known of what its comments hide.
        unread = {finding.path for finding in said if finding.rule in UNREAD}
        # Comments of other files were read to hide what lies there; whether they are idle was not looked at.
        for path in sorted(reported & comments.keys()):
            suppressions = comments[path]
            if "unused-suppression" in self.engine and path not in unread:
                kept += unused_findings(path, suppressions, self.active)
            if "unknown-suppression" in self.engine:
                kept += unknown_findings(path, suppressions, self.known)
        return [self._graded(finding) for finding in kept]

    def _hidden(self, finding: Finding, comments: dict[str, Suppressions], records: dict[str, Record]) -> bool:
        if finding.family == "engine" and finding.rule not in self.engine:
            return True
        for _, regexes, names in self.settings.per_file_ignores:
            if (finding.rule in names or finding.family in names or "ALL" in names) and _matches(regexes, finding.path):
                return True
        if self.settings.suppress and settings_hide(finding, self.settings.suppress) is not None:
            return True
        if finding.path not in comments and finding.path in records and records[finding.path].suppressions:
            comments[finding.path] = unpack_suppressions(records[finding.path].suppressions)
        return finding.path in comments and comments[finding.path].hides(finding)

    def _graded(self, finding: Finding) -> Finding:
        severity = self.settings.severity.get(finding.rule)
        for (inside, outside), stated, _, name, title, path, line in self.enforced.get(finding.rule, ()):
            if (not inside or _matches(inside, finding.path)) and not _matches(outside, finding.path):
                severity = severity or stated
                place = Related(path, line, 1, f"{name}: {title}")
                finding = finding.replace(related=(*finding.related, place))
        return finding if not severity or severity == finding.severity else finding.replace(severity=severity)


def _matches(regexes: tuple[tuple[bool, str], ...], path: str) -> bool:
    from shardlint.discover import matcher

    return matcher(regexes)(path)
