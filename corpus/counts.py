"""How often a rule was right: the labels of the pinned code, the histories, and what was judged elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from shardlint.commands.page import wilson
from shardlint.registry import PROVED

from .labels import ENGINE, VERDICTS, Label
from .sources import HERE, CorpusError, Package

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ELSEWHERE = HERE / "elsewhere.toml"
HISTORY = HERE / "history"
ENOUGH = 0.95
"""The precision that a rule of severity `error` must have."""


class Counts(NamedTuple):
    """Findings of one rule by verdict."""

    true: int = 0
    false: int = 0
    debatable: int = 0

    @property
    def total(self) -> int:
        """All that were judged."""
        return sum(self)

    @property
    def precision(self) -> float:
        """The share that is true; a debatable finding is not. Only for a rule with findings."""
        return self.true / self.total

    @property
    def at_least(self) -> float:
        """The lower end of the 95 % Wilson interval of the precision. Only for a rule with findings."""
        return wilson(self.true, self.total)

    @property
    def proved(self) -> bool:
        """Whether there are enough findings for the precision to be a number."""
        return self.total >= PROVED

    def plus(self, other: Counts) -> Counts:
        """Both together."""
        return Counts(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def and_one(self, verdict: str) -> Counts:
        """One finding more."""
        return self._replace(**{verdict: getattr(self, verdict) + 1})


class Judged(NamedTuple):
    """What was judged outside of the pinned code, and what that was."""

    counts: Counts
    source: str


def counted(packages: Iterable[Package], labels: Mapping[str, list[Label]], *, shown: bool) -> dict[str, Counts]:
    """Verdicts for each rule over all packages, the engine's own findings left out.

    What a repository and the distribution built from it both hold counts once.

    Args:
        packages: the pins.
        labels: those of each package, by its slug.
        shown: count the findings that are printed by default, or those that are not.
    """
    counts: dict[str, Counts] = {}
    for package in packages:
        seen = {_same(label) for label in labels.get(package.distribution, ())}
        for label in labels.get(package.slug, ()):
            if label.shown == shown and label.rule not in ENGINE and _same(label) not in seen:
                counts[label.rule] = counts.get(label.rule, Counts()).and_one(label.verdict)
    return counts


def _same(label: Label) -> tuple[str, str, str]:
    """What a finding keeps when its file lies in another folder and has grown."""
    return label.rule, label.hash, PurePosixPath(label.path).name


def judged_elsewhere(file: Path = ELSEWHERE) -> dict[str, Judged]:
    """The entries of `elsewhere.toml` by rule.

    Raises:
        CorpusError: an entry lacks a number or its source.
    """
    found: dict[str, Judged] = {}
    with file.open("rb") as opened:
        read = tomllib.load(opened)
    for rule, entry in read.items():
        if entry.keys() != {*VERDICTS, "source"} or not entry["source"].strip():
            raise CorpusError(f"{file.name}: the entry {rule} must have {', '.join(VERDICTS)} and source")
        found[rule] = Judged(Counts(*(entry[verdict] for verdict in VERDICTS)), entry["source"].strip())
    return found


class History(NamedTuple):
    """What the change rules said about the commits of one repository."""

    repository: str
    commits: int
    findings: list[tuple[str, str, str]]
    """Rule, commit, verdict."""


def histories(folder: Path = HISTORY) -> list[History]:
    """The histories that were judged, by repository."""
    found: list[History] = []
    for file in sorted(folder.glob("*.jsonl")):
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        findings = [(line["rule"], line["commit"], line["verdict"]) for line in lines if line["rule"]]
        found.append(History(lines[0]["repo"], len({line["commit"] for line in lines}), findings))
    return found


def counted_commits(found: Iterable[History]) -> dict[str, Counts]:
    """Verdicts of the change rules. What a rule says about one commit has one cause, and counts once."""
    causes = {cause for history in found for cause in history.findings}
    counts: dict[str, Counts] = {}
    for rule, _, verdict in sorted(causes):
        counts[rule] = counts.get(rule, Counts()).and_one(verdict)
    return counts


def together(*parts: Mapping[str, Counts]) -> dict[str, Counts]:
    """The sum of several counts, by rule."""
    total: dict[str, Counts] = {}
    for part in parts:
        for rule, counts in part.items():
            total[rule] = total.get(rule, Counts()).plus(counts)
    return dict(sorted(total.items()))
