"""What a change rule is handed: one file in its two states, with the rest of both states within reach."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from shardlint.changes.states import ChangeSet, FileChange
from shardlint.discover import matcher
from shardlint.finding import Finding, Related, Span
from shardlint.voice import Voice

Generated = tuple[tuple[tuple[str, ...], tuple[tuple[bool, str], ...], tuple[str, ...], str], ...]
"""The `generated` settings: patterns, compiled patterns, patterns of the sources, command."""


class Change:
    """A changed file. Texts are decoded as UTF-8 with replacement; trees are None where a state does not parse."""

    def __init__(self, file: FileChange, changes: ChangeSet, voice: Voice, generated: Generated = ()) -> None:
        self.file = file
        self.changes = changes
        self.voice = voice
        self._generated = generated

    @property
    def path(self) -> str:
        """The path of the file in the later state (in the earlier one when it was deleted)."""
        return self.file.path

    @property
    def before(self) -> str | None:
        """The earlier text; None when the file is new."""
        return _text(self.file.before)

    @property
    def after(self) -> str | None:
        """The later text; None when the file was deleted."""
        return _text(self.file.after)

    @property
    def changed_paths(self) -> frozenset[str]:
        """Every path that the change touches, old names of renamed files included."""
        touched = {change.path for change in self.changes.changes}
        touched |= {change.old_path for change in self.changes.changes if change.old_path}
        return frozenset(touched)

    @property
    def declared_generated(self) -> tuple[str, ...] | None:
        """The patterns of the sources, when the settings call the file generated; None when they do not."""
        for _, regexes, sources, _ in self._generated:
            if matcher(regexes)(self.path):
                return sources
        return None

    def tree(self, text: str | None) -> ast.Module | None:
        """The syntax tree of one state, or None."""
        if text is None:
            return None
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def finding(
        self,
        message: str,
        *,
        help: str,
        span: Span | None = None,
        related: Sequence[Related] = (),
        scope: str = "",
        certainty: float = 1.0,
    ) -> Finding:
        """A finding in the later state of the file; at its first line unless `span` says where."""
        place = span or Span(1, 1, 1, 1)
        lines = (self.after or "").split("\n")
        return self.voice.finding(
            self.path,
            place,
            message,
            help=help,
            related=tuple(related),
            certainty=certainty,
            scope=scope,
            line=lines[place.line - 1] if place.line <= len(lines) else "",
        )


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")
