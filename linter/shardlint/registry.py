"""Rule packs: found through the entry point group `shardlint.rules`, checked, turned into rows of plain values.

A row is all that a run needs to know of a rule before it fires; rule modules are imported only on a session miss and
for files that a rule can fire in. A broken pack is refused as a whole, in one sentence: a linter that goes on without
some of its rules would call unread code healthy.
"""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType

from shardlint import proof
from shardlint.errors import PackError
from shardlint.example import MARK, Bad, Example, Good
from shardlint.finding import SEVERITIES, Evidence
from shardlint.loading import Row
from shardlint.query import ChangedFiles, Divergence, Query, Scalars
from shardlint.rule import (
    KINDS,
    ChangeRule,
    CheckpointRule,
    ConfigRule,
    FixSafety,
    LocalRule,
    PlanRule,
    ProgramRule,
    Rule,
)
from shardlint.selection import ENGINE_RULES
from shardlint.voice import CEILINGS, UNPROVED

GROUP = "shardlint.rules"
PROVED = 10
"""How many findings must have been judged before a precision is a number."""
HEADINGS = ("Why is this bad?", "Use instead", "Known limits")
ACTORS = ("rank 0 ", "rank 1 ", "both ranks ")
MOST_STEPS = 4
"""How a step of `Rule.ranks` begins, and how many there are at most."""
_FIELDS = frozenset(
    (
        "severity",
        "since",
        "evidence",
        "suspects",
        "bad",
        "good",
        "ranks",
        "symptoms",
        "preview",
        "fixes",
        "proof",
        "unproved",
        "confidence",
        "precision",
    )
)
_HOOKS: dict[type[Rule], frozenset[str]] = {
    LocalRule: frozenset(("judge", "fix")),
    ProgramRule: frozenset(("judge",)),
    ConfigRule: frozenset(("judge", "fix")),
    ChangeRule: frozenset(("judge",)),
    PlanRule: frozenset(("judge",)),
    CheckpointRule: frozenset(("judge",)),
}


def load_rows() -> tuple[list[Row], list[str]]:
    """The rows of all installed packs, sorted by name, and the folders that they were read from.

    Raises PackError for a pack that cannot be imported, or whose rules are incomplete or collide.
    """
    rows: dict[str, Row] = {}
    folders: list[str] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        found, folder = load_pack(entry)
        folders.append(folder)
        for row in found:
            if row["name"] in ENGINE_RULES:
                raise PackError(f"rule pack `{entry.name}`: `{row['name']}` is the name of a rule of shardlint itself")
            other = rows.get(row["name"])
            if other is not None:
                raise PackError(
                    f"rule `{row['name']}` is in two packs, `{other['pack']}` and `{entry.name}`: uninstall one of them"
                )
            rows[row["name"]] = row
    return [rows[name] for name in sorted(rows)], folders


def load_pack(entry: EntryPoint) -> tuple[list[Row], str]:
    """The rules of one installed pack and its folder. Raises PackError as `load_rows` does."""
    package = _import_pack(entry)
    rows = [describe(rule, entry.name) for rule in pack_rules(package, entry.name)]
    return rows, os.path.dirname(package.__file__ or "")


def _import_pack(entry: EntryPoint) -> ModuleType:
    try:
        package = importlib.import_module(entry.value)
    except Exception as error:
        raise PackError(
            f"rule pack `{entry.name}` cannot be loaded: importing `{entry.value}` failed with "
            f"{type(error).__name__}: {error}; repair or uninstall the pack"
        ) from error
    if not hasattr(package, "__path__"):
        raise PackError(f"rule pack `{entry.name}`: `{entry.value}` is no package; point the entry point at the folder")
    return package


def pack_rules(package: ModuleType, pack: str) -> Iterator[type[Rule]]:
    """The rule classes of a pack: one in each module of each family folder. Each is checked."""

    def refuse(name: str) -> None:
        error = sys.exc_info()[1]
        raise PackError(f"rule pack `{pack}`: {name} cannot be imported ({type(error).__name__}: {error})") from error

    found = pkgutil.walk_packages(package.__path__, package.__name__ + ".", onerror=refuse)
    for info in sorted(found, key=lambda info: info.name):
        stem = info.name.rpartition(".")[2]
        if info.ispkg or stem.startswith("_"):
            continue
        try:
            module = importlib.import_module(info.name)
        except Exception as error:
            raise PackError(
                f"rule pack `{pack}`: {info.name} cannot be imported ({type(error).__name__}: {error})"
            ) from error
        yield _rule_of(module, stem, pack)


