"""Packages as source text: files parsed with `ast`, classes with their bases. Nothing of them is ever imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Package:
    """The Python files of one distribution.

    `folder` is the folder of the import package; `name` and `version` are those of the distribution.
    """

    def __init__(self, name: str, version: str, folder: Path) -> None:
        self.name = name
        self.version = version
        self.folder = folder
        self._trees: dict[str, ast.Module] = {}

    def files(self, pattern: str) -> list[str]:
        """The paths below the package folder that match a pattern, sorted."""
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.glob(pattern))

    def tree(self, path: str) -> ast.Module:
        """The syntax tree of a file; an empty one where there is no such file."""
        if path not in self._trees:
            file = self.folder / path
            self._trees[path] = ast.parse(file.read_bytes() if file.is_file() else b"")
        return self._trees[path]

    def calls(self, pattern: str, function: str) -> Iterator[ast.Call]:
        """The calls of a function by its bare name, in all files that match, in order."""
        for path in self.files(pattern):
            for node in ast.walk(self.tree(path)):
                if isinstance(node, ast.Call) and last_name(node.func) == function:
                    yield node


class Classes:
    """The classes of some files of a package, by name. A base is looked for in the same file, then by name alone."""

    def __init__(self, package: Package, *patterns: str) -> None:
        self.package = package
        self.in_file: dict[str, dict[str, ast.ClassDef]] = {}
        for path in dict.fromkeys(path for pattern in patterns for path in package.files(pattern)):
            found = {node.name: node for node in ast.walk(package.tree(path)) if isinstance(node, ast.ClassDef)}
            self.in_file[path] = found

    @cached_property
    def by_name(self) -> dict[str, tuple[str, ast.ClassDef]]:
        """Name -> file and class, for the names that only one file defines."""
        found: dict[str, tuple[str, ast.ClassDef]] = {}
        twice: set[str] = set()
        for path, classes in self.in_file.items():
            for name, node in classes.items():
                if name in found:
                    twice.add(name)
                found[name] = (path, node)
        return {name: one for name, one in found.items() if name not in twice}

    def lineage(self, path: str, node: ast.ClassDef) -> list[tuple[str, ast.ClassDef]]:
        """A class and the known classes that it inherits from, in the order in which Python looks, nearly."""
        found: list[tuple[str, ast.ClassDef]] = []
        queue = [(path, node)]
        while queue:
            where, one = queue.pop(0)
            if any(one is seen for _, seen in found):
                continue
            found.append((where, one))
            ahead: list[tuple[str, ast.ClassDef]] = []
            for base in one.bases:
                name = last_name(base.value if isinstance(base, ast.Subscript) else base)
                if name in self.in_file.get(where, {}):
                    ahead.append((where, self.in_file[where][name]))
                elif name in self.by_name:
                    ahead.append(self.by_name[name])
            queue = ahead + queue
        return found

    def method(self, path: str, node: ast.ClassDef, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """A method of a class, its own or inherited."""
        for _, one in self.lineage(path, node):
            for statement in one.body:
                if isinstance(statement, FUNCTIONS) and statement.name == name:
                    return statement
        return None


def last_name(node: ast.expr) -> str:
    """`C` of `a.b.C`; empty for what is no dotted name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def text_of(node: ast.expr | None) -> str:
    """A constant string; empty for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument."""
    return next((one.value for one in call.keywords if one.arg == name), None)


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The names that can be passed by keyword, without `self`."""
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def assigned(tree: ast.Module) -> dict[str, ast.expr]:
    """Name -> value of the assignments at the top of a module; the last one counts."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            found |= {target.id: node.value for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found[node.target.id] = node.value
    return found


def strings(node: ast.AST) -> set[str]:
    """Every constant string below a node."""
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)}
