"""The `check` command: a run, the fixes that were asked for, the baseline, the report and the exit code."""

from __future__ import annotations

import os

from shardlint.arguments import Parsed
from shardlint.engine import files, run
from shardlint.errors import UsageError
from shardlint.finding import Finding, any_at_least
from shardlint.report.summary import Summary
from shardlint.request import Outcome, Request
from shardlint.selection import Choice
from shardlint.session import Session, open_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO


def check(parsed: Parsed, out: TextIO, err: TextIO, environ: Mapping[str, str]) -> int:
    """Run `shardlint check` and give its exit code."""
    session = open_session(os.getcwd(), environ)
    if parsed.flag("show-settings"):
        from shardlint.commands.settings_view import shown_settings

        out.write(shown_settings(session, _choice(parsed)))
        return 0
    if parsed.one("why") is not None:
        from shardlint.commands.why import why

        out.write(why(session, parsed.one("why") or "", _choice(parsed), environ))
        return 0
    request = _request(parsed, environ)
    if parsed.flag("show-files"):
        from shardlint.report.terminal import escaped

        out.write("".join(f"{escaped(file[0])}\n" for file in files(session, request).files))
        return 0
    return _Report(parsed, session, run(session, request), out, err, environ).finish()


def _request(parsed: Parsed, environ: Mapping[str, str]) -> Request:
    edits = parsed.flag("fix") or parsed.flag("diff") or parsed.one("output-format") == "json"
    return Request(
        parsed.operands,
        choice=_choice(parsed),
        environ=environ,
        edits=edits,
        use_cache=not parsed.flag("no-cache"),
        staged=parsed.flag("staged"),
        base=parsed.one("base"),
        jobs=_jobs(parsed),
        timings=parsed.flag("timings"),
    )


def _choice(parsed: Parsed) -> Choice:
    return Choice(parsed.many("select"), parsed.many("ignore") or (), parsed.many("extend-select") or ())


def _jobs(parsed: Parsed) -> int:
    given = parsed.one("jobs")
    if parsed.flag("timings"):
        return 1  # times of processes side by side would not add up
    if given is None:
        return os.cpu_count() or 1
    if not given.isdigit() or int(given) < 1:
        raise UsageError(f"`--jobs` takes a number of processes, 1 or more, not `{given}`")
    return int(given)


