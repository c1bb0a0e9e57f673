"""The two texts that are written from the labels: `corpus/README.md`, and the table `precision` of the rule pack."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from shardlint.loading import Row
from shardlint.registry import PROVED

from .blind import Answer, Place, drawn, identified, read_answers
from .counts import (
    ENOUGH,
    Counts,
    History,
    Judged,
    counted,
    counted_commits,
    histories,
    judged_elsewhere,
    together,
)
from .labels import ENGINE, FINDINGS, Label, read_labels
from .mutations import recall
from .running import Size, rows
from .sources import HERE, Package, packages

README = HERE / "README.md"
PRECISION = HERE.parent / "rules" / "shardlint_rules" / "tables" / "precision.toml"
SIZES = HERE / "sizes.json"


class Evidence(NamedTuple):
    """All that the tables are made from."""

    packages: list[Package]
    labels: dict[str, list[Label]]
    places: dict[str, Place]
    answers: dict[str, Answer]
    elsewhere: dict[str, Judged]
    histories: list[History]
    sizes: dict[str, Size]
    rules: list[Row]

    @property
    def pinned(self) -> dict[str, Counts]:
        """Verdicts in the pinned code, by rule, on what is shown by default."""
        return counted(self.packages, self.labels, shown=True)

    @property
    def hidden(self) -> dict[str, Counts]:
        """Verdicts in the pinned code, by rule, on what is too unsure to be shown."""
        return counted(self.packages, self.labels, shown=False)

    @property
    def outside(self) -> dict[str, Counts]:
        """Verdicts in histories and elsewhere, by rule."""
        return together(
            counted_commits(self.histories), {rule: judged.counts for rule, judged in self.elsewhere.items()}
        )


def evidence() -> Evidence:
    """What the files of this folder hold.

    Raises:
        CorpusError: one of them is not complete.
    """
    pins = packages()
    labels = {package.slug: read_labels(FINDINGS / f"{package.slug}.jsonl") for package in pins}
    places = identified(pins, labels)
    return Evidence(
        pins, labels, places, read_answers(places), judged_elsewhere(), histories(), read_sizes(pins), rows()
    )


def read_sizes(pins: Iterable[Package], file: Path = SIZES) -> dict[str, Size]:
    """What was looked at in each package, by slug, as far as it is known for the pinned version."""
    read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    known = {(slug, entry["version"]): Size(*entry["size"]) for slug, entry in read.items()}
    return {
        package.slug: known[package.slug, package.version]
        for package in pins
        if (package.slug, package.version) in known
    }


def write_sizes(pins: Iterable[Package], sizes: Mapping[str, Size], file: Path = SIZES) -> None:
    """Keep what was looked at, one line a package."""
    lines = [
        f"{json.dumps(package.slug)}: {json.dumps({'version': package.version, 'size': sizes[package.slug]})}"
        for package in pins
        if package.slug in sizes
    ]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def below_its_severity(known: Evidence) -> list[str]:
    """A sentence for each rule whose findings fail a run although too many of them were not true."""
    counts = together(known.pinned, known.outside)
    errors = {row["name"] for row in known.rules if row["severity"] == "error" and not row["preview"]}
    return [
        f"{rule} is an error, but {found.true} of {found.total} findings are true: make it a warning or a preview"
        for rule, found in counts.items()
        if rule in errors and found.precision < ENOUGH
    ]


_RECALL = """\
## Recall by mutation

`make mutate` puts the defect of a rule into healthy public code, one place at a time, and looks whether the rule
reports it there. The places are drawn by hash, at most 20 a rule; `recall.jsonl` has each with what was changed.

"""
_PRECISION_HEAD = """\
# Written by `make corpus` from the labels in corpus/: change those, not this file.
#
# How many findings of a rule on public code were judged true, false or debatable; corpus/README.md says where. A rule
# with fewer than ten has no number yet: it is unproved, and its confidence is its ceiling x 0.8. Rules that are not
# listed had no finding."""


