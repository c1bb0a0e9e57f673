"""The blind repeat: another reader judges a fifth of the findings from source and message alone.

The draw depends on nothing but the findings: of each rule, the fifth (rounded up) whose identifiers are lowest.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from .labels import ENGINE, VERDICTS, Label
from .running import Found
from .sources import HERE, CorpusError, Package

ANSWERS = HERE / "blind.jsonl"
SHARE = 5
"""One finding in this many is judged twice."""
_BEFORE, _AFTER = 30, 20
"""Lines of source around a finding."""
_HEAD = """\
# Findings to judge

Each is a place in public code and what a linter says there. Open the file where the excerpt does not say enough. Decide
as the author of that code would:

- `true`: what the message describes happens in a run that this code is for;
- `debatable`: it depends on how the code is used, or is meant to be so;
- `false`: it does not happen, or the message misreads the code.

Write one line a finding, `{"id": "...", "verdict": "true", "reason": "one sentence about this code"}`.
"""


class BadAnswer(CorpusError):
    """A line of the answers cannot be read, names no finding or repeats one."""


class Answer(NamedTuple):
    """What the second reader says of the finding with this identifier."""

    id: str
    verdict: str
    reason: str


class Place(NamedTuple):
    """A label and the package it belongs to."""

    package: Package
    label: Label


def identified(packages: Iterable[Package], labels: Mapping[str, list[Label]]) -> dict[str, Place]:
    """Every label of a rule, with an identifier of ten hexadecimal digits that does not depend on the line's number."""
    found: dict[str, Place] = {}
    for package in packages:
        alike: dict[tuple[str, str, str], int] = defaultdict(int)
        for label in sorted(labels.get(package.slug, ()), key=lambda label: label.line):
            if label.rule in ENGINE:
                continue
            key = (label.path, label.rule, label.hash)
            text = "\0".join((package.name, *key, str(alike[key])))
            alike[key] += 1
            found[hashlib.sha256(text.encode()).hexdigest()[:10]] = Place(package, label)
    return found


def drawn(places: Mapping[str, Place]) -> list[str]:
    """The identifiers to repeat, sorted, so that their order says nothing of rule or package."""
    of_rule: dict[str, list[str]] = defaultdict(list)
    for identifier, place in places.items():
        of_rule[place.label.rule].append(identifier)
    return sorted(name for names in of_rule.values() for name in sorted(names)[: -(-len(names) // SHARE)])


def read_answers(places: Mapping[str, Place], file: Path = ANSWERS) -> dict[str, Answer]:
    """The second verdicts by identifier; none if the file is absent.

    Raises:
        BadAnswer: with file and line.
    """
    found: dict[str, Answer] = {}
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    for number, line in enumerate(lines, 1):
        where = f"{file.name}:{number}"
        try:
            answer = Answer(**json.loads(line))
        except (TypeError, ValueError):
            raise BadAnswer(f"{where} must be an object with the keys {', '.join(Answer._fields)}") from None
        if answer.verdict not in VERDICTS or len(answer.reason.split()) < 3:
            raise BadAnswer(f"{where} needs a verdict ({', '.join(VERDICTS)}) and a reason of one sentence")
        if answer.id not in places:
            raise BadAnswer(f"{where} answers a finding that is not there any more: remove the line")
        if answer.id in found:
            raise BadAnswer(f"{where} answers the finding {answer.id} a second time: remove one of the lines")
        found[answer.id] = answer
    return found


def sheet(identifiers: Iterable[str], places: Mapping[str, Place], seen: Mapping[str, tuple[Path, list[Found]]]) -> str:
    """What the second reader gets: no verdict, no reason, and nothing of other findings.

    Args:
        identifiers: what to ask for.
        places: the labels by identifier.
        seen: for each slug, the tree and what was found in it now.
    """
    parts = [_HEAD]
    for identifier in identifiers:
        package, label = places[identifier]
        tree, found = seen[package.slug]
        message = next(f.message for f in found if (f.path, f.line, f.rule) == (label.path, label.line, label.rule))
        text = (tree / label.path).read_text(encoding="utf-8", errors="replace")
        parts.append(
            f"## {identifier}\n\n{label.rule} in {package.shown}\n{tree / label.path}:{label.line}\n\n"
            f"> {message}\n\n```\n" + "\n".join(_excerpt(text.splitlines(), label.line)) + "\n```\n"
        )
    return "\n".join(parts)


def _excerpt(lines: list[str], line: int) -> Iterator[str]:
    for number in range(max(1, line - _BEFORE), min(len(lines), line + _AFTER) + 1):
        yield f"{'>' if number == line else ' '}{number:5} {lines[number - 1]}"
