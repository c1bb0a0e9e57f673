"""Bytes that were a file once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random

ODD = (
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\r",
    b"\n",
    b"\r\n",
    b"\f",
    b"\v",
    b"\x1c",
    b"\t",
    b"\x1a",
    b"\x7f",
    b"\x85",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\xe2\x80\xae",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xc0\x80",
    "é𝒳".encode(),
    "\u0301\u200d\ufe0f".encode(),
    b"\xff",
    b"\x1b[31m",
    b"\\\n",
    b"\\",
    b'"""',
    b"'''",
    b"#",
    b"{{",
    b"f'{",
    b"(" * 250,
    b"  ",
    b"%0A::error::x",
)
COOKIES = (
    b"# -*- coding: latin-1 -*-\n",
    b"# coding: utf-8\n",
    b"# coding: utf-16\n",
    b"# coding: utf-7\n",
    b"# coding=cp1252\r\n",
    b"#!/usr/bin/python\n# vim: set fileencoding=iso-8859-15 :\n",
    b"# coding: rot13\n",
    b"# coding: idna\n",
    b"# coding: unicode_escape\n",
    b"# coding: raw_unicode_escape\n",
    b"# coding: punycode\n",
    b"# coding: gbk\n",
    b"# coding: shift_jis\n",
    b"# coding: utf-8-sig\n",
    b"# coding: base64\n",
    b"# coding: no-such-codec\n",
    b"# coding: \n",
    b"# coding: undefined\n",
    b"# coding: cp65001\n",
    b"# coding: mbcs\n",
    b"# coding: hz\n",
    b"# coding: iso2022_jp\n",
)
_LONGEST = 400_000

Mutation = Callable[[bytes, Random], bytes]


def flip_bits(data: bytes, chance: Random) -> bytes:
    """Some bits are others."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 3, 20))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def truncate(data: bytes, chance: Random) -> bytes:
    """The end is missing, or the start."""
    at = chance.randrange(len(data) + 1)
    return data[:at] if chance.random() < 0.8 else data[at:]


def insert_odd(data: bytes, chance: Random) -> bytes:
    """Something unusual stands somewhere."""
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(data) + 1)
        data = data[:at] + chance.choice(ODD) + data[at:]
    return data


def declare(data: bytes, chance: Random) -> bytes:
    """An encoding comment, and perhaps bytes of that encoding."""
    cookie = chance.choice(COOKIES)
    name = cookie.rpartition(b"coding")[2].strip(b": =-*\r\n").decode("ascii", "replace")
    if chance.random() < 0.5:
        with suppress(LookupError, ValueError):
            data = data.decode("utf-8", "replace").encode(name, "replace")
    return chance.choice((b"", b"", b"\xef\xbb\xbf", b"\n", b"\f")) + cookie + data


def recode(data: bytes, chance: Random) -> bytes:
    """Saved in another encoding."""
    text = data.decode("utf-8", "replace")
    name = chance.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp1252", "utf-7"))
    return text.encode(name, "replace")


def end_lines(data: bytes, chance: Random) -> bytes:
    """Lines end otherwise, some or all of them."""
    ends = chance.choice(((b"\r",), (b"\r\n",), (b"\n", b"\r\n"), (b"\n", b"\r", b"\r\n"), (b"\f\n",), (b"\x0b",)))
    return b"".join(line + chance.choice(ends) for line in data.split(b"\n"))


def drop_lines(data: bytes, chance: Random) -> bytes:
    """Some lines are missing."""
    share = chance.choice((0.02, 0.1, 0.4))
    return b"".join(line for line in data.splitlines(keepends=True) if chance.random() > share)


def swap_lines(data: bytes, chance: Random) -> bytes:
    """Two lines changed places."""
    lines = data.splitlines(keepends=True)
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def repeat(data: bytes, chance: Random) -> bytes:
    """A part stands there many times."""
    start = chance.randrange(len(data))
    end = min(len(data), start + chance.choice((1, 5, 40, 400)))
    times = chance.choice((2, 10, 300, 3000))
    part = data[start:end]
    return data[:start] + (part * times)[:_LONGEST] + data[end:]


def join_lines(data: bytes, chance: Random) -> bytes:
    """Few and very long lines."""
    with_what = chance.choice((b"; ", b" ", b", ", b" \\\n", b""))
    return data.replace(b"\n", with_what, chance.choice((-1, 1, 5)))


def indent(data: bytes, chance: Random) -> bytes:
    """Tabs for spaces, or other depths."""
    old, new = chance.choice(((b"    ", b"\t"), (b"    ", b" "), (b"    ", b"        "), (b" ", b"\xc2\xa0")))
    return data.replace(old, new, chance.choice((-1, 1, 3)))


MUTATIONS: tuple[Mutation, ...] = (
    flip_bits,
    flip_bits,
    truncate,
    insert_odd,
    insert_odd,
    declare,
    recode,
    end_lines,
    drop_lines,
    swap_lines,
    repeat,
    join_lines,
    indent,
)


def mutated(data: bytes, chance: Random, most: int = 3) -> bytes:
    """`data` after one to `most` mutations."""
    for _ in range(chance.randrange(most) + 1):
        if not data:
            return chance.choice(ODD)
        data = chance.choice(MUTATIONS)(data, chance)[: 2 * _LONGEST]
    return data
