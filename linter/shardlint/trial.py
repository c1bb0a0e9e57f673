"""Run the examples of a rule: what `shardlint rules test` and the project's own tests stand on.

An example is a small project in memory. It goes through the same stages as a real run, with every rule on, and the
findings of the rule in question must be exactly the marked lines.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shardlint.analysis import DOCUMENTS, Analysis
from shardlint.change_run import judge_changes
from shardlint.changes.memory import memory_change_set
from shardlint.configs.launches import Launches
from shardlint.discover import kind_of, launcher_kind
from shardlint.environment import Environment, Version
from shardlint.example import Example
from shardlint.facts.program import package_name
from shardlint.facts.project_words import ProjectWords
from shardlint.finding import Finding
from shardlint.fixes import apply_edits
from shardlint.loading import Row, make
from shardlint.program_run import run_program
from shardlint.project import is_model_config
from shardlint.record import Record
from shardlint.sieve import Sieve

if TYPE_CHECKING:
    from shardlint.settings import Settings


class Failed(Exception):
    """A rule crashed on an example."""


def findings_of(
    row: Row, example: Example, *, prefilter: bool = True, settings: Settings | None = None
) -> list[Finding]:
    """All findings of one rule on one example, with the edits of its fix.

    `settings`: what a project says of its generated files, collectives and modalities.

    Raises Failed when the rule crashes.
    """
    pins = {name: Version(name, text, "locked", "uv.lock") for name, text in example.versions.items()}
    contents = {path: text.encode() for path, text in example.files.items()}
    python = [path for path in contents if path.endswith(".py")]
    configs = [path for path in contents if is_model_config(path)]
    words = ProjectWords(python, contents.__getitem__, configs)
    environment = Environment(pins, files=example.installed)
    launchers = [path for path in contents if kind_of(path) == "shell" or launcher_kind(path)]
    launches = partial(Launches, launchers, contents, contents.__getitem__)
    analysis = Analysis(
        [row],
        environment=environment,
        edits=True,
        project=words,
        launches=launches,
        collectives=settings.collectives if settings is not None else None,
        modality=settings.modality if settings is not None else None,
    )
    sieve = Sieve([row], lambda: environment, prefilter=prefilter)
    if row["kind"] == "plan":
        from shardlint.plan_run import judge_checkpoint_text, judge_plan_text

        if example.checkpoint:
            return judge_checkpoint_text(make(row), example.model, example.checkpoint)
        return judge_plan_text(make(row), example.model, example.plan, example.mesh)
    findings = _in_files(sieve, analysis, example)
    if row["kind"] == "change":
        changes = memory_change_set(example.before or {}, example.files)
        findings += judge_changes([row], analysis, changes, settings.generated if settings is not None else ())
    if analysis.crashes:
        crash = analysis.crashes[0]
        raise Failed(f"`{crash.rule}` failed on {crash.path}: {crash.detail}")
    return sorted(finding for finding in findings if finding.rule == row["name"])


def _in_files(sieve: Sieve, analysis: Analysis, example: Example) -> list[Finding]:
    contents = {path: text.encode() for path, text in example.files.items()}
    names = frozenset(contents)
    findings: list[Finding] = []
    roots: list[str] = []
    python: list[str] = []
    for path, data in sorted(contents.items()):
        kind = kind_of(path) or "other"
        if kind != "python" and kind not in DOCUMENTS:
            continue
        dotted = package_name(path, names) if kind == "python" else ""
        sifted = sieve.sift(path, kind, (0, 0, 0), data)
        record = sifted if isinstance(sifted, Record) else analysis.look(sifted, dotted)
        findings += record.unpacked()
        if kind == "python":
            python.append(path)
        if record.root:
            roots.append(path)
    if roots:
        result, _ = run_program(
            analysis, roots, python, analysis.facts, contents.__getitem__, lambda path: package_name(path, names)
        )
        findings += result.findings
    return findings


def problems_of(row: Row, example: Example) -> list[str]:
    """What is wrong with one example, in sentences; empty when it holds."""
    try:
        findings = findings_of(row, example)
        without = findings_of(row, example, prefilter=False)
    except Failed as failure:
        return [str(failure)]
    got = {(finding.path, finding.span.line) for finding in findings}
    problems = [f"nothing is reported at {path}:{line}" for path, line in sorted(example.marked - got)]
    problems += [
        f"{finding.path}:{finding.span.line} is reported and not marked: {finding.message}"
        for finding in findings
        if (finding.path, finding.span.line) not in example.marked
    ]
    if without != findings:
        problems.append("the prefilter changes the findings: the query needs words that the example does not have")
    problems += _fix_problems(example, findings)
    return problems


def _fix_problems(example: Example, findings: list[Finding]) -> list[str]:
    if example.fixed is None:
        return []
    (path, text), *others = example.files.items()
    if others:
        return ["an example with `fixed` must be a single file"]
    fixes = [finding.fix for finding in findings if finding.fix is not None and finding.fix.path in (None, path)]
    edits = [edit for fix in fixes for edit in fix.edits or ()]
    after = apply_edits(text, edits)
    return [] if after == example.fixed else [f"the fix makes of {path}:\n{after}"]
