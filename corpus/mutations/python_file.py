"""A Python file as the mutators see it: what encloses what, and what imported names stand for.

It resolves names on its own and simply, so that a site is not chosen by the code whose recall it measures.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class PythonFile:
    """A parsed file: `path`, `text`, `tree`."""

    def __init__(self, path: str, text: str, tree: ast.Module) -> None:
        self.path = path
        self.text = text
        self.tree = tree

    @classmethod
    def parsed(cls, path: str, text: str) -> PythonFile | None:
        """The file, or None if it is no Python of this version, or has other line ends than `\\n`."""
        if "\r" in text or "\f" in text or text.startswith("\ufeff"):
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return cls(path, text, ast.parse(text))
        except (SyntaxError, ValueError, RecursionError):
            return None

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Child -> parent."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def imports(self) -> dict[str, str]:
        """Imported name -> the dotted name that it stands for, wherever in the file it is imported."""
        found: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    found[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    found[alias.asname or alias.name] = "." * node.level + f"{node.module}.{alias.name}"
        return found

    def dotted(self, node: ast.AST) -> str:
        """The dotted name of an expression through the imports: `dist.barrier` is `torch.distributed.barrier`."""
        if isinstance(node, ast.Name):
            return self.imports.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            owner = self.dotted(node.value)
            return f"{owner}.{node.attr}" if owner else ""
        return ""

    def source(self, node: ast.AST) -> str:
        """The text of a node, on one line."""
        return " ".join(ast.unparse(node).split())

    def copy(self, node: ast.AST) -> str:
        """A text that is alike for copies of a definition in files of the same name, wherever they lie."""
        if not isinstance(node, (ast.stmt, ast.expr)):
            return f"{self.path} {len(self.text)}"
        lines = self.text.split("\n")[node.lineno - 1 : node.end_lineno]
        return self.path.rpartition("/")[2] + " " + " ".join(" ".join(lines).split())

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What encloses a node, from the inside."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def function(self, node: ast.AST) -> Function | None:
        """The function around a node."""
        return next((outer for outer in self.around(node) if isinstance(outer, Function)), None)

    def owner(self, node: ast.AST) -> ast.ClassDef | None:
        """The class around a node."""
        return next((outer for outer in self.around(node) if isinstance(outer, ast.ClassDef)), None)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that a node is, or is part of."""
        if isinstance(node, ast.stmt):
            return node
        return next(outer for outer in self.around(node) if isinstance(outer, ast.stmt))

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that a statement stands in."""
        parent = self.parents[statement]
        for field in ("body", "orelse", "finalbody"):
            block: list[ast.stmt] = getattr(parent, field, [])
            if statement in block:
                return block
        return [statement]

    def calls(self, within: ast.AST | None = None) -> Iterator[ast.Call]:
        """All calls, in the order of the text."""
        found = [node for node in ast.walk(within or self.tree) if isinstance(node, ast.Call)]
        yield from sorted(found, key=lambda call: (call.lineno, call.col_offset))

    def alone(self, statement: ast.stmt) -> bool:
        """Whether a statement has its lines for itself."""
        lines = self.text.split("\n")
        before = lines[statement.lineno - 1].encode()[: statement.col_offset].strip()
        after = lines[(statement.end_lineno or statement.lineno) - 1].encode()[statement.end_col_offset or 0 :].strip()
        return not before and (not after or after.startswith(b"#"))


def argument(call: ast.Call, keyword: str, position: int | None = None) -> ast.expr | None:
    """An argument by keyword or by position; None when it is not given or hidden behind `*args`."""
    for given in call.keywords:
        if given.arg == keyword:
            return given.value
    if position is not None and position < len(call.args):
        before = call.args[: position + 1]
        if not any(isinstance(one, ast.Starred) for one in before):
            return before[-1]
    return None


def opaque(call: ast.Call) -> bool:
    """Whether `*args` or `**kwargs` may pass arguments that are not seen."""
    return any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
