"""Writing a constraint into a file so that the diff is only the addition: nothing that is there moves or changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from shardlint.errors import CaptureRefused
from shardlint.knowledge.constraint_file import MARKDOWN
from shardlint.knowledge.markdown import LANGUAGE, read_markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardlint.knowledge.markdown import Item

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_MARKER = re.compile(r"(\s*)\d+([.)])(\s+)")
_APART = "<!-- -->"
"""Ends a list, so that the next one begins with the number that it states."""


class Placed(NamedTuple):
    """A file with the addition. `text`: the whole; `line`: of what was added, from 1; `number`: of the statement."""

    text: str
    line: int
    number: str


def add_to_markdown(
    text: str, title: str, prose: Sequence[str], block: str, *, section: str = "", number: str = ""
) -> Placed:
    """Add a statement with its block to a Markdown text.

    Args:
        text: the file as it is; empty for a new one.
        title: of the statement, prose: what it says besides, a paragraph or a list item each.
        block: the YAML of the constraint.
        section: the heading below which it belongs; empty for the last one with numbered statements. A heading that is
            not there is added at the end.
        number: of a statement that is there already and gets the block; title and prose are then left out.

    Raises CaptureRefused when there is no statement of that number.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").split("\n")
    page = _Page(lines, read_markdown("\n".join(lines)).items)
    if number:
        at, added = page.below(number, block)
    else:
        number = page.next_number()
        at, added = page.statement(number, title, prose, block, section)
    return _inserted(lines, at, added, newline, number)


def add_to_yaml(text: str, block: str) -> Placed:
    """Add a constraint to a YAML file of constraints: at the end of its list.

    Raises CaptureRefused when the list is not one that can be added to in this way.
    """
    from shardlint.configs.document import read_document

    if not text.strip():
        added = ["version: 1", "constraints:", *_listed(block, "  ")]
        return Placed("\n".join(added) + "\n", 3, "")
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").split("\n")
    root = read_document("constraints.yaml", "\n".join(lines).encode(), kind="yaml").roots[0]
    entry = root.get("constraints")
    if (
        entry is None
        or entry.value.kind != "sequence"
        or lines[entry.value.span.line - 1][: entry.value.span.column].endswith("[")
    ):
        raise CaptureRefused(
            "its `constraints` is no list with one `- ` for each item: write it so, then capture again"
        )
    if entry.value.items:
        first = entry.value.items[0].span
        indent = re.match(r"\s*", lines[first.line - 1])
        at = entry.value.items[-1].span.end_line
        return _inserted(lines, at, _listed(block, indent[0] if indent is not None else ""), newline, "")
    return _inserted(lines, entry.key.span.line, _listed(block, "  "), newline, "")


def is_markdown(file: str) -> bool:
    """Whether a file is written as Markdown."""
    return file.endswith(MARKDOWN)


def _listed(block: str, indent: str) -> list[str]:
    """The lines of a block as an item of a list."""
    first, *others = block.rstrip("\n").split("\n")
    return [f"{indent}- {first}", *(f"{indent}  {line}" if line else "" for line in others)]


def _inserted(lines: list[str], at: int, added: list[str], newline: str, number: str) -> Placed:
    """The lines with others after the first `at` of them. A last line without an end gets one."""
    before, after = lines[:at], lines[at:]
    if not after:
        after = [""]
    shown = next(place for place, line in enumerate(added) if line) if added else 0
    return Placed(newline.join([*before, *added, *after]), at + shown + 1, number)