class _Report:
    """What is done with the findings of a run."""

    def __init__(
        self, parsed: Parsed, session: Session, outcome: Outcome, out: TextIO, err: TextIO, environ: Mapping[str, str]
    ) -> None:
        self.parsed = parsed
        self.session = session
        self.outcome = outcome
        self.out = out
        self.err = err
        self.environ = environ

    def finish(self) -> int:
        if self.parsed.flag("diff"):
            return self._diff()
        findings, note = self._findings()
        if self.parsed.flag("fix"):
            findings, note = self._fix(findings, note)
        self.err.write(note)
        self._write(findings)
        self._complain()
        if self.parsed.flag("timings"):
            from shardlint.commands.timings import shown_timings

            self.err.write(shown_timings(self.outcome))
        return self._code(findings)

    def _findings(self) -> tuple[list[Finding], str]:
        """What is to be reported, and a note about the baseline."""
        least = self._least_confidence()
        findings = [finding for finding in self.outcome.findings if finding.confidence >= least]
        if self.parsed.flag("show-unknown"):
            from shardlint.commands.unknown import not_checked

            findings = sorted([*findings, *not_checked(self.outcome)])
        return self._without_baseline(findings)

    def _fix(self, findings: list[Finding], note: str) -> tuple[list[Finding], str]:
        """Write the fixes, and look again at what was changed, because lines have moved."""
        from shardlint.commands.fix import apply_fixes

        fixed = apply_fixes(self.session, self.outcome, findings, self.parsed)
        self.err.write(fixed.note)
        if not fixed.written:
            return findings, note
        crashes = self.outcome.crashes
        self.outcome = run(self.session, _request(self.parsed, self.environ))
        self.outcome.crashes = crashes or self.outcome.crashes
        return self._findings()

    def _diff(self) -> int:
        from shardlint.commands.fix import apply_fixes

        findings, note = self._findings()
        fixed = apply_fixes(self.session, self.outcome, findings, self.parsed)
        self.err.write(note + fixed.note)
        self.out.write(fixed.diff)
        self._complain()
        if self._failed():
            return 2
        return int(bool(fixed.diff) and not self.parsed.flag("exit-zero"))

    def _least_confidence(self) -> float:
        given = self.parsed.one("min-confidence")
        if given is None:
            return self.session.settings.min_confidence
        try:
            value = float(given)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise UsageError(f"`--min-confidence` takes a number from 0 to 1, not `{given}`")
        return value

    def _without_baseline(self, findings: list[Finding]) -> tuple[list[Finding], str]:
        target = self.parsed.one("write-baseline")
        named = self.parsed.one("baseline")
        inside = self.session.settings.baseline
        file = named or (os.path.join(self.session.root, inside) if inside else None)
        if target is None and file is None:
            return findings, ""
        from shardlint.commands.baseline import against_baseline, written_baseline

        if target is not None:
            return [], written_baseline(self.parsed, self.outcome, target, findings)
        assert file is not None
        return against_baseline(self.session, self.outcome, self.parsed, _choice(self.parsed), file, findings)

    def _write(self, findings: list[Finding]) -> None:
        target = self.parsed.one("output-file")
        text = self._text(findings, colour=target is None)
        if target is None:
            self.out.write(text)
            return
        from shardlint.atomic import replace_file

        try:
            replace_file(target, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise UsageError(f"`--output-file {target}` cannot be written: {error.strerror}") from None

    def _text(self, findings: list[Finding], *, colour: bool) -> str:
        summary = self._summary(findings)
        if self.parsed.flag("statistics"):
            from shardlint.report.statistics import render_statistics

            return render_statistics(findings) + summary.line() + "\n"
        from shardlint.report.form import in_form

        terminal = self.out if colour else None
        form = self.parsed.one("output-format")
        return in_form(form, findings, self._source, summary, terminal=terminal, environ=self.environ)

    def _summary(self, findings: list[Finding]) -> Summary:
        outcome, least = self.outcome, self._least_confidence()
        return Summary(
            findings,
            too_unsure=sum(finding.confidence < least for finding in outcome.findings),
            files=outcome.files,
            configs=outcome.configs,
            not_recognised=outcome.not_recognised,
            not_judged_functions=len({(path, name) for path, name, _, _ in outcome.not_judged if path.endswith(".py")}),
            not_judged_configs=len({path for path, _, _, _ in outcome.not_judged if not path.endswith(".py")}),
        )

    def _source(self, path: str) -> str | None:
        data = self.outcome.contents.get(path)
        try:
            if data is None:
                with open(os.path.join(self.session.root, path), "rb") as file:
                    data = file.read()
        except OSError:
            return None
        from shardlint.errors import UndecodableSource
        from shardlint.source import decode

        try:
            return decode(data).text
        except UndecodableSource:
            return data.decode("utf-8", "replace")

    def _complain(self) -> None:
        discovery = self.outcome.discovery
        assert discovery is not None
        if not self.outcome.crashes and not discovery.problems:
            return
        from shardlint.report.terminal import escaped

        for crash in self.outcome.crashes:
            self.err.write(
                f"shardlint: rule `{crash.rule}` failed on {escaped(crash.path)} ({escaped(crash.detail)}); its other "
                f"findings stand, this file was not judged by it\n"
            )
        for _, sentence in discovery.problems:
            self.err.write(f"shardlint: {escaped(sentence)}\n")

    def _failed(self) -> bool:
        """Whether something could not be checked as asked: a rule crashed, or a file in question cannot be read."""
        discovery = self.outcome.discovery
        assert discovery is not None
        asked = {file[0] for file in discovery.files}
        unread = [
            path for path, _ in discovery.problems if path in asked or not (self.parsed.operands or path == ".git")
        ]
        return bool(self.outcome.crashes or unread)

    def _code(self, findings: list[Finding]) -> int:
        if self._failed():
            return 2
        if self.parsed.flag("exit-zero"):
            return 0
        return int(any_at_least(findings, self.parsed.one("fail-on") or self.session.settings.fail_on))
