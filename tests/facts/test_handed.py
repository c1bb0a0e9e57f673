"""Which calls are handed an object by its name."""

from __future__ import annotations

import ast

from shardlint.facts.handed import handed
from shardlint.facts.module import Module


def calls_with(name: str, text: str) -> list[str]:
    tree = ast.parse(text)
    module = Module("main.py", text, tree)
    return [ast.unparse(call) for call in handed(module, tree).get(name, ())]


def test_objects_as_they_are_or_in_a_list() -> None:
    text = "share(x)\nshare([x])\nshare(x.data)\nshare(*x)\nshare(a={'k': x})\nshare(x[0])\nshare(x.detach())\n"
    assert len(calls_with("x", text)) == 7


def test_copies_readers_and_classes_are_left_out() -> None:
    assert calls_with("x", "share(x.item())\nlog(x)\nMeter(x)\nloss.backward(x)\n") == []