class _Page:
    """The lines of a Markdown file and its numbered statements."""

    def __init__(self, lines: list[str], items: Sequence[Item]) -> None:
        self.lines = lines
        self.items = items

    def next_number(self) -> str:
        """The number after the highest."""
        return str(max((int(item.number) for item in self.items), default=0) + 1)

    def below(self, number: str, block: str) -> tuple[int, list[str]]:
        """Where the block of an existing statement goes, and its lines."""
        item = next((one for one in self.items if one.number == number), None)
        if item is None:
            known = f"the last is {self.items[-1].number}" if self.items else "there is none"
            raise CaptureRefused(f"there is no statement of number {number}: {known}")
        end = item.end - 1
        if item.indent == 0:  # a numbered heading: what follows it is its text
            end = self._end_of_text(item.line, end)
        return end, ["", *_fenced(block, " " * item.indent)]

    def statement(
        self, number: str, title: str, prose: Sequence[str], block: str, section: str
    ) -> tuple[int, list[str]]:
        """Where a new statement goes, and its lines."""
        headings = self._headings()
        if section and section not in [name for _, _, name in headings]:
            return self._new_section(number, title, prose, block, section, headings)
        inside = [item for item in self.items if not section or item.section == section]
        if not inside:
            at = self._end_of_text(next((line for line, _, name in headings if name == section), 1), len(self.lines))
            return at, ["", *self._item(number, title, prose, block, None)]
        last = inside[-1]
        at = self._end_of_section(last, headings)
        # In the middle of the file the list would count on by itself, up to a number that another one has.
        apart = ["", _APART] if at > last.end - 1 or last is not self.items[-1] else []
        return at, [
            *apart,
            *([""] if apart or self._spaced(inside) else []),
            *self._item(number, title, prose, block, last),
        ]

    def _new_section(
        self,
        number: str,
        title: str,
        prose: Sequence[str],
        block: str,
        section: str,
        headings: list[tuple[int, int, str]],
    ) -> tuple[int, list[str]]:
        level = min((level for _, level, _ in headings if level > 1), default=2)
        at = self._end_of_text(1, len(self.lines))
        item = self._item(number, title, prose, block, self.items[-1] if self.items else None)
        return at, [*([""] if at else []), f"{'#' * level} {section}", "", *item]

    def _item(self, number: str, title: str, prose: Sequence[str], block: str, like: Item | None) -> list[str]:
        """A statement in the style of another one: its marker, whether its title is bold, how its text is laid out."""
        head = self.lines[like.line - 1] if like is not None else ""
        marker = _MARKER.match(head)
        sign = marker[2] if marker is not None else "."
        bold = like is None or head[marker.end() :].startswith("**") if marker is not None else True
        start = f"{number}{sign} "
        indent = " " * len(start)
        shown = f"**{title}**" if bold else f"{title}."
        bulleted = any(
            re.match(r"\s+[-*]\s", line) for item in self.items for line in self.lines[item.line : item.end - 1]
        )
        said = [f"{indent}- {one}" if bulleted else f"{indent}{one}" for one in prose]
        return [f"{start}{shown}", *said, "", *_fenced(block, indent)]

    def _headings(self) -> list[tuple[int, int, str]]:
        """(line from 1, level, text) of each heading outside of fences."""
        found: list[tuple[int, int, str]] = []
        fence = ""
        for number, line in enumerate(self.lines, 1):
            mark = re.match(r"\s*(```+|~~~+)", line)
            if mark is not None and (not fence or line.strip().startswith(fence)):
                fence = "" if fence else mark[1]
            heading = _HEADING.match(line) if not fence else None
            if heading is not None:
                found.append((number, len(heading[1]), heading[2]))
        return found

    def _end_of_section(self, last: Item, headings: list[tuple[int, int, str]]) -> int:
        """How many lines come before the place after the text that belongs to a statement."""
        limit = next((line - 1 for line, _, _ in headings if line > last.line), len(self.lines))
        return self._end_of_text(last.line, limit)

    def _end_of_text(self, first: int, limit: int) -> int:
        """The number of the last line with text before `limit`, not above `first`."""
        end = limit
        while end > first and not self.lines[end - 1].strip():
            end -= 1
        return end if self.lines[end - 1].strip() else 0

    def _spaced(self, inside: Sequence[Item]) -> bool:
        """Whether blank lines stand between the statements, or would have to."""
        if len(inside) < 2:
            return True
        return not self.lines[inside[-1].line - 2].strip()


def _fenced(block: str, indent: str) -> list[str]:
    """A block with its fence, which is longer than any inside."""
    longest = max((len(run) for run in re.findall(r"`{3,}", block)), default=2)
    fence = "`" * (longest + 1)
    inside = [f"{indent}{line}" if line else "" for line in block.rstrip("\n").split("\n")]
    return [f"{indent}{fence}{LANGUAGE}", *inside, f"{indent}{fence}"]
