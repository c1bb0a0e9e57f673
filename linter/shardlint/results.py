"""The record of every file of a project, kept between runs and brought up to date by each."""

from __future__ import annotations

import time

from shardlint import cache
from shardlint.questions import Questions, layout
from shardlint.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from shardlint.analysis import Analysis
    from shardlint.discover import File
    from shardlint.project import Project
    from shardlint.request import Request
    from shardlint.sieve import Sieve, Suspect


class Results:
    """Records by path, and what the program rules said last (`ProgramResult.as_plain`).

    `questions`: what was asked of all Python files by those that were judged by what others say, when the files were
    those of `layout`.

    `launchers`: stamp and digest of each file in which a rule has looked for commands, besides the shell scripts.

    `key` names the state of code, settings, rules and packages that the results are valid for. `read_bytes` counts what
    this run read; `problems` are files that could not be read, each with a sentence.
    """

    def __init__(self, project: Project, request: Request, sieve: Sieve, key: str) -> None:
        self.project = project
        self.sieve = sieve
        self.request = request
        self.key = key
        self.records: dict[str, Record] = {}
        self.program: tuple[Any, ...] | None = None
        self.launchers: dict[str, tuple[tuple[int, int, int], bytes]] = {}
        self.questions = Questions()
        self.layout = b""
        self.dirty = False
        self.read_bytes = 0
        self.problems: list[tuple[str, str]] = []
        self._file = cache.path(request.environ, f"results-{key[:12]}", project.root)
        self._settled = 0
        self._started = time.time_ns()
        if request.use_cache:
            self._load()

    def _load(self) -> None:
        stored = cache.load(self._file)
        if stored is not None and stored.get("key") == self.key:
            self.records = {path: Record.from_plain(plain) for path, plain in stored["records"].items()}
            self.program = stored["program"]
            self.launchers = stored["launchers"]
            self.questions, self.layout = Questions.from_plain(stored["questions"]), stored["layout"]
            self._settled = stored["time"] - cache.RACE

    def save(self, crashed: Collection[str]) -> None:
        """Keep the results, except those of files on which a rule crashed, and of a staged view that is not on disk."""
        if not self.request.use_cache or not self.dirty or self.project.staged:
            return
        kept = {path: r.as_plain() for path, r in self.records.items() if path not in crashed and r.content}
        program = None if crashed else self.program
        asked = {"questions": self.questions.as_plain(), "layout": self.layout}
        table = {"records": kept, "program": program, "launchers": self.launchers, "time": self._started}
        cache.save(self._file, {"key": self.key, **table, **asked})

    def update(self, analysis: Callable[[], Analysis]) -> None:
        """Bring the record of every file up to date; a changed file is read, an unchanged one is not."""
        fresh: dict[str, Record] = {}
        suspects: list[Suspect] = []
        for path, file in self.project.files.items():
            stamp = (file[3], file[2], file[4])
            record = self.records.get(path)
            outdated = path in self.project.staged or (
                record is not None and self.request.edits and record.pending and path in self.project.reported
            )
            if record is None or outdated or record.stamp != stamp or stamp[0] > self._settled:
                self.dirty = True
                record = self._read_anew(path, file, stamp, None if outdated else record, suspects)
            if record is not None:
                fresh[path] = record
        self._look_at(suspects, fresh, analysis)
        self._ask_again({suspect.path for suspect in suspects}, fresh, analysis)
        if len(fresh) != len(self.records):
            self.dirty = True
        self.records = fresh

    def _read_anew(
        self,
        path: str,
        file: File,
        stamp: tuple[int, int, int],
        record: Record | None,
        suspects: list[Suspect],
    ) -> Record | None:
        """The record of a file that was read, or None when it is a suspect that remains to be looked at."""
        try:
            data = self.project.read(path)
        except OSError as error:
            self.problems.append((path, f"{path} cannot be read: {error.strerror}"))
            return Record(stamp, b"", claimed=False)
        self.read_bytes += len(data)
        if record is not None and record.content == cache.digest(data):
            return record.moved(stamp)
        found = self.sieve.sift(path, file[1], stamp, data)
        if isinstance(found, Record):
            return found
        suspects.append(found)
        return None

    def _look_at(self, suspects: list[Suspect], fresh: dict[str, Record], analysis: Callable[[], Analysis]) -> None:
        if suspects:
            from shardlint.workers import look_at

            self.dirty = True
            fresh.update(look_at(analysis(), suspects, self.project.dotted, self.request.jobs))

    def _ask_again(self, looked: set[str], fresh: dict[str, Record], analysis: Callable[[], Analysis]) -> None:
        """Files judged by what other files say are judged anew when those say something else.

        `looked`: the files that this run has judged already.
        """
        asked = [path for path, record in fresh.items() if record.asked]
        if not asked:
            return
        state = _State(self, fresh)
        suspects: list[Suspect] = []
        for path in asked:
            record = fresh[path]
            if path not in looked and state.differs(record):
                found = self.sieve.sift(path, self.project.files[path][1], record.stamp, self.project.read(path))
                if isinstance(found, Record):
                    fresh[path], self.dirty = found, True
                else:
                    suspects.append(found)
        self._look_at(suspects, fresh, analysis)
        if looked or suspects:
            # Where the old questions have other answers now, all files that asked them were judged anew.
            kept = Questions() if state.python_differs else self.questions
            kept.add(analysis().words.questions)
            self.questions = kept
        self.layout = state.layout
        for record in (fresh[path] for path in asked):
            record.asked = record.asked[:1] + state.of(record)

    def content(self, path: str) -> bytes:
        """The bytes of a file; none where it cannot be read."""
        try:
            return self.project.read(path)
        except OSError:
            return b""

    def launcher(self, path: str) -> bytes:
        """The digest of a file in which a rule looks for commands, if it has some; it is read if it has changed."""
        file = self.project.launchers[path]
        stamp = (file[3], file[2], file[4])
        known = self.launchers.get(path)
        if known is None or known[0] != stamp or stamp[0] > self._settled:
            try:
                data = self.project.read(path)
            except OSError:
                data = b""
            from shardlint.configs.launches import may_launch

            self.read_bytes += len(data)
            known = self.launchers[path] = (stamp, cache.digest(data) if may_launch(data) else b"")
            self.dirty = True
        return known[1]


