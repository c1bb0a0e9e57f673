"""`shardlint plan`: parallel plans against the models that they are for. It runs the user's code, and says so."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from typing import TextIO

from shardlint.arguments import Parsed
from shardlint.errors import PlanFailed, UsageError
from shardlint.filters import Filters
from shardlint.finding import Finding, any_at_least
from shardlint.loading import make
from shardlint.plan_run import judge_plan
from shardlint.query import PlanMesh
from shardlint.record import Record
from shardlint.report.form import in_form
from shardlint.report.summary import Summary
from shardlint.report.terminal import escaped
from shardlint.rule import PlanRule
from shardlint.runtime.collected import Collected
from shardlint.runtime.facts_file import read_facts, write_facts
from shardlint.runtime.learning import TIMEOUT, interpreter, learn, touched
from shardlint.runtime.plan_table import plan_table
from shardlint.runtime.proposals import proposals
from shardlint.runtime.target import Target, from_settings, is_object, named_target, parse_mesh
from shardlint.runtime.units import Stated
from shardlint.runtime.written import written_plan
from shardlint.selection import Choice, active_rows
from shardlint.session import Session


def plan(session: Session, parsed: Parsed, out: TextIO, err: TextIO, environ: Mapping[str, str]) -> int:
    """Run `shardlint plan` and give its exit code: 2 if a target could not be checked, 1 if there are findings.

    Raises UsageError for options that do not go together, PlanError for a target that makes no sense.
    """
    changed = parsed.operands if parsed.flag("changed") else None
    targets = _targets(session, parsed)
    if not targets:
        out.write(proposals(session.root))
        return 0
    if changed is not None:
        targets = [target for target in targets if touched(target, changed, session.root, environ)]
    run = _Run(session, parsed, out, err, environ)
    return run.over(targets)


def _targets(session: Session, parsed: Parsed) -> list[Target]:
    """What the command line asks for: targets of the settings, a factory that it names, or facts alone."""
    known = [from_settings(table) for table in session.settings.plan]
    if parsed.flag("changed"):
        return known
    plan, facts = parsed.one("plan"), parsed.one("facts-in")
    factories = [name for name in parsed.operands if is_object(name)]
    if factories:
        if len(parsed.operands) > 1:
            raise UsageError("name one `package.module:factory`, or targets of the settings, not both")
        table = {"name": factories[0], "model": factories[0], **({"plan": plan} if plan is not None else {})}
        return [_adjusted(from_settings(table), parsed)]
    if plan is not None:
        raise UsageError("`--plan` goes with a `package.module:factory`; the plan of a target stands in the settings")
    if facts is not None and not parsed.operands:
        return [_adjusted(Target(os.path.basename(facts), {}, None), parsed)]
    chosen = [named_target(known, name) for name in parsed.operands] or known
    return [_adjusted(target, parsed) for target in chosen]


def _adjusted(target: Target, parsed: Parsed) -> Target:
    """A target with what the command line says otherwise."""
    mesh, world, budget = parsed.one("mesh"), parsed.one("world"), parsed.one("budget-gib")
    if mesh is not None:
        target = dataclasses.replace(target, mesh=parse_mesh(mesh))
        if target.plan is not None and target.plan["kind"] == "apply":
            target = dataclasses.replace(target, plan={**target.plan, "mesh": target.mesh})
    if world is not None:
        target = dataclasses.replace(target, world=int(_number(world, "--world", whole=True)))
    if budget is not None:
        target = dataclasses.replace(target, budget=_number(budget, "--budget-gib"))
    return dataclasses.replace(target, python=parsed.one("python") or target.python)


def _number(text: str, option: str, *, whole: bool = False) -> float:
    try:
        value = float(int(text)) if whole else float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e12:
        raise UsageError(f"`{option}` takes a number above 0, not `{text}`")
    return value


class _Run:
    """One run over some targets."""

    def __init__(self, session: Session, parsed: Parsed, out: TextIO, err: TextIO, environ: Mapping[str, str]) -> None:
        self.session, self.parsed, self.out, self.err, self.environ = session, parsed, out, err, environ
        rows = [row for row in active_rows(session, Choice()) if row["kind"] == "plan"]
        made = [make(row) for row in rows]
        self.rules = [rule for rule in made if isinstance(rule, PlanRule)]
        if not self.rules:
            raise UsageError("no plan rule is on, so there is nothing to ask: select the families `plan` and `fsdp`")
        self.form = parsed.one("output-format") or "text"

    def over(self, targets: Sequence[Target]) -> int:
        findings: list[Finding] = []
        failed = 0
        if len(targets) > 1 and (self.parsed.one("facts-out") or self.parsed.one("facts-in")):
            raise UsageError("`--facts-out` and `--facts-in` hold one target: name it")
        for target in targets:
            try:
                findings += self._judged(target)
            except PlanFailed as error:
                failed += 1
                self._failed(error)
        kept = self._kept(findings)
        closing = _Closing(kept, len(targets) - failed)
        form = self.parsed.one("output-format")
        self.out.write(in_form(form, kept, self._source, closing, terminal=self.out, environ=self.environ))
        if failed:
            return 2
        return int(any_at_least(kept, self.parsed.one("fail-on") or self.session.settings.fail_on))

    def _judged(self, target: Target) -> list[Finding]:
        """The findings on one target; its table is printed."""
        collected = self._collected(target)
        for warning in collected.warnings:
            self.err.write(f"{escaped(target.name)}: {escaped(warning)}\n")
        place = self._place(target.name)
        written = written_plan(target, collected, place)
        if self.form == "text":
            self.out.write(f"{escaped(target.name)}\n{plan_table(written)}\n")
        rules = self.rules
        if collected.plan is not None and collected.plan.applied is not None:
            # Torch itself has taken the patterns and units; what is left to ask is about the whole.
            rules = [rule for rule in rules if isinstance(rule.suspects, PlanMesh)]
        found = judge_plan(rules, written)
        seen = {(one.rule, one.path, one.span.line) for one in found}
        for prefix in target.wrappers:
            wrapped = dataclasses.replace(collected, facts=collected.facts.under(prefix))
            inside = judge_plan(rules, written_plan(target, wrapped, place))
            # What is wrong without the wrapper is said already.
            found += [one for one in inside if (one.rule, one.path, one.span.line) not in seen]
        return found

    def _place(self, name: str) -> Stated:
        """Where a target is written: the line of its name in the settings."""
        file = self.session.file
        path = os.path.relpath(file, self.session.root) if file else "command line"
        named = re.compile(rf"""\bname\s*=\s*["']{re.escape(name)}["']""")
        for number, line in enumerate((self._source(path) or "").split("\n"), 1):
            if named.search(line):
                return Stated(line.strip(), number, 1 + len(line) - len(line.lstrip()), path)
        return Stated("", 1, 1, path)

    def _collected(self, target: Target) -> Collected:
        kept = self.parsed.one("facts-in")
        if kept is not None:
            return read_facts(kept)
        python = interpreter(target, self.session.root, self.environ)
        self.err.write(f"{escaped(target.name)}: running your code with {escaped(python)}\n")
        self.err.flush()
        timeout, fresh = self.parsed.one("timeout"), self.parsed.flag("no-cache")
        seconds = TIMEOUT if timeout is None else _number(timeout, "--timeout")
        collected = learn(target, self.session.root, self.environ, timeout=seconds, use_cache=not fresh)
        to = self.parsed.one("facts-out")
        if to is not None:
            write_facts(collected, to)
            self.err.write(f"wrote the facts of {escaped(target.name)} to {escaped(to)}\n")
        return collected

    def _failed(self, error: PlanFailed) -> None:
        self.err.write(f"shardlint: {escaped(str(error))}\n")
        for frame in error.frames:
            self.err.write(f"  {escaped(frame)}\n")

    def _kept(self, findings: list[Finding]) -> list[Finding]:
        """The findings that neither the settings nor a comment at their line hides."""
        from shardlint.suppress import read_suppressions

        records: dict[str, Record] = {}
        for path in {finding.path for finding in findings}:
            source = self._source(path)
            if source is not None and path.endswith(".py"):
                records[path] = Record((0, 0, 0), b"", suppressions=read_suppressions("python", source).pack())
        filters = Filters(self.session.settings, [], self.session.rows, frozenset())
        least = self.session.settings.min_confidence
        return sorted(one for one in filters.apply(findings, records, set()) if one.confidence >= least)

    def _source(self, path: str) -> str | None:
        from shardlint.errors import UndecodableSource
        from shardlint.source import decode

        try:
            with open(os.path.join(self.session.root, path), "rb") as file:
                return decode(file.read()).text
        except (OSError, UndecodableSource):
            return None


class _Closing(Summary):
    """The closing line of a run: what was found, and how many targets were judged."""

    __slots__ = ("targets",)

    def __init__(self, findings: list[Finding], targets: int) -> None:
        super().__init__(findings)
        self.targets = targets

    def _checked(self) -> str:
        return f"{self.targets} target{'' if self.targets == 1 else 's'} checked"
