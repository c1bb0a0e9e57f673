"""Constraints -> rows of the session table: each becomes a rule, or says something of rules that are there already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shardlint.discover import compile_patterns
from shardlint.knowledge.checks import code_check, config_check
from shardlint.knowledge.constraint import DEFAULT_SEVERITY, FAMILY
from shardlint.knowledge.constraint_file import Problem
from shardlint.selection import ENGINE_RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardlint.knowledge.constraint import Constraint
    from shardlint.loading import Row
    from shardlint.query import Needs
    from shardlint.settings import Regexes, Settings

    Enforced = tuple[tuple[Regexes, Regexes], str, str, str, str, str, int]
    """A constraint that leaves its check to a rule: its paths, severity, id, name, title, file and line."""

OWN = ("config", "pattern", "forbidden")
"""The kinds of check that are rules of their own; the others speak of rules of the packs."""


def add_constraints(constraints: Iterable[Constraint], rows: list[Row], settings: Settings) -> list[Problem]:
    """Add the rows of constraints to `rows`, and what they say to the rows of other rules and to `settings`.

    Returns what cannot be taken: the name of a rule that there is none of, an id that a rule has, a bad pattern.
    """
    problems: list[Problem] = []
    known = {row["name"]: row for row in rows}
    for constraint in constraints:
        try:
            if constraint.id in known or constraint.id in ENGINE_RULES or constraint.id == FAMILY:
                raise _Refused(("id",), f"`{constraint.id}` is the name of a rule already: choose another id")
            if constraint.kind in OWN:
                rows.append(_own_row(constraint))
            else:
                _enforce(constraint, known, settings)
        except _Refused as refusal:
            problems.append(Problem(constraint.file, constraint.line_of(refusal.where), str(refusal)))
    rows.sort(key=lambda row: row["name"])
    return problems


class _Refused(Exception):
    """A constraint that does not go together with the project's rules."""

    def __init__(self, where: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.where = where


def _own_row(constraint: Constraint) -> Row:
    """The row of a constraint that is a rule of its own."""
    documents: tuple[str, ...] = ()
    fix = None
    if constraint.kind == "config":
        config = config_check(constraint)
        documents = tuple(sorted(config.kinds))
        needs: Needs = ("any", *(("word", word) for word in config.words)) if config.words else ("all",)
    else:
        code = code_check(constraint)
        fix, needs = code.fix, code.needs()
    return {
        "name": constraint.id,
        "family": FAMILY,
        "pack": "project",
        "module": "shardlint.knowledge.rules",
        "kind": "config" if constraint.kind == "config" else "local",
        "severity": constraint.severity or DEFAULT_SEVERITY,
        "since": "",
        "evidence": constraint.evidence,
        "confidence": constraint.confidence,
        "fix": fix,
        "preview": False,
        "needs": needs,
        "words": (),
        "documents": documents,
        "all_documents": False,
        "generated": False,
        "keys": False,
        "suffixes": (),
        "where": where_of(constraint),
        "enforces": (),
        "constraint": as_plain(constraint),
    }


def where_of(constraint: Constraint) -> tuple[Regexes, Regexes]:
    """The files that a constraint holds in: expressions of those that it names, and of those that it leaves out.

    A config check names its files itself.
    """
    paths = constraint.paths
    if constraint.kind == "config":
        files: list[str] | str = constraint.check.get("files", [])
        paths = (*paths, *([files] if isinstance(files, str) else files))
    return _regexes("paths", paths), _regexes("exclude", constraint.exclude)


def _regexes(key: str, patterns: tuple[str, ...]) -> Regexes:
    try:
        return tuple(compile_patterns(patterns))
    except ValueError as error:
        raise _Refused((key,), str(error)) from None


def as_plain(constraint: Constraint) -> tuple[Any, ...]:
    """A constraint as values that `marshal` takes; its lines stay in the file."""
    return tuple(constraint._replace(lines={}))


def _enforce(constraint: Constraint, known: dict[str, Row], settings: Settings) -> None:
    """Let the rules that a constraint leaves its check to know of it."""
    if constraint.kind == "enforced_by":
        name: str = constraint.check["rule"]
        if name not in known:
            from difflib import get_close_matches

            close = get_close_matches(name, sorted(known), 1)
            hint = f"did you mean `{close[0]}`?" if close else "`shardlint rules` lists the names"
            raise _Refused(("enforced_by", "rule"), f"`{name}` is no rule; {hint}")
        rules = [known[name]]
        _add_options(constraint.check.get("options", {}), settings)
    elif constraint.kind == "generated":
        rules = [row for row in known.values() if row["family"] == "generated"]
        paths, sources = tuple(constraint.check["paths"]), tuple(constraint.check.get("sources", ()))
        regexes = _regexes("generated", paths)
        settings.generated = (*settings.generated, (paths, regexes, sources, constraint.check.get("command", "")))
    else:
        rules = [row for row in known.values() if row["keys"]]
    for row in rules:
        # Whoever writes a constraint for a rule wants it on.
        row["preview"] = False
        entry: Enforced = (
            where_of(constraint),
            constraint.severity,
            constraint.id,
            constraint.name,
            constraint.title,
            constraint.file,
            constraint.line,
        )
        row["enforces"] = (*row["enforces"], entry)


def _add_options(options: dict[str, Any], settings: Settings) -> None:
    """Settings that a constraint adds; what the settings file says of the same name stands."""
    settings.collectives = {**options.get("collectives", {}), **settings.collectives}
    for kind, entries in options.get("modality", {}).items():
        settings.modality[kind] = {**entries, **settings.modality.get(kind, {})}