class _State:
    """What the files say by which others are judged, as digests; each worked out when it is first asked for."""

    def __init__(self, results: Results, fresh: dict[str, Record]) -> None:
        self._results = results
        self._fresh = fresh
        self._known: dict[str, bytes] = {}
        self._differs: bool | None = None

    def differs(self, record: Record) -> bool:
        """Whether something that a record was judged by says something else."""
        kind = record.asked[:1]
        return (kind != b"!" and self.python_differs) or record.asked[1:] != self.of(record)

    def of(self, record: Record) -> bytes:
        """The state of the commands, and of the files behind them, that a record was judged by."""
        if record.asked[:1] in (b"?", b""):
            return b""
        used = (self._fresh[path].content if path in self._fresh else b"gone" for path in record.uses)
        return cache.digest(self._launches() + b"".join(used))

    @property
    def layout(self) -> bytes:
        """A digest of which files there are that a rule may ask about."""
        if "layout" not in self._known:
            project = self._results.project
            self._known["layout"] = layout([*project.python, *project.model_configs])
        return self._known["layout"]

    @property
    def python_differs(self) -> bool:
        """Whether the Python files, or the descriptions of models, say something else to a question that was asked."""
        differs = self._differs
        if differs is None:
            differs = self._differs = self.layout != self._results.layout or self._matters()
        return differs

    def _matters(self) -> bool:
        results, before = self._results, self._results.records
        project, questions = results.project, results.questions
        if not results.dirty:
            return False
        if questions.configs and any(self._moved(path, before) for path in project.model_configs):
            return True
        changed = [path for path in project.python if self._moved(path, before)]
        return any(questions.matters(path, results.content(path)) for path in changed)

    def _moved(self, path: str, before: dict[str, Record]) -> bool:
        return path not in before or before[path].content != self._fresh[path].content

    def _launches(self) -> bytes:
        """The commands, and which files there are: a command means a file by its name."""
        if "launches" not in self._known:
            project, fresh = self._results.project, self._fresh
            parts = ["\n".join(sorted(project.files)).encode("utf-8", "surrogateescape")]
            for path in sorted(project.launchers):
                parts.append(path.encode("utf-8", "surrogateescape"))
                parts.append(fresh[path].content if path in fresh else self._results.launcher(path))
            self._known["launches"] = cache.digest(b"\n".join(parts))
        return self._known["launches"]
