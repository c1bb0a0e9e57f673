"""A solved incident: what was seen, why, what shows it, and the code or config before and after the fix."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from shardlint.errors import CaptureRefused
from shardlint.knowledge.block import Unreadable, read_block, schema_problem

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "incident.schema.json")
_FENCE = re.compile(r"(python|py|yaml|yml)\s+(bad|good)")
_HEAD = "---"
OWN_CHECKS = ("config", "pattern", "forbidden")

NEEDED = {
    "cause": "why it happened",
    "evidence": "what shows that this is the cause",
    "verification": "how it was seen that the fix works",
}
"""Without these an incident is not understood yet, and nothing is captured."""


class Incident(NamedTuple):
    """What is told of an incident. Texts are empty and mappings None where nothing is said.

    bad, good: code or a YAML document, as text or, for a document, as a mapping. check: the kind and content of a check
    that is given rather than proposed.
    """

    title: str = ""
    id: str = ""
    symptom: str = ""
    cause: str = ""
    evidence: Any = None
    verification: str = ""
    bad: Any = None
    good: Any = None
    severity: str = ""
    confidence: float | None = None
    message: str = ""
    help: str = ""
    paths: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    check: tuple[str, dict[str, Any]] | None = None

    def missing(self) -> list[str]:
        """What is not told and cannot be done without, by the names of the keys."""
        wanted = [name for name in NEEDED if not getattr(self, name)]
        return [name for name in ("title", "bad", "good") if getattr(self, name) in ("", None)] + wanted

    def over(self, other: Incident) -> Incident:
        """This incident, completed with what another one tells."""
        empty = Incident()
        mine = {name: getattr(self, name) for name in self._fields}
        return other._replace(**{name: value for name, value in mine.items() if value != getattr(empty, name)})


def read_incident(file: str) -> Incident:
    """The incident of a Markdown file: a YAML head between two lines `---`, and fences `python bad`, `python good` or
    `yaml bad`, `yaml good` for snippets that are not in the head.

    Raises CaptureRefused with file and line.
    """
    try:
        with open(file, encoding="utf-8-sig") as opened:
            text = opened.read().replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CaptureRefused(f"{file} cannot be read: {error}; name an incident file in UTF-8") from None
    lines = text.split("\n")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == _HEAD), None)
    if lines[0].rstrip() != _HEAD or end is None:
        raise CaptureRefused(
            f"{file}:1: an incident file begins with a head between two lines `---` that gives `symptom`, `cause`, "
            "`evidence` and `verification`: add it"
        )
    try:
        written = read_block("\n".join(lines[1:end]) + "\n")
    except Unreadable as error:
        raise CaptureRefused(f"{file}:{error.line + 1}: {error}") from None
    problem = schema_problem(_schema(), written.value)
    if problem is not None:
        line = next(
            written.lines[problem.where[:n]]
            for n in range(len(problem.where), -1, -1)
            if problem.where[:n] in written.lines
        )
        said = str(problem).replace("of a constraint", "of an incident").replace("the block", "the head")
        raise CaptureRefused(f"{file}:{line + 1}: {said}")
    snippets = _snippets("\n".join(lines[end + 1 :]))
    return incident_of({**snippets, **written.value}, file)


def incident_of(told: Mapping[str, Any], where: str) -> Incident:
    """The incident of a mapping that follows the schema of the head. Raises CaptureRefused if it has two checks."""
    checks = [kind for kind in OWN_CHECKS if kind in told]
    if len(checks) > 1:
        raise CaptureRefused(f"{where}: it has `{checks[0]}` and `{checks[1]}`: a constraint has one check, keep one")
    plain = {name: value for name, value in told.items() if name not in OWN_CHECKS}
    for name in ("paths", "exclude"):
        plain[name] = tuple(plain.get(name, ()))
    check = (checks[0], dict(told[checks[0]])) if checks else None
    return Incident(**plain, check=check)


def _snippets(text: str) -> dict[str, str]:
    """The fenced snippets of the body."""
    from markdown_it import MarkdownIt

    found: dict[str, str] = {}
    for token in MarkdownIt("commonmark").parse(text):
        named = _FENCE.fullmatch(token.info.strip()) if token.type == "fence" else None
        if named is not None:
            content = token.content
            found[named[2]] = content if named[1] in ("python", "py") else read_block(content).value
    return found


def _schema() -> Mapping[str, Any]:
    with open(_SCHEMA, encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
    return loaded
