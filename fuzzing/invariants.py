"""What must hold for any project, besides that nothing crashes."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from fuzzing.case import Broken, Case
from fuzzing.place import Place, shown
from fuzzing.repair import check_fixes
from fuzzing.splices import is_program
from shardlint.errors import ShardlintError, UndecodableSource
from shardlint.finding import Finding
from shardlint.loading import Row
from shardlint.source import decode

UNREAD = frozenset(("syntax-error", "broken-document"))
"""Findings of files that a rule wants to see and cannot: without the prefilter these are more files."""

FORMATS = ("text", "concise", "json", "github")
_MORE = (
    ("--statistics",),
    ("--show-unknown",),
    ("--show-files",),
    ("--show-settings",),
    ("--timings",),
    ("--diff", "--unsafe-fixes"),
    ("--diff",),
    ("--min-confidence", "0"),
    ("--fail-on", "error", "--exit-zero"),
    ("--write-baseline", "baseline.json"),
    ("--output-file", "out.txt"),
    ("--jobs", "2"),
    ("--staged",),
    ("--base", "HEAD"),
    ("--baseline", "baseline.json"),
)
_OTHER = (("generated", "check"), ("generated", "lock"), ("keys", "diff"), ("keys", "lock"), ("plan",), ("rules",))


class Checks:
    """The checks of one case. `rows` are all rules; those that are off by default run too."""

    def __init__(self, place: Place, case: Case, chance: Random, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.place = place
        self.case = case
        self.chance = chance
        self.previews = tuple(row["name"] for row in rows if row["preview"])
        self.extended = ("--extend-select", ",".join(self.previews)) if self.previews else ()

    def project(self) -> None:
        """All checks of a project whose settings are the usual ones."""
        self.written()
        findings = self._agreed()
        self._inside(findings)
        self._cached()
        if self.chance.random() < 0.3:
            self._named(findings)
        if self.case.intact and self.chance.random() < 0.3:
            self._moved(findings)
        if self.chance.random() < 0.5:
            self._options()
        if any(one.fix is not None for one in findings):
            check_fixes(self.place, self.previews)

    def command(self) -> None:
        """A project with settings or records of its own: the command line answers, twice in the same words."""
        self.written()
        arguments = self.case.arguments or ("check",)
        first = self.place.lint(*arguments)
        again = self.place.lint(*arguments)
        if "--write-baseline" not in arguments and (first.code, first.out) != (again.code, again.out):
            raise Broken(f"second {arguments[0]} differs", f"{first.out}{first.err}\nthen\n{again.out}{again.err}")
        self._options()

    def written(self) -> None:
        """Put the files of the case, and its repository, where they are linted."""
        case, place = self.case, self.place
        place.clear()
        if case.before is None:
            place.write(case.files)
            return
        place.write(case.before)
        place.git("init", "--quiet")
        place.git("add", "--all", "--force")
        place.git("commit", "--quiet", "--allow-empty", "-m", "before")
        for path in case.before.keys() - case.files.keys():
            os.unlink(os.path.join(place.root, path))
        place.write(case.files)
        if self.chance.random() < 0.5:
            place.git("add", "--all", "--force")

    def _agreed(self) -> list[Finding]:
        """The findings, which neither the prefilter nor the command line may change."""
        with_filter = self.place.outcome(self.previews)
        without = self.place.outcome(self.previews, prefilter=False)
        for outcome in (with_filter, without):
            for crash in outcome.crashes:
                raise Broken(f"rule {crash.rule} crashed: {crash.detail[:100]}", crash.path)
        unread = {one.path for one in without.findings if one.rule in UNREAD}
        kept = [one for one in with_filter.findings if one.path not in unread]
        bare = [one for one in without.findings if one.path not in unread]
        if kept != bare:
            rule = next(iter({one.rule for one in set(kept) ^ set(bare)}), "order")
            raise Broken(f"prefilter changes {rule}", f"with:\n{shown(kept)}\nwithout:\n{shown(bare)}")
        if with_filter.findings != sorted(with_filter.findings):
            raise Broken("findings are not sorted", shown(with_filter.findings))
        return with_filter.findings

    def _inside(self, findings: Iterable[Finding]) -> None:
        """Every finding and edit lies in its file."""
        lines: dict[str, list[str] | None] = {}
        for one in findings:
            span = one.span
            if (span.line, span.column) > (span.end_line, span.end_column):
                raise Broken(f"{one.rule} ends before it begins", shown([one]))
            places = [(one.path, span.line, span.column), (one.path, span.end_line, span.end_column)]
            places += [(at.path, at.line, at.column) for at in one.related]
            for path, line, column in places:
                if path not in lines:
                    lines[path] = self._lines(path)
                text = lines[path]
                if text is None:
                    continue
                if not 1 <= line <= len(text) or not 1 <= column <= len(text[line - 1]) + 1:
                    raise Broken(f"{one.rule} lies outside of its file", f"{shown([one])}\n{path}:{line}:{column}")

    def _lines(self, path: str) -> list[str] | None:
        try:
            data = self.place.read(path)
        except OSError:
            return None  # a change rule may speak of a file that is gone
        try:
            return decode(data).lines if path.endswith(".py") else _document_lines(data)
        except UndecodableSource:
            return None

    def _cached(self) -> None:
        """A warm run says what the cold one said, and so does one without a cache; every form of output is rendered."""
        first, *others = self.chance.sample(FORMATS, len(FORMATS))
        arguments = ("check", "--output-format", first, *self.extended)
        cold = self.place.lint(*arguments)
        runs = {"warm": self.place.lint(*arguments)}
        if self.chance.random() < 0.2:
            runs["--no-cache"] = self.place.lint(*arguments, "--no-cache")
        for which, other in runs.items():
            if (cold.code, cold.out, cold.err) != (other.code, other.out, other.err):
                detail = f"cold:\n{cold.code}\n{cold.out}{cold.err}\n{which}:\n{other.code}\n{other.out}{other.err}"
                raise Broken(f"{which} run differs from a cold one ({first})", detail)
        answers = [cold, *(self.place.lint("check", "--output-format", form, *self.extended) for form in others)]
        for answer in answers:
            if answer.arguments[2] == "json" and answer.code < 2:
                found: Any = json.loads(answer.out)
                if not isinstance(found, list):
                    raise Broken("JSON is no array", answer.out[:500])

    def _named(self, findings: list[Finding]) -> None:
        """A run over one file reports what lies in it, and what program rules say that it causes, and nothing else."""
        path = self.chance.choice(sorted(self.case.files))
        try:
            outcome = self.place.outcome(self.previews, path)
        except ShardlintError:
            return
        discovery = outcome.discovery
        reported = {file[0] for file in discovery.files} if discovery is not None else set[str]()
        wide = {row["name"] for row in self.rows if row["kind"] in ("program", "change")}
        wanted = [
            one
            for one in findings
            if one.path in reported or (one.rule in wide and any(place.path in reported for place in one.related))
        ]
        if outcome.findings != wanted:
            detail = f"{path}:\n{shown(outcome.findings)}\nof the whole project:\n{shown(wanted)}"
            raise Broken("a named file has other findings", detail)

    def _moved(self, findings: list[Finding]) -> None:
        """An empty line at the top of each file moves every finding by one line and changes no fingerprint."""
        texts = {path: data for path, data in self.case.files.items() if path.endswith(".py")}
        if not is_program(texts.values()) or any(b"coding" in data[:200] for data in texts.values()):
            return
        moved = {path: b"\n" + data if path in texts else data for path, data in self.case.files.items()}
        self.place.write(moved)
        after = self.place.outcome(self.previews).findings
        self.place.write(self.case.files)
        if _places(findings, lambda path: path in texts) != _places(after, lambda _: False):
            raise Broken(
                "an empty line at the top changes findings", f"before:\n{shown(findings)}\nafter:\n{shown(after)}"
            )

    def _options(self) -> None:
        """Options and other commands, some of them for each project."""
        for option in self.chance.sample(_MORE, 1):
            self.place.lint("check", *option, *self.extended)
        path = self.chance.choice(sorted(self.case.files))
        self.place.lint("check", "--why", f"{path}:{self.chance.randrange(1, 30)}")
        if self.chance.random() < 0.3:
            self.place.lint(*self.chance.choice(_OTHER))


def _document_lines(data: bytes) -> list[str]:
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))  # YAML may be UTF-16
    text = data.decode("utf-16" if wide else "utf-8-sig", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _places(findings: Iterable[Finding], moves: Callable[[str], bool]) -> Counter[tuple[object, ...]]:
    return Counter((one.path, one.rule, one.fingerprint, one.span.line + moves(one.path)) for one in findings)