def _rule_of(module: ModuleType, stem: str, pack: str) -> type[Rule]:
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == module.__name__
    ]
    where = f"rule pack `{pack}`: {module.__name__}"
    if len(own) != 1:
        raise PackError(f"{where} must define exactly one rule, it defines {len(own)}")
    expected = "".join(part.capitalize() for part in stem.split("_"))
    if own[0].__name__.lower() != expected.lower():
        raise PackError(f"{where}: the class must be named {expected} after its file, not {own[0].__name__}")
    problem = _problem(own[0])
    if problem:
        raise PackError(f"{where}: {problem}")
    return own[0]


def kind_of(rule: type[Rule]) -> type[Rule] | None:
    """Which of the five kinds a rule is."""
    return next((kind for kind in KINDS if issubclass(rule, kind)), None)


def _problem(rule: type[Rule]) -> str | None:
    """What is wrong with a rule, in words; None when nothing is."""
    kind = kind_of(rule)
    if kind is None:
        return f"{rule.__name__} must derive from one of {', '.join(k.__name__ for k in KINDS)}"
    for check in (_misspelt, _incomplete, _undocumented, _badly_traced, _overconfident, _badly_shown, _badly_proved):
        problem = check(rule, kind)
        if problem:
            return problem
    return None


def _misspelt(rule: type[Rule], kind: type[Rule]) -> str | None:
    known = _FIELDS | _HOOKS[kind]
    for name in vars(rule):
        if not name.startswith("_") and name not in known:
            from difflib import get_close_matches

            close = get_close_matches(name, sorted(known), 1)
            hint = f"did you mean `{close[0]}`?" if close else f"a {kind.__name__} has {', '.join(sorted(known))}"
            return f"{rule.__name__}.{name} is no part of a rule ({hint}); give helpers a leading underscore"
    if "judge" not in vars(rule):
        return f"{rule.__name__} has no `judge`"
    # A change rule hands its edits over with the finding.
    if kind is not ChangeRule and ("fix" in vars(rule)) != (rule.fixes is not None):
        return f"{rule.__name__} needs both `fix` and `fixes = safe(...)` or `unsafe(...)`, or neither"
    return None


def _incomplete(rule: type[Rule], _kind: type[Rule]) -> str | None:
    wanted: dict[str, type | tuple[type, ...]] = {
        "severity": str,
        "since": str,
        "evidence": Evidence,
        "suspects": Query,
        "bad": tuple,
        "good": tuple,
    }
    for name, kind in wanted.items():
        value = getattr(rule, name, None)
        if value is None:
            return f"{rule.__name__} has no `{name}`"
        if not isinstance(value, kind):
            return f"{rule.__name__}.{name} has the wrong type, {type(value).__name__}"
    if rule.severity not in SEVERITIES:
        return f"{rule.__name__}.severity is `{rule.severity}`; it must be one of {', '.join(SEVERITIES)}"
    fixes = getattr(rule, "fixes", None)
    if fixes is not None and not isinstance(fixes, FixSafety):
        return f"{rule.__name__}.fixes must be made by `safe(...)` or `unsafe(...)`"
    for pattern in rule.symptoms:
        try:
            re.compile(pattern)
        except re.error as error:
            return f"{rule.__name__}.symptoms: `{pattern}` is no regular expression ({error})"
    return None


def _undocumented(rule: type[Rule], _kind: type[Rule]) -> str | None:
    doc = vars(rule).get("__doc__") or ""
    if not doc.strip():
        return f"{rule.__name__} has no docstring"
    lines = [line.strip() for line in doc.splitlines()]
    for heading in HEADINGS:
        if heading not in lines:
            return f"the docstring of {rule.__name__} has no heading `{heading}` on a line of its own"
    return None


def _badly_traced(rule: type[Rule], _kind: type[Rule]) -> str | None:
    """A trace of two ranks says of each step whose it is, and is taken in at a glance."""
    if len(rule.ranks) > MOST_STEPS or not all(step.startswith(ACTORS) for step in rule.ranks):
        actors = ", ".join(f"`{actor.strip()}`" for actor in ACTORS)
        return f"{rule.__name__}.ranks has at most {MOST_STEPS} texts, each beginning with one of {actors}"
    return None


