"""Bytes -> text: lines and columns must be those of CPython."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlint.errors import UndecodableSource
from shardlint.source import Source, content_hash, decode


def positions(tree: ast.AST) -> list[tuple[int, int]]:
    return [(node.lineno, node.col_offset) for node in ast.walk(tree) if isinstance(node, ast.Name)]


def parsed(source: bytes | str) -> ast.AST:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def names_at(source: Source, tree: ast.AST) -> list[bool]:
    """Whether each name stands where its position says."""
    return [
        source.lines[node.lineno - 1][source.column(node.lineno, node.col_offset) - 1 :].startswith(node.id)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name)
    ]


ODD = {
    "plain": b"x = 1\ny = x\n",
    "no newline at the end": b"x = 1\ny = x",
    "empty": b"",
    "utf-8": "é = 'ü'; x = é\n".encode(),
    "astral": "s = '\U0001f600'; x = s\n".encode(),
    "bom": b"\xef\xbb\xbfx = 1; y = x\n",
    "bom and cookie": b"\xef\xbb\xbf# -*- coding: utf-8 -*-\nx = 1; y = x\n",
    "latin-1 cookie": b"# coding: latin-1\ns = '\xe9'; x = s\n",
    "vim cookie on line two": b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\ns = '\x80'; x = s\n",
    "cookie after a lone carriage return": b"# a\r# coding: latin-1\rs = '\xe9'; x = s\r",
    "cookie on line three does not count": "\n\n# coding: latin-1\ns = 'é'; x = s\n".encode(),
    "cookie after code does not count": "x = 1\n# coding: latin-1\ns = 'é'; x = s\n".encode(),
    "euc-jp": "# coding: euc-jp\ns = '変数'; x = s\n".encode("euc-jp"),
    "crlf": b"x = 1\r\n\r\ny = x\r\n",
    "cr": b"x = 1\r\ry = x\r",
    "mixed": b"x = 1\ry = x\r\nz = y\nw = z\n\rv = w\n",
    "form feed": b"x = 1\n\x0c\ny = x\n\x0cz = y\nif x:\n    w = \x0c x\n",
    "separators that str.splitlines splits at": "s = '\u2028\x85\x1c\x0b'; x = s\ny = x\n".encode(),
    "triple quotes": b"x = '''a\r\nb\rc\n'''; y = x\n",
    "continuation": b"x = 1 + \\\r\n  y\n",
    "tabs": b"if x:\n\ty = x\n",
}


@pytest.mark.parametrize("data", ODD.values(), ids=ODD.keys())
def test_positions_agree_with_cpython(data: bytes) -> None:
    source = decode(data)
    tree = parsed(data)
    assert positions(parsed(source.text)) == positions(tree)
    assert all(names_at(source, tree))
    assert source.encode(source.text) == data


REFUSED = {
    "utf-16": ("x = 1\n".encode("utf-16"), 1, "UTF-16"),
    "nul": (b"x = 1\r\ny\x00 = 2\n", 2, "NUL"),
    "not utf-8": (b"x = 1\ry = '\xff'\n", 2, "not utf-8"),
    "not its cookie": (b"# coding: ascii\nx = '\xe9'\n", 2, "not ascii"),
    "unknown cookie": (b"# coding: klingon\nx = 1\n", 1, "klingon"),
    "cookie against bom": (b"\xef\xbb\xbf# coding: latin-1\nx = 1\n", 1, "encoding"),
    "not a text encoding": (b"# coding: rot13\nx = 1\n", 1, "rot13"),
    "utf-16 cookie": (b"# coding: utf-16\nx = 1\n", 2, "utf-16"),
}


@pytest.mark.parametrize(("data", "line", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cpython_refuses_is_refused_with_sentence_and_line(data: bytes, line: int, words: str) -> None:
    with pytest.raises((SyntaxError, ValueError)):
        parsed(data)
    with pytest.raises(UndecodableSource, match=words) as caught:
        decode(data)
    assert caught.value.line == line


def test_bad_bytes_in_a_comment_are_refused_as_by_running_the_file() -> None:
    with pytest.raises(UndecodableSource) as caught:
        decode(b"x = 1\n# \xff\n")
    assert caught.value.line == 2


def test_bad_bytes_before_the_cookie_are_judged_by_the_cookie() -> None:
    source = decode(b"# \xe9\n# coding: latin-1\nx = 1\n")
    assert source.text.startswith("# é\n")


COOKIES = [
    b"",
    b"# coding: utf-8",
    b"# -*- coding: latin-1 -*-",
    b"#coding=iso-8859-15",
    b"# coding : utf-8",
    b"x = 1 # coding: ascii",
]
PIECES = [
    b"x = 1",
    b"\xc3\xa9 = x",
    b"s = '\xc3\xbc'; y = s",
    b"# \xc3\xa9",
    b"",
    b"\x0c",
    b"\x0cz = 1",
    b"if x: y = z",
    b"'''",
    b"\\",
]


@given(
    bom=st.booleans(),
    head=st.lists(st.sampled_from(COOKIES), max_size=3),
    body=st.lists(st.sampled_from(PIECES), max_size=6),
    ends=st.lists(st.sampled_from([b"\n", b"\r\n", b"\r"]), min_size=9, max_size=9),
)
def test_any_mixture_agrees_with_cpython(bom: bool, head: list[bytes], body: list[bytes], ends: list[bytes]) -> None:
    lines = b"".join(line + end for line, end in zip([*head, *body], ends, strict=False))
    data = b"\xef\xbb\xbf" * bom + lines
    try:
        tree = parsed(data)
    except SyntaxError:
        tree = None
    try:
        source = decode(data)
    except UndecodableSource:
        assert tree is None
        return
    if tree is None:
        with pytest.raises(SyntaxError):
            parsed(source.text)
    else:
        assert positions(parsed(source.text)) == positions(tree)
        assert all(names_at(source, tree))
    assert source.encode(source.text) == data


@given(st.text(st.sampled_from("aé変\U0001f600"), max_size=12), st.integers(0, 60))
def test_columns_count_characters_and_never_leave_the_line(line: str, offset: int) -> None:
    column = Source(line).column(1, offset)
    before = line[: column - 1].encode()
    assert len(before) <= offset
    assert column == len(line) + 1 or len(before) + len(line[column - 1].encode()) > offset


def test_a_line_past_the_end_has_only_its_first_column() -> None:
    assert Source("x").column(7, 3) == 1


def test_an_encoding_comment_is_found_behind_a_very_long_first_line() -> None:
    data = b"#" + b" " * 10_000 + b"\n# coding: latin-1\ns = '\xe9'\n"
    assert decode(data).encoding == "iso-8859-1"


def test_content_has_one_name() -> None:
    assert content_hash(b"x") == content_hash(b"x") != content_hash(b"y")
    assert len(content_hash(b"")) == 16
