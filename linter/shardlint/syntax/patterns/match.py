"""A place where a pattern matches, and how it is shown."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from shardlint.facts.module import FUNCTIONS, Module
from shardlint.finding import Span
from shardlint.syntax.patterns.bindings import Bound


class Match:
    """A match.

    Attributes:
        node: the expression or statement; of several statements the first.
        span: what a finding points at; of a statement with a body its first line.
        bindings: metavariable -> what it stands for, as source on one line.
        certainty: 1.0 all names resolved, 0.8 some inferred, 0.6 some by their spelling only.
        bound: metavariable -> its nodes, for a replacement.
        last: of several statements the last, else `node`.
    """

    __slots__ = ("bindings", "bound", "certainty", "last", "node", "span")

    def __init__(
        self,
        node: ast.AST,
        span: Span,
        bindings: Mapping[str, str],
        certainty: float,
        bound: Mapping[str, Bound],
        last: ast.AST,
    ) -> None:
        self.node = node
        self.span = span
        self.bindings = bindings
        self.certainty = certainty
        self.bound = bound
        self.last = last

    def __repr__(self) -> str:
        return f"Match({self.span.line}:{self.span.column}, {dict(self.bindings)}, {self.certainty})"


def header(module: Module, node: ast.AST) -> Span:
    """The span of a node; of a statement with a body, of what stands before it."""
    span = module.span(node)
    body = getattr(node, "body", None)
    if not isinstance(node, ast.stmt) or not isinstance(body, list):
        return span
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        line = module.lines[span.line - 1]
        end = line.find(node.name, span.column) + len(node.name)
        return Span(span.line, span.column, span.line, end + 1)
    ends = [module.span(part) for part in _before_body(node)]
    last = max(((one.end_line, one.end_column) for one in ends), default=(span.line, span.column + 3))
    return Span(span.line, span.column, *last)


def written(module: Module, bound: Bound) -> str:
    """What a metavariable stands for, on one line."""
    if isinstance(bound, str):
        return bound
    if isinstance(bound, ast.stmt):
        return module.source(bound).partition("\n")[0]
    if isinstance(bound, tuple):
        return ("; " if bound and isinstance(bound[0], ast.stmt) else ", ").join(written(module, one) for one in bound)
    return module.source(bound)


def _before_body(node: ast.stmt) -> list[ast.AST]:
    parts: list[ast.AST] = []
    for field in ("test", "target", "iter", "subject"):
        part = getattr(node, field, None)
        if isinstance(part, ast.AST):
            parts.append(part)
    for item in node.items if isinstance(node, (ast.With, ast.AsyncWith)) else ():
        parts += [part for part in (item.context_expr, item.optional_vars) if part is not None]
    return parts
