"""Tables of renamed keys in the text of one file, and where another entry of such a table is written."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from shardlint.errors import UndecodableSource
from shardlint.facts.key_pattern import dotted
from shardlint.facts.key_remaps import maps_keys
from shardlint.parsing import parse
from shardlint.source import Source, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

RENAMER = "WeightRenaming"
"""The class of transformers that renames keys: from its first argument to its second."""

_SIDES = ("source_patterns", "target_patterns")

_FOREIGN = re.compile(r"hf|hugging|export|save|meta(?!data)|mcore|megatron|revers|invers", re.IGNORECASE)
"""Names of tables, and of functions around them, for the checkpoints of another code base or for saving one."""

_GAP = re.compile(r"(?P<gap>(?:\s|#[^\n]*(?=\n)|\\\n)*)(?P<comma>,?)(?P<rest>(?:\s|#[^\n]*(?=\n)|\\\n)*)")


class Side(NamedTuple):
    """One side of an entry: its value, and the range of its literal in the text."""

    value: str
    start: int
    end: int


class Entry(NamedTuple):
    """One entry of a table, with its range in the text."""

    left: Side
    right: Side
    start: int
    end: int


class RenameTable(NamedTuple):
    """One dict or list that maps names of keys to others.

    Attributes:
        entries: those whose both sides are strings; there may be others between them.
        strings: all strings in it, those of the other entries too.
        end: where its closing bracket stands.
        last: the range of its last element, an entry or not.
        renames: whether its form says that the left side is the old one.
        key: the key under which a larger dict holds the table; "" for any other table.
        foreign: whether names around it say that it is for checkpoints of another code base, or for saving one.
    """

    entries: tuple[Entry, ...]
    strings: tuple[str, ...]
    end: int
    last: tuple[int, int]
    renames: bool
    key: str
    foreign: bool


class TableFile:
    """The tables of one Python file. Offsets count characters of `text`, whose lines end in newlines."""

    def __init__(self, path: str, text: str, tree: ast.Module) -> None:
        self.path = path
        self.text = text
        self.tree = tree
        self._source = Source(text)
        self._starts = [0]
        for line in self._source.lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    @classmethod
    def read(cls, path: str, content: bytes) -> TableFile | None:
        """The tables of a file with this content; None if it is not Python, or has line ends that cannot be kept."""
        try:
            text = decode(content).text.replace("\r\n", "\n")
        except UndecodableSource:
            return None
        tree = parse(text) if "\r" not in text else None
        return cls(path, text, tree) if isinstance(tree, ast.Module) else None

    def tables(self) -> Iterator[RenameTable]:
        """The tables in the order of `ast.walk`."""
        for node in ast.walk(self.tree):
            table = self._table(node) if isinstance(node, (ast.Dict, ast.List, ast.Tuple)) else None
            if table is not None:
                yield table

    def insertions(self, table: RenameTable, entry: str) -> list[tuple[int, int, str]] | None:
        """The places (line, column) and texts that add an entry after the last element, laid out as that one is.

        None where what stands between it and the closing bracket is not understood.
        """
        start, end = table.last
        match = _GAP.fullmatch(self.text, end, table.end)
        if match is None or (match["comma"] and match["gap"]):
            return None
        before = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        comma, at = match["comma"], match.end("comma") if match["comma"] else end
        rest = self.text[at:].partition("\n")[0]
        if before.strip():  # more stands in this line: the entry follows in it
            inserted = [(at, f" {entry}," if comma else f", {entry}")]
        elif rest.lstrip().startswith("#"):  # a comment stays with the element that it follows
            inserted = [] if comma else [(end, ",")]
            inserted.append((at + len(rest), f"\n{before}{entry},"))
        else:
            inserted = [(at, f"\n{before}{entry}," if comma else f",\n{before}{entry}")]
        return [(*self._place(offset), text) for offset, text in inserted]

    def _place(self, offset: int) -> tuple[int, int]:
        line = self.text.count("\n", 0, offset) + 1
        return line, offset - self._starts[line - 1] + 1

    def _range(self, node: ast.expr) -> tuple[int, int]:
        end_line, end_offset = node.end_lineno or node.lineno, node.end_col_offset or 0
        start = self._starts[node.lineno - 1] + self._source.column(node.lineno, node.col_offset) - 1
        return start, self._starts[end_line - 1] + self._source.column(end_line, end_offset) - 1

    def _table(self, node: ast.Dict | ast.List | ast.Tuple) -> RenameTable | None:
        named = maps_keys(self._name(node))
        if isinstance(node, ast.Dict):
            if not named or any(key is None for key in node.keys):
                return None
            pairs = [(key, value, key, value) for key, value in zip(node.keys, node.values, strict=True) if key]
        else:
            pairs = [(one, one, *sides) for one in node.elts if (sides := _sides(one)) and (named or _renames(one))]
        elements = node.values if isinstance(node, ast.Dict) else node.elts
        entries = [entry for pair in pairs if (entry := self._entry(*pair)) is not None]
        if not entries or any(isinstance(one, ast.Starred) for one in elements):
            return None
        last = node.keys[-1] or elements[-1] if isinstance(node, ast.Dict) else elements[-1]
        end = self._range(node)[1] - 1
        if self._range(elements[-1])[1] > end:
            return None  # a tuple without brackets
        return RenameTable(
            tuple(entries),
            tuple(one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)),
            end,
            (self._range(last)[0], self._range(elements[-1])[1]),
            any(_renames(one) for one in elements),
            self._key(node),
            any(_FOREIGN.search(name) for name in (self._name(node), *self._functions(node))),
        )

    def _entry(self, first: ast.expr, last: ast.expr, left: ast.expr, right: ast.expr) -> Entry | None:
        old, new = self._side(left), self._side(right)
        return None if old is None or new is None else Entry(old, new, self._range(first)[0], self._range(last)[1])

    def _side(self, node: ast.expr) -> Side | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return Side(node.value, *self._range(node))
        return None

    def _name(self, node: ast.AST) -> str:
        """The name that a value is assigned to, or handed over under."""
        parent = self._parents.get(node)
        if isinstance(parent, ast.Assign):
            return dotted(parent.targets[0]).rpartition(".")[2]
        if isinstance(parent, ast.AnnAssign):
            return dotted(parent.target).rpartition(".")[2]
        return (parent.arg or "") if isinstance(parent, ast.keyword) else ""

    def _key(self, node: ast.AST) -> str:
        parent = self._parents.get(node)
        if not isinstance(parent, ast.Dict):
            return ""
        held = next((key for key, value in zip(parent.keys, parent.values, strict=True) if value is node), None)
        return held.value if isinstance(held, ast.Constant) and isinstance(held.value, str) else ""

    def _functions(self, node: ast.AST) -> Iterator[str]:
        at = self._parents.get(node)
        while at is not None:
            if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield at.name
            at = self._parents.get(at)


def _renames(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == RENAMER


def _sides(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The two sides of an element of a list: a pair, or a call of `RENAMER` with nothing else."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return (node.elts[0], node.elts[1]) if len(node.elts) == 2 else None
    if not isinstance(node, ast.Call) or not _renames(node):
        return None
    if len(node.args) == 2 and not node.keywords:
        return node.args[0], node.args[1]
    given = {word.arg: word.value for word in node.keywords}
    if node.args or tuple(given) != _SIDES:
        return None
    return given[_SIDES[0]], given[_SIDES[1]]
