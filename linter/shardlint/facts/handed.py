"""Which calls of a function are handed an object by its name, and may therefore change it or share it between ranks."""

from __future__ import annotations

import ast

from shardlint.facts.module import FunctionNode, Module

_READ_WORDS = "backward scale append add update log log_dict log_metrics write print info step"
_ONLY_READS = frozenset(_READ_WORDS.split())
"""Calls that leave what they are given as it is."""


class Handed(dict[str, list[ast.Call]]):
    """The calls of a function by the names that they are handed as they are, or in a list."""


def handed(module: Module, owner: FunctionNode | ast.Module) -> Handed:
    """The calls of a function, or of a module's own body, by what they are handed; made once."""
    known = module.memo.get(("handed", owner))
    if isinstance(known, Handed):
        return known
    table = module.memo["handed", owner] = Handed()
    for node in ast.walk(owner):
        if isinstance(node, ast.Call):
            func = node.func
            last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            if last not in _ONLY_READS and not last[:1].isupper():
                for value in (*node.args, *(keyword.value for keyword in node.keywords)):
                    for name in _objects(value):
                        table.setdefault(name, []).append(node)
    return table


def _objects(node: ast.expr) -> list[str]:
    """The names of the objects that an argument hands over: `x`, `[x]`, `x.data`, `x.detach()`, not `x.item()`."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Starred) or (isinstance(node, ast.Attribute) and node.attr in ("data", "grad")):
        return _objects(node.value)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [name for item in node.elts for name in _objects(item)]
    if isinstance(node, ast.Dict):
        return [name for item in node.values for name in _objects(item)]
    if isinstance(node, ast.Subscript):
        return _objects(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "detach":
        return _objects(node.func.value)
    return []
