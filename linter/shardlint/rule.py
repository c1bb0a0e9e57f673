"""What a rule is: everything that a rule pack imports.

A rule is a class in a file of its own. The file's stem is the rule's name, its folder the family. It states what it
looks for (`suspects`, a query over facts), shows it (`bad` and `good` examples, which are its tests and its docs), and
judges what the query found.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from shardlint.example import Bad, Example, Good
from shardlint.facts.effects import Effects
from shardlint.facts.site import MISSING, Expression, Function, Site, file_calls
from shardlint.finding import Evidence, Finding, Related, Span
from shardlint.query import (
    RANK,
    Assigned,
    Call,
    ChangedFiles,
    Divergence,
    InFileWith,
    InFunctionWith,
    Method,
    Pinned,
    PlanEntries,
    Query,
    Scalars,
    Spelled,
)
from shardlint.syntax.edit import Edit
from shardlint.voice import CEILINGS, Voice

if TYPE_CHECKING:
    from shardlint.changes.site import Change
    from shardlint.configs.site import Scalar
    from shardlint.facts.divergent import Divergent
    from shardlint.facts.origins import Origin, origin
    from shardlint.facts.patches import dead_patch
    from shardlint.facts.registrations import idle_function, unnamed_module
    from shardlint.facts.samples import Keys
    from shardlint.finding import Severity
    from shardlint.runtime.plan import Plan

_ON_DEMAND = {
    "Change": "shardlint.changes.site",
    "Divergent": "shardlint.facts.divergent",
    "Keys": "shardlint.facts.samples",
    "Origin": "shardlint.facts.origins",
    "Plan": "shardlint.runtime.plan",
    "Scalar": "shardlint.configs.site",
    "dead_patch": "shardlint.facts.patches",
    "idle_function": "shardlint.facts.registrations",
    "origin": "shardlint.facts.origins",
    "unnamed_module": "shardlint.facts.registrations",
}
"""What only one kind of rule is handed. Imported when such a rule asks: a run of local rules needs none of it."""


def __getattr__(name: str) -> object:
    if name in _ON_DEMAND:
        return getattr(importlib.import_module(_ON_DEMAND[name]), name)
    raise AttributeError(f"module `shardlint.rule` has no `{name}`")


Findings = Iterable[Finding]


def observation(*references: str) -> Evidence:
    """The mechanism was seen: proved by execution, or read off the files. Ceiling 0.95."""
    return Evidence("observation", references)


def research(*references: str) -> Evidence:
    """The mechanism is documented upstream; give the links. Ceiling 0.85."""
    return Evidence("research", references)


def inference(*references: str) -> Evidence:
    """The mechanism is a heuristic. Ceiling 0.70."""
    return Evidence("inference", references)


class FixSafety:
    """Whether a rule's fix keeps what the program does, and why or why not."""

    def __init__(self, safe: bool, reason: str) -> None:
        self.safe = safe
        self.reason = reason


def safe(reason: str) -> FixSafety:
    """A fix that changes nothing but the defect."""
    return FixSafety(True, reason)


def unsafe(reason: str) -> FixSafety:
    """A fix that may change what a healthy run does; `reason` is shown."""
    return FixSafety(False, reason)


class Rule:
    """The base of the five kinds. A rule derives from one of them, never from this."""

    severity: ClassVar[Severity]
    since: ClassVar[str]
    evidence: ClassVar[Evidence]
    suspects: ClassVar[Query]
    bad: ClassVar[tuple[Bad, ...]]
    good: ClassVar[tuple[Good, ...]]
    symptoms: ClassVar[tuple[str, ...]] = ()
    """What a user sees when the defect strikes, as regular expressions over logs."""
    preview: ClassVar[bool] = False
    """Off unless selected by name: code alone cannot tell whether it is a defect."""
    fixes: ClassVar[FixSafety | None] = None
    kind: ClassVar[str] = ""

    def __init__(self, voice: Voice) -> None:
        self.voice = voice


class LocalRule(Rule):
    """Judges one call in one file."""

    kind = "local"

    def judge(self, site: Site) -> Findings:
        """The findings at a site that the query found."""
        raise NotImplementedError

    def fix(self, site: Site, edit: Edit) -> None:
        """Write the edit for a finding at `site`; the rule's `fixes` says whether it is safe."""


class ProgramRule(Rule):
    """Judges a place where the whole program matters: where ranks part, across functions and files."""

    kind = "program"

    def judge(self, split: Divergent) -> Findings:
        """The findings at a divergence that the query found."""
        raise NotImplementedError


class ConfigRule(Rule):
    """Judges one place of a document."""

    kind = "config"

    def judge(self, scalar: Scalar) -> Findings:
        """The findings at a scalar that the query found."""
        raise NotImplementedError

    def fix(self, scalar: Scalar, edit: Edit) -> None:
        """Write the edit for a finding at `scalar`."""


class ChangeRule(Rule):
    """Judges one changed file in its two states. A finding takes its fix along: `change.finding(..., edit=edit)`."""

    kind = "change"

    def judge(self, change: Change) -> Findings:
        """The findings in a changed file."""
        raise NotImplementedError


class PlanRule(Rule):
    """Judges a parallel plan against the facts of a model."""

    kind = "plan"

    def judge(self, plan: Plan) -> Findings:
        """The findings in a plan."""
        raise NotImplementedError


KINDS: tuple[type[Rule], ...] = (LocalRule, ProgramRule, ConfigRule, ChangeRule, PlanRule)


def table(name: str, *, of: str) -> Mapping[str, Mapping[str, object]]:
    """A data table of the pack: `tables/<name>.toml` beside the families. `of` is the rule's `__name__`.

    Raises FileNotFoundError when the pack has no such table.
    """
    import os

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    package = sys.modules[of.partition(".")[0]]
    folder = os.path.dirname(package.__file__ or "")
    with open(os.path.join(folder, "tables", f"{name}.toml"), "rb") as file:
        return tomllib.load(file)


__all__ = [
    "CEILINGS",
    "KINDS",
    "MISSING",
    "RANK",
    "Assigned",
    "Bad",
    "Call",
    "Change",
    "ChangeRule",
    "ChangedFiles",
    "ConfigRule",
    "Divergence",
    "Divergent",
    "Edit",
    "Effects",
    "Evidence",
    "Example",
    "Expression",
    "Finding",
    "Findings",
    "Function",
    "Good",
    "InFileWith",
    "InFunctionWith",
    "Iterator",
    "Keys",
    "LocalRule",
    "Method",
    "Origin",
    "Pinned",
    "Plan",
    "PlanEntries",
    "PlanRule",
    "ProgramRule",
    "Query",
    "Related",
    "Rule",
    "Scalar",
    "Scalars",
    "Sequence",
    "Site",
    "Span",
    "Spelled",
    "dead_patch",
    "file_calls",
    "idle_function",
    "inference",
    "observation",
    "origin",
    "research",
    "safe",
    "table",
    "unnamed_module",
    "unsafe",
]
