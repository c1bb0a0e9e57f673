"""The keys of a config file, or of a plain mapping, as expressions read them.

A value is what the usual loader gives. It is unknown where only a run can tell: `${...}`, `{{...}}`, `{%`, `???`, a tag
of the project's own, and text such as `1e-5`, which one loader takes for a number and another for text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from shardlint.configs.document import Place, pointer_of, step_of
from shardlint.finding import Span
from shardlint.knowledge.operations import MAX_INT, MAX_ITEMS, MAX_TEXT
from shardlint.knowledge.unknown import ABSENT, UNKNOWN, Truth
from shardlint.knowledge.value_tests import is_items, is_list, is_mapping

if TYPE_CHECKING:
    from shardlint.configs.document import Document, Entry, Node, Path
    from shardlint.knowledge.key_path import KeyPattern

COMPOSING = ("defaults", "_base_")
"""Keys at the top with which a file takes keys from other files: Hydra and MMEngine. What it lacks may stand there."""

_OPEN = re.compile(r"\$\{|\{\{|\{%|\A\?\?\?\Z")
_SCIENTIFIC = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")
_STANDARD = re.compile(r"(!!(null|bool|int|float|timestamp|str|seq|map))?")
_TOP = Span(1, 1, 1, 1)


class DocumentSource:
    """The keys below one root of a document."""

    def __init__(self, root: Node) -> None:
        self._places: dict[Path, Place | None] = {(): Place((), None, root)}
        self._entries: dict[int, dict[str, Entry]] = {}
        self._values: dict[Path, object] = {}
        self._composed = any(isinstance(_plain_child(root.value, key), (list, str)) for key in COMPOSING)

    @classmethod
    def of(cls, document: Document) -> tuple[DocumentSource, ...]:
        """The sources of a document, one a root; made once, since many checks ask."""
        known = _SOURCES.get(document)
        if known is None:
            known = _SOURCES[document] = tuple(cls(root) for root in document.roots)
        return known

    def look(self, path: Path) -> object:
        """The value of a key, `UNKNOWN` or `ABSENT`."""
        try:
            return self._values[path]
        except KeyError:
            place = self._place(path)
            value = self._missing(path) if place is None else _settled_node(place.value, [MAX_ITEMS])
            self._values[path] = value
            return value

    def has(self, path: Path) -> Truth:
        """Whether a key is written, whatever its value."""
        if self._place(path) is not None:
            return True
        return UNKNOWN if self._missing(path) is UNKNOWN else False

    def matching(self, pattern: KeyPattern) -> Sequence[Path]:
        """The keys that are written and fit a pattern, in the order of the file."""
        found: list[Path] = [()]
        for depth in range(len(pattern.steps)):
            found = [(*path, step) for path in found for step in self._steps(path) if pattern.fits(depth, step)]
        return found

    def hiding(self, pattern: KeyPattern) -> Path | None:
        """A key below which more keys may fit a pattern than are written; None without one."""
        if self._composed and not self._is_whole(pattern):
            return pattern.steps
        found: list[Path] = [()]
        for depth in range(len(pattern.steps)):
            for path in found:
                place = self._place(path)
                if place is not None and _is_open(place.value):
                    return path
            found = [(*path, step) for path in found for step in self._steps(path) if pattern.fits(depth, step)]
        return None

    def _is_whole(self, pattern: KeyPattern) -> bool:
        """Whether other files that this one takes keys from cannot add to a pattern: a list is replaced as a whole."""
        first = pattern.globs.index(True) if True in pattern.globs else len(pattern.steps)
        place = self._place(pattern.steps[:first])
        return place is not None and (first == len(pattern.steps) or place.value.kind == "sequence")

    def why(self, path: Path) -> str:
        """Why a key is `UNKNOWN` or `ABSENT`."""
        name = pointer_of(path)
        place = self._place(path)
        if place is None and self._composed:
            return f"`{name}` may stand in a file that this one takes keys from"
        if place is None and self._missing(path) is ABSENT:
            return f"`{name}` is not in the file, and its default is not known"
        value = self._above(path).value
        return f"`{name}` is {_described(value.text)}, which only a run can tell"

    def span(self, path: Path) -> Span:
        """Where the key is written, or the nearest key above it."""
        place = self._above(path)
        if place.path:
            return place.span
        return place.value.entries[0].span if place.value.entries else _TOP

    def _above(self, path: Path) -> Place:
        """The place of a key, or of the nearest one above it that is written."""
        while True:
            place = self._place(path)
            if place is not None:
                return place
            path = path[:-1]

    def _missing(self, path: Path) -> object:
        """What a key is that is not written: unknown below a value that only a run resolves."""
        above = self._above(path).value
        if self._composed or _is_open(above):
            return UNKNOWN
        return ABSENT

    def _place(self, path: Path) -> Place | None:
        if path in self._places:
            return self._places[path]
        parent = self._place(path[:-1])
        place = None if parent is None else self._child(parent, path)
        self._places[path] = place
        return place

    def _child(self, parent: Place, path: Path) -> Place | None:
        node, step = parent.value, path[-1]
        inner = parent.via
        if inner is None and node.alias_of is not None:
            inner = parent.key or node
        if node.kind == "sequence" and isinstance(step, int):
            return Place(path, None, node.items[step], inner) if step < len(node.items) else None
        entry = self._entries_of(node).get(str(step))
        return None if entry is None else Place(path, entry.key, entry.value, inner or entry.via)

    def _entries_of(self, node: Node) -> dict[str, Entry]:
        """The entries of a mapping by the names of their keys; of two alike the last one written."""
        known = self._entries.get(id(node))
        if known is None:
            known = self._entries[id(node)] = {}
            for entry in node.entries:
                if entry.via is None or step_of(entry.key) not in known:
                    known[step_of(entry.key)] = entry
        return known

    def _steps(self, path: Path) -> Iterable[str | int]:
        place = self._place(path)
        if place is None:
            return ()
        return range(len(place.value.items)) if place.value.kind == "sequence" else self._entries_of(place.value)


def _is_open(node: Node) -> bool:
    """Whether a value may become a mapping or a list in a run, so that keys may lie below it."""
    return node.kind == "scalar" and (not _STANDARD.fullmatch(node.tag) or _is_open_text(node.value))


_SOURCES: WeakKeyDictionary[Document, tuple[DocumentSource, ...]] = WeakKeyDictionary()


class PlainSource:
    """The keys of a plain mapping. It has no lines: every span is the first character."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def look(self, path: Path) -> object:
        """The value of a key, `UNKNOWN` or `ABSENT`."""
        value: object = self._values
        for step in path:
            inner = _plain_child(value, step)
            if inner is ABSENT:
                return UNKNOWN if _is_open_text(value) else ABSENT
            value = inner
        return _settled(value, [MAX_ITEMS])

    def has(self, path: Path) -> Truth:
        """Whether a key is written, whatever its value."""
        value: object = self._values
        for step in path:
            inner = _plain_child(value, step)
            if inner is ABSENT:
                return UNKNOWN if _is_open_text(value) else False
            value = inner
        return True

    def matching(self, pattern: KeyPattern) -> Sequence[Path]:
        """The keys that are there and fit a pattern."""
        found: list[tuple[Path, object]] = [((), self._values)]
        for depth in range(len(pattern.steps)):
            found = _plain_fitting(found, pattern, depth)
        return [path for path, _ in found]

    def hiding(self, pattern: KeyPattern) -> Path | None:
        """A key below which more keys may fit a pattern than are there; None without one."""
        found: list[tuple[Path, object]] = [((), self._values)]
        for depth in range(len(pattern.steps)):
            for path, value in found:
                if _is_open_text(value):
                    return path
            found = _plain_fitting(found, pattern, depth)
        return None

    def why(self, path: Path) -> str:
        """Why a key is `UNKNOWN` or `ABSENT`."""
        name = pointer_of(path)
        if self.look(path) is ABSENT:
            return f"`{name}` is not given, and its default is not known"
        return f"`{name}` is a value that only a run can tell"

    def span(self, path: Path) -> Span:
        """The first character."""
        del path
        return _TOP


