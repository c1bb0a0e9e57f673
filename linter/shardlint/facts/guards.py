"""The conditions under which a place in a function runs: enclosing branches, and early exits before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shardlint.facts.module import COMPREHENSIONS, FUNCTIONS, Module


class Guard:
    """One condition. `holds` says whether `test` must be true or false for the place to run.

    `kind`: if, while, and, or, comprehension, match, except, for, with, or exit for a statement before the place that
    leaves the block when the test is the other way. `test` is the condition, or the iterable, subject or context.
    """

    __slots__ = ("holds", "kind", "node", "test")

    def __init__(self, kind: str, node: ast.AST, test: ast.expr | None, holds: bool = True) -> None:
        self.kind = kind
        self.node = node
        self.test = test
        self.holds = holds


def guards(module: Module, node: ast.AST) -> list[Guard]:
    """The guards of a node inside its function, outermost first."""
    found: list[Guard] = []
    child = node
    for at in module.ancestors(node):
        for block in _blocks(at):
            if child in block:
                found += reversed(list(_exits(block[: block.index(child)])))
        found += _enclosing(at, child)
        if isinstance(at, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            break
        child = at
    return found[::-1]


def _enclosing(at: ast.AST, child: ast.AST) -> list[Guard]:
    if isinstance(at, ast.If):
        if child is at.test:
            return []
        return [Guard("if", at, at.test, child in at.body)]
    if isinstance(at, ast.IfExp):
        return [] if child is at.test else [Guard("if", at, at.test, child is at.body)]
    if isinstance(at, ast.While):
        return [Guard("while", at, at.test)] if child in at.body else []
    if isinstance(at, (ast.For, ast.AsyncFor)):
        return [Guard("for", at, at.iter)] if child in at.body else []
    if isinstance(at, ast.BoolOp):
        before = at.values[: at.values.index(child)] if isinstance(child, ast.expr) and child in at.values else []
        kind = "and" if isinstance(at.op, ast.And) else "or"
        return [Guard(kind, at, value, kind == "and") for value in reversed(before)]
    if isinstance(at, COMPREHENSIONS):
        tests = [test for generator in at.generators for test in generator.ifs]
        return [Guard("comprehension", at, test) for test in reversed(tests) if test is not child]
    if isinstance(at, (ast.With, ast.AsyncWith)) and child in at.body:
        return [Guard("with", at, item.context_expr) for item in reversed(at.items)]
    if isinstance(at, ast.ExceptHandler):
        return [Guard("except", at, at.type)] if child is not at.type else []
    if isinstance(at, ast.match_case) and child in at.body:
        return [Guard("match", at, at.guard)]
    return []


def _blocks(at: ast.AST) -> Iterator[Sequence[ast.AST]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(at, name, None)
        if isinstance(block, list):
            yield block


def _exits(before: Sequence[ast.AST]) -> Iterator[Guard]:
    for statement in before:
        if not isinstance(statement, ast.If):
            continue
        if leaves(statement.body):
            yield Guard("exit", statement, statement.test, holds=False)
        elif statement.orelse and leaves(statement.orelse):
            yield Guard("exit", statement, statement.test, holds=True)


def leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether a block always leaves the statements around it."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
        return True
    return isinstance(last, ast.If) and leaves(last.body) and leaves(last.orelse)
