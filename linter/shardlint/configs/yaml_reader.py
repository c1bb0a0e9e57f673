"""YAML with positions: PyYAML's events, composed here.

PyYAML composes a tree too, but recursively (a deep document exhausts the stack), with the position of the anchor on
every alias, and with the anchor and tag inside a node's range. Built from events, an alias has its own place, and
depth and size are checked before they cost anything. The events are lazy, so a refused document is not read on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

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
    from shardlint.configs.document import Lines, Style
    from shardlint.finding import Span

_STANDARD = "tag:yaml.org,2002:"
_MERGE = _STANDARD + "merge"
_SCALAR_TAGS = ("null", "bool", "int", "float", "binary", "timestamp", "str")
_KIND_OF_TAG = {
    **{f"!!{name}": "scalar" for name in _SCALAR_TAGS},
    **dict.fromkeys(("!!seq", "!!omap", "!!pairs"), "sequence"),
    **dict.fromkeys(("!!map", "!!set"), "mapping"),
}
_STYLES: dict[str, Style] = {"'": "single", '"': "double", "|": "literal", ">": "folded"}
_PROPERTY = re.compile(
    r"(?:!<[^>]*>|[&!][^\s,\[\]{}]*)(?:[ \t\r\n\x85\u2028\u2029]|(?<=[ \t\r\n\x85\u2028\u2029])#[^\r\n]*)*"
)
_BREAKS = "\r\n\x85\u2028\u2029"
_REST_OF_LINE = re.compile(r"[^\r\n]*")
_NOT_YAML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEMPLATE = re.compile(r"^[ \t]*(?:- +)*(?:[\w.\-]+:[ \t]+)?[^\s\"'#:]*(\{\{|\{%)", re.MULTILINE)
_BAD_SCALAR = (ValueError, LookupError, AttributeError, TypeError, ArithmeticError, yaml.YAMLError)


def read_yaml(text: str, lines: Lines) -> tuple[tuple[Node, ...], tuple[tuple[int, str], ...]]:
    """The roots of a YAML stream and its comments."""
    composer = _Composer(text, lines)
    try:
        composer.compose()
    except yaml.MarkedYAMLError as error:
        raise _broken(text, lines, error) from None
    except yaml.YAMLError:
        # Only the character check of PyYAML's reader raises without a mark.
        bad = _NOT_YAML.search(text)
        at = bad.start() if bad else 0
        message = f"YAML allows no control character such as U+{ord(text[at : at + 1] or ' '):04X} here; remove it"
        raise BrokenDocument(message, lines.span(at, min(at + 1, len(text)))) from None
    return tuple(composer.roots), _comments(text, lines, composer.scalars)


@dataclass(slots=True)
class _Built:
    """A finished node with what a use of it costs: nodes in it (aliases expanded) and levels below it."""

    node: Node
    end: int
    size: int = 1
    height: int = 0


@dataclass(slots=True)
class _Open:
    """A mapping or sequence whose end event has not come."""

    kind: Literal["mapping", "sequence"]
    start: int
    flow: bool
    tag: str
    anchor: str | None
    children: list[Node] = field(default_factory=list[Node])
    end: int = 0
    size: int = 1
    height: int = 0

    def add(self, built: _Built) -> None:
        self.children.append(built.node)
        self.end = built.end
        self.size += built.size
        self.height = max(self.height, built.height + 1)


class _Composer:
    """Events to nodes. `scalars` collects the ranges that `#` is no comment in."""

    def __init__(self, text: str, lines: Lines) -> None:
        self.text = text
        self.lines = lines
        self.roots: list[Node] = []
        self.scalars: list[tuple[int, int]] = []
        self.resolver: Any = Resolver()  # its stubs are untyped
        self.open: list[_Open] = []
        self.anchors: dict[str, _Built | None] = {}
        self.nodes = 0
        self.last_end = 0

    def compose(self) -> None:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        for event in yaml.parse(self.text, Loader=loader):
            if isinstance(event, yaml.ScalarEvent):
                self.finish(self.scalar(event), event.anchor)
            elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                self.start(event)
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                frame = self.open.pop()
                self.finish(self.collection(frame, _range(event)[1]), frame.anchor)
            elif isinstance(event, yaml.AliasEvent):
                self.finish(self.alias(event), None)
            elif isinstance(event, yaml.DocumentStartEvent):
                self.anchors = {}
                self.last_end = _range(event)[1]

    def finish(self, built: _Built, anchor: str | None) -> None:
        """Hand a finished node to what encloses it."""
        if anchor is not None:
            self.anchors[anchor] = built
        self.last_end = built.end
        if self.open:
            self.open[-1].add(built)
        else:
            self.roots.append(built.node)

    def count(self, nodes: int, depth: int, span: Span) -> None:
        self.nodes += nodes
        if depth > MAX_DEPTH:
            raise RefusedDocument(f"the nesting is more than {MAX_DEPTH} levels deep here", span)
        if self.nodes > MAX_NODES:
            message = f"the file has more than {MAX_NODES:,} keys and values (aliases expanded), too many for a config"
            raise RefusedDocument(message, span)

    def name_anchor(self, anchor: str, span: Span) -> None:
        """Open an anchor; it has no node until that is finished."""
        if anchor in self.anchors:
            raise BrokenDocument(f"the anchor `&{anchor}` is defined twice, and PyYAML refuses that", span)
        self.anchors[anchor] = None

    def start(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        kind: Literal["mapping", "sequence"] = "mapping" if isinstance(event, yaml.MappingStartEvent) else "sequence"
        offset, end = _range(event)
        begin = self.after_properties(offset, len(self.text), (event.anchor, event.tag))
        self.last_end = max(begin, end)
        at = self.lines.span(offset, max(offset + 1, end))
        self.count(1, len(self.open) + 1, at)
        if event.anchor is not None:
            self.name_anchor(event.anchor, at)
        self.open.append(_Open(kind, begin, bool(event.flow_style), _short(event.tag), event.anchor))

    def after_properties(self, start: int, end: int, properties: tuple[str | None, str | None]) -> int:
        """The offset of a node's own text behind its anchor and tag."""
        for given in properties:
            match = None if given is None else _PROPERTY.match(self.text, start, end)
            if match is not None:
                start = match.end()
        return start

    def scalar(self, event: yaml.ScalarEvent) -> _Built:
        start, end = _range(event)
        if start == end:
            start = end = self.place_of_nothing(start)
        if event.anchor is not None:
            self.name_anchor(event.anchor, self.lines.span(start, end))
        start = self.after_properties(start, end, (event.anchor, event.tag))
        style = _STYLES.get(event.style or "", "plain")
        source = self.text[start:end]
        if style in ("literal", "folded"):
            # The header's comment is a comment; the lines below it are not.
            header = _REST_OF_LINE.match(source)
            self.scalars.append((start + (header.end() if header else 0), end))
            if "+" not in source[:3]:
                source = _without_trailing_lines(source)
                end = start + len(source)
        else:
            self.scalars.append((start, end))
        span = self.lines.span(start, end)
        self.count(1, len(self.open), span)
        tag = event.tag
        if tag is None or tag == "!":
            tag = self.resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
        node = Node("scalar", span, event.value, source, style, _short(tag), anchor=event.anchor)
        _check_tag(node)
        node.value = _scalar_value(tag, event.value, span)
        return _Built(node, end)

    def place_of_nothing(self, at: int) -> int:
        """An empty value stands behind its `:`, `-` or `?`; the parsers differ in the blanks after it."""
        back = at
        while back > self.last_end and self.text[back - 1] in " \t":
            back -= 1
        return back if self.text[back - 1 : back] in (":", "-", "?") else self.last_end

    def alias(self, event: yaml.AliasEvent) -> _Built:
        start, end = _range(event)
        span = self.lines.span(start, end)
        name = event.anchor or ""
        if name not in self.anchors:
            raise BrokenDocument(f"no anchor `&{name}` stands before the alias `*{name}`", span)
        target = self.anchors[name]
        if target is None:
            raise BrokenDocument(f"the alias `*{name}` lies inside its own anchor, so the value contains itself", span)
        self.count(target.size, len(self.open) + target.height, span)
        return _Built(target.node.as_alias(self.text[start:end], span), end, target.size, target.height)

    def collection(self, frame: _Open, end: int) -> _Built:
        end = end if frame.flow else max(frame.end, frame.start)
        span = self.lines.span(frame.start, end)
        node = Node(frame.kind, span, None, tag=frame.tag, anchor=frame.anchor)
        _check_tag(node)
        if frame.kind == "mapping":
            self.fill_mapping(node, frame.children)
        else:
            node.items = tuple(frame.children)
            node.value = _sequence_value(node)
        node.tag = node.tag or ("!!map" if frame.kind == "mapping" else "!!seq")
        return _Built(node, end, frame.size, frame.height)

    def fill_mapping(self, node: Node, children: list[Node]) -> None:
        own: list[Entry] = []
        merged: dict[object, Entry] = {}
        for key, value in zip(children[::2], children[1::2], strict=True):
            if key.tag == "!!merge":
                _merge(merged, key, value)
                continue
            if key.kind != "scalar":
                raise self.not_a_key(key)
            own.append(Entry(key, value))
        # The order of PyYAML: what is merged comes first and is overridden.
        values = {name: entry.value.value for name, entry in merged.items()}
        values.update((entry.key.value, entry.value.value) for entry in own)
        written = {entry.key.value for entry in own}
        node.entries = (*own, *(entry for name, entry in merged.items() if name not in written))
        node.value = set(values) if node.tag == "!!set" else values

    def not_a_key(self, key: Node) -> BrokenDocument:
        source = self.text[self.lines.offset(key.span.line, key.span.column) - 1 :][:2]
        if source in ("{{", "{%"):
            message = "this looks like a template (`{{ ... }}`) and is no config until it is rendered"
            return BrokenDocument(message, key.span)
        return BrokenDocument(f"a {key.kind} cannot be a key: Python loaders fail on it", key.span)


