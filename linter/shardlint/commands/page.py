"""A rule's page: all that `explain` and the catalogue say of it, independent of how it is printed."""

from __future__ import annotations

import math
from inspect import cleandoc

from shardlint.commands.engine_rules import FAMILY, PAGES, EngineRule
from shardlint.example import Example
from shardlint.finding import Evidence
from shardlint.loading import Row, make
from shardlint.proof import Proof, proof_of
from shardlint.registry import HEADINGS, PROVED, measured
from shardlint.voice import CEILINGS


class Page:
    """One rule. `body` holds the docstring in parts: ("", summary and more), then (heading, text) in order.

    `counts` are the judged findings: true, false, debatable; None as long as none were counted.
    """

    __slots__ = (
        "bad",
        "body",
        "confidence",
        "counts",
        "evidence",
        "family",
        "fix",
        "good",
        "kind",
        "name",
        "pack",
        "preview",
        "proof",
        "severity",
        "since",
        "stated",
        "symptoms",
    )

    def __init__(self, name: str, family: str, severity: str, kind: str, text: str, evidence: Evidence) -> None:
        self.name = name
        self.family = family
        self.severity = severity
        self.kind = kind
        self.body = sections(text)
        self.evidence = evidence
        self.confidence = CEILINGS[evidence.kind]
        self.counts: tuple[int, int, int] | None = None
        self.pack = ""
        self.since = "0.1.0"
        self.preview = False
        self.stated = False
        self.proof: Proof | None = None
        self.fix: tuple[bool, str] | None = None
        self.symptoms: tuple[str, ...] = ()
        self.bad: tuple[Example, ...] = ()
        self.good: tuple[Example, ...] = ()

    @property
    def summary(self) -> str:
        """The first sentence of the docstring, on one line."""
        return " ".join(self.body[0][1].split("\n\n")[0].split())

    def how_proved(self) -> str:
        """How a run shows the defect, or why none does; empty for the engine's own rules, which speak of the run."""
        if self.proof is None:
            return ""
        return self.proof.how if self.proof.proved else f"none: {self.proof.how}"

    @property
    def fixable(self) -> str:
        """`safe`, `unsafe` or nothing."""
        return "" if self.fix is None else "safe" if self.fix[0] else "unsafe"

    def how_sure(self) -> str:
        """The confidence of a finding and where the number comes from."""
        ceiling = CEILINGS[self.evidence.kind]
        if self.family == FAMILY:
            return f"{ceiling} (read off the files)"
        if self.stated:
            return (
                f"at most {self.confidence}, as the constraint says; the ceiling of {self.evidence.kind} is {ceiling}"
            )
        if self.counts is None or sum(self.counts) < PROVED:
            judged = sum(self.counts or ())
            return (
                f"at most {self.confidence}, unproved: {judged} findings in real code were judged so far, and fewer "
                f"than {PROVED} prove nothing, so it is 0.8 x {ceiling}, the ceiling of {self.evidence.kind}"
            )
        true, total = self.counts[0], sum(self.counts)
        return (
            f"at most {self.confidence}: of {total} findings in real code {true} were true ({true / total:.0%}, "
            f"at least {wilson(true, total):.0%} with 95 % certainty); the ceiling of {self.evidence.kind} is {ceiling}"
        )


def wilson(true: int, total: int) -> float:
    """The lower end of the 95 % Wilson score interval of a share (Wilson, JASA 22, 1927)."""
    z = 1.959964
    share = true / total
    centre = share + z * z / (2 * total)
    spread = z * math.sqrt((share * (1 - share) + z * z / (4 * total)) / total)
    return (centre - spread) / (1 + z * z / total)


def sections(text: str) -> list[tuple[str, str]]:
    """A docstring as (heading, text); the text before the first heading has the heading ""."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in cleandoc(text).splitlines():
        if line.strip() in HEADINGS:
            found.append((line.strip(), []))
        else:
            found[-1][1].append(line)
    return [(heading, "\n".join(lines).strip()) for heading, lines in found]


def page_of(row: Row) -> Page:
    """The page of a rule of a pack, or of a constraint of the project. Imports the rule."""
    if row["constraint"] is not None:
        from shardlint.commands.constraint_page import constraint_page

        return constraint_page(row)
    rule = make(row)
    kind, references = row["evidence"]
    page = Page(
        row["name"],
        row["family"],
        row["severity"],
        row["kind"],
        type(rule).__doc__ or "",
        Evidence(kind, tuple(references)),
    )
    page.confidence = row["confidence"]
    page.counts = measured(row["module"], row["name"])
    page.pack = row["pack"]
    page.since = row["since"]
    page.preview = row["preview"]
    page.fix = row["fix"]
    page.proof = proof_of(rule)
    page.symptoms = rule.symptoms
    page.bad, page.good = rule.bad, rule.good
    return page


def engine_page(rule: EngineRule) -> Page:
    """The page of one of the engine's own rules."""
    page = Page(rule.name, FAMILY, rule.severity, FAMILY, rule.text, Evidence("observation"))
    page.fix = (True, rule.fix) if rule.fix else None
    return page


def engine_pages() -> list[Page]:
    """The pages of all of the engine's own rules."""
    return [engine_page(rule) for rule in PAGES]


def shown_example(example: Example) -> str:
    """An example as text: its files with their names when the names matter."""
    parts: list[tuple[str, str]] = []
    if example.model or example.plan:
        parts += [("model", example.model), ("mesh", example.mesh), ("plan", example.plan)]
        parts.append(("checkpoint", example.checkpoint))
    parts += [(f"before: {path}", text) for path, text in (example.before or {}).items()]
    after = "after: " if example.before is not None else ""
    parts += [(f"{after}{path}", text) for path, text in example.files.items()]
    parts = [(name, text.rstrip("\n")) for name, text in parts if text.strip() or name.startswith(("before", "after"))]
    if len(parts) == 1 and parts[0][0] == "example.py":
        return parts[0][1]
    return "\n\n".join(f"# {name}\n{text}" if text else f"# {name} (empty)" for name, text in parts)


def nearest(name: str, names: list[str]) -> str:
    """What to type instead of a wrong name."""
    from difflib import get_close_matches

    close = get_close_matches(name.lower().replace("_", "-"), names, 1)
    return f"did you mean `{close[0]}`?" if close else "`shardlint rules` lists the names"
