"""The page of a constraint: what `explain` says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardlint.commands.page import Page
from shardlint.example import Bad, Example, Good
from shardlint.finding import Evidence
from shardlint.knowledge.capture.formatting import block_text
from shardlint.knowledge.constraint import Constraint
from shardlint.knowledge.snippet import example_of, is_document

if TYPE_CHECKING:
    from typing import Any

    from shardlint.loading import Row


def constraint_page(row: Row) -> Page:
    """The page of a constraint that is a rule of its own."""
    constraint = Constraint(*row["constraint"])
    kind, references = constraint.evidence
    page = Page(row["name"], row["family"], row["severity"], row["kind"], _text(constraint), Evidence(kind, references))
    page.confidence = constraint.confidence
    page.pack = row["pack"]
    page.since = ""
    page.stated = True
    page.fix = row["fix"]
    page.bad = tuple(_example(constraint, snippet, bad=True) for snippet in constraint.bad)
    page.good = tuple(_example(constraint, snippet, bad=False) for snippet in constraint.good)
    return page


def _text(constraint: Constraint) -> str:
    """What a rule's docstring would say."""
    check = block_text({constraint.kind: constraint.check})
    parts = [f"{constraint.title}.", "", f"{constraint.name}, {constraint.file}:{constraint.line}", "", check]
    if constraint.rationale:
        parts += ["Why is this bad?", constraint.rationale]
    if constraint.help:
        parts += ["Use instead", constraint.help]
    return "\n".join(parts)


def _example(constraint: Constraint, snippet: Any, *, bad: bool) -> Example:
    if constraint.kind == "config" and is_document(snippet):
        return (Bad if bad else Good)(block_text(snippet), path="example.yaml")
    return example_of(snippet, (), bad=bad, config=constraint.kind == "config")
