"""What `shardlint capture` proposes for public incidents, and whether a maintainer would keep it.

`corpus/incidents/` holds incidents reduced from public fix commits, with snippets of our own. This module takes each
through the stages of `shardlint capture` without asking anything, as a script would, and writes `corpus/capture.md`:

    python -m corpus.capture

What came first is judged by hand in `corpus/incidents/verdicts.toml`. A verdict names the check that it is about by a
digest, so an improved proposal has to be judged again.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from shardlint.knowledge.capture.candidate import Candidate
from shardlint.knowledge.capture.capturing import proposals, tried, with_snippets
from shardlint.knowledge.capture.formatting import block_text
from shardlint.knowledge.capture.incident import Incident, read_incident
from shardlint.knowledge.capture.stated import id_of
from shardlint.session import Session, open_session

from .sources import HERE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

INCIDENTS = HERE / "incidents"
VERDICTS = INCIDENTS / "verdicts.toml"
PAGE = HERE / "capture.md"

KINDS = {
    "keep": "would be kept as it is",
    "edit": "right, but it would be narrowed or widened by hand first",
    "drop": "misses the point",
}
"""The verdicts and what they mean."""

_INTRODUCTION = """\
# What capture makes of public incidents

Each incident of `corpus/incidents/` is reduced from the public commit that fixed it; the code and the configs are our
own. It went through `shardlint capture` with no other help than its file. Judged is the check that comes first: would a
maintainer of such a repository keep it as it is?

"First sight" is what came before anybody had changed the proposals with the incident in view; "now" is what comes
today. The second table is the better guide to what a new incident can expect: its incidents were reduced after the
proposals had been improved on those of the first, and two of them have led to improvements since.

Written by `make capture-table` from `corpus/incidents/`; the verdicts are in `corpus/incidents/verdicts.toml`.
"""


class Verdict(NamedTuple):
    """What was judged of the check that comes first.

    digest: of the check that the verdict is about. first_sight: the verdict on what came before the proposals were
    improved with the incident in view. later: reduced after the proposals had been improved on the others.
    """

    verdict: str
    digest: str
    reason: str
    first_sight: str
    later: bool


class Captured(NamedTuple):
    """An incident and what came first for it; `first` is None where no proposal held."""

    name: str
    incident: Incident
    first: Candidate | None
    held: int

    @property
    def check(self) -> str:
        """The check as it would be written into the constraint file."""
        return block_text({self.first.kind: self.first.check}) if self.first is not None else ""

    @property
    def digest(self) -> str:
        """What a verdict says that it is about."""
        return hashlib.sha256(self.check.encode()).hexdigest()[:16]

    @property
    def commit(self) -> str:
        """The commit that fixed it."""
        return str(self.incident.evidence["references"][0])


def captured(folder: Path = INCIDENTS) -> list[Captured]:
    """All incidents of a folder through the stages of capture, in the order of their names."""
    with tempfile.TemporaryDirectory() as empty:
        session = open_session(os.path.realpath(empty), {})
        return [_captured(file, session) for file in sorted(folder.glob("*.md"))]


def _captured(file: Path, session: Session) -> Captured:
    incident = with_snippets(read_incident(str(file)))
    incident = incident._replace(id=id_of(incident.title))
    results = [tried(incident, one, session) for one in proposals(incident, ())]
    holding = [one.candidate for one in results if not one.problem]
    return Captured(file.stem, incident, holding[0] if holding else None, len(holding))


def verdicts(file: Path = VERDICTS) -> dict[str, Verdict]:
    """The verdicts by the name of the incident."""
    with file.open("rb") as opened:
        return {name: Verdict(**entry) for name, entry in tomllib.load(opened).items()}


def unjudged(found: Iterable[Captured], judged: dict[str, Verdict]) -> list[str]:
    """A line for each incident without a verdict on what comes first for it now, and for each verdict without one."""
    found = list(found)
    told = [
        f"{one.name}: judge what comes first now, digest {one.digest}:\n{one.check}"
        for one in found
        if one.name not in judged or judged[one.name].digest != one.digest
    ]
    return told + [f"{name}: no such incident" for name in sorted(set(judged) - {one.name for one in found})]


def page(found: Iterable[Captured], judged: dict[str, Verdict]) -> str:
    """The text of `corpus/capture.md`."""
    found = list(found)
    parts = [_INTRODUCTION]
    for title, later in (("The first incidents", False), ("Later incidents", True)):
        parts += _table(title, [one for one in found if judged[one.name].later is later], judged)
    parts += ["\n".join(f"- **{kind}**: {meaning}" for kind, meaning in KINDS.items()) + "\n", "## The checks\n"]
    parts += [_section(one, judged[one.name]) for one in found]
    return "\n".join(parts)


def _table(title: str, rows: list[Captured], judged: dict[str, Verdict]) -> list[str]:
    verdicts_on = [judged[one.name] for one in rows]
    now, at_first = (
        sum(verdict == "keep" for verdict in of)
        for of in ((one.verdict for one in verdicts_on), (one.first_sight for one in verdicts_on))
    )
    lines = ["| incident | check | first sight | now |", "| --- | --- | --- | --- |"]
    for one, verdict in zip(rows, verdicts_on, strict=True):
        kind = one.first.kind if one.first is not None else "none"
        lines.append(f"| {one.incident.title} | {kind} | {verdict.first_sight} | {verdict.verdict} |")
    return [
        f"## {title}\n",
        f"Of {len(rows)}, {now} would be kept now, {at_first} would have been at first sight.\n",
        "\n".join(lines) + "\n",
    ]


def _section(one: Captured, verdict: Verdict) -> str:
    more = "" if one.held < 2 else f" {one.held - 1} more held and can be chosen with `--candidate`."
    why = f"Proposed because {one.first.why}.{more}" if one.first is not None else "No proposal held."
    return (
        f"### {one.incident.title}\n\nSeen: {one.incident.symptom} ([the fix]({one.commit})).\n\n"
        f"```yaml\n{one.check}```\n\n{why}\n\n**{verdict.verdict}**: {verdict.reason}\n"
    )


def main() -> int:
    """Write the page, or say what has to be judged first."""
    found, judged = captured(), verdicts()
    missing = unjudged(found, judged)
    for line in missing:
        print(line, file=sys.stderr)
    if missing:
        return 1
    PAGE.write_text(page(found, judged), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