def _range(event: yaml.Event) -> tuple[int, int]:
    """The offsets of an event in characters; the parsers always give both marks."""
    first, last = event.start_mark, event.end_mark
    return (first.index if first else 0, last.index if last else 0)


def _check_tag(node: Node) -> None:
    """Refuse a standard tag on a kind of node that PyYAML has no reading for, such as `!!str` on a mapping."""
    if _KIND_OF_TAG.get(node.tag, node.kind) != node.kind:
        raise BrokenDocument(f"the tag `{node.tag}` does not fit a {node.kind}, and PyYAML fails on it", node.span)


def _without_trailing_lines(source: str) -> str:
    """A block scalar without the empty lines after it; blanks at the end of its last line are content."""
    end = len(source)
    while True:
        back = end
        while back and source[back - 1] in " \t":
            back -= 1
        if not back or source[back - 1] not in _BREAKS:
            return source[:end]
        end = back - 1


def _merge(merged: dict[object, Entry], via: Node, source: Node) -> None:
    """Add what one `<<` brings in; in a list of mappings the earlier one wins."""
    mappings = (source,) if source.kind == "mapping" else tuple(reversed(source.items))
    if source.kind == "scalar" or any(item.kind != "mapping" for item in mappings):
        raise BrokenDocument("`<<` merges a mapping or a list of mappings, and this is neither", source.span)
    for mapping in mappings:
        for entry in mapping.entries:
            if entry.via is not None:
                merged[entry.key.value] = Entry(entry.key, entry.value, via)
        for entry in mapping.entries:
            if entry.via is None:
                merged[entry.key.value] = Entry(entry.key, entry.value, via)


