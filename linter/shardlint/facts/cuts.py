"""Cuts: places where something with a name is cut to a length limit, `batch["ids"] = batch["ids"][:, :limit]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shardlint.facts.module import FUNCTIONS, Module, word_of
from shardlint.query import LIMIT

EVERY = "*"
"""The name of what a loop over the items of a dict cuts."""
_LIMIT = re.compile(LIMIT, re.IGNORECASE)
_LENGTHS = ("max", "len", "size", "sum", "shape")
"""Calls and attributes that give the length of the data itself: a slice up to it keeps every token."""


class Cut:
    """One place. `keys`: the names that are cut, or `*`; `slice`: the sliced expression; `limit`: up to where."""

    __slots__ = ("keys", "limit", "slice")

    def __init__(self, keys: tuple[str, ...], cut: ast.Subscript, limit: ast.expr) -> None:
        self.keys = keys
        self.slice = cut
        self.limit = limit


def cuts(module: Module) -> list[Cut]:
    """All cuts of a file, those of one function together."""
    return [cut for inner in _by_function(module).values() for cut in inner]


def cut_names(module: Module, function: ast.AST) -> set[str]:
    """The names of all that is cut in a function."""
    return {name for cut in _by_function(module).get(function, ()) for name in cut.keys}


class _Cuts(dict[ast.AST, list[Cut]]):
    """The cuts of a file by the function that holds them."""


def _by_function(module: Module) -> _Cuts:
    known = module.memo.get("cuts")
    if isinstance(known, _Cuts):
        return known
    givers = (module.nodes(kind) for kind in (ast.Assign, ast.Dict, ast.DictComp, ast.Call))
    found = [cut for nodes in givers for node in nodes for cut in _at(module, node)]
    cuts = _Cuts()
    for cut in sorted(found, key=lambda cut: (cut.slice.lineno, cut.slice.col_offset)):
        cuts.setdefault(module.function(cut.slice), []).append(cut)
    module.memo["cuts"] = cuts
    return cuts


def _at(module: Module, node: ast.AST) -> Iterator[Cut]:
    for target, value in _given(node):
        cut = value.elt if isinstance(value, ast.ListComp) else value
        limit = _limit(module, cut) if isinstance(cut, ast.Subscript) else None
        keys = _keys(module, target) if limit is not None else ()
        if isinstance(cut, ast.Subscript) and limit is not None and keys:
            yield Cut(keys, cut, limit)


def _given(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a statement or a dict gives a value, with the value."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=False)
            else:
                yield target, node.value
    elif isinstance(node, ast.Dict):
        yield from ((key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None)
    elif isinstance(node, ast.DictComp):
        yield node, node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        for keyword in node.keywords:
            if keyword.arg is not None:
                yield ast.Constant(keyword.arg), keyword.value


def _limit(module: Module, cut: ast.Subscript) -> ast.expr | None:
    """The limit of a slice that keeps the start or the end of the last dim."""
    parts = cut.slice.elts if isinstance(cut.slice, ast.Tuple) else [cut.slice]
    last = parts[-1]
    if not isinstance(last, ast.Slice) or last.step is not None or not all(_whole(part) for part in parts[:-1]):
        return None
    limit = last.upper
    if isinstance(last.lower, ast.UnaryOp) and isinstance(last.lower.op, ast.USub) and limit is None:
        limit = last.lower.operand
    elif last.lower is not None or limit is None:
        return None
    named = any(_LIMIT.search(word_of(node)) for node in ast.walk(limit))
    return limit if named and not _of_the_data(module, limit) else None


def _whole(part: ast.expr) -> bool:
    """`:` or `...`."""
    if isinstance(part, ast.Slice):
        return part.lower is None and part.upper is None and part.step is None
    return isinstance(part, ast.Constant) and part.value is Ellipsis


def _of_the_data(module: Module, limit: ast.expr) -> bool:
    """Whether a limit is the length of what is cut: `max(len(x) for x in batch)`, in place or under a local name."""
    sources = [limit]
    function = module.function(limit)
    if isinstance(limit, ast.Name) and isinstance(function, FUNCTIONS):
        given = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
        sources += [node.value for node in given if limit.id in map(word_of, node.targets)]
    return any(word_of(node) in _LENGTHS for source in sources for node in ast.walk(source))


def _keys(module: Module, target: ast.expr) -> tuple[str, ...]:
    """The name of a target: of a local name, or the key of an item, also where a loop gives the keys."""
    if isinstance(target, ast.Name):
        return (target.id,)
    if isinstance(target, ast.DictComp):
        loop = target.generators[0]
        return _looped(module, loop.target, loop.iter, word_of(target.key))
    key = target.slice if isinstance(target, ast.Subscript) else target
    if isinstance(key, ast.Constant):
        return (key.value,) if isinstance(key.value, str) else ()
    for at in module.ancestors(target) if isinstance(key, ast.Name) else ():
        if isinstance(at, (*FUNCTIONS, ast.ClassDef)):
            break
        found = _looped(module, at.target, at.iter, word_of(key)) if isinstance(at, ast.For) else ()
        if found:
            return found
    return ()


def _looped(module: Module, target: ast.expr, source: ast.expr, name: str) -> tuple[str, ...]:
    """The keys that a loop gives a name: those of a literal list, or every one of a dict."""
    first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
    if not isinstance(first, ast.Name) or first.id != name:
        return ()
    called = source
    while isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.args:
        called = called.args[0]
    if isinstance(called, ast.Call) and isinstance(called.func, ast.Attribute):
        return (EVERY,) if called.func.attr in ("items", "keys") else ()
    if isinstance(called, ast.Name):
        given = [
            node.value
            for node in module.nodes(ast.Assign)
            if any(isinstance(name, ast.Name) and name.id == called.id for name in node.targets)
        ]
        called = given[0] if len(given) == 1 else called
    if isinstance(called, (ast.Tuple, ast.List, ast.Set)):
        return tuple(
            item.value for item in called.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)
        )
    return ()


__all__ = ["EVERY", "Cut", "cut_names", "cuts"]
