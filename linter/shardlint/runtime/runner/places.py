"""Where the patterns of a plan stand in the source, read off its syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

_OPENING = re.compile(r"[rRbBuU]{0,2}(?:'''|\"\"\"|'|\")")


class Places:
    """The string keys of dict literals, of subscripts that are set, and of lists, in some files.

    Args:
        files: paths, the likeliest first.
        owners: names of what is likely to hold the plan: a variable, a function.
    """

    def __init__(self, files: Iterable[str], owners: Iterable[str] = ()) -> None:
        self._owners = frozenset(owners)
        self._files = list(dict.fromkeys(files))
        self._texts = {path: _text(path) for path in self._files}
        self._read: dict[str, _Reader] = {}

    def of(self, pattern: str) -> dict[str, Any]:
        """Path, line and column (from 1) of a pattern; a plan that was merged from parts holds it under a prefix.
        Where it is not spelled, the place of what holds the plan, else the first line; `spelled` tells them apart."""
        literals = [literal for reader in self._with([pattern.rpartition(".")[2]]) for literal in reader.found]
        exact = [literal for literal in literals if literal.text == pattern]
        ends = [literal for literal in literals if literal.text and pattern.endswith(f".{literal.text}")]
        longest = max((len(literal.text) for literal in ends), default=0)
        for found in (exact, [literal for literal in ends if len(literal.text) == longest]):
            if found:
                best = min(found, key=lambda literal: (self._owners.isdisjoint(literal.owners), not literal.is_key))
                return {"path": best.path, "line": best.line, "column": best.column, "spelled": True}
        for reader in self._with(self._owners):
            for name, line, column in reader.defined:
                if name in self._owners:
                    return {"path": reader.path, "line": line, "column": column, "spelled": False}
        return {"path": self._files[0] if self._files else "", "line": 1, "column": 1, "spelled": False}

    def _with(self, words: Iterable[str]) -> Iterator[_Reader]:
        """The files that spell a word, read: most of the many files of a framework do not, and reading costs."""
        sought = list(words)
        for path, text in self._texts.items():
            if any(word in text for word in sought):
                if path not in self._read:
                    self._read[path] = _Reader(path, text)
                yield self._read[path]


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return ""


class _Literal:
    def __init__(self, text: str, path: str, line: int, column: int, owners: frozenset[str], is_key: bool) -> None:
        self.text = text
        self.path = path
        self.line = line
        self.column = column
        self.owners = owners
        self.is_key = is_key


class _Reader(ast.NodeVisitor):
    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.found: list[_Literal] = []
        self.defined: list[tuple[str, int, int]] = []
        self._lines = text.split("\n")
        self._owners: list[str] = []
        with suppress(ValueError, SyntaxError, RecursionError):  # then its patterns have no place
            self.visit(ast.parse(text))

    def _within(self, node: ast.AST, names: list[str]) -> None:
        self._owners += names
        self.generic_visit(node)
        del self._owners[len(self._owners) - len(names) :]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.defined.append((node.name, node.lineno, node.col_offset + 1))
        self._within(node, [node.name])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.defined.append((node.name, node.lineno, node.col_offset + 1))
        self._within(node, [node.name])

    def visit_Assign(self, node: ast.Assign) -> None:
        names = [name for target in node.targets for name in _names(target)]
        self.defined += [(name, node.lineno, node.col_offset + 1) for name in names]
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                self._note(target.slice, True)
        self._within(node, names)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        names = _names(node.target)
        self.defined += [(name, node.lineno, node.col_offset + 1) for name in names]
        self._within(node, names)

    def visit_keyword(self, node: ast.keyword) -> None:
        self._within(node, [node.arg] if node.arg else [])

    def visit_Dict(self, node: ast.Dict) -> None:
        for key in node.keys:
            if key is not None:
                self._note(key, True)
        self.generic_visit(node)

    def visit_List(self, node: ast.List) -> None:
        for part in node.elts:
            self._note(part, False)
        self.generic_visit(node)

    visit_Tuple = visit_Set = visit_List  # type: ignore[assignment]  # all three have elements

    def _note(self, node: ast.AST, is_key: bool) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            line = self._lines[node.lineno - 1]
            column = len(line.encode()[: node.col_offset].decode(errors="replace"))
            opening = _OPENING.match(line, column)
            column = (opening.end() if opening else column) + 1
            place = (self.path, node.lineno, column)
            self.found.append(_Literal(node.value, *place, frozenset(self._owners), is_key))


def _names(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Name):
        return [target.id]
    return [target.attr] if isinstance(target, ast.Attribute) else []
