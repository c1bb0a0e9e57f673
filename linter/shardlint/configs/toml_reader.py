"""TOML with positions: `tomllib` judges the text and gives the values, a scanner over the sound text gives the places.

The scanner walks the tree that `tomllib` made along with the text, so a value can never differ from the loader's.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shardlint.configs.document import MAX_DEPTH, MAX_DIGITS, MAX_NODES, BrokenDocument, Entry, Node, RefusedDocument

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from shardlint.configs.document import Lines

MAX_KEY_PARTS = 50
"""Longest dotted key. `tomllib` needs time in the square of it."""

_BASIC = r'"""[^"\\]*(?:(?:\\[\s\S]|"(?!""))[^"\\]*)*"""["]{0,2}|"(?:[^"\\\n]|\\.)*"'
_LITERAL = r"'''[^']*(?:'(?!'')[^']*)*'''[']{0,2}|'[^'\n]*'"
_STRING = rf"{_BASIC}|{_LITERAL}"
_SHAPE = re.compile(rf"(?:{_STRING})|#[^\n]*|[\[\]{{}}.,=\n]")
_BLANK = re.compile(r"[ \t]*")
_KEY_PART = re.compile(r"""("(?:[^"\\\n]|\\.)*"|'[^'\n]*')|[^\s.=\]"'#]+""")
_SCALAR = re.compile(rf"({_STRING})|\d{{4}}-\d\d-\d\d \d\d:[^\s,\]}}#]+|[^\s,\]}}#]+")
_DIGITS = re.compile(rf"[0-9][0-9_]{{{MAX_DIGITS},}}")
_REPEATED = re.compile(r"cannot overwrite a value|cannot declare .* twice", re.IGNORECASE | re.DOTALL)
_AT = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)\Z", re.DOTALL)


def read_toml(text: str, lines: Lines) -> tuple[tuple[Node, ...], tuple[tuple[int, str], ...]]:
    """The root table of a TOML text and its comments."""
    _check_shape(text, lines)
    try:
        values = tomllib.loads(text)
        scanner = _Scanner(text, lines, values)
        return (scanner.document(),), tuple(scanner.comments)
    except tomllib.TOMLDecodeError as error:
        raise _broken(text, lines, str(error)) from None
    except RecursionError:
        # The caller's own stack may leave less room than the nesting that is allowed needs.
        raise RefusedDocument("the nesting is too deep to be read", lines.span(0, 0)) from None
    except ValueError:
        # An integer past Python's limit of digits comes without a position.
        digits = _DIGITS.search(text)
        span = lines.span(*digits.span()) if digits else lines.span(0, 0)
        raise BrokenDocument(f"the integer has more digits than Python reads ({MAX_DIGITS})", span) from None


def _check_shape(text: str, lines: Lines) -> None:
    """Refuse what `tomllib` would recurse or grind on. Up to the first error in the text, the tokens are exact."""
    depth = dots = 0
    for match in _SHAPE.finditer(text):
        token = match.group()
        if token in "[{":
            depth += 1
        elif token in "]}":
            depth -= 1
        dots = dots + 1 if token == "." else dots if token[0] in "\"'" else 0
        if depth > MAX_DEPTH:
            raise RefusedDocument(f"the nesting is more than {MAX_DEPTH} levels deep here", lines.span(*match.span()))
        if dots >= MAX_KEY_PARTS:
            message = f"a dotted key has more than {MAX_KEY_PARTS} parts here"
            raise RefusedDocument(message, lines.span(*match.span()))


def _broken(text: str, lines: Lines, message: str) -> BrokenDocument:
    match = _AT.match(message)
    problem = match.group(1) if match else message
    if match and match.group(2):
        at = min(lines.offset(int(match.group(2)), int(match.group(3))), len(text))
    else:
        at = len(text)
    if _REPEATED.match(problem):
        first = _first_of(text, lines, at)
        if first is not None:
            message = f"`{first.value}` is already set on line {first.span.line}, and TOML allows a key only once"
            return BrokenDocument(message, lines.span(at, at))
    return BrokenDocument(f"this is not valid TOML: {problem[:1].lower()}{problem[1:]}", lines.span(at, at))


def _first_of(text: str, lines: Lines, at: int) -> Node | None:
    """The earlier key that the statement at `at` repeats, None when the statement does not say it on one line."""
    start = lines.offset(lines.line(at), 1)
    try:
        before = _Scanner(text[:start], lines, tomllib.loads(text[:start]))
        before.document()
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    here = _Scanner(text, lines, {})
    here.at = start
    here.skip_blanks()
    header = text.startswith("[", here.at)
    here.at += 2 if text.startswith("[[", here.at) else int(header)
    table: _Table | None = before.root if header else before.table
    found: Node | None = None
    for part in here.key():
        name = part.node.value
        found = next((key for key, _ in table.rows if key.value == name), found) if table else found
        child = table.tables.get(name) if table else None
        table = child.tables[-1] if isinstance(child, _Array) else child
    return found


@dataclass(slots=True)
class _Table:
    """A table while it may still grow, with the dict that `tomllib` made of it."""

    values: dict[str, Any]
    start: int
    end: int
    depth: int
    rows: list[tuple[Node, Node | _Table | _Array]] = field(default_factory=list[Any])
    tables: dict[str, _Table | _Array] = field(default_factory=dict[str, Any])

    def node(self, lines: Lines) -> Node:
        entries = tuple(Entry(key, child if isinstance(child, Node) else child.node(lines)) for key, child in self.rows)
        return Node("mapping", lines.span(self.start, self.end), self.values, entries=entries)

    def put(self, key: Node, child: _Table | _Array) -> None:
        self.rows.append((key, child))
        self.tables[key.value] = child

    def own(self, key: Node, start: int, end: int) -> _Table:
        """The table under a key, or the last one of an array of tables; it is made if it is new."""
        child = self.tables.get(key.value)
        if child is None:
            child = _Table(self.values[key.value], start, end, self.depth + 1)
            self.put(key, child)
        return child.tables[-1] if isinstance(child, _Array) else child


@dataclass(slots=True)
class _Array:
    """An array of tables: `[[name]]`, again and again."""

    values: list[dict[str, Any]]
    tables: list[_Table] = field(default_factory=list[Any])

    def node(self, lines: Lines) -> Node:
        span = lines.span(self.tables[0].start, self.tables[-1].end)
        return Node("sequence", span, self.values, items=tuple(table.node(lines) for table in self.tables))


@dataclass(slots=True)
class _Part:
    """One part of a dotted key."""

    node: Node
    start: int
    end: int


class _Scanner:
    """Walks a text that `tomllib` accepted; what cannot be in such a text is not looked for."""

    def __init__(self, text: str, lines: Lines, values: dict[str, Any]) -> None:
        self.text = text
        self.lines = lines
        self.root = self.table = _Table(values, 0, 0, 0)
        self.comments: list[tuple[int, str]] = []
        self.at = 0
        self.nodes = 0

    def document(self) -> Node:
        self.skip_lines()
        self.root.start = self.root.end = self.at
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                self.table = self.header()
            else:
                self.pair(self.table)
            self.root.end = self.at
            self.skip_lines()
        return self.root.node(self.lines)

    def skip_blanks(self) -> None:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def skip_lines(self) -> None:
        """Over blanks, line ends and comments."""
        while self.at < len(self.text):
            here = self.text[self.at]
            if here == "#":
                stop = self.text.find("\n", self.at)
                stop = stop if stop >= 0 else len(self.text)
                self.comments.append((self.lines.line(self.at), self.text[self.at : stop].rstrip()))
                self.at = stop
            elif here in " \t\r\n":
                self.at += 1
            else:
                return

    def key(self) -> list[_Part]:
        """A dotted key; the offset is then at what follows it and its blanks."""
        parts: list[_Part] = []
        while True:
            self.skip_blanks()
            match = _KEY_PART.match(self.text, self.at)
            if match is None:
                raise BrokenDocument("a key is expected here", self.lines.span(self.at, self.at))
            source = match.group()
            node = Node("scalar", self.lines.span(*match.span()), _key_name(source), source)
            node.style = "quoted" if match.group(1) else "plain"
            parts.append(_Part(node, *match.span()))
            self.at = match.end()
            self.skip_blanks()
            if not self.text.startswith(".", self.at):
                return parts
            self.at += 1

    def header(self) -> _Table:
        """`[a.b]` or `[[a.b]]`: the table that the lines below it fill."""
        start = self.at
        double = self.text.startswith("[[", start)
        self.at += 2 if double else 1
        *outer, last = self.key()
        self.at += 2 if double else 1
        table = self.root
        for part in outer:
            table = table.own(part.node, part.start, part.end)
        self.count(len(outer) + 1, last)
        name = last.node.value
        found = table.tables.get(name)
        if double:
            if not isinstance(found, _Array):
                found = _Array(table.values[name])
                table.put(last.node, found)
            found.tables.append(_Table(found.values[len(found.tables)], start, self.at, table.depth + 2))
            return found.tables[-1]
        child = table.own(last.node, start, self.at)
        if found is not None:
            # A header for a table that was only implied before: this is where it is written.
            child.start, child.end = start, self.at
            table.rows = [(last.node if row is child else key, row) for key, row in table.rows]
        return child

    def count(self, nodes: int, part: _Part) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            message = f"the file has more than {MAX_NODES:,} keys and values, too many for a config"
            raise RefusedDocument(message, part.node.span)

    def pair(self, table: _Table) -> None:
        """`a.b = value`, at the offset of its key."""
        *outer, last = self.key()
        self.at += 1
        self.skip_blanks()
        chain = [table]
        for part in outer:
            chain.append(chain[-1].own(part.node, part.start, part.end))
        value = self.value(chain[-1].values[last.node.value], last, chain[-1].depth + 1)
        chain[-1].rows.append((last.node, value))
        self.count(2, last)
        for grown in chain:
            grown.end = max(grown.end, self.at)

    def value(self, value: Any, key: _Part, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise RefusedDocument(f"the nesting is more than {MAX_DEPTH} levels deep here", key.node.span)
        first = self.text[self.at]
        if first == "[":
            return self.array(value, key, depth)
        if first == "{":
            return self.inline_table(value, depth)
        match = _SCALAR.match(self.text, self.at)
        if match is None:
            raise BrokenDocument("a value is expected here", self.lines.span(self.at, self.at))
        self.at = match.end()
        node = Node("scalar", self.lines.span(*match.span()), value, match.group())
        node.style = "quoted" if match.group(1) else "plain"
        return node

    def array(self, values: list[Any], key: _Part, depth: int) -> Node:
        start = self.at
        self.at += 1
        items: list[Node] = []
        for value in values:
            self.skip_separators()
            items.append(self.value(value, key, depth + 1))
        self.count(len(items), key)
        self.skip_separators()
        self.at += 1
        return Node("sequence", self.lines.span(start, self.at), values, items=tuple(items))

    def inline_table(self, values: dict[str, Any], depth: int) -> Node:
        table = _Table(values, self.at, self.at, depth)
        self.at += 1
        self.skip_separators()
        while self.text[self.at] != "}":
            self.pair(table)
            self.skip_separators()
        self.at += 1
        table.end = self.at
        return table.node(self.lines)

    def skip_separators(self) -> None:
        self.skip_lines()
        if self.text.startswith(",", self.at):
            self.at += 1
            self.skip_lines()


def _key_name(source: str) -> str:
    """A key without quotes and escapes."""
    if source[0] not in "\"'":
        return source
    if "\\" not in source:
        return source[1:-1]
    name: str = next(iter(tomllib.loads(f"{source} = 0")))
    return name
