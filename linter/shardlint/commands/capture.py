"""`shardlint capture`: a solved incident becomes a constraint that is proved before it is believed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from shardlint.baseline import add_to_baseline
from shardlint.errors import CaptureRefused, UsageError
from shardlint.fixes import unified_diff
from shardlint.knowledge.block import Unreadable, read_block
from shardlint.knowledge.capture.capturing import Tried, hits, proposals, tried, with_snippets
from shardlint.knowledge.capture.dialogue import Dialogue, shown_check
from shardlint.knowledge.capture.incident import NEEDED, Incident, read_incident
from shardlint.knowledge.capture.nothing_new import add_nothing_new
from shardlint.knowledge.capture.stated import id_of, rationale, stated
from shardlint.knowledge.capture.target import Target, target_of
from shardlint.knowledge.capture.writing import is_markdown
from shardlint.report.summary import Summary
from shardlint.report.terminal import escaped
from shardlint.report.text import render_text
from shardlint.session import Session, open_session
from shardlint.trial import findings_of
from shardlint.voice import CEILINGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TextIO

    from shardlint.arguments import Parsed
    from shardlint.finding import Finding
    from shardlint.knowledge.capture.writing import Placed

_SHOWN = 10
"""How many other places are named before the rest is counted."""


def capture(parsed: Parsed, answers: TextIO, out: TextIO, environ: Mapping[str, str]) -> int:
    """Run `shardlint capture` and give its exit code.

    Raises:
        UsageError: options that do not go together.
        CaptureRefused: something is missing, or no check holds; nothing is written then.
        ConstraintError: the constraints that are there already are wrong.
    """
    return _Capture(parsed, answers, out, environ).run()


class _Capture:
    """One capture from what is told to what is written."""

    def __init__(self, parsed: Parsed, answers: TextIO, out: TextIO, environ: Mapping[str, str]) -> None:
        self.parsed = parsed
        self.out = out
        self.environ = environ
        self.dialogue = Dialogue(answers, out) if answers.isatty() and not parsed.flag("yes") else None
        self.session: Session = open_session(os.getcwd(), environ)
        self.target: Target = target_of(self.session.root, self.session.settings.knowledge, parsed.one("to"))

    def run(self) -> int:
        reason = self.parsed.one("no-new-knowledge")
        incident = self._told()
        if reason is not None:
            return self._nothing_new(incident, reason)
        if self.dialogue is not None:
            incident = self.dialogue.complete(incident)
        _refuse_incomplete(incident)
        incident = with_snippets(incident)
        if not incident.id:
            incident = incident._replace(id=id_of(incident.title))
        chosen, found = self._chosen(incident)
        incident, baselined = self._decided(incident, found)
        number = self.parsed.one("number") or ""
        mapping = stated(incident, chosen.candidate, why=bool(number) or not is_markdown(self.target.file))
        placed = self.target.with_constraint(
            mapping,
            incident.title,
            [rationale(incident)],
            section=self.parsed.one("section") or "",
            number=number,
        )
        self._show(incident, placed)
        if self.parsed.flag("dry-run"):
            self.out.write("nothing was written: --dry-run\n")
            return 0
        self.target.write(placed.text)
        if baselined:
            add_to_baseline(self._baseline(), baselined)
        where = f"{self.target.file}:{placed.line}"
        self.out.write(f"wrote {incident.id} to {where}; next: git add, and shardlint constraints test {incident.id}\n")
        return 0

    def _told(self) -> Incident:
        """What the options and the incident file tell; an option counts more."""
        if len(self.parsed.operands) > 1:
            raise UsageError("name one incident file, or none")
        told = _from_options(self.parsed)
        return told.over(read_incident(self.parsed.operands[0])) if self.parsed.operands else told

    def _nothing_new(self, incident: Incident, reason: str) -> int:
        """Record that an incident taught nothing that a check could hold."""
        said = incident.symptom or incident.title
        if not said:
            raise CaptureRefused("say which incident it was: give `--symptom`, or an incident file")
        text = add_nothing_new(self.target.old, self.target.file, said, reason)
        self.out.write(unified_diff(self.target.file, self.target.old, text))
        if self.parsed.flag("dry-run"):
            self.out.write("nothing was written: --dry-run\n")
            return 0
        self.target.write(text)
        self.out.write(f"recorded in {self.target.file} that there is no new knowledge\n")
        return 0

    def _chosen(self, incident: Incident) -> tuple[Tried, list[Finding]]:
        """The candidate to write, and the other places of the project that it hits."""
        results = [tried(incident, one, self.session) for one in proposals(incident, self.parsed.many("files") or ())]
        holding = [one for one in results if not one.problem]
        if not holding:
            raise CaptureRefused(_nothing_holds(results))
        wanted = self.parsed.one("candidate")
        if wanted is not None:
            if not wanted.isdigit() or not 1 <= int(wanted) <= len(holding):
                raise UsageError(f"`--candidate` takes a number from 1 to {len(holding)}, not `{wanted}`")
            at = int(wanted) - 1
        elif self.dialogue is not None and len(holding) > 1:
            at = self.dialogue.choose(holding, [len(self._hits(one)) for one in holding])
            return holding[at], self._hits(holding[at])
        else:
            at = 0
        self._show_candidates(holding, at)
        return holding[at], self._hits(holding[at])

    def _hits(self, one: Tried) -> list[Finding]:
        assert one.constraint is not None
        told = {*self.parsed.operands, self.parsed.one("bad"), self.parsed.one("good")}
        snippets = {os.path.realpath(file) for file in told if file is not None}
        found = hits(one.constraint, self.session, self.environ)
        return [hit for hit in found if os.path.realpath(os.path.join(self.session.root, hit.path)) not in snippets]

    def _show_candidates(self, holding: Sequence[Tried], at: int) -> None:
        said = "1 proposal reports" if len(holding) == 1 else f"{len(holding)} proposals report"
        self.out.write(f"{said} the bad snippet and not the good one:\n")
        for number, one in enumerate(holding, 1):
            mark = ">" if number - 1 == at else " "
            self.out.write(f"{mark} {number}. because {escaped(one.candidate.why)}\n")
            self.out.writelines(f"       {escaped(line)}\n" for line in shown_check(one))

    def _decided(self, incident: Incident, found: list[Finding]) -> tuple[Incident, list[Finding]]:
        """The incident with the files to leave out, and the findings to put off. Every other place is decided about.

        Raises CaptureRefused for a place that nobody decided about.
        """
        if not found:
            self.out.write("no other place of the project is hit\n")
            return incident, []
        self.out.write(f"{_places(len(found))} of the project {'is' if len(found) == 1 else 'are'} hit as well:\n")
        self.out.writelines(
            f"  {escaped(one.path)}:{one.span.line}  {escaped(one.message)}\n" for one in found[:_SHOWN]
        )
        if len(found) > _SHOWN:
            self.out.write(f"  and {len(found) - _SHOWN} more\n")
        if self.parsed.flag("confirm-hits"):
            return incident, []
        if self.parsed.flag("baseline-hits"):
            self._baseline()
            return incident, found
        if self.dialogue is None:
            raise CaptureRefused(
                "decide about the other places, then capture again: `--confirm-hits` if they are defects too, "
                "`--exclude PATTERNS` for files in which it need not hold, `--baseline-hits` to put them off"
            )
        decisions = [(one, self.dialogue.decide(one)) for one in found]
        left_out = dict.fromkeys(one.path for one, decision in decisions if decision == "exclude")
        put_off = [one for one, decision in decisions if decision == "baseline"]
        if put_off:
            self._baseline()
        return incident._replace(exclude=(*incident.exclude, *left_out)), put_off

    def _baseline(self) -> str:
        """The baseline of the project. Raises CaptureRefused if it has none."""
        inside = self.session.settings.baseline
        if inside is None:
            raise CaptureRefused(
                'there is no baseline to put them into: set `baseline = "baseline.json"` in the settings'
            )
        return os.path.join(self.session.root, inside)

    def _show(self, incident: Incident, placed: Placed) -> None:
        self.out.write("\n" + unified_diff(self.target.file, self.target.old, placed.text))
        self.out.write("\nfrom now on the hook says of such code:\n\n")
        self.out.write(self._next_time(incident, placed))

    def _next_time(self, incident: Incident, placed: Placed) -> str:
        """The finding that the bad snippet gives, as a run prints it."""
        from shardlint.knowledge.constraint_file import read_constraints
        from shardlint.knowledge.proving import example_and_row

        read = read_constraints(self.target.file, placed.text.encode()).constraints
        constraint = next(one for one in read if one.id == incident.id)
        example, row = example_and_row(constraint, self.session)
        findings = findings_of(row, example)
        text = render_text(findings, example.files.get, colour=False, summary=Summary(findings))
        return text.rpartition("\n\n")[0] + "\n\n"


def _from_options(parsed: Parsed) -> Incident:
    """What the command line tells of an incident."""
    check: tuple[str, dict[str, Any]] | None = None
    pattern, require = parsed.one("pattern"), parsed.one("require")
    if pattern is not None and require is not None:
        raise UsageError("give `--pattern` or `--require`, not both: a constraint has one check")
    if pattern is not None:
        check = ("pattern", {"match": pattern})
    if require is not None:
        check = ("config", {"files": parsed.many("files") or ["*.yaml", "*.yml"], "require": require})
    return Incident(
        title=parsed.one("title") or "",
        id=parsed.one("id") or "",
        symptom=parsed.one("symptom") or "",
        cause=parsed.one("cause") or "",
        evidence=_evidence(parsed),
        verification=parsed.one("verification") or "",
        bad=_snippet(parsed.one("bad")),
        good=_snippet(parsed.one("good")),
        severity=parsed.one("severity") or "",
        message=parsed.one("message") or "",
        help=parsed.one("instead") or "",
        paths=tuple(parsed.many("paths") or ()),
        exclude=tuple(parsed.many("exclude") or ()),
        check=check,
    )


def _evidence(parsed: Parsed) -> Any:
    kind, references = parsed.one("evidence"), parsed.many("reference") or []
    if kind is None and references:
        raise UsageError(f"`--reference` goes with `--evidence`, which is one of {', '.join(CEILINGS)}")
    return {"kind": kind, "references": references} if references else kind


def _snippet(file: str | None) -> Any:
    """The code of a Python file, the document of a YAML file."""
    if file is None:
        return None
    try:
        with open(file, encoding="utf-8-sig") as opened:
            text = opened.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    if not file.endswith((".yaml", ".yml")):
        return text
    try:
        return read_block(text).value
    except Unreadable as error:
        raise UsageError(f"{file}:{error.line}: {error}") from None


def _refuse_incomplete(incident: Incident) -> None:
    missing = incident.missing()
    if missing:
        why = {
            "title": "what must hold from now on",
            "bad": "the code or config before the fix",
            "good": "the same after it",
        }
        told = [f"`--{name}` ({(why | NEEDED)[name]})" for name in missing]
        raise CaptureRefused(
            f"an incident is understood when all of it is told, and this one lacks {', '.join(told)}; "
            "if it taught nothing new, say so: `--no-new-knowledge REASON`"
        )


def _nothing_holds(results: Sequence[Tried]) -> str:
    if not results:
        return (
            "the two snippets differ in nothing that a check could hold: give the check with `--pattern` or `--require`"
        )
    tries = [f"  {one.candidate.kind} {one.candidate.check}: {one.problem}" for one in results[:5]]
    return "\n".join(["no check tells the bad snippet from the good one; these were tried:", *tries])


def _places(count: int) -> str:
    return "1 other place" if count == 1 else f"{count} other places"
