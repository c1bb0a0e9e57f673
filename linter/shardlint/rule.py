"""What a rule is: everything that a rule pack imports.

A rule is a class in a file of its own. The file's stem is the rule's name, its folder the family. It states what it
looks for (`suspects`, a query over facts), shows it (`bad` and `good` examples, which are its tests and its docs), and
judges what the query found.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from shardlint.example import Bad, Example, Good
from shardlint.facts.effects import Effects
from shardlint.facts.local_words import FILES, NUMBERS
from shardlint.facts.site import MISSING, Expression, Function, Site, file_calls
from shardlint.finding import Evidence, Finding, Related, Span
from shardlint.not_judged import NotJudged
from shardlint.query import (
    RANK,
    Assigned,
    Call,
    ChangedFiles,
    CheckpointKeys,
    Compared,
    Divergence,
    Given,
    InFileWith,
    InFunctionWith,
    Matching,
    Method,
    Pinned,
    PlanEntries,
    PlanMesh,
    PlanUnits,
    Query,
    Scalars,
    Sliced,
    Spelled,
    UnboundOnRanks,
    Written,
)
from shardlint.syntax.edit import Edit
from shardlint.voice import CEILINGS, Voice

if TYPE_CHECKING:
    from shardlint.changes.site import Change
    from shardlint.configs.meant import DIFFUSION, MEDIA, TEXT, Meant, Told
    from shardlint.configs.site import Scalar
    from shardlint.facts.background import under_way
    from shardlint.facts.batching import Batching, Modalities, batchings
    from shardlint.facts.callers import calls_around
    from shardlint.facts.derivation import Derivation, derivation
    from shardlint.facts.divergent import Divergent
    from shardlint.facts.file_order import LISTING, in_file_order
    from shardlint.facts.fresh_optimizers import is_fresh
    from shardlint.facts.handles import Handle, handle
    from shardlint.facts.label_masks import masked_labels
    from shardlint.facts.model_types import mismatch
    from shardlint.facts.origins import Origin, origin
    from shardlint.facts.packed_rows import SAMPLES, counted_row, joined_row
    from shardlint.facts.pad_tokens import EosPad, eos_pad
    from shardlint.facts.partings import partings
    from shardlint.facts.patches import dead_patch
    from shardlint.facts.registrations import idle_function, unnamed_module
    from shardlint.facts.samples import Keys
    from shardlint.facts.signatures import signature
    from shardlint.facts.tensor_uses import tensor_uses
    from shardlint.facts.text_order import in_text_order
    from shardlint.facts.trained_values import Lesson, lesson_through
    from shardlint.facts.truncation import uncut_beside
    from shardlint.finding import Severity
    from shardlint.runtime.checkpoint.subject import Checkpoint
    from shardlint.runtime.heads import Heads
    from shardlint.runtime.matchers import starred
    from shardlint.runtime.model_facts import Parameter, parent_of
    from shardlint.runtime.placements import Division, close_style, known_styles
    from shardlint.runtime.plan import Entry, Plan
    from shardlint.runtime.shares import gib

_ON_DEMAND = {
    "Batching": "shardlint.facts.batching",
    "Change": "shardlint.changes.site",
    "Checkpoint": "shardlint.runtime.checkpoint.subject",
    "DIFFUSION": "shardlint.configs.meant",
    "Derivation": "shardlint.facts.derivation",
    "Division": "shardlint.runtime.placements",
    "Entry": "shardlint.runtime.plan",
    "EosPad": "shardlint.facts.pad_tokens",
    "Divergent": "shardlint.facts.divergent",
    "Handle": "shardlint.facts.handles",
    "Heads": "shardlint.runtime.heads",
    "Keys": "shardlint.facts.samples",
    "Lesson": "shardlint.facts.trained_values",
    "LISTING": "shardlint.facts.file_order",
    "MEDIA": "shardlint.configs.meant",
    "Meant": "shardlint.configs.meant",
    "Modalities": "shardlint.facts.batching",
    "Origin": "shardlint.facts.origins",
    "Parameter": "shardlint.runtime.model_facts",
    "Plan": "shardlint.runtime.plan",
    "SAMPLES": "shardlint.facts.packed_rows",
    "Scalar": "shardlint.configs.site",
    "TEXT": "shardlint.configs.meant",
    "Told": "shardlint.configs.meant",
    "batchings": "shardlint.facts.batching",
    "calls_around": "shardlint.facts.callers",
    "close_style": "shardlint.runtime.placements",
    "counted_row": "shardlint.facts.packed_rows",
    "dead_patch": "shardlint.facts.patches",
    "derivation": "shardlint.facts.derivation",
    "eos_pad": "shardlint.facts.pad_tokens",
    "gib": "shardlint.runtime.shares",
    "handle": "shardlint.facts.handles",
    "idle_function": "shardlint.facts.registrations",
    "in_file_order": "shardlint.facts.file_order",
    "in_text_order": "shardlint.facts.text_order",
    "is_fresh": "shardlint.facts.fresh_optimizers",
    "mismatch": "shardlint.facts.model_types",
    "joined_row": "shardlint.facts.packed_rows",
    "known_styles": "shardlint.runtime.placements",
    "lesson_through": "shardlint.facts.trained_values",
    "masked_labels": "shardlint.facts.label_masks",
    "origin": "shardlint.facts.origins",
    "parent_of": "shardlint.runtime.model_facts",
    "partings": "shardlint.facts.partings",
    "signature": "shardlint.facts.signatures",
    "tensor_uses": "shardlint.facts.tensor_uses",
    "uncut_beside": "shardlint.facts.truncation",
    "under_way": "shardlint.facts.background",
    "starred": "shardlint.runtime.matchers",
    "unnamed_module": "shardlint.facts.registrations",
}
"""What only one kind of rule is handed. Imported when such a rule asks: a run of local rules needs none of it."""


def __getattr__(name: str) -> object:
    if name in _ON_DEMAND:
        return getattr(importlib.import_module(_ON_DEMAND[name]), name)
    raise AttributeError(f"module `shardlint.rule` has no `{name}`")


Findings = Iterable[Finding]

Judgements = Iterable[Finding | NotJudged]
"""What a local or a config rule gives: findings, and the places of which it cannot tell."""


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
    ranks: ClassVar[tuple[str, ...]] = ()
    """What two ranks do when the defect strikes, in at most four lines: `rank 0 waits in ...`, `rank 1 goes on ...`."""
    preview: ClassVar[bool] = False
    """Off unless selected by name: code alone cannot tell whether it is a defect."""
    fixes: ClassVar[FixSafety | None] = None
    proof: ClassVar[tuple[str, str] | None] = None
    """The test module that shows the defect in a run, and what it shows, in one line. Examples can be a proof by
    themselves: see `waits`, `raises` and `runs` of `Example`."""
    unproved: ClassVar[str] = ""
    """Why no run can show the defect, in one line."""
    kind: ClassVar[str] = ""

    def __init__(self, voice: Voice) -> None:
        self.voice = voice


class LocalRule(Rule):
    """Judges one call in one file."""

    kind = "local"

    def judge(self, site: Site) -> Judgements:
        """The findings at a site that the query found, or that it cannot be judged (`site.not_judged`)."""
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

    def judge(self, scalar: Scalar) -> Judgements:
        """The findings at a scalar that the query found, or that it cannot be judged (`scalar.not_judged`)."""
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


class CheckpointRule(Rule):
    """Judges a checkpoint against the facts of a model: a plan rule that is handed no plan."""

    kind = "plan"

    def judge(self, checkpoint: Checkpoint) -> Findings:
        """The findings in a checkpoint."""
        raise NotImplementedError


KINDS: tuple[type[Rule], ...] = (LocalRule, ProgramRule, ConfigRule, ChangeRule, PlanRule, CheckpointRule)


def table(name: str, *, of: str) -> Mapping[str, Mapping[str, object]]:
    """A data table of the pack: `tables/<name>.toml` beside the families. `of` is the rule's `__name__`.

    Raises FileNotFoundError when the pack has no such table.
    """
    return _parsed(_table_path(name, of))


@cache
def _parsed(path: str) -> Mapping[str, Mapping[str, object]]:
    """The table of a file, parsed once: several rules share the large ones. Nobody may change it."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    with open(path, "rb") as file:
        return tomllib.load(file)


