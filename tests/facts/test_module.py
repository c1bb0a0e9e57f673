"""One file as the facts see it: names, places, ranges."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.module import UNNAMED, Module, dotted_name


def module(source: str, path: str = "pkg/x.py") -> Module:
    text = dedent(source)
    return Module(path, text, ast.parse(text))


def name(parsed: Module, identifier: str) -> ast.Name:
    """The last read of a name in the file."""
    found = [n for n in ast.walk(parsed.tree) if isinstance(n, ast.Name) and n.id == identifier]
    return max(found, key=lambda node: (node.lineno, node.col_offset))


@pytest.mark.parametrize(
    ("path", "dotted"),
    [("a/b.py", "a.b"), ("a/__init__.py", "a"), ("__init__.py", ""), ("b.py", "b"), ("a/b", "a.b")],
)
def test_dotted_name(path: str, dotted: str) -> None:
    assert dotted_name(path) == dotted


def test_the_root_package_imports_from_itself() -> None:
    parsed = module("from .a import b", "__init__.py")
    assert [binding.target for binding in parsed.scopes[parsed.tree].bindings["b"]] == ["a.b"]


def test_qualified_names_hold_classes_and_functions() -> None:
    parsed = module("class A:\n    def f(self):\n        def g(): ...\n")
    assert [parsed.qualified(function) for function in parsed.functions] == ["A.f", "A.f.g"]
    assert parsed.qualified(parsed.tree) == ""


def test_functions_come_in_the_order_of_the_text() -> None:
    parsed = module("if x:\n    def a(): ...\nelse:\n    def b(): ...\ndef c(): ...\n")
    assert [function.name for function in parsed.functions] == ["a", "b", "c"]


def test_calls_are_kept_by_the_last_word_of_what_is_called() -> None:
    parsed = module("f()\na.b.f(f())\nf(x)(y)\n")
    assert [(call.lineno, call.col_offset) for call in parsed.calls["f"]] == [(1, 0), (2, 0), (2, 6), (3, 0)]
    assert [call.lineno for call in parsed.calls[UNNAMED]] == [3]


@pytest.mark.parametrize(
    ("source", "function"),
    [
        ("def f():\n    x", "f"),
        ("def f(a=x): ...", ""),
        ("@x\ndef f(): ...", ""),
        ("def f() -> x: ...", ""),
        ("def f():\n    class A:\n        x", "f"),
        ("def f():\n    return lambda: x", "f"),
        ("def f():\n    @x\n    def g(): ...", "f"),
        ("x", ""),
    ],
)
def test_function_around_a_place(source: str, function: str) -> None:
    parsed = module(source)
    assert parsed.qualified(parsed.function(name(parsed, "x"))) == function


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("class A:\n    x", ast.ClassDef),
        ("class A(x): ...", ast.Module),
        ("f = lambda: x", ast.Lambda),
        ("f = lambda a=x: a", ast.Module),
        ("[a for a in x]", ast.Module),
        ("[x for a in b]", ast.ListComp),
        ("[a for a in b for c in x]", ast.ListComp),
        ("[a for a in b if x]", ast.ListComp),
        ("{a: x for a in b}", ast.DictComp),
        ("def f(a: x): ...", ast.Module),
    ],
)
def test_scope_of_a_place(source: str, kind: type[ast.AST]) -> None:
    parsed = module(source)
    assert type(parsed.scope(name(parsed, "x")).node) is kind


def test_a_walrus_in_a_comprehension_binds_outside_of_it() -> None:
    parsed = module("def f(xs):\n    [y := x for x in xs]\n")
    assert set(parsed.scopes[parsed.functions[0]].bindings) == {"xs", "y"}


def test_a_lambda_in_a_default_belongs_to_the_scope_around() -> None:
    parsed = module("def f(a, g=lambda: x): ...\n")
    scope = parsed.scope(name(parsed, "x"))
    assert scope.parent is not None
    assert scope.parent.node is parsed.tree


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("import x", ["import"]),
        ("import x.y", ["import"]),
        ("from a import b as x", ["import"]),
        ("def x(): ...", ["def"]),
        ("class x: ...", ["class"]),
        ("x = 1", ["assign"]),
        ("x: int = 1", ["assign"]),
        ("x: int", ["annotation"]),
        ("x += 1", ["augmented"]),
        ("for x in y: ...", ["for"]),
        ("for a, (b, *x) in y: ...", ["for"]),
        ("with y as x: ...", ["with"]),
        ("with y as (a, x): ...", ["with"]),
        ("try: ...\nexcept E as x: ...", ["except"]),
        ("(x := 1)", ["walrus"]),
        ("match y:\n    case x: ...", ["match"]),
        ("match y:\n    case A(b=x): ...", ["match"]),
        ("match y:\n    case [*x]: ...", ["match"]),
        ("match y:\n    case {**x}: ...", ["match"]),
        ("del x", ["delete"]),
        ("[x, y] = 1, 2", ["assign"]),
        ("x.y = 1", []),
        ("x[0] = 1", []),
    ],
)
def test_what_binds_a_name(source: str, kinds: list[str]) -> None:
    parsed = module(source)
    assert [binding.kind for binding in parsed.scopes[parsed.tree].bindings.get("x", ())] == kinds


def test_columns_count_characters() -> None:
    parsed = module("'é模' + x\n")
    span = parsed.span(name(parsed, "x"))
    assert (span.line, span.column, span.end_column) == (1, 8, 9)


def test_statement_is_the_innermost() -> None:
    parsed = module("if a:\n    b = x\n")
    assert ast.unparse(parsed.statement(name(parsed, "x"))) == "b = x"
    assert isinstance(parsed.statement(name(parsed, "a")), ast.If)


def test_a_sum_of_many_terms_is_read_and_written() -> None:
    parsed = module("x = " + " + ".join(["a"] * 1500))
    value = parsed.scopes[parsed.tree].bindings["x"][0].value
    assert value is not None
    assert parsed.source(value).endswith("a + a + a")


def test_an_empty_file_is_read() -> None:
    parsed = module("")
    assert (parsed.functions, parsed.calls, parsed.lines) == ([], {}, [""])
