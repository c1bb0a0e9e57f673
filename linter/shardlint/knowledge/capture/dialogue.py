"""Asking at a terminal for what an incident does not tell yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shardlint.errors import CaptureRefused
from shardlint.knowledge.capture.incident import NEEDED, Incident
from shardlint.voice import CEILINGS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from shardlint.finding import Finding
    from shardlint.knowledge.capture.capturing import Tried

_QUESTIONS = {"title": "what must hold from now on", "symptom": "what was seen", **NEEDED}


class Dialogue:
    """Questions and answers. An empty answer where one is needed ends it."""

    def __init__(self, answers: TextIO, questions: TextIO) -> None:
        self._answers = answers
        self._questions = questions

    def ask(self, question: str) -> str:
        """One line."""
        self._questions.write(f"{question}: ")
        self._questions.flush()
        return self._answers.readline().strip()

    def complete(self, incident: Incident) -> Incident:
        """The incident with what was asked for. Snippets are not asked for: they are files."""
        for name, question in _QUESTIONS.items():
            if getattr(incident, name) or (name == "symptom" and not incident.missing()):
                continue
            if name == "evidence":
                kinds = ", ".join(f"{kind} (confidence up to {most:.2f})" for kind, most in CEILINGS.items())
                kind = self.ask(f"{name} - {question}; {kinds}")
                reference = self.ask("reference (a link, a log, a run)")
                answer = {"kind": kind, "references": [reference]} if reference else kind
                if kind not in CEILINGS:
                    raise CaptureRefused(f"`{kind}` is no kind of evidence: it is one of {', '.join(CEILINGS)}")
                incident = incident._replace(evidence=answer)
                continue
            told: dict[str, Any] = {name: self.ask(f"{name} - {question}")}
            incident = incident._replace(**told)
        return incident

    def choose(self, holding: Sequence[Tried], counts: Sequence[int]) -> int:
        """Which of the candidates that hold, by its place from 0."""
        for number, (one, count) in enumerate(zip(holding, counts, strict=True), 1):
            self._questions.write(
                f"\n{number}. {one.candidate.kind}, because {one.candidate.why}; other places hit: {count}\n"
            )
            self._questions.writelines(f"   {line}\n" for line in shown_check(one))
        answer = self.ask(f"which one [1 to {len(holding)}, empty for none]")
        if not answer.isdigit() or not 1 <= int(answer) <= len(holding):
            raise CaptureRefused("none was chosen, so nothing was written")
        return int(answer) - 1

    def decide(self, hit: Finding) -> str:
        """What is to become of another place: `confirm`, `exclude` or `baseline`."""
        answer = self.ask(f"{hit.path}:{hit.span.line} - (c)onfirm it is a defect, (e)xclude the file, (b)aseline it")
        decided = {"c": "confirm", "e": "exclude", "b": "baseline"}.get(answer[:1].lower())
        if decided is None:
            raise CaptureRefused("a place was left undecided, so nothing was written")
        return decided


def shown_check(one: Tried) -> list[str]:
    """The lines of a candidate's check as YAML."""
    from shardlint.knowledge.capture.formatting import block_text

    return block_text({one.candidate.kind: one.candidate.check}).rstrip("\n").split("\n")