def precision_table(known: Evidence) -> str:
    """`precision.toml`: per rule the verdicts that `shardlint.registry` lowers its confidence by."""
    parts = [_PRECISION_HEAD]
    commits = counted_commits(known.histories)
    for rule, counts in together(known.pinned, known.outside).items():
        sources = [f"{known.pinned[rule].total} in the pinned code."] if rule in known.pinned else []
        if rule in commits:
            sources.append(f"{commits[rule].total} in commits of {_repositories(known.histories, rule)}.")
        if rule in known.elsewhere:
            sources += known.elsewhere[rule].source.splitlines()
        parts += ["", *(f"# {line}" for line in sources), f"[{rule}]"]
        parts += [f"{verdict} = {number}" for verdict, number in counts._asdict().items()]
    return "\n".join(parts) + "\n"


def _repositories(found: Iterable[History], rule: str) -> str:
    return ", ".join(history.repository for history in found if any(rule == name for name, _, _ in history.findings))


_INTRODUCTION = """\
# The corpus

Written by `make corpus`: change the labels, not this page.

`packages.toml` pins public code, and `findings/` holds each finding of shardlint in it: path, line, a hash of that
line, rule, severity, whether it is shown by default, a verdict and the reason for it. Every rule runs, previews too.
Nothing else of that code is kept here.

- `true`: what the rule describes happens in a run that the code is for. `debatable`: it depends on the use.
- Precision is true / (true + false + debatable). *At least* is the lower end of its 95 % Wilson interval.
- *Hidden* findings (true/false/debatable) have a confidence below the default threshold: they are judged too, but the
  precision speaks of what a user sees.
- Under {enough} findings a rule is *unproved*: the number means little, and the confidence is the ceiling x 0.8.
- A rule of severity `error` has a precision of {share:.0%} or more; otherwise it becomes a warning or a preview.
- A repository and the distribution that is built from it share findings; those count once.
- *Repeated*: for how many of the findings judged again another reader, who saw source and message alone, gave the same
  verdict. A fifth of the findings of each rule is drawn by hash (`make corpus BLIND=file` writes the sheet).

`make corpus` downloads what is missing, runs, and shows new and vanished findings; with `CLONES=folder` it takes the
repositories from local clones; with `LABEL=1` it writes the lines to fill in. What cannot be had is named, counted as
not checked, and makes the exit code 2. `make corpus-tables` writes this page from the labels, and runs nothing.

Pages of their own say [how much is judged at all](silence.md) of the code with collectives, and
[what capture makes of public incidents](capture.md).
"""


def readme(known: Evidence) -> str:
    """The page of this folder."""
    parts = [
        _INTRODUCTION.format(enough=PROVED, share=ENOUGH),
        _rules(known),
        _RECALL + recall.section(recall.read()) + "\n",
        _repeat(known),
        _engine(known),
        _elsewhere(known),
        _pins(known),
    ]
    return "\n".join(parts)


def _table(head: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    names = list(head)
    shown = ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]
    aligned = ["---", *("---:" for _ in names[1:])]
    return "\n".join([f"| {' | '.join(names)} |", f"|{'|'.join(aligned)}|", *shown]) + "\n"


def _rules(known: Evidence) -> str:
    pinned, outside, hidden = known.pinned, known.outside, known.hidden
    judged = {*pinned, *outside, *hidden}
    lines: list[list[object]] = []
    for row in known.rules:
        name = row["name"]
        if name not in judged:
            continue
        here, there, unsure = (part.get(name, Counts()) for part in (pinned, outside, hidden))
        counts, preview = here.plus(there), " *preview*" if row["preview"] else ""
        share = f"{counts.precision:.0%}" if counts.total else ""
        lines.append(
            [
                *(f"`{name}`{preview}", row["severity"], here.total, there.total, *counts, share),
                f"{counts.at_least:.0%}" if counts.proved else "unproved",
                *("/".join(map(str, unsure)) if unsure.total else "", _repeated(known, name)),
            ]
        )
    head = ["rule", "severity", "pinned", "elsewhere", "true", "false", "debatable", "precision", "at least"]
    silent = [f"`{row['name']}`" for row in known.rules if row["name"] not in judged]
    return (
        f"## Rules\n\n{_table([*head, 'hidden', 'repeated'], lines)}\n"
        f"No finding yet, and so unproved: {', '.join(silent)}.\n\nRules of the kinds change and plan need two states "
        "of a repository, or a model: `make corpus` does not run them.\n"
    )


