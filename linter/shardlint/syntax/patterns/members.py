"""Which names and attributes of a file may stand for something of a package: to resolve all of them costs too much."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

from shardlint.facts.matching import alias_words
from shardlint.facts.module import Module
from shardlint.syntax.patterns.candidates import reads


def members(module: Module, package: str) -> frozenset[ast.AST] | None:
    """The names and attributes that may be the package or something of it; None where any name may be.

    They are spelled with the last part of the package or with a name that an import takes from it, are assigned from
    one that is, or are an object of a class that inherits from one.
    """
    key = ("members of", package)
    if key not in module.memo:
        module.memo[key] = None if _may_be_any(module, package) else frozenset(_spelled(module, package))
    return cast("frozenset[ast.AST] | None", module.memo[key])


def _may_be_any(module: Module, package: str) -> bool:
    stars = [star for scope in module.scopes.values() for star in scope.stars]
    return any(_is_inside(name, package) for name in (*stars, module.dotted))


def _spelled(module: Module, package: str) -> set[ast.AST]:
    bindings = [one for scope in module.scopes.values() for known in scope.bindings.values() for one in known]
    bound = {one.name for one in bindings}
    taken = {one.name for one in bindings if one.target is not None and _is_inside(one.target, package)}
    fresh, seen, found = {package.rpartition(".")[2], *taken}, set[str](), set[ast.AST]()
    table = reads(module)
    while fresh:
        seen |= fresh
        ends = {_last(end) for word in fresh for node in table.get(word, ()) for end in _reading(module, node, found)}
        fresh = {*alias_words(module, frozenset(ends)), *(ends & bound), *_inheriting(module, found)} - seen
    return found


def _reading(module: Module, node: ast.AST, found: set[ast.AST]) -> Iterator[ast.AST]:
    """The longest expression that reads on from a node; all on the way are added to `found`."""
    end: ast.AST = node
    at: ast.AST | None = node
    while at is not None:
        if isinstance(at, (ast.Name, ast.Attribute)):
            found.add(at)
            end = at
        parent = module.parent(at)
        read_on = isinstance(parent, ast.Attribute) or (isinstance(parent, ast.Call) and parent.func is at)
        at = parent if read_on else None
    yield end


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else cast("ast.Name", node).id


def _inheriting(module: Module, found: set[ast.AST]) -> Iterator[str]:
    """The names of classes with a base among what was found, and of what their methods call themselves."""
    for node in module.nodes(ast.ClassDef):
        if not found.isdisjoint(node.bases):
            yield from (node.name, "super")
            for method in node.body:
                if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield from (one.arg for one in (*method.args.posonlyargs, *method.args.args)[:1])


def _is_inside(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")