def _overconfident(rule: type[Rule], _kind: type[Rule]) -> str | None:
    claimed, ceiling = getattr(rule, "confidence", None), CEILINGS.get(rule.evidence.kind)
    if ceiling is None:
        return f"{rule.__name__}.evidence must be made by observation(), research() or inference()"
    if rule.evidence.kind == "research" and not rule.evidence.references:
        return f"{rule.__name__}.evidence is research without a reference"
    if claimed is not None and claimed > ceiling:
        return f"{rule.__name__}.confidence {claimed} is above the ceiling of {rule.evidence.kind}, {ceiling}"
    return None


def _badly_shown(rule: type[Rule], kind: type[Rule]) -> str | None:
    for name, wanted in (("bad", Bad), ("good", Good)):
        examples: tuple[Example, ...] = getattr(rule, name)
        if not examples:
            return f"{rule.__name__} has no `{name}` example"
        for number, example in enumerate(examples, 1):
            where = f"{rule.__name__}.{name}[{number - 1}]"
            if not isinstance(example, wanted):
                return f"{where} must be a {wanted.__name__}"
            if (name == "bad") != bool(example.marked):
                return f"{where} must mark {'its' if name == 'bad' else 'no'} line with `{MARK}`"
            if kind is ChangeRule and example.before is None:
                return f"{where} must give the state before"
            problem = _unparsable(example)
            if problem:
                return f"{where}: {problem}"
    return None


def _badly_proved(rule: type[Rule], _kind: type[Rule]) -> str | None:
    return proof.problem(rule)


def _unparsable(example: Example) -> str | None:
    for files in (example.before or {}, example.files):
        for path, text in files.items():
            if not path.endswith(".py"):
                continue
            try:
                ast.parse(text)
            except SyntaxError as error:
                return f"{path} is not Python: line {error.lineno}: {error.msg}"
    return None


def describe(rule: type[Rule], pack: str) -> Row:
    """The row of a rule."""
    stem = rule.__module__.rpartition(".")[2]
    name = stem.replace("_", "-")
    words: Iterable[str] = rule.suspects.effect.words if isinstance(rule.suspects, Divergence) else ()
    kinds: Iterable[str] = rule.suspects.kinds if isinstance(rule.suspects, Scalars) else ()
    return {
        "name": name,
        "family": rule.__module__.split(".")[-2],
        "pack": pack,
        "module": rule.__module__,
        "kind": rule.kind,
        "severity": rule.severity,
        "since": rule.since,
        "evidence": (rule.evidence.kind, rule.evidence.references),
        "confidence": _confidence(rule, name),
        "fix": None if rule.fixes is None else (rule.fixes.safe, rule.fixes.reason),
        "preview": rule.preview,
        "needs": rule.suspects.needs(),
        "words": tuple(sorted(words)),
        "documents": tuple(sorted(kinds)),
        "all_documents": isinstance(rule.suspects, Scalars) and rule.suspects.at is None,
        "generated": isinstance(rule.suspects, ChangedFiles) and rule.suspects.generated,
        "keys": isinstance(rule.suspects, ChangedFiles) and rule.suspects.keys,
        "suffixes": rule.suspects.suffixes if isinstance(rule.suspects, ChangedFiles) else (),
        "where": None,
        "enforces": (),
        "constraint": None,
    }


def _confidence(rule: type[Rule], name: str) -> float:
    """The ceiling, lowered by the measured precision; unproved (under ten findings) it is the ceiling x 0.8."""
    ceiling = float(getattr(rule, "confidence", None) or CEILINGS[rule.evidence.kind])
    counts = measured(rule.__module__, name)
    if counts is not None and sum(counts) >= PROVED:
        return round(min(ceiling, counts[0] / sum(counts)), 3)
    return round(ceiling * UNPROVED, 3)


def measured(module: str, name: str) -> tuple[int, int, int] | None:
    """How many findings of a rule were judged true, false and debatable, by the table `precision` of its pack."""
    from shardlint.rule import table

    try:
        counts = table("precision", of=module).get(name)
    except FileNotFoundError:
        return None
    if counts is None:
        return None
    true, false, debatable = (int(str(counts.get(verdict, 0))) for verdict in ("true", "false", "debatable"))
    return true, false, debatable


def sources(folders: Iterable[str]) -> list[str]:
    """The files that rows were made from: every module and table of the packs."""
    found: list[str] = []
    for folder in folders:
        for at, inside, files in os.walk(folder):
            inside[:] = sorted(name for name in inside if name != "__pycache__")
            found.append(at)
            found += [os.path.join(at, name) for name in sorted(files) if name.endswith((".py", ".toml", ".json"))]
    return found


def search_path() -> list[str]:
    """The folders in which an installed pack would show."""
    return [folder for folder in sys.path if folder and os.path.isdir(folder)]
