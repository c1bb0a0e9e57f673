"""The text of a file by its nodes: what a fix copies."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from itertools import pairwise

from shardlint.facts.module import FUNCTIONS, Module
from shardlint.syntax.patterns.bindings import Bound
from shardlint.syntax.patterns.scan import tokens

_BETWEEN = re.compile(r"\s*,?(?:\s|#[^\n]*)*")
"""What may stand between two arguments."""


class Source:
    """A file as one text with ``\\n`` as its line ends; offsets count characters from 0."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.text = "\n".join(module.lines)
        self.starts = [0]
        for line in module.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def range(self, node: ast.AST) -> tuple[int, int]:
        """Where a node begins and ends; a definition begins with its decorators."""
        span = self.module.span(node)
        start = self.starts[span.line - 1] + span.column - 1
        return start, self.starts[span.end_line - 1] + span.end_column - 1

    def extent(self, bound: Bound) -> tuple[int, int] | None:
        """Where a binding begins and ends; None for an identifier or nothing."""
        nodes = bound if isinstance(bound, tuple) else (bound,)
        ranges = [self.range(node) for node in nodes if isinstance(node, ast.AST)]
        return (min(one[0] for one in ranges), max(one[1] for one in ranges)) if ranges else None

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, from 1."""
        before = self.text[:offset]
        return before.count("\n") + 1, offset - before.rfind("\n")

    def around(self, start: int, end: int) -> tuple[str, str]:
        """What stands before a range on its first line, and after it on its last."""
        before = self.text[:start].rpartition("\n")[2]
        return before, self.text[end:].partition("\n")[0]

    def indent(self, start: int) -> str:
        """The blanks at the start of the line of an offset."""
        line = self.text[:start].rpartition("\n")[2]
        return line[: len(line) - len(line.lstrip())]

    def comments(self, start: int, end: int) -> list[int]:
        """The offsets of the comments in a range."""
        if "#" not in self.text[start:end]:
            return []
        return [start + token.offset for token in tokens(self.text[start:end]) if token.kind == "comment"]

    def items(self, nodes: Sequence[ast.AST]) -> str:
        """Arguments or elements as they stand, comments between them included; from several places, with commas."""
        if not nodes:
            return ""
        ranges = sorted(self.range(node) for node in nodes)
        gaps = [self.text[one[1] : other[0]] for one, other in pairwise(ranges)]
        if all(_BETWEEN.fullmatch(gap) for gap in gaps):
            return self.text[ranges[0][0] : ranges[-1][1]]
        return ", ".join(self.text[start:end] for start, end in ranges)

    def statements(self, nodes: Sequence[ast.AST], indent: str) -> str | None:
        """Statements as they stand, for a line that begins with `indent`; None if a long string would be moved."""
        first = nodes[0]
        start = self.range(first)[0]
        if isinstance(first, (*FUNCTIONS, ast.ClassDef)) and first.decorator_list:
            start = self.text.rindex("@", 0, self.range(first.decorator_list[0])[0])
        text = self.text[start : self.range(nodes[-1])[1]]
        old = self.text[:start].rpartition("\n")[2]
        if "\n" not in text or old == indent:
            return text
        if old.strip() or any("\n" in token.text for token in tokens(text) if token.kind == "string"):
            return None
        lines = text.split("\n")
        if any(line.strip() and not line.startswith(old) for line in lines[1:]):
            return None
        return "\n".join([lines[0], *(indent + line[len(old) :] if line.strip() else line for line in lines[1:])])
