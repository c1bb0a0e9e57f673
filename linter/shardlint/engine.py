"""Files -> findings. The stages of a run: discover, cache, prefilter, facts, judge, suppress."""

from __future__ import annotations

import os
import sys
import time

from shardlint import cache
from shardlint.discover import discover
from shardlint.errors import GitFailed
from shardlint.finding import Finding
from shardlint.record import Record
from shardlint.selection import Choice, active_rows, engine_rules
from shardlint.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from shardlint.analysis import Analysis, Crash, Suspect
    from shardlint.changes.git import Git
    from shardlint.discover import Discovery, File
    from shardlint.loading import Row
    from shardlint.program_result import ProgramResult


_RACE = 2_000_000_000
"""Nanoseconds. A file written so shortly before the cache could change again under the same time stamp."""


class Request:
    """What one run is asked for."""

    __slots__ = (
        "base",
        "choice",
        "edits",
        "environ",
        "jobs",
        "paths",
        "prefilter",
        "staged",
        "timings",
        "use_cache",
        "wants_unknown",
    )

    def __init__(
        self,
        paths: Sequence[str] = (),
        *,
        choice: Choice | None = None,
        environ: Mapping[str, str],
        edits: bool = False,
        use_cache: bool = True,
        prefilter: bool = True,
        staged: bool = False,
        base: str | None = None,
        jobs: int = 0,
        wants_unknown: bool = False,
        timings: bool = False,
    ) -> None:
        self.paths = paths
        self.choice = choice or Choice()
        self.environ = environ
        self.edits = edits
        self.use_cache = use_cache
        self.prefilter = prefilter
        self.staged = staged
        self.base = base
        self.jobs = jobs
        self.wants_unknown = wants_unknown
        self.timings = timings


class Outcome:
    """What a run found: findings after suppression, and what could not be done.

    `contents`: what was linted in place of the file on disk, under `--staged`. `hashes`: digests of the bytes that were
    linted, when edits were asked for. `stages` and `seconds`: the time spent in each stage and, when asked for, rule.
    `parsed`: bytes that LibCST parsed, of `total_bytes` that were read.
    """

    __slots__ = (
        "configs",
        "contents",
        "crashes",
        "discovery",
        "files",
        "findings",
        "generated",
        "hashes",
        "not_judged",
        "not_recognised",
        "parsed",
        "seconds",
        "stages",
        "total_bytes",
    )

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.files = 0
        self.configs = 0
        self.not_recognised: list[str] = []
        self.not_judged: list[tuple[str, str, int, str]] = []
        self.crashes: list[Crash] = []
        self.contents: dict[str, bytes] = {}
        self.generated: set[str] = set()
        self.discovery: Discovery | None = None
        self.hashes: dict[str, bytes] = {}
        self.seconds: dict[str, float] = {}
        self.stages: list[tuple[str, float]] = []
        self.parsed = 0
        self.total_bytes = 0


def run(session: Session, request: Request) -> Outcome:
    """One run over a project.

    Raises a ShardlintError for what cannot be done as asked: an unknown rule, a missing path, a base without git.
    """
    return _Run(session, request).run()


def files(session: Session, request: Request) -> Discovery:
    """The files that a run would report on. Raises what `run` raises for paths and names of rules."""
    return _Run(session, request).found(request.paths)


