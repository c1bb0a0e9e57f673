"""A config file as a tree of nodes, each with its exact range in the source.

One model for YAML, JSON and TOML. Positions come from the text itself, values from the rules of the loader that
training code would use (PyYAML's YAML 1.1, `json`, `tomllib`). Whatever the input is, the work is bounded: see
`MAX_BYTES`, `MAX_NODES` and `MAX_DEPTH`.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from shardlint.errors import ShardlintError
from shardlint.finding import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    DocumentKind = Literal["yaml", "json", "toml"]
    NodeKind = Literal["mapping", "sequence", "scalar"]
    Style = Literal["plain", "single", "double", "literal", "folded", "quoted"]
    Path = tuple[str | int, ...]

MAX_BYTES = 2_000_000
"""A larger file is data, not a config, and is refused."""

MAX_NODES = 100_000
"""Most keys and values in a file, counted with every alias expanded."""

MAX_DEPTH = 200
"""Deepest nesting, counted with every alias expanded."""

MAX_DIGITS = 4300
"""Longest integer in characters: CPython's default limit for `int(text)`, beyond which the loaders fail too."""

SUFFIXES: dict[str, DocumentKind] = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}

_BARE_STEP = re.compile(r"[^\s.\[\]\"']+")
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


class BrokenDocument(ShardlintError):
    """The usual loader of this format would fail on the file. The text is one sentence; `span` says where."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.message = message
        self.span = span


class RefusedDocument(BrokenDocument):
    """The file may be sound, but it passes a limit of this reader: size, number of values, depth."""


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """One value or key of a document. Nodes are compared by identity and are not changed once read.

    `span` is the node's own range, without the anchor and tag before it; a block mapping ends with its last value. A
    TOML table runs from its header to the last value of its own block, without its subtables. A node that is an alias
    has the range and `text` of the alias (`*base`) and the content of its anchor, which `alias_of` names.

    `value` is what the usual loader gives. Mappings and sequences hold the same Python objects as their nodes, so a
    reader of `value` must not change it. A value under a tag that the loader does not know keeps the value it would
    have without the tag, a scalar as text; `tag` is then `!name` or `!!python/...`. JSON and TOML have no tags.

    `text` is the source of a scalar with its quotes, empty for an empty value and for mappings and sequences.
    """

    kind: NodeKind
    span: Span
    value: Any
    text: str = ""
    style: Style = "plain"
    tag: str = ""
    entries: tuple[Entry, ...] = ()
    items: tuple[Node, ...] = ()
    anchor: str | None = None
    alias_of: Node | None = None

    def get(self, key: object) -> Entry | None:
        """The entry that decides the value of `key` here: the last one written, else one brought in by `<<`."""
        found: Entry | None = None
        for entry in self.entries:
            if entry.key.kind == "scalar" and entry.key.value == key and (found is None or entry.via is None):
                found = entry
        return found

    def as_alias(self, text: str, span: Span) -> Node:
        """This node's content at the place of an alias of it."""
        return replace(self, span=span, text=text, anchor=None, alias_of=self.alias_of or self)

    def __repr__(self) -> str:
        return f"Node({self.kind}, line {self.span.line}, {self.text!r})"


@dataclass(slots=True, eq=False)
class Entry:
    """A key and its value. `via` is the `<<` key that brought the entry in, None for one that is written here.

    The entries of a mapping are its own in the order of the source, then those that a merge key brought in and that
    no own entry overrides. The `<<` key itself is no entry.
    """

    key: Node
    value: Node
    via: Node | None = None

    @property
    def span(self) -> Span:
        """Where to report the entry: its key, or the `<<` that brought it in."""
        return (self.via or self.key).span


