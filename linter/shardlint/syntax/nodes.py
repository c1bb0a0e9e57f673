"""The LibCST node of a site. Only the text of the expression is parsed: LibCST costs ten times what `ast` does."""

from __future__ import annotations

import ast

import libcst as cst

from shardlint.facts.module import Module

parsed_bytes: int = 0
"""Bytes handed to LibCST in this process; `check --timings` prints it, and a benchmark bounds it."""


def segment(module: Module, node: ast.expr) -> str:
    """The exact text of an expression."""
    found = ast.get_source_segment(module.text, node)
    return found if found is not None else ast.unparse(node)


def call_node(module: Module, call: ast.Call) -> cst.Call:
    """The LibCST node of a call expression.

    Raises ValueError where the parser does not say exactly where the call is: in an f-string before Python 3.12.
    """
    global parsed_bytes
    text = segment(module, call)
    parsed_bytes += len(text)
    # Parentheses let an expression that spans lines inside of brackets stand alone.
    try:
        outer: cst.BaseExpression | None = cst.parse_expression(f"({text})" if "\n" in text else text)
    except cst.ParserSyntaxError:
        outer = None
    if not isinstance(outer, cst.Call):
        raise ValueError(f"{module.path}:{call.lineno}: the text of a call cannot be found: {text!r}")
    return outer.with_changes(lpar=(), rpar=()) if "\n" in text else outer


def code(node: cst.CSTNode) -> str:
    """The text of a node."""
    return cst.Module(body=()).code_for_node(node)