def _sequence_value(node: Node) -> list[Any]:
    """`!!omap` and `!!pairs` are lists of pairs; every other sequence is a list."""
    if node.tag not in ("!!omap", "!!pairs"):
        return [item.value for item in node.items]
    if any(len(item.entries) != 1 for item in node.items):
        raise BrokenDocument(f"each item under `{node.tag}` must be a mapping with one key", node.span)
    return [(item.entries[0].key.value, item.entries[0].value.value) for item in node.items]


def _short(tag: str | None) -> str:
    """A tag as it is written: `!!int`, `!local`, `!<tag:example.com,2000:x>`."""
    if not tag or tag.startswith("!"):
        return "" if tag == "!" else tag or ""
    return "!!" + tag[len(_STANDARD) :] if tag.startswith(_STANDARD) else f"!<{tag}>"


def _scalar_value(tag: str, text: str, span: Span) -> Any:
    """What PyYAML's safe loader makes of a scalar; its text under a tag that it does not know."""
    kind = tag[len(_STANDARD) :] if tag.startswith(_STANDARD) else ""
    if kind == "str":
        return text
    if kind in ("int", "float") and len(text) > MAX_DIGITS:
        # Base 60 (`1:30`) is quadratic in its length, as is a long decimal before Python limited it.
        raise BrokenDocument(f"a number of {len(text)} characters is more than Python reads ({MAX_DIGITS})", span)
    if kind not in _SCALAR_TAGS:
        return text
    node = yaml.ScalarNode(tag, text)
    try:
        return SafeConstructor.yaml_constructors[tag](SafeConstructor(), node)
    except _BAD_SCALAR:
        message = f"PyYAML reads `{text[:40]}` as {kind}, and it is not a valid one; quote it if text is meant"
        raise BrokenDocument(message, span) from None


