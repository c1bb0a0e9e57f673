"""`check --why FILE:LINE`: what is known at one line, and what kept each rule silent there."""

from __future__ import annotations

import ast
import os

from shardlint.commands.why_conditions import conditions
from shardlint.commands.why_names import known_calls
from shardlint.commands.why_rules import rule_lines
from shardlint.engine import run
from shardlint.environment import Environment
from shardlint.errors import UndecodableSource, UnreadableFile, UsageError
from shardlint.facts.module import FUNCTIONS, FunctionNode, Module
from shardlint.facts.program import package_name
from shardlint.parsing import parse
from shardlint.report.terminal import escaped, line_start
from shardlint.request import Outcome, Request
from shardlint.selection import Choice, active_rows
from shardlint.session import Session
from shardlint.source import decode
from shardlint.suppress import read_suppressions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from shardlint.loading import Row


def why(session: Session, place: str, choice: Choice, environ: Mapping[str, str]) -> str:
    """The answer for one line of a Python file, given as FILE:LINE.

    Raises UsageError for a place that is no line of a Python file, UnreadableFile for a missing file.
    """
    named, line = _parts(place)
    path = _inside(session.root, named)
    data = _read(named)
    outcome = run(session, Request([named], choice=choice, environ=environ))
    try:
        text = decode(data).text
    except UndecodableSource as error:
        return f"{escaped(f'{path} does not parse, so no rule looks at it: {error}')}\n"
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    count = len(lines) - (not lines[-1] and len(lines) > 1)
    if not 1 <= line <= count:
        raise UsageError(f"{named} has {count} lines, so there is no line {line}")
    report = [f"{path}:{line}  {lines[line - 1].strip()}"]
    tree = parse(text)
    if isinstance(tree, SyntaxError):
        report.append(f"the file does not parse, so no rule looks at it: line {tree.lineno}: {tree.msg}")
    else:
        module = Module(
            path,
            text,
            tree,
            dotted=_dotted(session.root, path),
            environment=Environment.from_plain(session.environment),
        )
        report += _facts(module, line)
    active = active_rows(session, choice)
    report += _part("rules", rule_lines(session, active, data, path))
    report += _part("this line in the run", _seen(session, outcome, active, path, line, _function(tree, line)))
    report += _part("suppressions of this line", _suppressions(session, text, path, line))
    return "".join(f"{line_start(row)}\n" for row in report)


def _parts(place: str) -> tuple[str, int]:
    named, _, number = place.rpartition(":")
    if not named or not number.isdecimal():
        raise UsageError(f"`--why` takes FILE:LINE, such as train.py:41, not `{place}`")
    return named, int(number)


def _inside(root: str, named: str) -> str:
    real = os.path.realpath(named)
    path = os.path.relpath(real, os.path.realpath(root)).replace(os.sep, "/")
    if path == ".." or path.startswith("../"):
        raise UsageError(f"{named} lies outside of the project {root}: run shardlint from its own project")
    return path


def _read(named: str) -> bytes:
    try:
        with open(named, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UnreadableFile(f"{named} cannot be read: {(error.strerror or '').lower()}; check the path") from None
    if not named.endswith(".py") and not (data.startswith(b"#!") and b"python" in data.split(b"\n", 1)[0]):
        raise UsageError(f"`--why` tells about Python files, and {named} is none")
    return data


def _dotted(root: str, path: str) -> str:
    parts = path.split("/")[:-1]
    packages = ["/".join([*parts[:depth], "__init__.py"]) for depth in range(1, len(parts) + 1)]
    return package_name(path, frozenset(name for name in packages if os.path.exists(os.path.join(root, name))))


def _part(title: str, lines: list[str]) -> list[str]:
    return ["", title, *(f"  {line}" for line in lines or ["none"])]


def _facts(module: Module, line: int) -> list[str]:
    statement = _statement(module.tree, line)
    if statement is None:
        return ["no statement stands here"]
    function = _function(module.tree, line)
    where = f"in the function `{module.qualified(function)}`, line {function.lineno}" if function else "in the body"
    report = [f"{where} of the file" if function is None else where]
    report += _part("calls on this line", known_calls(module, line))
    report += _part("conditions of this line, outermost first", conditions(module, statement, line))
    return report


def _statement(tree: ast.Module, line: int) -> ast.stmt | None:
    """The innermost statement on a line."""
    found: ast.stmt | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            found = node
    if found is None or found.lineno == line or not isinstance(getattr(found, "body", None), list):
        return found
    inner: list[ast.stmt] = getattr(found, "body", [])
    return found if line < inner[0].lineno else None


def _function(tree: ast.Module | SyntaxError, line: int) -> FunctionNode | None:
    found: FunctionNode | None = None
    if isinstance(tree, ast.Module):
        for node in ast.walk(tree):
            if isinstance(node, FUNCTIONS) and node.lineno <= line <= (node.end_lineno or node.lineno):
                found = node
    return found


def _seen(
    session: Session, outcome: Outcome, active: list[Row], path: str, line: int, function: FunctionNode | None
) -> list[str]:
    """What the run itself said about the line, its function and its file."""
    discovery = outcome.discovery
    assert discovery is not None
    if path in discovery.excluded:
        return ["the file is excluded, by the settings or by the name of its folder: no rule looks at it"]
    if path not in {file[0] for file in discovery.files}:
        reason = dict(discovery.skipped).get(path, "`include` in the settings leaves it out")
        return [f"the file is not checked: {reason}"]
    if path in outcome.generated:
        return ["the file is generated: only rules about generated files look at it"]
    said: list[str] = []
    for finding in outcome.findings:
        if finding.path == path and finding.span.line <= line <= finding.span.end_line:
            low = finding.confidence < session.settings.min_confidence
            shown = f", below `min-confidence` {session.settings.min_confidence}: not shown" if low else ""
            said.append(f"reported by {finding.rule} with confidence {finding.confidence}{shown}: {finding.message}")
    first, last = (function.lineno, function.end_lineno or function.lineno) if function else (line, line)
    said += [
        f"not judged, line {at}: {reason}"
        for place, _, at, reason in outcome.not_judged
        if place == path and first <= at <= last
    ]
    said += [f"{crash.rule} failed on this file: {crash.detail}" for crash in outcome.crashes if crash.path == path]
    return said or [f"none of the {len(active)} rules that are on has anything to say here"]


def _suppressions(session: Session, text: str, path: str, line: int) -> list[str]:
    from shardlint.discover import matcher

    found: list[str] = []
    for one in read_suppressions("python", text).all:
        if one.whole_file or one.first <= line <= one.last:
            hidden = ", ".join(name for name, _ in one.names)
            found.append(f"line {one.line}: {one.problem or f'hides {hidden}'}")
    for pattern, regexes, names in session.settings.per_file_ignores:
        if matcher(regexes)(path):
            found.append(f"`per-file-ignores` in the settings, `{pattern}`: hides {', '.join(names)}")
    for rule, pattern, regexes, _, _ in session.settings.suppress:
        if matcher(regexes)(path):
            found.append(f"`suppress` in the settings, `{pattern}`: hides {rule}")
    return found