@dataclass(slots=True, eq=False)
class Place:
    """A value and the way to it. `path` holds keys as written in the source, without quotes, and indexes from 0.

    `key` is None for an item of a sequence. `via` is the key or item through which an alias or merge key brought the
    place in, None when the place is written where its pointer says; `key` and `value` then lie at the anchor.
    """

    path: Path
    key: Node | None
    value: Node
    via: Node | None = None

    @property
    def pointer(self) -> str:
        """The path in one string, such as `train.lr` or `layers[2].dim`; a step with a dot in it is quoted."""
        return pointer_of(self.path)

    @property
    def span(self) -> Span:
        """Where to report the place: the outermost text that makes its pointer exist, a key if there is one."""
        return (self.via or self.key or self.value).span


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A key that is written more than once in one mapping: the loader keeps `second` and drops `first` in silence.

    With three or more of a kind, each later one is paired with the one before it.
    """

    pointer: str
    first: Span
    second: Span


@dataclass(frozen=True, eq=False)
class Document:
    """A file that was read. `text` is without a byte order mark; its line breaks are as in the file."""

    path: str
    kind: DocumentKind
    text: str
    roots: tuple[Node, ...]
    comment_lines: tuple[tuple[int, str], ...] = ()

    def places(self) -> Iterator[Place]:
        """Every value but the roots, in the order of the source, with aliases and merge keys expanded."""
        for root in self.roots:
            yield from places_under(root)

    @cached_property
    def duplicates(self) -> tuple[Duplicate, ...]:
        """Keys that are written twice in one mapping, each mapping seen once, where it is written."""
        found: list[Duplicate] = []
        for root in self.roots:
            found += _duplicates_in(root, ())
            for place in places_under(root):
                if place.via is None:
                    found += _duplicates_in(place.value, place.path)
        return tuple(found)

    def comments(self) -> tuple[tuple[int, str], ...]:
        """Each comment as (line, text from the `#` on, without trailing blanks), in the order of the source."""
        return self.comment_lines


class Lines:
    """Turns offsets in a text into lines and columns. A line ends at `\\n`, `\\r\\n` or `\\r`, as editors count."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in _LINE_BREAK.finditer(text))]

    def line(self, offset: int) -> int:
        """The line of an offset, from 1."""
        return bisect_right(self._starts, offset)

    def span(self, start: int, end: int) -> Span:
        """The range between two offsets, the end exclusive."""
        first = self.line(start)
        last = first if start == end else self.line(end)
        return Span(first, start - self._starts[first - 1] + 1, last, end - self._starts[last - 1] + 1)

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column; a line that does not exist is the last one."""
        return self._starts[min(line, len(self._starts)) - 1] + column - 1


def read_document(path: str, data: bytes, *, kind: str | None = None) -> Document:
    """Read one config file.

    Args:
        path: the path that the document carries; its suffix decides the kind when none is given.
        data: the bytes of the file.
        kind: "yaml", "json" or "toml".

    Raises:
        BrokenDocument: the usual loader would fail on it: text that does not parse, a NUL, bytes that are not text.
        RefusedDocument: it passes a limit of this reader.
        ValueError: the kind is none of the three.
    """
    chosen = _known_kind(kind) if kind is not None else suffix_kind(path)
    if chosen == "yaml":
        from shardlint.configs.yaml_reader import read_yaml as read
    elif chosen == "json":
        from shardlint.configs.json_reader import read_json as read
    elif chosen == "toml":
        from shardlint.configs.toml_reader import read_toml as read
    else:
        raise ValueError(f"{path}: a document is yaml, json or toml, and this is none of them")
    text = _decode(data, chosen)
    roots, comments = read(text, Lines(text))
    return Document(path, chosen, text, roots, comments)


def suffix_kind(path: str) -> DocumentKind | None:
    """The kind that the suffix of a path names, None for any other suffix."""
    dot = path.rfind(".")
    return SUFFIXES.get(path[dot:].lower()) if dot >= 0 else None


def _known_kind(name: str) -> DocumentKind | None:
    return next((kind for kind in SUFFIXES.values() if kind == name), None)


def pointer_of(path: Path) -> str:
    """A path as one string: `layers[2].dim`, `plugins."a.b"`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = step if _BARE_STEP.fullmatch(step) else json.dumps(step, ensure_ascii=False)
            text += f".{name}" if text else name
    return text


def places_under(root: Node) -> Iterator[Place]:
    """Every value below a node in the order of the source, with aliases and merge keys expanded."""
    # Readers refuse documents that contain themselves and count every expansion, so that this walk ends soon.
    waiting = [Place((), None, root)]
    while waiting:
        place = waiting.pop()
        if place.path:
            yield place
        inner = place.via
        if inner is None and place.value.alias_of is not None:
            inner = place.key or place.value
        node = place.value
        for entry in reversed(node.entries):
            waiting.append(Place((*place.path, step_of(entry.key)), entry.key, entry.value, inner or entry.via))
        for index in range(len(node.items) - 1, -1, -1):
            waiting.append(Place((*place.path, index), None, node.items[index], inner))


def step_of(key: Node) -> str:
    """The name of a key in a path: its text if it is a string, else its source (`1`, `yes`, `null`)."""
    source = key.alias_of or key
    return source.value if isinstance(source.value, str) else source.text


def _duplicates_in(node: Node, path: Path) -> Iterator[Duplicate]:
    """The duplicates of one mapping; an alias of it is not a second place where they are written."""
    if node.kind != "mapping" or node.alias_of is not None:
        return
    seen: dict[object, Node] = {}
    for entry in node.entries:
        if entry.via is not None:
            continue
        before = seen.get(entry.key.value)
        if before is not None:
            yield Duplicate(pointer_of((*path, step_of(entry.key))), before.span, entry.key.span)
        seen[entry.key.value] = entry.key


def _decode(data: bytes, kind: DocumentKind) -> str:
    """The text of a file, without its byte order mark."""
    if len(data) > MAX_BYTES:
        message = f"the file has {len(data):,} bytes, and a config is read up to {MAX_BYTES:,}"
        raise RefusedDocument(message, Span(1, 1, 1, 1))
    wide = kind == "yaml" and data[:2] in (b"\xff\xfe", b"\xfe\xff")
    encoding, name = ("utf-16", "UTF-16") if wide else ("utf-8-sig", "UTF-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(encoding, "replace")
        at = Lines(before).span(len(before), len(before))
        message = f"the file is not {name}: it cannot be decoded from line {at.line} on; save it as UTF-8"
        raise BrokenDocument(message, at) from None
    nul = text.find("\0")
    if nul >= 0:
        message = f"the file has a NUL character here, so it is no {kind.upper()}"
        raise BrokenDocument(message, Lines(text).span(nul, nul + 1))
    return text
