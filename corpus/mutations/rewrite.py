"""Changes of Python source with LibCST: everything but the site stays as it is, comments and layout included."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeAlias

import libcst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

Span: TypeAlias = tuple[int, int, int, int]
"""First line, column, last line, column: lines from 1, columns in characters from 0."""
Change: TypeAlias = Callable[[libcst.CSTNode], "libcst.CSTNode | libcst.FlattenSentinel[libcst.BaseStatement]"]


class SiteNotFound(Exception):
    """LibCST has no node with the range of a site: the mutator chose a place that cannot be rewritten alone."""


def guarded(text: str, statement: ast.stmt, test: str) -> str:
    """The text with one statement put below `if TEST:`."""

    def guard(node: libcst.CSTNode) -> libcst.CSTNode:
        lines = _leading_lines(node)
        body = libcst.IndentedBlock([_statement(node.with_changes(leading_lines=()))])
        return libcst.If(libcst.parse_expression(test), body, leading_lines=lines)

    return _changed(text, statement, guard)


def put_before(text: str, statement: ast.stmt, code: str) -> str:
    """The text with further statements before one statement."""
    return _changed(text, statement, lambda node: libcst.FlattenSentinel([*_statements(code), _statement(node)]))


def put_after(text: str, statement: ast.stmt, code: str) -> str:
    """The text with further statements after one statement."""
    return _changed(text, statement, lambda node: libcst.FlattenSentinel([_statement(node), *_statements(code)]))


def without(text: str, statement: ast.stmt) -> str:
    """The text without a statement; LibCST writes `pass` where the block is then empty."""
    return _changed(text, statement, lambda _: libcst.FlattenSentinel(()))


def replaced(text: str, expression: ast.expr, code: str) -> str:
    """The text with another expression in the place of one."""
    return _changed(text, expression, lambda _: libcst.parse_expression(code))


def with_argument(text: str, call: ast.Call, keyword: str, code: str) -> str:
    """The text with a keyword argument of a call set, in place or at the end."""

    def give(node: libcst.CSTNode) -> libcst.CSTNode:
        assert isinstance(node, libcst.Call)
        value = libcst.parse_expression(code)
        for index, given in enumerate(node.args):
            if given.keyword is not None and given.keyword.value == keyword:
                return node.with_changes(args=_with(node.args, index, given.with_changes(value=value)))
        equal = libcst.AssignEqual(libcst.SimpleWhitespace(""), libcst.SimpleWhitespace(""))
        added = libcst.Arg(value, libcst.Name(keyword), equal=equal)
        return node.with_changes(args=(*node.args, added))

    return _changed(text, call, give)


def without_argument(text: str, call: ast.Call, keyword: str) -> str:
    """The text with a keyword argument of a call left out."""

    def drop(node: libcst.CSTNode) -> libcst.CSTNode:
        assert isinstance(node, libcst.Call)
        kept = [one for one in node.args if one.keyword is None or one.keyword.value != keyword]
        return node.with_changes(args=kept)

    return _changed(text, call, drop)


def moved_before(text: str, statement: ast.stmt, first: ast.stmt) -> str:
    """The text with a statement, its lines as they are, moved before an earlier one of the same block."""
    lines = text.split("\n")
    start, end, to = statement.lineno - 1, statement.end_lineno or statement.lineno, first.lineno - 1
    return "\n".join([*lines[:to], *lines[start:end], *lines[to:start], *lines[end:]])


def span_of(text: str, node: ast.stmt | ast.expr) -> Span:
    """The range of a node of `ast`, whose columns count bytes, in characters."""
    lines = text.split("\n")
    last, last_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    start = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
    end = len(lines[last - 1].encode()[:last_column].decode())
    return node.lineno, start, last, end


def _changed(text: str, node: ast.stmt | ast.expr, change: Change) -> str:
    wrapper = MetadataWrapper(libcst.parse_module(text), unsafe_skip_copy=True)
    transformer = _At(span_of(text, node), _kind(node), change)
    module = wrapper.visit(transformer)
    if not transformer.done:
        raise SiteNotFound(f"no {transformer.kind.__name__} at {transformer.span}")
    return module.code


def _kind(node: ast.stmt | ast.expr) -> type[libcst.CSTNode]:
    """The class of the LibCST nodes among which a node is looked for: several nodes can have one range."""
    if isinstance(node, ast.expr):
        return libcst.BaseExpression
    return libcst.BaseCompoundStatement if hasattr(node, "body") else libcst.SimpleStatementLine


class _At(libcst.CSTTransformer):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, span: Span, kind: type[libcst.CSTNode], change: Change) -> None:
        super().__init__()
        self.span = span
        self.kind = kind
        self.change = change
        self.done = False

    def on_leave(self, original_node: libcst.CSTNodeT, updated_node: libcst.CSTNodeT) -> libcst.CSTNodeT:
        if self.done or not isinstance(original_node, self.kind):
            return updated_node
        place = self.get_metadata(PositionProvider, original_node)
        assert isinstance(place, CodeRange)
        if (place.start.line, place.start.column, place.end.line, place.end.column) != self.span:
            return updated_node
        self.done = True
        return self.change(updated_node)  # type: ignore[return-value]


def _statement(node: libcst.CSTNode) -> libcst.BaseStatement:
    assert isinstance(node, libcst.BaseStatement)
    return node


def _statements(code: str) -> list[libcst.BaseStatement]:
    return [_statement(one) for one in libcst.parse_module(code).body]


def _leading_lines(node: libcst.CSTNode) -> Sequence[libcst.EmptyLine]:
    assert isinstance(node, (libcst.SimpleStatementLine, libcst.BaseCompoundStatement))
    return node.leading_lines


def _with(args: Sequence[libcst.Arg], index: int, new: libcst.Arg) -> list[libcst.Arg]:
    return [new if at == index else one for at, one in enumerate(args)]
