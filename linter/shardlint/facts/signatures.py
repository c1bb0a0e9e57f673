"""Signatures: the parameters that a method of a class of this file takes."""

from __future__ import annotations

import ast

from shardlint.facts.module import Module
from shardlint.facts.names import local_definition, resolve
from shardlint.facts.samples import method


class Signature:
    """`names`: the parameters without the first; `more`: whether any other keyword is taken (`**kwargs`)."""

    __slots__ = ("more", "names")

    def __init__(self, names: frozenset[str], more: bool) -> None:
        self.names = names
        self.more = more

    def __repr__(self) -> str:
        return f"Signature({sorted(self.names)}, {self.more})"


def signature(module: Module, name: str, of: str) -> Signature | None:
    """The signature of method `of` of the class with this dotted name; None where the class is of another file.

    Bases in the same file are followed. A decorated method may take something else, so it has no known signature.
    """
    seen: set[str] = set()
    while name not in seen:
        seen.add(name)
        owner = local_definition(module, name)
        if not isinstance(owner, ast.ClassDef):
            return None
        found = method(owner, of)
        if found is not None:
            return _taken(found)
        bases = [base for node in owner.bases for base in resolve(module, node).names]
        name = bases[0] if len(bases) == 1 else name
    return None


def _taken(function: ast.FunctionDef) -> Signature | None:
    if function.decorator_list:
        return None
    args = function.args
    named = [*args.posonlyargs, *args.args][1:] + args.kwonlyargs
    return Signature(frozenset(arg.arg for arg in named), args.kwarg is not None)


__all__ = ["Signature", "signature"]
