"""The record of every file of a project, kept between runs and brought up to date by each."""

from __future__ import annotations

import time

from shardlint import cache
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
            self._settled = stored["time"] - cache.RACE

    def save(self, crashed: Collection[str]) -> None:
        """Keep the results, except those of files on which a rule crashed, and of a staged view that is not on disk."""
        if not self.request.use_cache or not self.dirty or self.project.staged:
            return
        kept = {path: r.as_plain() for path, r in self.records.items() if path not in crashed and r.content}
        program = None if crashed else self.program
        cache.save(self._file, {"key": self.key, "records": kept, "program": program, "time": self._started})

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
        if suspects:
            from shardlint.workers import look_at

            fresh.update(look_at(analysis(), suspects, self.project.dotted, self.request.jobs))
        self._ask_again(fresh, analysis)
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

    def _ask_again(self, fresh: dict[str, Record], analysis: Callable[[], Analysis]) -> None:
        """Files judged by what the project says are judged anew when its Python files or model configs change."""
        asked = [path for path, record in fresh.items() if record.asked]
        if not asked:
            return
        read = sorted([*self.project.python, *self.project.model_configs])
        digest = cache.digest(b"".join(fresh[path].content for path in read))
        for path in asked:
            record = fresh[path]
            if record.asked not in (b"?", digest):
                found = self.sieve.sift(path, self.project.files[path][1], record.stamp, self.project.read(path))
                record = found if isinstance(found, Record) else analysis().look(found, self.project.dotted(path))
                self.dirty = True
            if record.asked:
                record.asked = digest
            fresh[path] = record