def _broken(text: str, lines: Lines, error: yaml.MarkedYAMLError) -> BrokenDocument:
    """PyYAML's error as one sentence; unrendered templates are the usual cause, so they are named."""
    mark = error.problem_mark or error.context_mark
    at = min(mark.index, len(text)) if mark is not None else 0
    problem = (error.problem or error.context or "it cannot be parsed").rstrip(".")
    if "nesting depth" in problem:
        # libyaml reads ahead of the events and has a limit of its own.
        return RefusedDocument(f"the nesting is more than {MAX_DEPTH} levels deep here", lines.span(at, at))
    if text[at : at + 1] == "\t":
        problem = "a tab stands where YAML allows only spaces"
    elif error.context and error.problem:
        problem = f"{problem} ({error.context})"
    end = min(at + 1, len(text)) if text[at : at + 1] not in ("\r", "\n", "") else at
    span = lines.span(at, end)
    stop = text.find("\n", at)
    template = _TEMPLATE.search(text, 0, stop if stop >= 0 else len(text))
    if template is not None:
        where = f"`{template.group(1)}` on line {lines.line(template.start(1))}"
        return BrokenDocument(
            f"this looks like a template ({where}) and is no YAML until it is rendered: {problem}", span
        )
    return BrokenDocument(f"this is not valid YAML: {problem}", span)


def _comments(text: str, lines: Lines, scalars: list[tuple[int, int]]) -> tuple[tuple[int, str], ...]:
    """A `#` between two scalars starts a comment: indicators, anchors and tags have none."""
    found: list[tuple[int, str]] = []
    at = 0
    for start, end in (*scalars, (len(text), len(text))):
        hash_ = text.find("#", at, start)
        while hash_ >= 0:
            match = _REST_OF_LINE.match(text, hash_)
            stop = match.end() if match else start
            found.append((lines.line(hash_), text[hash_:stop].rstrip()))
            hash_ = text.find("#", stop, start)
        at = max(at, end)
    return tuple(found)
