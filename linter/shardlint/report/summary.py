"""The closing line of a run: what was found, what was checked, and what could not be judged."""

from __future__ import annotations

from shardlint.report.terminal import escaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shardlint.finding import Finding

_NAMED = 3
"""How many configs that nothing recognised are named before the rest is counted."""


class Summary:
    """The counts of one run.

    `fixable` counts findings with a safe fix, `unsafe` those whose fix needs `--unsafe-fixes`.
    """

    __slots__ = (
        "configs",
        "counts",
        "files",
        "files_with_findings",
        "fixable",
        "not_judged_configs",
        "not_judged_functions",
        "not_recognised",
        "too_unsure",
        "unsafe",
    )
    files: int
    configs: int
    not_recognised: tuple[str, ...]
    not_judged_functions: int
    not_judged_configs: int
    files_with_findings: int
    counts: dict[str, int]
    fixable: int
    unsafe: int
    too_unsure: int

    def __init__(
        self,
        findings: Iterable[Finding] = (),
        *,
        files: int = 0,
        configs: int = 0,
        not_recognised: Sequence[str] = (),
        not_judged_functions: int = 0,
        not_judged_configs: int = 0,
        too_unsure: int = 0,
    ) -> None:
        """Count `findings`.

        Args:
            findings: those that are printed.
            files: Python files that were checked.
            configs: config files that were checked.
            not_recognised: paths of the config files that no rule or contract claims.
            not_judged_functions: functions in which a rule met something it does not know.
            not_judged_configs: config files of which a rule met something it does not know.
            too_unsure: findings whose confidence is too low to be printed.
        """
        self.too_unsure = too_unsure
        self.files, self.configs = files, configs
        self.not_recognised = tuple(not_recognised)
        self.not_judged_functions, self.not_judged_configs = not_judged_functions, not_judged_configs
        self.counts = {"error": 0, "warning": 0, "note": 0}
        self.fixable = self.unsafe = 0
        paths: set[str] = set()
        for finding in findings:
            paths.add(finding.path)
            self.counts[finding.severity] += 1
            if finding.fix is not None:
                self.fixable += finding.fix.safe
                self.unsafe += not finding.fix.safe
        self.files_with_findings = len(paths)

    def line(self) -> str:
        """One line without a newline at its end; parts that count nothing are left out."""
        rest = [self._checked(), self._too_unsure(), self._not_judged(), self._not_recognised()]
        return f"{self._found()} {'; '.join(part for part in rest if part)}"

    def _found(self) -> str:
        if not self.files_with_findings:
            return "no findings."
        parts = [_number(count, severity) for severity, count in self.counts.items() if count]
        if self.fixable:
            parts.append(f"{self.fixable} fixable")
        if self.unsafe:
            more = "more" if self.fixable else "fixable"
            parts.append(f"{self.unsafe} {more} with --unsafe-fixes")
        return f"{_number(self.files_with_findings, 'file')} with findings: {', '.join(parts)}."

    def _checked(self) -> str:
        parts = _numbers(self.files, "file", self.configs, "config")
        return f"{parts} checked" if parts else "no file was checked"

    def _too_unsure(self) -> str:
        return f"{self.too_unsure} less sure not shown (--min-confidence 0)" if self.too_unsure else ""

    def _not_judged(self) -> str:
        parts = _numbers(self.not_judged_functions, "function", self.not_judged_configs, "config")
        return f"not judged: {parts} (--show-unknown)" if parts else ""

    def _not_recognised(self) -> str:
        paths = self.not_recognised
        if not paths:
            return ""
        named = ", ".join(escaped(path) for path in paths[:_NAMED])
        more = f" and {len(paths) - _NAMED} more (--show-unknown)" if len(paths) > _NAMED else ""
        return f"{_number(len(paths), 'config')} not recognised: {named}{more}"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _numbers(first: int, noun: str, second: int, other: str) -> str:
    return ", ".join(_number(count, name) for count, name in ((first, noun), (second, other)) if count)
