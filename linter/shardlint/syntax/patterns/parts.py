"""Parameters, imported names and the entries of a dict: what the tree spreads over several lists, one by one."""

from __future__ import annotations

import ast
from typing import NamedTuple

from shardlint.facts.module import Module
from shardlint.syntax.patterns.scan import MANY, REST


class Parameter(NamedTuple):
    """One parameter. `kind` is "positional", "keyword", "*" or "**"."""

    kind: str
    node: ast.arg
    default: ast.expr | None


class Imported(NamedTuple):
    """One imported name. `import a.b as c` has no base, the name `a.b`, the alias `c`; `from a import b` the base `a`.

    `name` is None for `from a import ...`.
    """

    base: str | None
    name: str | None
    alias: str | None

    @property
    def path(self) -> str:
        """The dotted path of the module or member."""
        return f"{self.base}.{self.name}" if self.base else self.name or ""


class Entry(NamedTuple):
    """One entry of a dict; `key` is None for `**value`."""

    key: ast.expr | None
    value: ast.expr


def entries(node: ast.Dict) -> list[Entry]:
    """The entries of a dict, in order."""
    return [Entry(key, value) for key, value in zip(node.keys, node.values, strict=True)]


def parameters(arguments: ast.arguments) -> list[Parameter]:
    """The parameters in order, each with its default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    padding: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    found = [
        Parameter("positional", node, default)
        for node, default in zip(positional, [*padding, *arguments.defaults], strict=True)
    ]
    if arguments.vararg is not None:
        found.append(Parameter("*", arguments.vararg, None))
    found += [
        Parameter("keyword", node, default)
        for node, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg is not None:
        found.append(Parameter("**", arguments.kwarg, None))
    return found


def imported(module: Module, node: ast.Import | ast.ImportFrom) -> list[Imported]:
    """The names that a statement imports. A relative import is told by the path of the file."""
    if isinstance(node, ast.Import):
        return [Imported(None, alias.name, alias.asname) for alias in node.names]
    base = module.imported_from(node)
    return [Imported(base, None if alias.name[0] in (MANY, REST) else alias.name, alias.asname) for alias in node.names]