_READ: dict[str, str] = {}


def entry(name: str, section: str, key: str, *, of: str) -> str:
    """One text of a table that is too large to be parsed for it; empty when there is none.

    The table must be written as the project's own generator writes them: one `key = "text"` a line, keys as they are.
    """
    path = _table_path(name, of)
    if path not in _READ:
        with open(path, encoding="utf-8") as file:
            _READ[path] = "\n" + file.read() + "\n["
    text = _READ[path]
    start = text.find(f"\n[{section}]\n")
    end = text.find("\n[", start + 1)
    at = text.find(f'\n{key} = "', start, end) if start >= 0 else -1
    return text[at + len(key) + 5 : text.index('"\n', at + len(key) + 5)] if at >= 0 else ""


def _table_path(name: str, of: str) -> str:
    import os

    package = sys.modules[of.partition(".")[0]]
    return os.path.join(os.path.dirname(package.__file__ or ""), "tables", f"{name}.toml")


@cache
def entries(name: str, *path: str, of: str) -> Mapping[str, tuple[str, ...]]:
    """The words of each entry of a section of a data table: `entries("t", "a", "b", of=__name__)` for `[a.b]`.

    Raises KeyError when the table has no such section.
    """
    section: Any = table(name, of=of)
    for step in path:
        section = section[step]
    return {str(key): tuple(str(words).split()) for key, words in section.items()}


