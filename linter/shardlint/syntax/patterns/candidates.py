"""Which nodes of a file a snippet may match at: found by name where it has one, else by class."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import cast

from shardlint.facts.matching import alias_words
from shardlint.facts.module import UNNAMED, Module
from shardlint.syntax.patterns.comparison import ASYNC
from shardlint.syntax.patterns.scan import ONE
from shardlint.syntax.patterns.snippet import Snippet


def candidates(module: Module, snippet: Snippet) -> Sequence[ast.AST]:
    """The nodes at which a snippet may match, in the order of the text."""
    known = module.memo.get(("candidates", snippet))
    if known is None:
        known = module.memo["candidates", snippet] = sorted(dict.fromkeys(_found(module, snippet)), key=place)
    return cast("Sequence[ast.AST]", known)


def place(node: ast.AST) -> tuple[int, int, int, int]:
    """Where a node stands; what holds another comes before it."""
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    return line, column, -(getattr(node, "end_lineno", None) or 0), -(getattr(node, "end_col_offset", None) or 0)


def _found(module: Module, snippet: Snippet) -> Iterable[ast.AST]:
    root = snippet.root
    if isinstance(root, ast.Call):
        name = snippet.names.get(root.func)
        if name is not None:
            words = _words(module, name)
            return [call for word in (*words, UNNAMED) for call in module.calls.get(word, ())]
        if isinstance(root.func, ast.Attribute) and not root.func.attr.startswith(ONE):
            return module.calls.get(root.func.attr, ())
    elif isinstance(root, (ast.Attribute, ast.Name)):
        read = reads(module)
        name = snippet.names.get(root)
        if name is not None:
            return [node for word in _words(module, name) for node in read.get(word, ())]
        if isinstance(root, ast.Attribute) and not root.attr.startswith(ONE):
            return read.get(root.attr, ())
        return [node for nodes in read.values() for node in nodes]
    classes: tuple[type[ast.AST], ...] = ASYNC.get(root.__class__, (root.__class__,))
    return [node for kind in classes for node in module.nodes(kind)]


def _words(module: Module, name: str) -> set[str]:
    last = name.rpartition(".")[2]
    return {last, *alias_words(module, frozenset((last,)))}


def reads(module: Module) -> dict[str, list[ast.AST]]:
    """The names and attributes of a file by their last word."""
    known = module.memo.get("read words")
    if known is not None:
        return cast("dict[str, list[ast.AST]]", known)
    found: dict[str, list[ast.AST]] = {}
    for attribute in module.nodes(ast.Attribute):
        found.setdefault(attribute.attr, []).append(attribute)
    for name in module.nodes(ast.Name):
        found.setdefault(name.id, []).append(name)
    module.memo["read words"] = found
    return found
