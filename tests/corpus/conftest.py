"""Evidence made up for the tables."""

from __future__ import annotations

from typing import Any

import pytest

from corpus.blind import Answer, identified
from corpus.counts import Counts, History, Judged
from corpus.labels import Label
from corpus.running import Size
from corpus.sources import Package
from corpus.tables import Evidence

DISTRIBUTION = Package("thing", "1.0", "sdist", "thing-1.0.tar.gz", "0" * 64)
REPOSITORY = Package("some/thing", "f" * 40, "repository", "", "f" * 40, "thing")


def label(line: int, verdict: str, rule: str = "bad-load", **changed: Any) -> Label:
    digest = f"{line:016}"
    return Label("a/b.py", line, digest, rule, "error", True, verdict, f"Line {line} says so.")._replace(**changed)


@pytest.fixture
def known() -> Evidence:
    """Of `bad-load` ten true findings (one in both packages), a debatable and a hidden one; and one of the engine."""
    labels = {
        "thing": [
            *(label(line, "true") for line in range(1, 11)),
            label(20, "false", shown=False),
            label(30, "true", rule="syntax-error"),
        ],
        "some--thing": [
            label(3, "true", path="src/a/b.py"),
            label(40, "debatable"),
            label(41, "true", rule="rare"),
        ],
    }
    packages = [DISTRIBUTION, REPOSITORY]
    places = identified(packages, labels)
    answers = {name: Answer(name, places[name].label.verdict, "It is what it says.") for name in sorted(places)[:5]}
    history = History(
        "some/thing", 9, [("renamed", "c1", "true"), ("renamed", "c1", "true"), ("renamed", "c2", "true")]
    )
    rules = [
        {"name": name, "severity": severity, "preview": preview}
        for name, severity, preview in (
            *(("bad-load", "error", False), ("rare", "warning", False), ("renamed", "warning", False)),
            *(("silent", "error", True), ("elsewhere", "error", False)),
        )
    ]
    elsewhere = {"elsewhere": Judged(Counts(4, 0, 1), "Five models,\nread by hand.")}
    return Evidence(packages, labels, places, answers, elsewhere, [history], {"thing": Size(3, 4000, 2)}, rules)
