"""What a checkpoint holds: the names, shapes and dtypes of its tensors, never their values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod

from shardlint.errors import CheckpointError
from shardlint.runtime.model_facts import BYTES


@dataclass(frozen=True, slots=True)
class Stored:
    """One entry of a checkpoint.

    Args:
        name: the key, under which the loader asks for it.
        path: where it lies in the nested state that was saved: `("model", "embed.weight")`. Formats without nesting,
            and writers that do not record it, have the key alone.
        shape: of the whole tensor; None when the format does not say.
        dtype: as torch names it, without `torch.`; None when the format does not say.
        tensor: whether it is one; else it is an object, such as a step or the state of a scheduler.
        line: of the text form; 1 elsewhere.
    """

    name: str
    path: tuple[str, ...]
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    tensor: bool = True
    line: int = 1

    @property
    def key(self) -> str:
        """The key within the part of the state that holds it."""
        return self.path[-1]

    @property
    def holder(self) -> tuple[str, ...]:
        """The part of the state that holds it: `("model",)`; empty for the state itself."""
        return self.path[:-1]

    @property
    def bytes(self) -> int | None:
        """The size of the whole tensor; None when shape or dtype are not known."""
        size = BYTES.get(self.dtype or "")
        return None if size is None or self.shape is None else size * prod(self.shape)


class Contents:
    """All entries of one checkpoint.

    Args:
        path: the file that lists them, as findings name it.
        form: what it is, for people: `DCP`, `safetensors`.
        entries: what it holds.
        nested: whether the writer recorded where the entries lay in the state.

    Raises CheckpointError when a key is given twice.
    """

    def __init__(self, path: str, form: str, entries: Iterable[Stored], *, nested: bool = False) -> None:
        self.path = path
        self.form = form
        self.nested = nested
        self.entries: dict[str, Stored] = {}
        for entry in entries:
            if self.entries.setdefault(entry.name, entry) is not entry:
                raise CheckpointError(f"{path} gives the key `{entry.name}` twice")

    @cached_property
    def tensors(self) -> tuple[Stored, ...]:
        """The tensors among the entries, in order."""
        return tuple(entry for entry in self.entries.values() if entry.tensor)
