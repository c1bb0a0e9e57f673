"""JSON with positions. It accepts what Python's `json` accepts, `NaN` and `Infinity` included."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from shardlint.configs.document import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_NODES,
    BrokenDocument,
    Entry,
    Node,
    RefusedDocument,
)

if TYPE_CHECKING:
    from shardlint.configs.document import Lines

_BLANK = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*)*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_TEMPLATE = re.compile(r"\{[{%]")
_WORD = re.compile(r"-?[A-Za-z_][A-Za-z0-9_]*")
_WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null", "nan": "NaN", "inf": "Infinity"}


def read_json(text: str, lines: Lines) -> tuple[tuple[Node, ...], tuple[tuple[int, str], ...]]:
    """The root of a JSON text; JSON has no comments."""
    return (_Scanner(text, lines).document(),), ()


@dataclass(slots=True)
class _Open:
    """An object or array whose end has not been reached."""

    kind: Literal["mapping", "sequence"]
    start: int
    entries: list[Entry] = field(default_factory=list[Entry])
    items: list[Node] = field(default_factory=list[Node])
    key: Node | None = None

    @property
    def closer(self) -> str:
        return "}" if self.kind == "mapping" else "]"


class _Scanner:
    def __init__(self, text: str, lines: Lines) -> None:
        self.text = text
        self.lines = lines
        self.at = 0
        self.nodes = 0
        self.open: list[_Open] = []

    def document(self) -> Node:
        """The whole text. A loop with a stack of its own, so that no input can exhaust Python's."""
        self.skip()
        while True:
            done = self.value()
            while done is not None:
                if not self.open:
                    if self.peek():
                        self.fail("the end of the file, after the value,")
                    return done
                done = self.after(done)

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip(self) -> None:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def value(self) -> Node | None:
        """Read a scalar or an empty object or array; None when a filled one was opened."""
        first = self.peek()
        if first not in ("{", "["):
            node = self.string() if first == '"' else self.bare()
            self.skip()
            return node
        frame = _Open("mapping" if first == "{" else "sequence", self.at)
        if len(self.open) == MAX_DEPTH:
            raise RefusedDocument(
                f"the nesting is more than {MAX_DEPTH} levels deep here", self.lines.span(self.at, self.at + 1)
            )
        self.open.append(frame)
        self.at += 1
        self.skip()
        if self.peek() == frame.closer:
            return self.close()
        if frame.kind == "mapping":
            self.key(frame)
        return None

    def key(self, frame: _Open) -> None:
        if self.peek() != '"':
            self.fail("a key in double quotes")
        frame.key = self.string()
        self.skip()
        if self.peek() != ":":
            self.fail("a `:` after the key")
        self.at += 1
        self.skip()

    def after(self, node: Node) -> Node | None:
        """Put a finished value where it belongs; the enclosing node if that is finished too."""
        frame = self.open[-1]
        if frame.key is None:
            frame.items.append(node)
        else:
            frame.entries.append(Entry(frame.key, node))
        self.nodes += 1 if frame.key is None else 2
        if self.nodes > MAX_NODES:
            raise RefusedDocument(
                f"the file has more than {MAX_NODES:,} keys and values, too many for a config", node.span
            )
        found = self.peek()
        if found == frame.closer:
            return self.close()
        if found != ",":
            self.fail(f"a `,` or `{frame.closer}`")
        comma = self.at
        self.at += 1
        self.skip()
        if self.peek() == frame.closer:
            raise BrokenDocument(
                f"JSON allows no comma before `{frame.closer}`; remove it", self.lines.span(comma, comma + 1)
            )
        if frame.kind == "mapping":
            self.key(frame)
        return None

    def close(self) -> Node:
        frame = self.open.pop()
        self.at += 1
        span = self.lines.span(frame.start, self.at)
        self.skip()
        if frame.kind == "mapping":
            value: Any = {entry.key.value: entry.value.value for entry in frame.entries}
        else:
            value = [item.value for item in frame.items]
        return Node(frame.kind, span, value, entries=tuple(frame.entries), items=tuple(frame.items))

    def string(self) -> Node:
        start = self.at
        match = _STRING.match(self.text, start)
        if match is None:
            self.fail_string(start)
        self.at = match.end()
        span = self.lines.span(start, self.at)
        try:
            value = json.loads(match.group())
        except json.JSONDecodeError as error:
            at = start + error.pos
            message = f"the string has a `\\` escape that JSON does not know ({error.msg})"
            raise BrokenDocument(message, self.lines.span(at, at + 1)) from None
        return Node("scalar", span, value, match.group(), "quoted")

    def bare(self) -> Node:
        """A number or a word."""
        start = self.at
        match = _NUMBER.match(self.text, start) or _WORD.match(self.text, start)
        if match is None:
            self.fail("a value")
        source = match.group()
        if match.re is _NUMBER:
            value = self.number(match)
        elif source in _WORDS:
            value = _WORDS[source]
        else:
            self.fail("a value")
        self.at = match.end()
        return Node("scalar", self.lines.span(start, self.at), value, source)

    def number(self, match: re.Match[str]) -> int | float:
        source = match.group()
        if match.group(1) or match.group(2):
            return float(source)
        if len(source) > MAX_DIGITS:
            message = f"an integer with {len(source)} digits is more than Python reads ({MAX_DIGITS})"
            raise BrokenDocument(message, self.lines.span(match.start(), match.end()))
        return int(source)

    def fail_string(self, start: int) -> NoReturn:
        """The string at `start` has no end on its line, or a raw control character in it."""
        end = start + 1
        while end < len(self.text) and self.text[end] >= " ":
            end += 2 if self.text[end] == "\\" else 1
        end = min(end, len(self.text))
        if end < len(self.text) and self.text[end] not in "\r\n":
            message = "a string may not hold a raw control character; write it as an escape such as `\\t`"
            raise BrokenDocument(message, self.lines.span(end, end + 1))
        raise BrokenDocument("the string is not closed on its line", self.lines.span(start, end))

    def fail(self, wanted: str) -> NoReturn:
        """Say what stands at the current offset instead of `wanted`, and what is usually meant by it."""
        text, at = self.text, self.at
        word = _WORD.match(text, at)
        found = word.group() if word else text[at : at + 1]
        if not found:
            message = f"the file ends before {wanted}" if text.strip() else f"the file is empty; JSON needs {wanted}"
        elif found == "#" or text.startswith(("//", "/*"), at):
            message = "JSON has no comments; remove this one"
        elif _TEMPLATE.search(text, max(at - 1, 0), at + 2):
            message = "this looks like a template (`{{ ... }}`) and is no JSON until it is rendered"
        elif found == "'":
            message = 'JSON strings and keys are written with double quotes (")'
        elif found.lstrip("-") in _PYTHON_WORDS:
            message = f"`{found}` is Python; JSON writes `{_PYTHON_WORDS[found.lstrip('-')]}`"
        else:
            message = f"expected {wanted} but found `{found}`" if found.isprintable() else f"expected {wanted}"
        raise BrokenDocument(message, self.lines.span(at, at + len(found)))
