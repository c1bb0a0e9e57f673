"""Process groups that are the whole job although they have a name of their own."""

from __future__ import annotations

import ast

from shardlint.facts.module import Module
from shardlint.facts.names import bindings_at, resolve, self_class, self_values
from shardlint.facts.values import parameter_default

_MAKERS = frozenset(("torch.distributed.new_group", "torch.distributed.distributed_c10d.new_group"))


def whole_job(module: Module, node: ast.expr) -> bool:
    """Whether a group has every process of the job.

    It has where each value that the name is given is `new_group()` without ranks (another backend for all processes is
    the usual reason), and where the name is a parameter with the default None: what the function does then is wrong for
    the callers that pass no group.
    """
    if isinstance(node, ast.Name):
        default = parameter_default(module, node)
        if default is not None:
            return _is_none(default)
        found = bindings_at(module, node)
        if found is None or found[1] or any(one.kind != "assign" or not one.exact for one in found[0]):
            return False
        values = [one.value for one in found[0]]
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = self_class(module, node.value)
        values = list(self_values(module, owner, node.attr)) if owner is not None else []
    else:
        return False
    made = [value for value in values if not _is_none(value)]
    return bool(made) and all(_of_all_ranks(module, value) for value in made)


def _of_all_ranks(module: Module, value: ast.AST | None) -> bool:
    if not isinstance(value, ast.Call) or value.args or any(given.arg in (None, "ranks") for given in value.keywords):
        return False
    names = resolve(module, value.func).names
    return bool(names) and all(name in _MAKERS for name in names)


def _is_none(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