def _repeated(known: Evidence, rule: str | None) -> str:
    """Equal verdicts of all that were repeated, for a rule or (None) for all."""
    pairs = [
        (known.places[name].label.verdict, answer.verdict)
        for name, answer in known.answers.items()
        if rule in (None, known.places[name].label.rule)
    ]
    return f"{sum(first == second for first, second in pairs)} of {len(pairs)}" if pairs else ""


def _repeat(known: Evidence) -> str:
    wanted = set(drawn(known.places))
    missing = len(wanted - known.answers.keys())
    text = f"## The blind repeat\n\n{_repeated(known, None) or '0 of 0'} verdicts are the same"
    text += f"; {missing} of the {len(wanted)} drawn are not repeated yet.\n" if missing else ".\n"
    differing = [
        (name, answer)
        for name, answer in sorted(known.answers.items())
        if known.places[name].label.verdict != answer.verdict
    ]
    opposed = sum({known.places[name].label.verdict, answer.verdict} == {"true", "false"} for name, answer in differing)
    if differing:
        text += f"\nOf the {len(differing)} that differ, {opposed} are true to one reader and false to the other.\n"
        lines: list[list[object]] = []
        for name, answer in differing:
            package, label = known.places[name]
            place = f"{package.name} {label.path}:{label.line}"
            first, second = (f"{judged.verdict}: {judged.reason}" for judged in (label, answer))
            lines.append([f"`{label.rule}`", place, first, second])
        text += "\n" + _table(["rule", "place", "first", "repeated"], lines).replace("---:", "---")
    return text


def _engine(known: Evidence) -> str:
    counts = Counter(
        (label.rule, label.verdict) for labels in known.labels.values() for label in labels if label.rule in ENGINE
    )
    head = "## The engine's own findings\n\nA file that cannot be read is a finding too. "
    if not counts:
        return head + "There is none.\n"
    said = ", ".join(f"{rule}: {number} {verdict}" for (rule, verdict), number in sorted(counts.items()))
    return head + f"True means that Python or PyYAML refuses it as well. {said}.\n"


def _elsewhere(known: Evidence) -> str:
    lines = ["## Judged elsewhere", ""]
    for history in known.histories:
        rules = Counter((rule, verdict) for rule, _, verdict in history.findings)
        causes = len({(rule, commit) for rule, commit, _ in history.findings})
        said = ", ".join(f"`{rule}` {number} {verdict}" for (rule, verdict), number in sorted(rules.items()))
        lines.append(
            f"- {history.commits} commits of {history.repository} (`history/`): {said or 'no finding'}; what a "
            f"rule says about one commit has one cause and counts once ({causes})."
        )
    for rule, judged in known.elsewhere.items():
        lines.append(f"- `{rule}`: {' '.join(judged.source.split())}")
    return "\n".join(lines) + "\n"


def _pins(known: Evidence) -> str:
    lines: list[list[object]] = []
    for package in known.packages:
        size = known.sizes.get(package.slug)
        shown = ["not checked"] * 3 if size is None else [f"{number:,}" for number in size]
        lines.append([package.shown.rpartition(" ")[0], package.shown.rpartition(" ")[2], *shown])
        lines[-1].append(len(known.labels[package.slug]))
    whole = [f"{sum(column):,}" for column in zip(*known.sizes.values(), strict=True)] or ["0"] * 3
    lines.append(["together", "", *whole, sum(map(len, known.labels.values()))])
    head = ["package", "version", "Python files", "lines", "other files", "findings"]
    return f"## What is pinned\n\n{_table(head, lines)}"
