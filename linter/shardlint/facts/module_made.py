"""What a constructor makes while it is read, and the names that its functions see."""

from __future__ import annotations

import ast

from shardlint.facts.key_pattern import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from shardlint.facts.module_index import Function, TypeRef
    from shardlint.facts.torch_layers import Tensor

    Kind = Literal["parameter", "buffer", "module", "list", "dict", "sequential"]


class Slot:
    """One entry of a container: its alternatives, its key in a dict (None in a list), and how often it comes."""

    __slots__ = ("conditional", "key", "made", "repeat")

    def __init__(self, made: list[Made], key: str | None, conditional: bool, repeat: bool) -> None:
        self.made = made
        self.key = key
        self.conditional = conditional
        self.repeat = repeat


class Made:
    """What one expression makes. Containers are filled later, so it is mutable and shared by its aliases.

    `registers` is False for Python's own lists and dicts: assigned to an attribute they put nothing into a state dict.
    """

    __slots__ = (
        "column", "kind", "line", "local", "opaque", "persistent", "registers", "shape", "sized", "slots", "sure",
        "tensors", "type_name", "where",
    )  # fmt: skip

    def __init__(self, node: ast.expr, kind: Kind, type_name: str, *, sure: bool = True) -> None:
        self.kind: Kind = kind
        self.registers = True
        self.type_name = type_name
        self.local = ""
        self.sure = sure
        self.opaque = False
        self.persistent: bool | None = True
        self.tensors: tuple[Tensor, ...] = ()
        self.shape = ""
        self.sized = False
        self.slots: list[Slot] = []
        self.where = 0
        self.line = node.lineno
        self.column = node.col_offset + 1


class Scope:
    """The names that one function sees while a constructor is read."""

    def __init__(self, place: str, self_name: str, position: int) -> None:
        self.place = place
        self.self_name = self_name
        self.position = position
        self.made: dict[str, list[Made]] = {}
        self.types: dict[str, list[TypeRef]] = {}
        self.strings: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.nodes: dict[str, ast.expr] = {}
        self.functions: dict[str, Function] = {}
        self.returns: list[Made] = []
        self.conditional = False
        self.repeat = False

    def forget(self, name: str) -> None:
        """Drop what was known of a name: it is bound to something else."""
        for table in (self.made, self.types, self.strings, self.texts, self.nodes):
            table.pop(name, None)


def keyed(made: Made) -> list[tuple[str, Slot]]:
    """The entries of a container with their keys: ``"0"``, ``"1"`` while the place is certain, then ``{}``."""
    found: list[tuple[str, Slot]] = []
    certain = True
    for place, slot in enumerate(made.slots):
        certain = certain and not slot.repeat
        found.append((slot.key or (str(place) if certain else HOLE), slot))
    return found
