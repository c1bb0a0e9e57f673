"""The verdicts: one file a package, one line a finding, with a reason that speaks of the code it was found in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from .sources import HERE, CorpusError

FINDINGS = HERE / "findings"
VERDICTS = ("true", "false", "debatable")
ENGINE = ("syntax-error", "broken-document", "unused-suppression", "unknown-suppression")
"""Findings of the engine: they say that a file cannot be read, and are counted apart from the rules."""


class BadLabel(CorpusError):
    """A line of a findings file cannot be read, or lacks its verdict or reason."""


class Label(NamedTuple):
    """A finding with its verdict.

    `path`: relative to the tree. `line`: where it was last seen. `hash`: of the text of that line (`line_hash`).
    `severity`: as reported. `shown`: whether it is printed by default; what is less sure is judged too, but is no part
    of the precision. `verdict`: `true`, what the rule describes happens in a run that this code is for;
    `debatable`, that depends on how it is used; `false`. `reason`: one sentence. Verdict and reason are empty as long
    as nobody has judged it.
    """

    path: str
    line: int
    hash: str
    rule: str
    severity: str
    shown: bool
    verdict: str = ""
    reason: str = ""


def line_hash(text: str) -> str:
    """Sixteen hexadecimal digits for the text of a line; runs of white space count as one space."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def read_labels(file: Path, *, judged: bool = True) -> list[Label]:
    """The labels of a file, none if it is absent.

    Args:
        file: a file of `findings/`.
        judged: refuse a label without a verdict and a reason.

    Raises:
        BadLabel: with file, line and what to write.
    """
    if not file.is_file():
        return []
    lines = file.read_text(encoding="utf-8").splitlines()
    return [_label(f"{file.name}:{number}", line, judged) for number, line in enumerate(lines, 1)]


def _label(where: str, line: str, judged: bool) -> Label:
    try:
        read = json.loads(line)
    except ValueError as error:
        raise BadLabel(f"{where} is not JSON: {error}") from None
    if not isinstance(read, dict) or read.keys() != set(Label._fields):
        raise BadLabel(f"{where} must be an object with the keys {', '.join(Label._fields)}")
    label = Label(**read)
    if not judged and not label.verdict and not label.reason:
        return label
    if label.verdict not in VERDICTS:
        raise BadLabel(f"{where} has the verdict {label.verdict!r}: write one of {', '.join(VERDICTS)}")
    if len(label.reason.split()) < 3:
        raise BadLabel(f"{where} gives no reason for its verdict: write a sentence about this code")
    return label


def write_labels(file: Path, labels: Iterable[Label]) -> None:
    """Write the labels of a package, sorted by place; a package without findings has no file."""
    ordered = sorted(labels, key=lambda label: (label.path, label.line, label.rule))
    if not ordered:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(label._asdict(), ensure_ascii=False) + "\n" for label in ordered)
    file.write_text(text, encoding="utf-8")
