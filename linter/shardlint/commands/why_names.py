"""What the calls of one line call, as far as the facts know, and why a call is not known."""

from __future__ import annotations

import ast

from shardlint.facts.module import Module
from shardlint.facts.names import BY_NAME, CERTAIN, bindings_at
from shardlint.facts.trace import callee


def calls_on(module: Module, line: int) -> list[ast.Call]:
    """The calls that stand on a line, in the order of the text."""
    calls = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return sorted(calls, key=lambda call: (call.lineno, call.col_offset, call.end_lineno, call.end_col_offset))


def known_calls(module: Module, line: int) -> list[str]:
    """A sentence for each call that stands on the line."""
    return [f"`{module.source(call.func)}` {_known(module, call)}" for call in calls_on(module, line)]


def _known(module: Module, call: ast.Call) -> str:
    found = callee(module, call)
    if found.names:
        return f"is {' or '.join(found.names)} ({certainty(found.certainty)})"
    base: ast.expr = call.func
    while isinstance(base, (ast.Attribute, ast.Subscript)):
        base = base.value
    if not isinstance(base, ast.Name):
        return "is not known: it is called on the result of another expression"
    return f"is not known: {_reason(module, base)}"


def _reason(module: Module, base: ast.Name) -> str:
    """Why nothing is known about the value of a name."""
    found = bindings_at(module, base)
    if found is None or not found[0]:
        return f"nothing in this file defines `{base.id}`"
    binding = found[0][0]
    line = getattr(binding.node, "lineno", 0)
    if binding.kind == "param":
        return f"`{base.id}` is a parameter whose class is not known; an annotation would tell it"
    if binding.kind in ("assign", "walrus", "augmented"):
        return f"the value that `{base.id}` gets in line {line} is not known"
    words = {"for": "a loop", "with": "a `with`", "except": "a handler", "match": "a pattern", "delete": "a `del`"}
    source = words.get(binding.kind, f"`{binding.kind}`")
    return f"`{base.id}` comes from {source} in line {line}, and its class is not known"


def certainty(value: float) -> str:
    """A certainty in words."""
    if value >= CERTAIN:
        return "certain"
    return "by its name only" if value <= BY_NAME else "inferred: another value is possible"
