"""Files -> findings. The stages of a run: find files, look at them, the whole program, changes, suppressions."""

from __future__ import annotations

import sys
import time

from shardlint import cache
from shardlint.errors import GitFailed, MissingContent
from shardlint.finding import Finding
from shardlint.project import Project
from shardlint.request import Outcome, Request
from shardlint.results import Results
from shardlint.selection import active_rows, engine_rules
from shardlint.session import Session
from shardlint.settings import OWN_FILE, SHARED_FILE
from shardlint.sieve import Sieve, Suspect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shardlint.analysis import Analysis
    from shardlint.discover import Discovery
    from shardlint.environment import Environment
    from shardlint.program_result import ProgramResult


def run(session: Session, request: Request) -> Outcome:
    """One run over a project.

    Raises a ShardlintError for what cannot be done as asked: an unknown rule, a missing path, a base without git.
    """
    return _Run(session, request).run()


def files(session: Session, request: Request) -> Discovery:
    """The files that a run would report on. Raises what `run` raises for paths and names of rules."""
    active_rows(session, request.choice)
    return Project(session, request).named


class _Run:
    def __init__(self, session: Session, request: Request) -> None:
        self.session = session
        self.request = request
        self.rows = active_rows(session, request.choice)
        self.outcome = Outcome()
        self._known: Environment | None = None
        self.mark = time.perf_counter()
        self.project = Project(session, request)
        self._stage("find files")
        names = ",".join(row["name"] for row in self.rows)
        state = session.digest + names.encode() + bytes([request.prefilter]) + self.project.packages()
        sieve = Sieve(self.rows, self._environment, prefilter=request.prefilter)
        self.results = Results(self.project, request, sieve, cache.digest(state).hex())
        self._stage("load results")
        self._made: Analysis | None = None

    def _stage(self, name: str) -> None:
        """Note the time since the stage before."""
        now = time.perf_counter()
        self.outcome.stages.append((name, now - self.mark))
        self.mark = now

    def run(self) -> Outcome:
        outcome, project, results = self.outcome, self.project, self.results
        results.update(self._analysis)
        self._stage("files")
        findings = [finding for path in sorted(project.reported) for finding in results.records[path].unpacked()]
        findings += self._concerned(self._program_findings())
        self._stage("program")
        findings += self._concerned(self._change_findings()) if self.request.paths else self._change_findings()
        self._stage("changes")
        self._count()
        outcome.findings = sorted(self._kept(findings))
        self._stage("suppressions")
        results.save({crash.path for crash in outcome.crashes})
        self._stage("save results")
        return outcome

    def _concerned(self, findings: list[Finding]) -> list[Finding]:
        """The findings that lie in a reported file, or that one of them causes."""
        reported = self.project.reported
        return [f for f in findings if f.path in reported or any(place.path in reported for place in f.related)]

    def _environment(self) -> Environment:
        if self._known is None:
            from shardlint.environment import Environment

            self._known = Environment.from_plain(self.session.environment)
        return self._known

    def _analysis(self) -> Analysis:
        """Made on first use: a run without suspects imports no rule and no fact."""
        if self._made is None:
            from shardlint.analysis import Analysis
            from shardlint.facts.project_words import ProjectWords

            project = self.project
            self._made = Analysis(
                self.rows,
                environment=self._environment(),
                edits=self.request.edits,
                timed=self.request.timings,
                project=ProjectWords(project.python, project.read, project.model_configs),
                collectives=self.session.settings.collectives,
                modality=self.session.settings.modality,
                launches=project.launches,
                world=self.session.settings.world,
            )
        return self._made

    def _program_findings(self) -> list[Finding]:
        if not any(row["kind"] == "program" for row in self.rows):
            return []
        roots = [path for path, record in self.results.records.items() if record.root]
        if not roots:
            return []
        result = self._program_result(roots)
        self.outcome.not_judged += [place for place in result.not_judged if place[0] in self.project.reported]
        return result.findings

    def _program_result(self, roots: list[str]) -> ProgramResult:
        from shardlint.program_result import ProgramResult

        results = self.results
        if results.program is not None:
            used: list[str] = results.program[1]
            if results.program[0] == self._program_key(roots, used):
                return ProgramResult.from_plain(results.program)
        from shardlint.program_run import run_program

        project, analysis = self.project, self._analysis()
        file = cache.path(self.request.environ, f"facts-{results.key[:12]}", project.root)
        facts = self._stored_facts(file)
        self._build_facts([path for path in roots if path not in facts and path not in analysis.facts])
        facts.update(analysis.facts)
        result, after = run_program(analysis, roots, project.python, facts, project.read, project.dotted)
        result.key = self._program_key(roots, result.used)
        results.dirty = True
        results.program = None if analysis.crashes else result.as_plain()
        if self.request.use_cache and not project.staged:
            kept = {path: (results.records[path].content, value) for path, value in after.items()}
            cache.save(file, {"key": results.key, "facts": kept})
        return result

    def _stored_facts(self, file: str) -> dict[str, Any]:
        """The facts of an earlier run for files that have not changed since."""
        stored = cache.load(file) if self.request.use_cache else None
        if stored is None or stored.get("key") != self.results.key:
            return {}
        records = self.results.records
        kept: dict[str, tuple[bytes, Any]] = stored["facts"]
        return {p: value for p, (content, value) in kept.items() if p in records and records[p].content == content}

    def _build_facts(self, paths: list[str]) -> None:
        """Facts lie in a file of their own, which can be lost while the results are still there."""
        analysis = self._analysis()
        for path in paths:
            suspect = self.results.sieve.sift(path, "python", self.results.records[path].stamp, self.project.read(path))
            if isinstance(suspect, Suspect):
                analysis.look(suspect, self.project.dotted(path))

    def _program_key(self, roots: list[str], used: list[str]) -> bytes:
        """Program results hold as long as the files where they start and the files they asked for stay the same."""
        parts = [self.project.layout()]
        for path in sorted({*roots, *used}):
            record = self.results.records.get(path)
            parts.append(path.encode("utf-8", "surrogateescape") + b"\0" + (record.content if record else b"gone"))
        return cache.digest(b"\n".join(parts))

    def _change_findings(self) -> list[Finding]:
        git, request = self.project.git, self.request
        if git is None:
            if request.base is not None:
                raise GitFailed("`--base` needs a git repository, and there is none here: leave it out")
            return []
        rows = [row for row in self.rows if row["kind"] == "change"]
        if not rows:
            return []
        from shardlint.change_run import run_changes

        generated = self.session.settings.generated
        try:
            return run_changes(
                rows, git, self._analysis, generated, request.staged, request.base, request.environ, self._linted
            )
        except MissingContent as error:
            if request.staged or request.base is not None or request.environ.get("PRE_COMMIT_FROM_REF"):
                raise
            # Nobody asked for changes in so many words, and the files themselves can be judged.
            self.results.problems.append((".git", f"changes were not judged: {error}"))
            return []

    def _linted(self, path: str) -> bytes | None:
        """The content of a file of the project as this run judges it; None if it has none."""
        try:
            return self.project.read(path) if path in self.project.files else None
        except OSError:
            return None

    def _count(self) -> None:
        outcome, project, results = self.outcome, self.project, self.results
        outcome.discovery = project.named
        outcome.discovery.problems += results.problems
        outcome.contents = {path: data for path, data in project.staged.items() if data is not None}
        outcome.total_bytes = results.read_bytes
        for path in project.reported:
            kind, record = project.files[path][1], results.records[path]
            if kind == "python":
                outcome.files += 1
            elif record.claimed:
                outcome.configs += 1
            elif kind != "shell" and self.request.paths and path.rpartition("/")[2] not in (OWN_FILE, SHARED_FILE):
                outcome.not_recognised.append(path)
            outcome.not_judged += [(path, *place) for place in record.not_judged]
        outcome.not_recognised.sort()
        outcome.generated = {path for path, record in results.records.items() if record.generated}
        if self.request.edits:
            outcome.hashes = {path: record.content for path, record in results.records.items()}
        nodes = sys.modules.get("shardlint.syntax.nodes")
        outcome.parsed = 0 if nodes is None else nodes.parsed_bytes
        if self._made is not None:
            outcome.crashes = self._made.crashes
            outcome.seconds = self._made.seconds

    def _kept(self, findings: list[Finding]) -> list[Finding]:
        """Apply severities, path ignores and suppressions; report suppressions that are idle or unknown."""
        from shardlint.filters import Filters

        on = engine_rules(self.session, self.request.choice)
        # What a rule that crashed had to hide is not known, so its suppressions are not idle.
        crashed = {crash.rule for crash in self.outcome.crashes}
        judged = [row for row in self.rows if row["name"] not in crashed]
        filters = Filters(self.session.settings, judged, self.session.rows, on)
        return filters.apply(findings, self.results.records, self.project.reported)