def _plain_fitting(found: list[tuple[Path, object]], pattern: KeyPattern, depth: int) -> list[tuple[Path, object]]:
    """What lies one step below plain values and fits a pattern there."""
    return [
        ((*path, step), inner)
        for path, value in found
        for step, inner in _plain_steps(value)
        if pattern.fits(depth, step)
    ]


def _is_open_text(value: object) -> bool:
    """Whether a plain value may become a mapping or a list in a run, which `1e-5` never does."""
    return isinstance(value, str) and _OPEN.search(value) is not None


def _plain_steps(value: object) -> Iterable[tuple[str | int, object]]:
    if is_mapping(value):
        return [(str(key), inner) for key, inner in value.items()]
    return enumerate(value) if is_list(value) else ()


def _plain_child(value: object, step: str | int) -> object:
    """What lies one step below a plain value."""
    if is_list(value):
        return value[step] if isinstance(step, int) and step < len(value) else ABSENT
    if is_mapping(value):
        return (
            value[step] if step in value else next((inner for key, inner in value.items() if str(key) == step), ABSENT)
        )
    return ABSENT


def _settled(value: object, room: list[int]) -> object:
    """A value as expressions take it: whole if it is known, with `UNKNOWN` in the places that are not.

    `room` holds how many values may still come; a value without room is unknown.
    """
    room[0] -= 1
    if room[0] < 0:
        return UNKNOWN
    if value is None or isinstance(value, (bool, float, date)):
        return value
    if isinstance(value, int):
        return value if -MAX_INT <= value <= MAX_INT else UNKNOWN
    if isinstance(value, str):
        open_ = len(value) > MAX_TEXT or _OPEN.search(value) or _SCIENTIFIC.fullmatch(value)
        return UNKNOWN if open_ else value
    if is_items(value):
        items = [_settled(item, room) for item in value]
        return UNKNOWN if room[0] < 0 else items
    if is_mapping(value):
        inside = {key: _settled(inner, room) for key, inner in value.items()}
        return UNKNOWN if room[0] < 0 else inside
    return UNKNOWN


def _settled_node(node: Node, room: list[int]) -> object:
    """The value of a node as expressions take it."""
    if not _STANDARD.fullmatch(node.tag):
        return UNKNOWN
    if node.kind == "scalar":
        quoted = node.style != "plain" and isinstance(node.value, str) and _SCIENTIFIC.fullmatch(node.value)
        known = _settled(node.value, room)
        return node.value if quoted and room[0] >= 0 else known
    room[0] -= 1
    if room[0] < 0:
        return UNKNOWN
    inside: object
    if node.kind == "sequence":
        inside = [_settled_node(item, room) for item in node.items]
    else:
        merged = sorted(node.entries, key=lambda entry: entry.via is None)
        inside = {entry.key.value: _settled_node(entry.value, room) for entry in merged}
    return UNKNOWN if room[0] < 0 else inside


def _described(text: str) -> str:
    """The text of a value for a message."""
    flat = " ".join(text.split())
    if not flat:
        return "a large or unusual value"
    return f"`{flat if len(flat) <= 60 else flat[:57] + '...'}`"
