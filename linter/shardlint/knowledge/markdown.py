"""Constraints in Markdown: the numbered items of a list, and the fenced blocks that belong to them.

    17. **Saving is collective.** Every rank calls it.

        ```yaml constraint
        id: save-on-every-rank
        ...
        ```

The list keeps its prose, its numbering and its rendering: a block is a part of the item that it stands in or after.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

LANGUAGE = "yaml constraint"
"""What stands behind the fence of a block."""

_FIRST_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)
_NUMBERED_HEADING = re.compile(r"(\d+)[.)]\s+(.+)", re.DOTALL)


class Item(NamedTuple):
    """A numbered statement: an item of an ordered list, or a numbered heading.

    title: its bold beginning, or its first sentence, as plain text. text: its prose up to the next item, blocks left
    out. line: its first, from 1. end: the line after its last. indent: the columns that its content is moved in by.
    section: the heading above it.
    """

    number: str
    title: str
    text: str
    line: int
    end: int
    indent: int
    section: str


class Block(NamedTuple):
    """A fenced block. `line`: of the first line inside the fence, from 1. `item`: whose it is."""

    text: str
    line: int
    item: Item | None


class Page(NamedTuple):
    """What a Markdown file says: its numbered items and its blocks, in the order of the text."""

    items: tuple[Item, ...]
    blocks: tuple[Block, ...]


def read_markdown(text: str) -> Page:
    """The numbered items and the blocks of a Markdown text (CommonMark)."""
    from markdown_it import MarkdownIt

    tokens: Sequence[Any] = MarkdownIt("commonmark").parse(text)
    return _Reader(tokens, text.split("\n")).read()


class _Reader:
    """One pass over the tokens of a file."""

    def __init__(self, tokens: Sequence[Any], lines: list[str]) -> None:
        self.tokens = tokens
        self.lines = lines
        self.items: list[Item] = []
        self.blocks: list[Block] = []
        self.section = ""
        self.current: Item | None = None

    def read(self) -> Page:
        for at, token in enumerate(self.tokens):
            if token.type == "heading_open":
                self._heading(at)
            elif token.type == "list_item_open" and token.info and token.level == 1:
                self._item(at)
            elif token.type == "fence" and " ".join(token.info.split()) == LANGUAGE:
                self.blocks.append(Block(token.content, token.map[0] + 2, self.current))
        return Page(tuple(self.items), tuple(self.blocks))

    def _heading(self, at: int) -> None:
        """A heading ends what the items before it own; a numbered one is an item itself."""
        self.section = _plain(self.tokens[at + 1])
        numbered = _NUMBERED_HEADING.match(self.section)
        self.current = None
        if numbered is not None:
            first = self.tokens[at].map[0]
            end = next((t.map[0] for t in self.tokens[at + 1 :] if t.type == "heading_open"), len(self.lines))
            self._add(at, Item(numbered[1], numbered[2], "", first + 1, end + 1, 0, ""))

    def _item(self, at: int) -> None:
        token = self.tokens[at]
        first: int = token.map[0]
        end: int = token.map[1]
        # Blank lines between two items belong to neither.
        while end > first + 1 and not self.lines[end - 1].strip():
            end -= 1
        head = self.lines[first]
        marker = re.match(r"\s*\d+[.)]\s*", head)
        indent = len(marker[0]) if marker is not None else 0
        self._add(at, Item(token.info, "", "", first + 1, end + 1, indent, self.section))

    def _add(self, at: int, item: Item) -> None:
        texts: list[Any] = []
        for token in self.tokens[at + (3 if self.tokens[at].type == "heading_open" else 1) :]:
            if token.type == "heading_open" or (token.type == "list_item_open" and token.info and token.level == 1):
                break
            if token.type == "inline":
                texts.append(token)
        prose = "\n".join(_plain(token) for token in texts)
        title = item.title or (_title(texts[0]) if texts else "")
        self.current = item._replace(title=title, text=prose)
        self.items.append(self.current)


def _title(token: Any) -> str:
    """The bold beginning of a paragraph, or its first sentence."""
    children: Sequence[Any] = [child for child in token.children or () if child.type != "text" or child.content]
    if children and children[0].type == "strong_open":
        stop = next(at for at, child in enumerate(children) if child.type == "strong_close")
        return " ".join("".join(_said(child) for child in children[1:stop]).split()).rstrip(".:")
    whole = " ".join(_plain(token).split())
    first = _FIRST_SENTENCE.match(whole)
    return (first[1] if first is not None else whole).rstrip(".:")


def _plain(token: Any) -> str:
    """The text of a paragraph without its markup; code keeps its backticks, since it reads as code."""
    return "".join(_said(child) for child in token.children or ())


def _said(child: Any) -> str:
    if child.type == "code_inline":
        return f"`{child.content}`"
    return " " if child.type in ("softbreak", "hardbreak") else str(child.content)
