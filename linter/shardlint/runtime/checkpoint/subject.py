"""What a checkpoint rule is handed: a checkpoint beside the facts of the model that is to be loaded from it."""

from __future__ import annotations

from shardlint.finding import Finding, Span
from shardlint.runtime.checkpoint.comparison import Comparison
from shardlint.runtime.checkpoint.patterns import ranges
from shardlint.runtime.checkpoint.stored import Contents
from shardlint.runtime.model_facts import ModelFacts
from shardlint.voice import Voice


class Checkpoint:
    """One checkpoint and one model.

    Args:
        compared: the checkpoint beside the model.
        voice: of the rule.
        resumes: whether a job is to go on from it, which needs the optimizer's state too.
    """

    def __init__(self, compared: Comparison, voice: Voice, *, resumes: bool = False) -> None:
        self.compared = compared
        self.voice = voice
        self.resumes = resumes or compared.parts.resumes

    @property
    def contents(self) -> Contents:
        """What the checkpoint holds."""
        return self.compared.contents

    @property
    def model(self) -> ModelFacts:
        """The facts of the model."""
        return self.compared.model

    def line_of(self, key: str) -> int:
        """The line of a key in the text form; 1 for one that the checkpoint does not have, and in real checkpoints."""
        held = self.compared.held.get(key)
        return 1 if held is None else held.first.line

    def finding(self, message: str, *, help: str, about: str, line: int = 1, certainty: float = 1.0) -> Finding:
        """A finding.

        Args:
            about: the key or pattern that names the finding from one run to the next.
            line: of the text form.
        """
        return self.voice.finding(
            self.contents.path,
            Span(line, 1, line, 2),
            message,
            help=help,
            certainty=certainty,
            scope=self.contents.form,
            line=about,
            key=about,
        )

    def count(self, number: int, noun: str) -> str:
        """`1 key`, `2 keys`."""
        return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

    def ranges(self, numbers: frozenset[int]) -> str:
        """Whole numbers for people: `0 to 31, 40`."""
        return ranges(numbers)
