"""What a config rule is handed: one scalar of a document, with its key path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from shardlint.configs.document import Document, Place
from shardlint.facts.project_words import ProjectWords
from shardlint.facts.yaml_readers import YamlReaders
from shardlint.finding import Finding, Related, Span
from shardlint.not_judged import NotJudged

if TYPE_CHECKING:
    from shardlint.facts.entry_scripts import Launched
    from shardlint.query import Scalars
    from shardlint.voice import Voice


class Asked(NamedTuple):
    """What a rule may ask of the project around a document.

    `readers` gives what its Python files do with YAML, `launched` what launches a config, `modality` what the settings
    say: kind -> name -> words.
    """

    readers: Callable[[], YamlReaders] = partial(YamlReaders, ProjectWords((), lambda _: b""))
    launched: Callable[[str], list[Launched]] = lambda _: []
    modality: Mapping[str, Mapping[str, str]] = {}


class Surroundings:
    """What all scalars of a document share, worked out once."""

    def __init__(self, document: Document, project: Asked) -> None:
        self.document = document
        self.project = project

    @cached_property
    def keys(self) -> frozenset[str]:
        """Every key, at any depth; one that is no string as it is written."""
        return frozenset(step for place in self.document.places() for step in place.path if isinstance(step, str))

    @cached_property
    def by_pointer(self) -> dict[str, Place]:
        """The place of each pointer; empty for a stream of several documents, where a pointer names several places."""
        return {place.pointer: place for place in self.document.places()} if len(self.document.roots) == 1 else {}

    @cached_property
    def readers(self) -> YamlReaders:
        """What the project's Python files do with YAML."""
        return self.project.readers()

    @cached_property
    def launched(self) -> list[Launched]:
        """The commands that hand the document to a program, each with what is known of the program."""
        return self.project.launched(self.document.path)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.document.text.split("\n")


class Scalar:
    """A scalar value of a YAML, JSON or TOML document; from `other`, also a mapping or sequence, which has no text."""

    def __init__(self, document: Document, place: Place, voice: Voice, surroundings: Surroundings) -> None:
        self.document = document
        self.place = place
        self.voice = voice
        self.surroundings = surroundings

    @property
    def text(self) -> str:
        """The value as it stands in the file."""
        return self.place.value.text

    @property
    def value(self) -> object:
        """The value as the usual loader reads it."""
        return self.place.value.value

    @property
    def float_text(self) -> str:
        """A number in scientific notation as YAML 1.1 and 1.2 both read it; ValueError when it has no exponent."""
        from shardlint.configs.float_text import float_text

        return float_text(self.text)

    @property
    def pointer(self) -> str:
        """The key path: `train.optimizer.lr`."""
        return self.place.pointer

    @property
    def key(self) -> str:
        """The last key of the path; empty for an item of a sequence."""
        return self.place.key.text if self.place.key is not None else ""

    @property
    def name(self) -> str:
        """The nearest key above the value: for an item of a sequence, the key that holds the sequence."""
        return next((step for step in reversed(self.place.path) if isinstance(step, str)), "")

    @property
    def span(self) -> Span:
        """The range of the value; of the key for a mapping or sequence, and of the alias that stands for a value."""
        if self.place.via is not None:
            return self.place.via.span
        if self.place.value.kind != "scalar" and self.place.key is not None:
            return self.place.key.span
        return self.place.value.span

    @property
    def source(self) -> str:
        """The text of the whole document."""
        return self.document.text

    @property
    def keys(self) -> frozenset[str]:
        """Every key of the document, at any depth."""
        return self.surroundings.keys

    def other(self, pointer: str) -> Scalar | None:
        """The value at another pointer of the same document, such as `model.model_path`."""
        place = self.surroundings.by_pointer.get(pointer)
        return Scalar(self.document, place, self.voice, self.surroundings) if place is not None else None

    def note(self, message: str) -> Related:
        """The place of the value as a related place of a finding."""
        return Related(self.document.path, self.span.line, self.span.column, message)

    @property
    def readers(self) -> YamlReaders:
        """What the project's Python files do with YAML. Reads them all on first use: ask it last."""
        return self.surroundings.readers

    def modality(self, kind: str) -> Mapping[str, str]:
        """What the settings say of a kind (`templates`, `models`, ...): name -> modalities, words in one string."""
        return self.surroundings.project.modality.get(kind, {})

    @property
    def launched(self) -> list[Launched]:
        """The commands of the project that hand this document to a program. Looks for them on first use: ask last."""
        return self.surroundings.launched

    def not_judged(self, reason: str) -> NotJudged:
        """What a rule gives instead of a finding where it cannot tell. `reason` names what is not known."""
        return NotJudged(self.pointer, self.span.line, reason)

    def finding(
        self,
        message: str,
        *,
        help: str,
        related: Sequence[Related] = (),
        certainty: float = 1.0,
        fixable: bool = True,
    ) -> Finding:
        """A finding at the value. `fixable`: whether the rule's fix applies here."""
        lines = self.surroundings.lines
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
            fixable=fixable,
        )


def scalars(
    document: Document,
    query: Scalars,
    voice: Voice,
    project: Asked = Asked(),  # noqa: B008 - it is a constant
) -> Iterator[Scalar]:
    """The scalars of a document that a query matches. The value of an alias is judged once, at its anchor."""
    import re

    if document.kind not in query.kinds:
        return
    pattern = re.compile(query.pattern)
    surroundings = Surroundings(document, project)
    for place in document.places():
        value = place.value
        if (
            value.kind == "scalar"
            and value.alias_of is None
            and (value.style == "plain" if query.at is None else place.pointer in query.at)
            and pattern.fullmatch(value.text)
        ):
            yield Scalar(document, place, voice, surroundings)
