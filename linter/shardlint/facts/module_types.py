"""Which classes an expression of a constructor may name."""

from __future__ import annotations

import ast

from shardlint.facts.key_pattern import dotted
from shardlint.facts.module_index import ModuleIndex, TypeRef, torch_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardlint.facts.module_made import Scope

_WRAPPER_NAMES = """
    FSDP FullyShardedDataParallel DDP DistributedDataParallel DataParallel compile checkpoint_wrapper weight_norm
    spectral_norm get_peft_model wrap prepare_model_for_kbit_training orthogonal
"""
WRAPPERS = frozenset(_WRAPPER_NAMES.split())
"""Functions and classes that give back a module around the one they get: its keys may have another prefix."""


class Types:
    """Reads expressions that name classes. `self_types` holds classes kept in attributes of the object."""

    def __init__(self, index: ModuleIndex) -> None:
        self.index = index
        self.self_types: dict[str, list[TypeRef]] = {}

    def types(self, node: ast.expr, scope: Scope) -> list[TypeRef]:
        """The classes that an expression may name; empty when it names none that can be read."""
        if isinstance(node, ast.Name):
            if node.id in scope.types:
                return scope.types[node.id]
            if node.id in scope.made or node.id in scope.texts:
                return []
            return self.named(node.id, scope)
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == scope.self_name:
                if node.attr in self.self_types:
                    return self.self_types[node.attr]
                return self.named(node.attr, scope) if self.index.local_class(node.attr, scope.place) else []
            written = dotted(node)
            return self.named(written, scope) if written else []
        if isinstance(node, ast.IfExp):
            return [*self.types(node.body, scope), *self.types(node.orelse, scope)]
        if isinstance(node, ast.Subscript):
            return self._table(node, scope)
        if isinstance(node, ast.Call) and dotted(node.func).rsplit(".", 1)[-1] == "partial" and node.args:
            found = self.types(node.args[0], scope)
            return [ref._replace(keywords=(*ref.keywords, *node.keywords)) for ref in found]
        return []

    def named(self, written: str, scope: Scope) -> list[TypeRef]:
        local = self.index.local_class(written, scope.place)
        if local:
            return [TypeRef(local, local, written)]
        target = self.index.resolve(written)
        last = target.rsplit(".", 1)[-1]
        return [TypeRef(target, "", written)] if last[:1].isupper() and last not in WRAPPERS else []

    def _table(self, node: ast.Subscript, scope: Scope) -> list[TypeRef]:
        """``LAYERS[kind]``: one of the classes of a table of this file."""
        name = dotted(node.value)
        table = self.index.tables.get(name)
        if table is None:
            return []
        found = [ref for value in table.values for ref in self.types(value, scope)]
        modules = [
            ref for ref in found if (ref.local and self.index.known(ref.local) != "no") or torch_name(ref.target)
        ]
        if not modules or len(modules) != len(table.values):
            return []
        return [ref._replace(written=f"{name}[...]", certain=False) for ref in dict.fromkeys(modules)]


def alternatives(annotation: ast.expr) -> Iterator[ast.expr]:
    """The classes inside ``Optional[X]``, ``X | None`` and quoted annotations."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            yield from alternatives(ast.parse(annotation.value, mode="eval").body)
        except SyntaxError:
            return
    elif isinstance(annotation, ast.BinOp):
        yield from alternatives(annotation.left)
        yield from alternatives(annotation.right)
    elif isinstance(annotation, ast.Subscript):
        if dotted(annotation.value).rsplit(".", 1)[-1] in ("Optional", "Union", "Annotated"):
            inner = annotation.slice
            for part in inner.elts if isinstance(inner, ast.Tuple) else (inner,):
                yield from alternatives(part)
    else:
        yield annotation
