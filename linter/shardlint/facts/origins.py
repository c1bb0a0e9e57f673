"""Where a value comes from: the one call, function or import that gives it, with the class that it was loaded as."""

from __future__ import annotations

import ast

from shardlint.facts.names import bindings_at, self_class, self_values
from shardlint.facts.samples import Keys, method, read_keys, sample_keys
from shardlint.facts.site import Expression

_STEPS = 8
_LOADS = (".from_pretrained", ".from_config")
_WRAPPERS = {"peft.get_peft_model": ("model", 0)}
"""Functions that give back the model that they are handed, with that argument. Source: peft's documentation."""


class Origin:
    """The one source of a value. Where that is unknown, it answers with nothing."""

    __slots__ = ("value",)

    def __init__(self, value: Expression | None) -> None:
        self.value = value

    @property
    def name(self) -> str:
        """The dotted name of the class or function behind the value, seen through `partial`; empty when unknown."""
        if self.value is None:
            return ""
        names = self.value.made_from or self.value.names
        return names[0] if len(names) == 1 else ""

    @property
    def library_name(self) -> str:
        """`package.Class`, without the modules between, which libraries re-export, and without `.from_pretrained`."""
        name = self.name
        for load in _LOADS:
            name = name.removesuffix(load)
        package, _, rest = name.partition(".")
        return f"{package}.{rest.rpartition('.')[2]}" if rest else package

    def of(self, package: str) -> str:
        """The class or function of `package` that it is, by its last name; empty when it is from elsewhere."""
        owner, _, last = self.library_name.partition(".")
        return last if owner == package else ""

    def argument(self, keyword: str, position: int | None = None) -> Expression | None:
        """An argument of the call that gives the value."""
        made = self.value.as_site() if self.value is not None else None
        return made.argument(keyword, position) if made is not None else None

    @property
    def sample_keys(self) -> Keys | None:
        """The keys of its samples, where it is a dataset whose class stands in this file."""
        owner = self._definition
        if self.value is None or not isinstance(owner, ast.ClassDef):
            return None
        return sample_keys(self.value.module, owner)

    @property
    def read_keys(self) -> Keys | None:
        """The keys that it takes of each sample, where it is a collator of this file."""
        place = self._definition
        collate = method(place, "__call__") if isinstance(place, ast.ClassDef) else place
        if self.value is None or collate is None:
            return None
        made = self.value.as_site()
        # What a function of this file returns is not known; `partial(collate, pad=0)` is the function itself.
        if collate is place and made is not None and (made.name != "functools.partial" or len(made.positional) != 1):
            return None
        return read_keys(self.value.module, collate)

    @property
    def _definition(self) -> ast.FunctionDef | ast.ClassDef | None:
        """The only function or class of this file with that name."""
        if self.value is None:
            return None
        module, name = self.value.module, self.name
        found = [
            node
            for node in module.scopes
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            if name.endswith(node.name) and f"{module.dotted}.{module.qualified(node)}" == name
        ]
        return found[0] if len(found) == 1 else None


def origin(value: Expression | None) -> Origin:
    """The one source of a value, through names and `self.x` that are given a value in one place only.

    A parameter, a branch of two values and an item of something have no known origin.
    """
    for _ in range(_STEPS):
        if value is None:
            break
        if isinstance(value.ast, ast.Call):
            found = Origin(value)
            if found.name not in _WRAPPERS:
                return found
            value = found.argument(*_WRAPPERS[found.name])
            continue
        sources = _sources(value)
        if not sources:
            return Origin(value)
        value = Expression(value.module, sources[0], value.voice) if len(sources) == 1 and sources[0] else None
    return Origin(None)


def _sources(value: Expression) -> list[ast.expr | None]:
    """What gives a name or `self.x` its value; None for what is not known; empty where it is a definition or import."""
    node = value.ast
    if isinstance(node, ast.Name):
        found = bindings_at(value.module, node)
        if found is None:
            return []
        if len(found[0]) == 1 and not found[1] and found[0][0].kind in ("import", "def", "class"):
            return []
        known = [b.value if b.exact and b.kind in ("assign", "walrus") else None for b in found[0]]
        return [*known, None] if found[1] else known
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = self_class(value.module, node.value)
        if owner is not None:
            return list(self_values(value.module, owner, node.attr))
    return [None]


__all__ = ["Origin", "origin"]
