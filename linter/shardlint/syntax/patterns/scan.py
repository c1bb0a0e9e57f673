"""The text of a snippet -> Python text: metavariables and `...` become what Python's parser takes.

`$X` and `$...ARGS` become identifiers of the same length, in letters that no program is written with, so that a syntax
error is where it says. `...` is Python almost everywhere; among parameters and imported names it becomes an identifier,
after a keyword argument `*...`, in a dict `**...`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

ONE, MANY, REST = "\u01c0", "\u01c1", "\u01c2"
"""What a metavariable for one thing and one for many begin with, and what stands for `...`. Python takes them for
letters, and normalises none of them to another."""

_TOKEN = re.compile(
    r"""
      (?P<string>[A-Za-z]{0,2}(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''
          |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
    | (?P<comment>\#[^\n]*)
    | (?P<many>\$\.\.\.(?P<list>[^\W\d]\w*)?)
    | (?P<one>\$(?P<variable>\w*))
    | (?P<rest>\.\.\.)
    | (?P<word>\w+)
    | (?P<space>[\s\\]+)
    | (?P<sign>\*\*|[=!<>:]=|->|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"[A-Z_][A-Z0-9_]*", re.ASCII)
_CLOSING = {")": "(", "]": "[", "}": "{"}


class Oddity(Exception):
    """Something in a snippet that is neither Python nor a metavariable. `offset` is where, in characters from 0."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


class Scanned:
    """Python text, the offsets in it at which signs were put in that the snippet does not have, and its variables."""

    __slots__ = ("added", "text", "variables")

    def __init__(self, text: str, added: list[int], variables: frozenset[str]) -> None:
        self.text = text
        self.added = added
        self.variables = variables

    def original(self, offset: int) -> int:
        """The offset in the snippet of an offset in `text`."""
        return offset - sum(at < offset for at in self.added)


class _Frame:
    """An open bracket, or the parameters of a lambda: what has been seen in it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.named = False
        """Whether a keyword argument or a default came before."""
        self.unpacked = False
        self.keyed = False
        self.open_items: list[int] = []
        """The pieces that stand for any items of a set or dict: which of the two is known at its end."""


class _Scan:
    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.added: list[tuple[int, int]] = []
        """Piece and number of signs put before it (or behind it, for a default)."""
        self.frames: list[_Frame] = [_Frame("")]
        self.before: list[str] = []
        self.imports = False
        self.variables: set[str] = set()

    def take(self, kind: str, text: str) -> None:
        frame = self.frames[-1]
        if kind in ("space", "comment"):
            self.pieces.append(text)
            if "\n" in text and len(self.frames) == 1:
                self.imports = False
            return
        if kind in ("rest", "many"):
            text = self._open(text, frame)
        elif kind == "one":
            text = ONE + text[1:]
        elif kind == "word":
            self._word(text)
        elif kind == "sign":
            self._sign(text, frame)
        self.pieces.append(text)
        self.before = [*self.before[-1:], text]

    def _word(self, text: str) -> None:
        if text == "import":
            self.imports = True
        elif text == "lambda":
            self.frames.append(_Frame("lambda"))

    def _sign(self, text: str, frame: _Frame) -> None:
        if text in "([{":
            self.frames.append(_Frame("params" if self.before[:1] == ["def"] and text == "(" else text))
        elif text in _CLOSING:
            self._close(text)
        elif text == ":" and frame.kind == "lambda":
            self.frames.pop()
        elif text == ":":
            frame.keyed = True
        elif text == "=":
            frame.named = True
        elif text == "**":
            frame.unpacked = frame.unpacked or self.before[-1:] in (["("], [","])
        elif text == "*" and frame.kind in ("params", "lambda"):
            frame.named = False  # what follows is given by keyword, with or without a default

    def _close(self, sign: str) -> None:
        while len(self.frames) > 1 and self.frames[-1].kind == "lambda":
            self.frames.pop()
        if len(self.frames) == 1:
            return
        frame = self.frames.pop()
        if frame.kind == "{" and frame.keyed and sign == "}":
            for piece in frame.open_items:
                self.pieces[piece] = "**" + self.pieces[piece]
                self.added.append((piece, 2))

    def _open(self, text: str, frame: _Frame) -> str:
        """`...` or `$...NAME` in the form that its place needs."""
        here = len(self.pieces)
        name = MANY * 4 + text[4:] if text.startswith("$") else text
        if frame.kind in ("params", "lambda") and self.before[-1:] != ["="]:
            name = name.replace("...", REST * 3)
            if frame.named:
                self.added.append((here, -2))
                return f"{name}=0"
            return name
        if self.imports:
            return name.replace("...", REST * 3)
        if self.before[-1:] not in (["("], [","], ["{"]):
            return name
        if frame.kind == "{":
            frame.open_items.append(here)
            return name
        stars = "**" if frame.unpacked else "*" if frame.named and frame.kind == "(" else ""
        if stars:
            self.added.append((here, len(stars)))
        return stars + name

    def finish(self) -> Scanned:
        starts = [0]
        for piece in self.pieces:
            starts.append(starts[-1] + len(piece))
        added: list[int] = []
        for index, count in sorted(self.added):
            first = starts[index] if count > 0 else starts[index + 1] + count
            added += range(first, first + abs(count))
        return Scanned("".join(self.pieces), added, frozenset(self.variables))


class Token(NamedTuple):
    """A piece of a snippet: `kind` is string, comment, many, one, rest, word, space or sign, `name` a variable's."""

    kind: str
    text: str
    offset: int
    name: str


def tokens(text: str) -> Iterator[Token]:
    """The pieces of a snippet, or of Python, in order; together they are the text."""
    for found in _TOKEN.finditer(text):
        name = found["list"] or found["variable"] or ""
        yield Token(found.lastgroup or "", found.group(), found.start(), name)


def scan(text: str) -> Scanned:
    """The Python text of a snippet.

    Raises Oddity for a `$` that begins no metavariable, and for text that this cannot tell from one.
    """
    for sign in (ONE, MANY, REST):
        if sign in text:
            raise Oddity(text.index(sign), f"the letter {sign!r} cannot be used here")
    found = _Scan()
    before = ""
    for token in tokens(text):
        if token.kind in ("one", "many") and before in ("one", "many", "word"):
            raise Oddity(token.offset, "a metavariable is a whole name, not the end of another one")
        before = token.kind
        if token.kind == "string" and "f" in token.text.split(token.text[-1])[0].lower():
            raise Oddity(token.offset, 'an f-string cannot be compared: write "..." for any text')
        if token.kind in ("one", "many"):
            if not _NAME.fullmatch(token.name):
                raise Oddity(token.offset, _NAMELESS[token.kind])
            found.variables.add(token.name)
        found.take(token.kind, token.text)
    return found.finish()


_NAMELESS = {
    "one": "`$` begins a metavariable: capitals, digits and `_`, such as `$X`",
    "many": "`$...` needs a name in capitals, such as `$...ARGS`; `...` alone has none",
}


def as_written(text: str) -> str:
    """A text from Python's parser with the metavariables as the snippet has them."""
    return text.replace(MANY * 4, "$...").replace(ONE, "$").replace(REST * 3, "...")
