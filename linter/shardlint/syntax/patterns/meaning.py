"""Whether an expression of a file is what a name in a pattern means, and how sure that is."""

from __future__ import annotations

import ast

from shardlint.facts.module import Module
from shardlint.facts.names import BUILTINS, BY_NAME, CERTAIN, NOTHING, Resolved, lookup, resolve, self_class
from shardlint.syntax.patterns.snippet import dotted


def meaning(module: Module, node: ast.AST, *, called: bool = False) -> Resolved:
    """The dotted names that an expression stands for.

    What is given a value stands for itself, not for its value. `partial(f)` and `f if c else g` stand for `f` only
    where they are called.
    """
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        return resolve(module, node.value).with_suffix(node.attr)
    if isinstance(node, ast.Name):
        return resolve(module, node) if isinstance(node.ctx, ast.Load) else NOTHING
    if isinstance(node, (ast.Attribute, ast.NamedExpr)) or called:
        return resolve(module, node)
    return NOTHING


def certainty(module: Module, node: ast.AST, name: str, *, called: bool = False) -> float:
    """How surely an expression is the name of a pattern; 0.0 where it is not.

    A dotted name is what the facts resolve to it. It is also what is spelled like it, if its first part is nothing that
    they know: `self.model`, a parameter. A builtin is what resolves to it. Any other bare name is what is spelled like
    it, and whatever else stands for the function or class of that name in this file.
    """
    known = meaning(module, node, called=called)
    if name in known.names:
        return known.certainty
    if "." not in name:
        if name in BUILTINS:
            return known.certainty if f"builtins.{name}" in known.names else 0.0
        if f"{module.dotted}.{name}" in known.names:
            return known.certainty
    return _spelled(module, node, name)


def member(module: Module, node: ast.AST, package: str, *, called: bool = False) -> tuple[str, float] | None:
    """The `x` of an expression that stands for `package.x`, and how sure that is."""
    known = meaning(module, node, called=called)
    for name in known.names:
        before, _, last = name.rpartition(".")
        if before == package:
            return last, known.certainty
    if isinstance(node, ast.Attribute):
        sure = certainty(module, node.value, package)
        return (node.attr, sure) if sure else None
    return None


def last_words(module: Module, node: ast.AST) -> set[str]:
    """The last parts of all names that an expression may stand for, its own spelling included."""
    known = meaning(module, node, called=True)
    own = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return {name.rpartition(".")[2] for name in known.names} | {own}


def _spelled(module: Module, node: ast.AST, name: str) -> float:
    if dotted(node) != name:
        return 0.0
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    assert isinstance(root, ast.Name)
    if not isinstance(root.ctx, ast.Load):
        return CERTAIN
    if root is not node and _is_known(module, root):
        return 0.0
    return CERTAIN if self_class(module, root) is not None else BY_NAME


def _is_known(module: Module, root: ast.Name) -> bool:
    """Whether the facts say what a name is: then what is spelled like another one is not that one.

    A name that only a star import can bind may be anything.
    """
    found = lookup(module, root.id, root)
    if found is None:
        return root.id in BUILTINS
    return bool(resolve(module, root)) or any(binding.kind in ("import", "def", "class") for binding in found[1])
