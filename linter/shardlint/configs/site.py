"""What a config rule is handed: one scalar of a document, with its key path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from shardlint.configs.document import Document, Place
from shardlint.finding import Finding, Related, Span

if TYPE_CHECKING:
    from shardlint.query import Scalars
    from shardlint.voice import Voice


class Scalar:
    """A scalar value of a YAML, JSON or TOML document."""

    def __init__(self, document: Document, place: Place, voice: Voice) -> None:
        self.document = document
        self.place = place
        self.voice = voice

    @property
    def text(self) -> str:
        """The value as it stands in the file."""
        return self.place.value.text

    @property
    def value(self) -> object:
        """The value as the usual loader reads it."""
        return self.place.value.value

    @property
    def pointer(self) -> str:
        """The key path: `train.optimizer.lr`."""
        return self.place.pointer

    @property
    def key(self) -> str:
        """The last key of the path; empty for an item of a sequence."""
        return self.place.key.text if self.place.key is not None else ""

    @property
    def span(self) -> Span:
        """The range of the value."""
        return self.place.value.span

    @property
    def siblings(self) -> list[str]:
        """The top-level keys of the document."""
        return [entry.key.text for root in self.document.roots for entry in root.entries]

    def finding(self, message: str, *, help: str, related: Sequence[Related] = (), certainty: float = 1.0) -> Finding:
        """A finding at the value."""
        lines = self.document.text.split("\n")
        return self.voice.finding(
            self.document.path,
            self.span,
            message,
            help=help,
            related=tuple(related),
            certainty=certainty,
            scope=self.pointer,
            line=lines[self.span.line - 1] if self.span.line <= len(lines) else "",
            key=self.pointer,
        )


def scalars(document: Document, query: Scalars, voice: Voice) -> Iterator[Scalar]:
    """The plain scalars of a document that a query matches. The value of an alias is judged once, at its anchor."""
    import re

    if document.kind not in query.kinds:
        return
    pattern = re.compile(query.pattern)
    for place in document.places():
        value = place.value
        if (
            value.kind == "scalar"
            and value.style == "plain"
            and value.alias_of is None
            and pattern.fullmatch(value.text)
        ):
            yield Scalar(document, place, voice)
