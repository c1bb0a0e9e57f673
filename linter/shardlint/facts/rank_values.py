"""Which expressions hold the number of a process: `dist.get_rank()`, `os.environ["LOCAL_RANK"]`, `self.rank`.

A value is followed through assignments, `self.x`, small functions of the same file and `int(...)`. A name alone is
weak evidence (certainty 0.6): a LoRA `rank` is no process number, so attributes of configs and adapters never count.
"""

from __future__ import annotations

import ast
import re

from shardlint.facts.module import FUNCTIONS, Module
from shardlint.facts.names import (
    BY_NAME,
    CERTAIN,
    INFERRED,
    bindings_at,
    local_definition,
    resolve,
    self_class,
    self_values,
)
from shardlint.facts.rank_vocabulary import CALL_NAMES, CALLS, KINDS, NUMBERS, VARIABLES, XLA_CALLS
from shardlint.facts.values import literal, made_from

_GROUP_CALL = re.compile(r"get_(?:\w+_)?rank|\w+_rank")
_OTHER_CALL = re.compile(r"lora|adapter|peft|svd|matrix|low_rank|sorted", re.IGNORECASE)
_OTHER_RANK = re.compile(r"lora|adapter|peft|config|cfg|svd|tensor|matrix|module|layer|low", re.IGNORECASE)
"""Owners of a `rank` that is a size of matrices or tensors."""


def is_rank_name(word: str) -> bool:
    """Whether an identifier, alone, can be where a process number comes from."""
    if word in CALL_NAMES or word in NUMBERS or word in VARIABLES or word in XLA_CALLS:
        return True
    return word.startswith("get_") and _GROUP_CALL.fullmatch(word) is not None


class RankValue:
    """A number that names a process. `label` is the same for two spellings of the same number."""

    __slots__ = ("certainty", "group", "kind", "label")

    def __init__(self, kind: str, label: str, certainty: float, group: str | None = None) -> None:
        self.kind = kind
        self.label = label
        self.certainty = certainty
        self.group = group


def rank_value(module: Module, node: ast.AST, depth: int = 0) -> RankValue | None:
    """The process number that an expression holds, or None."""
    if depth > 8:
        return None
    if isinstance(node, ast.Call):
        return _called(module, node, depth)
    if isinstance(node, ast.Name):
        return _named(module, node, depth)
    if isinstance(node, ast.Attribute):
        return _attribute(module, node, depth)
    if isinstance(node, ast.Subscript):
        return _environment(module, node.value, node.slice)
    if isinstance(node, ast.NamedExpr):
        return rank_value(module, node.value, depth + 1)
    if isinstance(node, ast.IfExp):
        return rank_value(module, node.body, depth + 1) or rank_value(module, node.orelse, depth + 1)
    if isinstance(node, ast.BoolOp):
        found = [value for value in (rank_value(module, part, depth + 1) for part in node.values) if value]
        return found[0] if found else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mod, ast.FloorDiv, ast.Sub, ast.Add)):
        left = rank_value(module, node.left, depth + 1)
        if left is not None and left.certainty > BY_NAME:
            return RankValue("member", f"{left.label} in `{module.source(node)}`", left.certainty, left.group)
    return None


def _called(module: Module, node: ast.Call, depth: int) -> RankValue | None:
    func = node.func
    called = resolve(module, func)
    for name in called.names:
        if name in CALLS:
            return _of_group(module, node, CALLS[name], called.certainty)
        if name in ("builtins.int", "builtins.str") and node.args:
            return rank_value(module, node.args[0], depth + 1)
        if name in ("os.getenv", "os.environ.get") and node.args:
            return _environment(module, None, node.args[0])
        local = local_definition(module, name)
        if isinstance(local, FUNCTIONS):
            returned = single_return(local)
            found = rank_value(module, returned, depth + 1) if returned is not None else None
            if found is not None:
                return RankValue(found.kind, found.label, min(found.certainty, INFERRED), found.group)
    last = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    if last in CALL_NAMES:
        return _of_group(module, node, CALL_NAMES[last], INFERRED)
    if last.startswith("get_") and _GROUP_CALL.fullmatch(last) and not _OTHER_CALL.search(last):
        return RankValue("group", f"{module.source(node)}", INFERRED, module.source(node))
    return None


def _of_group(module: Module, node: ast.Call, kind: str, certainty: float) -> RankValue:
    group = (
        node.args[0] if node.args else next((k.value for k in node.keywords if k.arg in ("group", "mesh_dim")), None)
    )
    if group is None or (isinstance(group, ast.Constant) and group.value is None):
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        if kind == "local" and receiver is not None and _is_mesh(module, receiver):
            return RankValue("group", module.source(node), certainty, module.source(receiver))
        return RankValue(kind, KINDS.get(kind, kind), certainty)
    return RankValue("group", f"rank in {module.source(group)}", certainty, module.source(group))


def _is_mesh(module: Module, node: ast.expr) -> bool:
    """A mesh's `get_local_rank` is the place on one of its axes; its `get_rank` is the global rank."""
    made = made_from(module, node).names
    return "mesh" in module.source(node).lower() or any("mesh" in name.lower() for name in made)


def _environment(module: Module, owner: ast.AST | None, key: ast.AST) -> RankValue | None:
    if owner is not None and "os.environ" not in resolve(module, owner).names:
        return None
    name = literal(module, key)
    if isinstance(name, str) and name in VARIABLES:
        kind = VARIABLES[name]
        return RankValue(kind, KINDS[kind], CERTAIN)
    return None


def _named(module: Module, node: ast.Name, depth: int) -> RankValue | None:
    found = bindings_at(module, node)
    if found is None:
        return None
    bindings, _ = found
    values: list[RankValue] = []
    named = node.id in NUMBERS
    for binding in bindings:
        if binding.kind in ("assign", "walrus", "annotation") and binding.exact and binding.value is not None:
            if isinstance(binding.value, ast.Constant):
                continue
            value = rank_value(module, binding.value, depth + 1)
            if value is None:
                return None
            values.append(value)
        elif named and (binding.kind in ("param", "import") or (binding.kind == "assign" and not binding.exact)):
            values.append(RankValue(NUMBERS[node.id], KINDS[NUMBERS[node.id]], BY_NAME))
        else:
            return None
    return min(values, key=lambda value: value.certainty) if values else None


def _attribute(module: Module, node: ast.Attribute, depth: int) -> RankValue | None:
    if node.attr not in NUMBERS:
        return _self_value(module, node, depth)
    kept = _self_value(module, node, depth)
    if kept is not None:
        return kept
    if node.attr == "rank" and _OTHER_RANK.search(module.source(node.value)):
        return None
    kind = NUMBERS[node.attr]
    return RankValue(kind, KINDS[kind], BY_NAME if node.attr == "rank" else INFERRED)


def _self_value(module: Module, node: ast.Attribute, depth: int) -> RankValue | None:
    if not isinstance(node.value, ast.Name):
        return None
    owner = self_class(module, node.value)
    if owner is None:
        return None
    values = [value for value in self_values(module, owner, node.attr) if not isinstance(value, ast.Constant)]
    found = [rank_value(module, value, depth + 1) for value in values]
    known = [value for value in found if value is not None]
    if known and len(known) == len(found):
        return min(known, key=lambda value: value.certainty)
    return None


def single_return(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.expr | None:
    """The value that a small function returns, when it is the same expression on every way out but constants."""
    if len(function.body) > 6:
        return None
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    values = [node.value for node in returns if not isinstance(node.value, ast.Constant)]
    return values[0] if len(values) == 1 else None
