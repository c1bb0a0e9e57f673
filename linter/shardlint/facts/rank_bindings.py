"""Local names that only some ranks bind, and that every rank reads: under a test of the rank, with no other binding."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from shardlint.facts.guards import guards
from shardlint.facts.module import FunctionNode, Module
from shardlint.facts.order import flow
from shardlint.facts.rank_tests import RankTest, rank_test

_SIMPLE = frozenset(("for", "while", "with"))
"""Guards of a read that are no question about the name or the rank."""


class UnboundRead(NamedTuple):
    """A read of a name that the ranks have not bound for which a test of the rank gives the other answer."""

    name: ast.Name
    branch: ast.If
    test: RankTest


def unbound_reads(module: Module) -> Iterator[UnboundRead]:
    """The first such read of each name after each test of the rank.

    A test of the rank costs the most to know, so it is asked last.
    """
    loads: dict[str, list[ast.Name]] = {}
    for branch in module.nodes(ast.If):
        for arm in (branch.body, branch.orelse):
            assigned = _assigned(arm)
            function = module.function(branch) if assigned else module.tree
            if isinstance(function, ast.Module):
                continue
            loads = loads or _loads(module)
            for name in _bound_alone(module, function, arm, assigned):
                later = [read for read in loads.get(name, ()) if read.lineno > (branch.end_lineno or 0)]
                mine = sorted(
                    (read for read in later if module.function(read) is function), key=lambda read: read.lineno
                )
                first = next((read for read in mine if _reached(module, function, branch, arm, read)), None)
                test = rank_test(module, branch.test) if first is not None else None
                if first is not None and test is not None:
                    yield UnboundRead(first, branch, test)


def _loads(module: Module) -> dict[str, list[ast.Name]]:
    found: dict[str, list[ast.Name]] = {}
    for node in module.nodes(ast.Name):
        if isinstance(node.ctx, ast.Load):
            found.setdefault(node.id, []).append(node)
    return found


def _reached(module: Module, function: FunctionNode, branch: ast.If, arm: list[ast.stmt], read: ast.Name) -> bool:
    """Whether a read runs on the ranks that take another way than an arm, whatever else holds."""
    shared = {guard.node for guard in guards(module, branch)}
    if any(guard.kind not in _SIMPLE for guard in guards(module, read) if guard.node not in shared):
        return False
    return flow(module, function).between(branch.test, read, arm[:1])


def _bound_alone(module: Module, function: FunctionNode, arm: list[ast.stmt], assigned: list[str]) -> list[str]:
    """The names among some that nothing outside of an arm binds in their function."""
    bound = module.scopes[function].bindings
    nodes = {one.node for name in assigned for one in bound.get(name, ())}
    outside = {node for node in nodes if not any(at in arm for at in (node, *module.ancestors(node)))}
    return [name for name in assigned if name in bound and not any(one.node in outside for one in bound[name])]


def _assigned(arm: list[ast.stmt]) -> list[str]:
    """The names that an arm always binds."""
    targets = [target for node in arm if isinstance(node, ast.Assign) for target in node.targets]
    parts = [part for one in targets for part in (one.elts if isinstance(one, (ast.Tuple, ast.List)) else [one])]
    return list(dict.fromkeys(part.id for part in parts if isinstance(part, ast.Name)))


__all__ = ["UnboundRead", "unbound_reads"]