__all__ = [
    "CEILINGS",
    "DIFFUSION",
    "FILES",
    "KINDS",
    "LISTING",
    "MEDIA",
    "MISSING",
    "NUMBERS",
    "RANK",
    "SAMPLES",
    "TEXT",
    "Assigned",
    "Bad",
    "Batching",
    "Call",
    "Change",
    "ChangeRule",
    "ChangedFiles",
    "Checkpoint",
    "CheckpointKeys",
    "CheckpointRule",
    "Compared",
    "ConfigRule",
    "Derivation",
    "Divergence",
    "Divergent",
    "Division",
    "Edit",
    "Effects",
    "Entry",
    "EosPad",
    "Evidence",
    "Example",
    "Expression",
    "Finding",
    "Findings",
    "Function",
    "Given",
    "Good",
    "Handle",
    "Heads",
    "InFileWith",
    "InFunctionWith",
    "Iterator",
    "Judgements",
    "Keys",
    "Lesson",
    "LocalRule",
    "Matching",
    "Meant",
    "Method",
    "Modalities",
    "NotJudged",
    "Origin",
    "Parameter",
    "Pinned",
    "Plan",
    "PlanEntries",
    "PlanMesh",
    "PlanRule",
    "PlanUnits",
    "ProgramRule",
    "Query",
    "Related",
    "Rule",
    "Scalar",
    "Scalars",
    "Sequence",
    "Site",
    "Sliced",
    "Span",
    "Spelled",
    "Told",
    "UnboundOnRanks",
    "Written",
    "batchings",
    "calls_around",
    "close_style",
    "counted_row",
    "dead_patch",
    "derivation",
    "entries",
    "entry",
    "eos_pad",
    "file_calls",
    "gib",
    "handle",
    "idle_function",
    "in_file_order",
    "in_text_order",
    "inference",
    "is_fresh",
    "joined_row",
    "known_styles",
    "lesson_through",
    "masked_labels",
    "mismatch",
    "observation",
    "origin",
    "parent_of",
    "partings",
    "research",
    "safe",
    "signature",
    "starred",
    "table",
    "tensor_uses",
    "uncut_beside",
    "under_way",
    "unnamed_module",
    "unsafe",
]
