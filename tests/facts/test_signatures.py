"""Signatures: the parameters of a method of a class of this file."""

from __future__ import annotations

import ast
from textwrap import dedent

from shardlint.facts.module import Module
from shardlint.facts.samples import written_keys
from shardlint.facts.signatures import signature

SOURCE = dedent(
    """
    from elsewhere import Foreign

    class Plain:
        def forward(self, x, /, y, *, z=None, **rest): ...

    class Derived(Plain): ...

    class Far(Foreign): ...

    class Wrapped:
        @compiled
        def forward(self, x): ...

    class Round(Round): ...

    def collate(rows):
        batch = {"ids": rows, "empty": None}
        batch["labels"] = rows
        batch.update(pixels=rows)
        return batch
    """
)
MODULE = Module("example.py", SOURCE, ast.parse(SOURCE))


def shown(name: str) -> tuple[list[str], bool] | None:
    """The signature of `forward` of a class of the example."""
    found = signature(MODULE, f"example.{name}", of="forward")
    return None if found is None else (sorted(found.names), found.more)


def test_parameters_are_read_without_self_and_through_bases() -> None:
    assert shown("Plain") == (["x", "y", "z"], True)
    assert shown("Derived") == (["x", "y", "z"], True)


def test_what_another_file_or_a_decorator_decides_is_not_known() -> None:
    assert [shown(name) for name in ("Far", "Wrapped", "Round", "Missing", "collate")] == [None] * 5


def test_every_key_that_is_written() -> None:
    assert written_keys(MODULE.tree) == {"ids", "empty", "labels", "pixels"}
