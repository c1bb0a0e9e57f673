"""`shardlint constraints`: what a team's constraint files hold, whether it can be taken, tested, and what it covers."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from shardlint.commands.page import Page, page_of
from shardlint.errors import ConstraintError, UsageError
from shardlint.facts.key_manifest import MANIFEST
from shardlint.knowledge.coverage import Covered, Rules, coverage
from shardlint.knowledge.files import Knowledge, read_knowledge
from shardlint.knowledge.places import KNOWN
from shardlint.knowledge.proving import Tested, tested
from shardlint.knowledge.rows import add_constraints
from shardlint.registry import load_rows
from shardlint.report.terminal import escaped
from shardlint.settings import find_settings, load_settings

if TYPE_CHECKING:
    from shardlint.arguments import Parsed
    from shardlint.knowledge.constraint import Constraint
    from shardlint.knowledge.constraint_file import Problem
    from shardlint.loading import Row
    from shardlint.settings import Settings

ACTIONS = ("check", "test", "list", "coverage")


class Project:
    """The constraints of the project around the working directory, read without the table of a run: what is wrong with
    them is what is asked for.

    `packs`: the rows of the packs alone; `rows`: those of the constraints as well, by name.
    """

    def __init__(self, directory: str) -> None:
        located = find_settings(directory)
        self.root = located.root
        self.settings: Settings = load_settings(located)
        self.knowledge: Knowledge = read_knowledge(self.root, self.settings.knowledge)
        rows, _ = load_rows()
        self.packs = list(rows)
        refused = add_constraints(self.knowledge.constraints, rows, self.settings)
        self.rows: dict[str, Row] = {row["name"]: row for row in rows}
        self.problems: list[Problem] = sorted([*self.knowledge.problems, *refused])

    @property
    def constraints(self) -> list[Constraint]:
        return self.knowledge.constraints

    def sound(self) -> None:
        """Raise ConstraintError if something is wrong: what is asked for needs all of them."""
        if self.problems:
            raise ConstraintError("\n".join(map(str, self.problems)))


def constraints(parsed: Parsed, directory: str) -> tuple[str, int]:
    """What `shardlint constraints` prints, and its exit code: 1 if something is wrong with a constraint or a test.

    Raises UsageError for another action, and ConstraintError where a wrong constraint is in the way.
    """
    action, *operands = parsed.operands or [""]
    if action not in ACTIONS:
        raise UsageError(f"say what to do: `shardlint constraints {'|'.join(ACTIONS)}`")
    if operands and action in ("check", "list"):
        raise UsageError(f"`shardlint constraints {action}` takes no further name")
    project = Project(directory)
    if action == "check":
        return _check(project)
    if action == "test":
        return _test(project, operands)
    as_json = parsed.one("output-format") == "json"
    if action == "list":
        project.sound()
        return (_list_json(project) if as_json else _list(project)), 0
    return _coverage(project, operands, as_json=as_json)


def _check(project: Project) -> tuple[str, int]:
    problems = [*map(str, project.problems), *_missing_manifest(project)]
    lines = [escaped(line) for line in problems]
    lines.append(f"{_counted(project)}: {_number(len(problems), 'problem') if problems else 'all can be taken'}")
    return "\n".join(lines) + "\n", int(bool(problems))


def _missing_manifest(project: Project) -> list[str]:
    """A constraint about state keys needs the manifest, which a run would silently do without."""
    if os.path.exists(os.path.join(project.root, MANIFEST)):
        return []
    wanting = [one for one in project.constraints if one.kind == "state_keys"]
    message = f"there is no {MANIFEST} that the keys could be compared with: write it with `shardlint keys lock`"
    return [f"{one.file}:{one.line}: {message}" for one in wanting]


def _counted(project: Project) -> str:
    files = [file for file, held in project.knowledge.contents.items() if held.constraints or held.problems]
    return f"{_number(len(files), 'file')}, {_number(len(project.constraints), 'constraint')}"


def _test(project: Project, names: list[str]) -> tuple[str, int]:
    project.sound()
    unknown = [name for name in names if name not in {one.id for one in project.constraints}]
    if unknown:
        raise UsageError(f"`{unknown[0]}` is no constraint; `shardlint constraints list` shows them")
    chosen = [one for one in project.constraints if not names or one.id in names]
    results = [tested(one, project.rows, project.settings) for one in chosen]
    problems = [str(problem) for result in results for problem in result.problems]
    return "\n".join([*map(escaped, problems), _tested_line(results)]) + "\n", int(bool(problems))


def _tested_line(results: list[Tested]) -> str:
    count = sum(result.tests for result in results)
    failed = sum(len(result.problems) for result in results)
    untested = sum(not result.tests for result in results)
    end = "all hold" if not failed else f"{_number(failed, 'test')} {'fails' if failed == 1 else 'fail'}"
    without = f"; {_number(untested, 'constraint')} without a test" if untested else ""
    return f"{_number(len(results), 'constraint')}, {_number(count, 'test')}: {end}{without}"


def _list(project: Project) -> str:
    if not project.constraints:
        return f"no constraints: write some into {KNOWN}, or let `shardlint capture` do so\n"
    width = max(len(one.id) for one in project.constraints)
    lines: list[str] = []
    file = ""
    for one in project.constraints:
        if one.file != file:
            file = one.file
            lines += [*([""] if lines else []), escaped(file)]
        number = f"{one.number}." if one.number else ""
        lines.append(
            f"  {number:>4} {one.id:<{width}}  {severity_of(one, project):<7}  {one.kind:<11}  {escaped(one.title)}"
        )
    lines += ["", f"{_counted(project)}. One of them: shardlint explain {project.constraints[0].id}"]
    return "\n".join(lines) + "\n"


def severity_of(constraint: Constraint, project: Project) -> str:
    """The severity of a finding; that of the rule which does the work, if the constraint says nothing of it."""
    if constraint.severity:
        return constraint.severity
    if constraint.id in project.rows:
        return str(project.rows[constraint.id]["severity"])
    return str(project.rows[constraint.check["rule"]]["severity"]) if constraint.kind == "enforced_by" else "as ruled"


def _list_json(project: Project) -> str:
    listed = [
        {
            "id": one.id,
            "number": one.number or None,
            "title": one.title,
            "path": one.file,
            "line": one.line,
            "severity": severity_of(one, project),
            "confidence": one.confidence,
            "evidence": {"kind": one.evidence[0], "references": list(one.evidence[1])},
            "check": one.kind,
            "tests": {"bad": len(one.bad), "good": len(one.good)},
        }
        for one in project.constraints
    ]
    return json.dumps(listed, indent=2) + "\n"


def _coverage(project: Project, names: list[str], *, as_json: bool) -> tuple[str, int]:
    project.sound()
    contents = project.knowledge.contents
    if names:
        from shardlint.knowledge.constraint_file import read_constraints

        contents = {
            name: contents[name] if name in contents else read_constraints(name, _bytes(name)) for name in names
        }
    rules = Rules({row["name"]: _text(page_of(row)) for row in project.packs})
    found = [one for file, held in contents.items() for one in coverage(file, held, rules)]
    if as_json:
        return _coverage_json(found), 0
    return _coverage_text(found), 0


def _bytes(name: str) -> bytes:
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(
            f"{name} cannot be read: {(error.strerror or str(error)).lower()}; name a constraint file"
        ) from None


def _text(page: Page) -> str:
    return " ".join([page.family, page.summary, *(text for _, text in page.body)])


def _coverage_text(found: list[Covered]) -> str:
    if not found:
        return f"nothing to cover: no numbered statement and no constraint; they are looked for in {KNOWN}\n"
    lines: list[str] = []
    file = ""
    for one in found:
        if one.file != file:
            file = one.file
            lines += [*([""] if lines else []), escaped(file)]
        number = f"{one.number}." if one.number else ""
        lines += [f"  {number:>4} {escaped(one.title)}", f"       {_state(one)}"]
    enforced = sum(bool(one.by) for one in found)
    lines += ["", f"{enforced} of {len(found)} enforced, {len(found) - enforced} only prose"]
    return "\n".join(lines) + "\n"


def _state(one: Covered) -> str:
    if one.by:
        ways = [f"rule {c.check['rule']}" if c.kind == "enforced_by" else f"{c.kind}, {c.id}" for c in one.by]
        return f"enforced: {'; '.join(ways)}"
    if one.proposed:
        return f"only prose; a rule speaks of it: {' or '.join(one.proposed)}"
    return "only prose"


def _coverage_json(found: list[Covered]) -> str:
    listed = [
        {
            "path": one.file,
            "line": one.line,
            "number": one.number or None,
            "title": one.title,
            "enforced_by": [c.check["rule"] if c.kind == "enforced_by" else c.id for c in one.by],
            "proposed": list(one.proposed),
        }
        for one in found
    ]
    return json.dumps(listed, indent=2) + "\n"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
