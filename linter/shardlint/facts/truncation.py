"""Truncation: the keys of a batch that keep their length where another one is cut."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from shardlint.facts.cuts import EVERY, cut_names
from shardlint.facts.module import word_of
from shardlint.facts.site import Site


def uncut_beside(site: Site, keys: Iterable[str]) -> list[str]:
    """Those of some keys that are in the same batch as what a site of `Sliced` cuts, and that nothing cuts.

    They were there before the cut and get no new value after it; for local names they are also read after it.
    """
    wanted = tuple(keys)
    function = site.function.ast
    cut = cut_names(site.module, function)
    if EVERY in cut:
        return []
    nodes = list(ast.walk(function))
    return [key for key in wanted if key not in cut and _stays(nodes, site.positional[0].ast, key)]


def _stays(nodes: list[ast.AST], cut: ast.expr, key: str) -> bool:
    uses: list[ast.Subscript | ast.Name] = []
    if isinstance(cut, ast.Subscript):
        owner = ast.unparse(cut.value)
        items = [node for node in nodes if isinstance(node, ast.Subscript) and word_of(node.slice) == key]
        uses += [node for node in items if ast.unparse(node.value) == owner]
    else:
        uses += [node for node in nodes if isinstance(node, ast.Name) and node.id == key]
    before = [use for use in uses if use.lineno < cut.lineno]
    after = [use for use in uses if use.lineno > cut.lineno]
    if not before or any(isinstance(use.ctx, ast.Store) for use in after):
        return False
    return isinstance(cut, ast.Subscript) or (isinstance(before[0].ctx, ast.Store) and bool(after))


__all__ = ["uncut_beside"]
