"""What a program rule is handed: a place where ranks part, in words and places that a message can use."""

from __future__ import annotations

from shardlint.facts.divergence import Guard, Hop, Reached, Split, Way
from shardlint.facts.local_words import CLOCK, DATA, FILES
from shardlint.facts.program import Program
from shardlint.facts.wrapped_models import trains_together
from shardlint.finding import Finding, Related, Span
from shardlint.voice import Voice

_ASKED = {FILES: "its own file system", CLOCK: "its own clock", DATA: "a number of its own batches"}


class Divergent:
    """A divergence found in one function. `here` has a collective that `there` has not."""

    def __init__(self, split: Split, voice: Voice, line: str, program: Program) -> None:
        self.split = split
        self.voice = voice
        self._line = line
        self._program = program

    @property
    def trains_together(self) -> bool:
        """Whether the file, or one that it imports, wraps a model with which all ranks train together.

        What a `forward` or `backward` does inside of an autograd function stays on its rank.
        """
        inside = self.split.function.rpartition(".")[2] in ("forward", "backward")
        return not inside and trains_together(self._program, self.split.path)

    @property
    def paths(self) -> tuple[Way, Way]:
        """The way of the ranks that issue the first unmatched collective, and the way of the others."""
        return self.split.here, self.split.there

    @property
    def guard(self) -> Guard:
        """The test where the ranks part, as it is written."""
        return self.split.guard

    @property
    def reached(self) -> Reached:
        """The first unmatched collective with the calls that lead to it."""
        return self.split.first

    @property
    def effect(self) -> str:
        """The collective as it is written: `dist.all_reduce`."""
        return self.split.first.effect.text

    @property
    def call(self) -> str:
        """The call in this function that is the collective, or leads to it: `finish`."""
        return self.split.first.place[2]

    @property
    def subject(self) -> str:
        """The collective as the subject of a message: "`dcp.save`", or "`finish` leads to `dcp.save`, which"."""
        return f"`{self.call}` leads to `{self.effect}`, which" if self.split.first.hops else f"`{self.effect}`"

    @property
    def who(self) -> str:
        """Which ranks reach the collective, in words for a message."""
        guard = self.split.guard
        if guard.text.startswith("@"):
            return f"only the ranks that `{guard.text}` lets in"
        return f"only ranks where `{guard.text}` is {'true' if self.split.holds else 'false'}"

    @property
    def asked(self) -> str:
        """What each rank asks for itself, in words for a message."""
        return _ASKED[self.split.guard.kind]

    @property
    def onward(self) -> str:
        """Where the other ranks go instead, in words for a message."""
        following = self.split.there.next
        if following is not None:
            path, span, text = following.place
            return f"the others go on to `{text}` ({path}:{span[0]})"
        return "the others never do"

    @property
    def chain(self) -> list[Related]:
        """The guard, and each call on the way to the collective."""
        guard = self.split.guard
        notes: list[Related] = []
        if guard.span[0] != self.split.first.place[1][0]:
            notes.append(Related(self.split.path, guard.span[0], guard.span[1], f"the ranks part at `{guard.text}`"))
        hops: list[Hop] = list(self.split.first.hops[1:])
        notes += [Related(hop.path, hop.span[0], hop.span[1], f"which calls `{hop.text}`") for hop in hops]
        if self.split.first.hops:
            effect = self.split.first.effect
            notes.append(Related(effect.path, effect.span[0], effect.span[1], f"which issues `{effect.text}`"))
        return notes

    def finding(self, message: str, *, help: str) -> Finding:
        """A finding at the call, in this function, that leads to the collective."""
        path, span, _ = self.split.first.place
        return self.voice.finding(
            path,
            Span(*span),
            message,
            help=help,
            related=tuple(self.chain),
            certainty=min(self.split.guard.certainty, self.split.first.effect.certainty),
            scope=self.split.function,
            line=self._line,
        )