class _Run:
    def __init__(self, session: Session, request: Request) -> None:
        self.session = session
        self.request = request
        self.root = session.root
        self.rows = active_rows(session, request.choice)
        self.git = self._git()
        names = ",".join(row["name"] for row in self.rows)
        self.key = cache.digest(session.digest + names.encode() + bytes([request.prefilter])).hex()
        self.results_file = cache.path(request.environ, f"results-{self.key[:12]}", self.root)
        self.facts_file = cache.path(request.environ, f"facts-{self.key[:12]}", self.root)
        self.records: dict[str, Record] = {}
        self.program: tuple[Any, ...] | None = None
        self.dirty = False
        self.settled = 0
        self.started = time.time_ns()
        self.layout = b""
        self.analysis: Analysis | None = None
        self.staged_contents: dict[str, bytes | None] = {}
        self.known: dict[str, File] = {}
        self.outcome = Outcome()
        self.mark = time.perf_counter()

    def _stage(self, name: str) -> None:
        """Note the time since the stage before."""
        now = time.perf_counter()
        self.outcome.stages.append((name, now - self.mark))
        self.mark = now

    def _git(self) -> Git | None:
        if not any(os.path.exists(os.path.join(at, ".git")) for at in _upwards(self.root)):
            return None
        from shardlint.changes.git import Git

        return Git.at(self.root)

    def found(self, paths: Sequence[str]) -> Discovery:
        """The files of the project, or those that `paths` name."""
        settings = self.session.settings
        return discover(
            self.root, paths, git=self.git, exclude=settings.exclude_regexes, include=settings.include_regexes
        )

    def run(self) -> Outcome:
        outcome = self.outcome
        everything = self.found(())
        named = self.found(self.request.paths) if self.request.paths else everything
        outcome.discovery = named
        self._stage("find files")
        known = {file[0]: file for file in everything.files}
        known.update((file[0], file) for file in named.files)
        if self.request.staged:
            self._read_staged(known, [file[0] for file in named.files])
        self._place(known)
        self._load()
        self._stage("load results")
        reported = {file[0] for file in named.files if file[0] in known}
        self.known = known
        self._look(known, reported)
        self._stage("files")
        findings = [finding for path in sorted(reported) for finding in self._of(path)]
        findings += self._program_findings(known, reported)
        self._stage("program")
        findings += self._change_findings(reported)
        self._stage("changes")
        self._count(known, reported)
        outcome.findings = sorted(self._kept(findings, reported))
        self._stage("suppressions")
        self._save()
        self._stage("save results")
        return outcome

    def _place(self, known: dict[str, File]) -> None:
        """What one file's result takes from others: packages give import names, and any new file may be imported."""
        python = [path for path, file in known.items() if file[1] == "python"]
        packages = "\n".join(sorted(path for path in python if path.endswith("__init__.py")))
        self.key += cache.digest(packages.encode("utf-8", "surrogateescape")).hex()
        self.layout = cache.digest("\n".join(sorted(python)).encode("utf-8", "surrogateescape"))

    def _load(self) -> None:
        if not self.request.use_cache:
            return
        stored = cache.load(self.results_file)
        if isinstance(stored, dict) and stored.get("key") == self.key:
            self.records = {path: Record.from_plain(plain) for path, plain in stored["records"].items()}
            self.program = stored["program"]
            self.settled = stored["time"] - _RACE

    def _save(self) -> None:
        if not self.request.use_cache or not self.dirty or self.staged_contents:
            return
        crashed = {crash.path for crash in self.outcome.crashes}
        records = {p: record.as_plain() for p, record in self.records.items() if p not in crashed and record.content}
        stored = {
            "key": self.key,
            "records": records,
            "program": None if crashed else self.program,
            "time": self.started,
        }
        cache.save(self.results_file, stored)

    def _read_staged(self, known: dict[str, File], named: list[str]) -> None:
        """Under `--staged` only tracked files count; a reported one with unstaged changes is read from the index.

        To compare every file of a large project with the index at each commit would cost more than the lint.
        """
        if self.git is None:
            raise GitFailed("`--staged` needs a git repository, and there is none here: leave it out")
        blobs = self.git.index_blobs()
        for path in [path for path in known if path not in blobs]:
            del known[path]
        differing = self.git.unstaged([path for path in named if path in known])
        contents = self.git.contents([blobs[path] for path in differing])
        self.staged_contents = {path: contents.get(blobs[path]) for path in differing}
        self.outcome.contents = {path: data for path, data in self.staged_contents.items() if data is not None}

    def _look(self, known: dict[str, File], reported: set[str]) -> None:
        """Bring the record of every file up to date; a changed file is read, an unchanged one is not."""
        fresh: dict[str, Record] = {}
        suspects: list[Suspect] = []
        for path, file in known.items():
            stamp = (file[3], file[2], file[4])
            record = self.records.get(path)
            outdated = path in self.staged_contents or (
                record is not None and self.request.edits and record.pending and path in reported
            )
            if record is None or outdated or record.stamp != stamp or stamp[0] > self.settled:
                self.dirty = True
                record = self._changed(path, file, stamp, None if outdated else record, suspects)
            if record is not None:
                fresh[path] = record
        if suspects:
            from shardlint.workers import look_at

            fresh.update(look_at(self._analysis(), suspects, self._dotted, self.request.jobs))
        self._look_again(known, fresh)
        if len(fresh) != len(self.records):
            self.dirty = True
        self.records = fresh

    def _look_again(self, known: dict[str, File], fresh: dict[str, Record]) -> None:
        """Documents that were judged by what the Python files do with them are judged anew when those change."""
        asked = [path for path, record in fresh.items() if record.asked]
        if not asked:
            return
        python = [fresh[path].content for path in sorted(fresh) if known[path][1] == "python"]
        digest = cache.digest(b"".join(python))
        for path in asked:
            record = fresh[path]
            if record.asked not in (b"?", digest):
                suspect = self._analysis().sift(path, known[path][1], record.stamp, self._read(path))
                record = suspect if isinstance(suspect, Record) else self._analysis().look(suspect)
                self.dirty = True
            if record.asked:
                record.asked = digest
            fresh[path] = record

    def _changed(
        self, path: str, file: File, stamp: tuple[int, int, int], record: Record | None, suspects: list[Suspect]
    ) -> Record | None:
        """The record of a file that was read anew, or None when it is a suspect that remains to be looked at."""
        try:
            data = self._read(path)
        except OSError as error:
            assert self.outcome.discovery is not None
            self.outcome.discovery.problems.append((path, f"{path} cannot be read: {error.strerror}"))
            return Record(stamp, b"", claimed=False)
        self.outcome.total_bytes += len(data)
        if record is not None and record.content == cache.digest(data):
            return record.moved(stamp)
        found = self._analysis().sift(path, file[1], stamp, data)
        if isinstance(found, Record):
            return found
        suspects.append(found)
        return None

    def _read(self, path: str) -> bytes:
        staged = self.staged_contents.get(path)
        if staged is not None:
            return staged
        handle = os.open(os.path.join(self.root, path), os.O_RDONLY)
        try:
            parts: list[bytes] = []
            while part := os.read(handle, 1 << 20):
                parts.append(part)
            return b"".join(parts)
        finally:
            os.close(handle)

    def _dotted(self, path: str) -> str:
        """The import name of a file: its packages upwards as long as there is an `__init__.py`."""
        parts = path.removesuffix(".py").split("/")
        start = len(parts) - 1
        while start > 0 and os.path.exists(os.path.join(self.root, *parts[:start], "__init__.py")):
            start -= 1
        kept = parts[start:]
        if kept[-1] == "__init__":
            kept.pop()
        return ".".join(kept)

    def _analysis(self) -> Analysis:
        if self.analysis is None:
            from shardlint.analysis import Analysis
            from shardlint.environment import Environment

            environment = Environment.from_plain(self.session.environment)
            request = self.request
            self.analysis = Analysis(
                self.rows,
                environment=environment,
                edits=request.edits,
                prefilter=request.prefilter,
                timed=request.timings,
                python=self._python_files,
            )
        return self.analysis

    def _python_files(self) -> Iterable[bytes]:
        for path, file in self.known.items():
            if file[1] == "python":
                try:
                    yield self._read(path)
                except OSError:
                    continue

    def _of(self, path: str) -> list[Finding]:
        return self.records[path].unpacked()

    def _program_findings(self, known: dict[str, File], reported: set[str]) -> list[Finding]:
        """Findings of the program rules that lie in a reported file, or that one of them causes."""
        if not any(row["kind"] == "program" for row in self.rows):
            return []
        roots = [path for path, record in self.records.items() if record.root]
        if not roots:
            return []
        result = self._program_result(known, roots)
        self.outcome.not_judged += [place for place in result.not_judged if place[0] in reported]
        return [
            finding
            for finding in result.findings
            if finding.path in reported or any(place.path in reported for place in finding.related)
        ]

    def _program_result(self, known: dict[str, File], roots: list[str]) -> ProgramResult:
        from shardlint.program_result import ProgramResult

        if self.program is not None:
            used: list[str] = self.program[1]
            if self.program[0] == self._program_key(roots, used):
                return ProgramResult.from_plain(self.program)
        from shardlint.program_run import run_program

        analysis = self._analysis()
        stored = cache.load(self.facts_file) if self.request.use_cache else None
        facts: dict[str, tuple[bytes, Any]] = {}
        if isinstance(stored, dict) and stored.get("key") == self.key:
            facts = stored["facts"]
        valid = {p: v for p, (content, v) in facts.items() if p in self.records and self.records[p].content == content}
        self._build_facts([path for path in roots if path not in valid and path not in analysis.facts])
        valid.update(analysis.facts)
        python = [path for path, file in known.items() if file[1] == "python"]
        result, facts_after = run_program(analysis, roots, python, valid, self._read, self._dotted)
        result.key = self._program_key(roots, result.used)
        self.dirty = True
        self.program = None if analysis.crashes else result.as_plain()
        if self.request.use_cache and not self.staged_contents:
            kept = {path: (self.records[path].content, value) for path, value in facts_after.items()}
            cache.save(self.facts_file, {"key": self.key, "facts": kept})
        return result

    def _build_facts(self, paths: list[str]) -> None:
        """Facts lie in a file of their own, which can be lost while the results are still there."""
        from shardlint.analysis import Suspect

        analysis = self._analysis()
        for path in paths:
            suspect = analysis.sift(path, "python", self.records[path].stamp, self._read(path))
            if isinstance(suspect, Suspect):
                analysis.look(suspect, self._dotted(path))

    def _program_key(self, roots: list[str], used: list[str]) -> bytes:
        """Program results hold as long as the files where they start and the files they asked for stay the same."""
        parts: list[bytes] = []
        for path in sorted({*roots, *used}):
            record = self.records.get(path)
            parts.append(path.encode("utf-8", "surrogateescape") + b"\0" + (record.content if record else b"gone"))
        return cache.digest(b"\n".join([self.layout, *parts]))

    def _change_findings(self, reported: set[str]) -> list[Finding]:
        rows: list[Row] = [row for row in self.rows if row["kind"] == "change"]
        if not rows or self.git is None:
            if self.request.base is not None and self.git is None:
                raise GitFailed("`--base` needs a git repository, and there is none here: leave it out")
            return []
        from shardlint.change_run import run_changes

        generated = self.session.settings.generated
        findings = run_changes(
            rows, self.git, self._analysis, generated, self.request.staged, self.request.base, self.request.environ
        )
        if not self.request.paths:
            return findings
        return [f for f in findings if f.path in reported or any(place.path in reported for place in f.related)]

    def _count(self, known: dict[str, File], reported: set[str]) -> None:
        outcome = self.outcome
        for path in reported:
            kind, record = known[path][1], self.records[path]
            if kind == "python":
                outcome.files += 1
            elif record.claimed:
                outcome.configs += 1
            elif kind != "shell" and self.request.paths:
                outcome.not_recognised.append(path)
            if record.generated:
                outcome.generated.add(path)
        outcome.not_recognised.sort()
        if self.request.edits:
            outcome.hashes = {path: record.content for path, record in self.records.items()}
        nodes = sys.modules.get("shardlint.syntax.nodes")
        outcome.parsed = 0 if nodes is None else nodes.parsed_bytes
        if self.analysis is not None:
            outcome.crashes = self.analysis.crashes
            outcome.seconds = self.analysis.seconds

    def _kept(self, findings: list[Finding], reported: set[str]) -> list[Finding]:
        """Apply severities, path ignores and suppressions; report suppressions that are idle or unknown."""
        from shardlint.filters import Filters

        on = engine_rules(self.session, self.request.choice)
        # What a rule that crashed had to hide is not known, so its suppressions are not idle.
        crashed = {crash.rule for crash in self.outcome.crashes}
        judged = [row for row in self.rows if row["name"] not in crashed]
        filters = Filters(self.session.settings, judged, self.session.rows, on)
        return filters.apply(findings, self.records, reported)


def _upwards(folder: str) -> list[str]:
    """The folder and all folders above it."""
    found = [folder]
    while (parent := os.path.dirname(folder)) != folder:
        folder = parent
        found.append(folder)
    return found
