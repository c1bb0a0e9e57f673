"""The LibCST node of a call."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.module import Module
from shardlint.syntax import nodes
from shardlint.syntax.nodes import call_node, code


def first_call(source: str) -> tuple[Module, ast.Call]:
    text = dedent(source)
    module = Module("x.py", text, ast.parse(text))
    return module, next(node for node in ast.walk(module.tree) if isinstance(node, ast.Call))


@pytest.mark.parametrize(
    "text",
    ["f(a)", "a.b(c, *d, e=1)", "f(a)(b)", "f(\n    a,  # why\n    b,\n)", "f('é模')", "f[0](lambda: (yield))"],
)
def test_a_node_is_written_back_as_it_was(text: str) -> None:
    module, call = first_call(f"if x:\n    y = [{text}]" if "\n" not in text else text)
    assert code(call_node(module, call)) == text


def test_what_libcst_parses_is_counted() -> None:
    before: int = nodes.parsed_bytes
    call_node(*first_call("f(a)"))
    assert nodes.parsed_bytes == before + 4


def test_a_place_that_holds_no_call_is_named() -> None:
    module, call = first_call("f(a)\n")
    call.col_offset, call.end_col_offset = 2, 3
    with pytest.raises(ValueError, match=r"x\.py:1: the text of a call cannot be found: 'a'"):
        call_node(module, call)
