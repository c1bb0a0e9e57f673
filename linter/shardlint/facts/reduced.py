"""What a branch reduces over all ranks is another number on each of them, or nobody would reduce it."""

from __future__ import annotations

import ast

from shardlint.facts.module import Module
from shardlint.facts.names import resolve

_PACKAGES = ("torch.distributed", "torch.distributed.distributed_c10d", "deepspeed.comm")
_REDUCE = frozenset(f"{package}.all_reduce" for package in _PACKAGES)


def reduced_below(module: Module, test: ast.expr, name: str) -> bool:
    """Whether the branch under a condition reduces the tensor of a name, in place, before it gives the name a value."""
    if any(isinstance(node, ast.Call) and getattr(node.func, "id", "") == "len" for node in ast.walk(test)):
        return False  # how many there are may be the same everywhere
    at: ast.AST | None = test
    while isinstance(at, ast.expr):
        at = module.parents.get(at)
    if not isinstance(at, ast.If):
        return False
    for statement in at.body:
        for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)):
            first = call.args[0] if call.args else None
            if (
                isinstance(first, ast.Name)
                and first.id == name
                and _REDUCE.intersection(resolve(module, call.func).names)
            ):
                return True
        if any(isinstance(node, ast.Name) and node.id == name for node in _stored(statement)):
            return False
    return False


def _stored(statement: ast.stmt) -> list[ast.AST]:
    return [node for node in ast.walk(statement) if isinstance(getattr(node, "ctx", None), ast.Store)]
