"""A constraint file of a foreign repository runs no code, does not hang, takes no memory: one error with its line."""

from __future__ import annotations

import time

import pytest

from shardlint.knowledge.constraint_file import read_constraints

SECONDS = 2.0


def problems(block: str) -> list[str]:
    inside = "".join(f"   {line}\n" for line in block.splitlines())
    text = f"1. Title\n\n   ```yaml constraint\n{inside}   ```\n"
    began = time.monotonic()
    contents = read_constraints("c.md", text.encode("utf-8", "surrogatepass"))
    assert time.monotonic() - began < SECONDS
    assert all(4 <= one.line <= 4 + block.count("\n") for one in contents.problems)
    return [one.message for one in contents.problems]


def config(expression: str) -> str:
    return f"id: x\nconfig:\n  require: {expression!r}\n"


def pattern(code: str, more: str = "") -> str:
    return f"id: x\npattern:\n  match: {code!r}\n{more}"


HOSTILE = [
    config("__import__('os').system('touch /tmp/owned')"),
    config("().__class__.__base__.__subclasses__()"),
    config("a.__class__ == 1"),
    config("(lambda: 1)()"),
    config("[x for x in range(10**9)]"),
    config("9**9**9 == 1"),
    config("'a' * 10000000000 == b"),
    config("10000000000000000000000000000000000000000 * a == 1"),
    config("(" * 400 + "a" + ")" * 400),
    config("not " * 5000 + "a"),
    config(" + ".join(["a"] * 20_000) + " == 1"),
    config("(b := 1) == 1"),
    config("f'{a}' == 'x'"),
    config("'{0.__class__}'.format(a) == 'x'"),
    config("matches(a, '(a+)+$')"),
    config("matches(a, '(a|a)*b')"),
    config("matches(a, '(')"),
    config("a == \ud800"),
    "id: x\nconfig:\n  let: {a: b, b: a}\n  require: a\n",
    "id: x\nconfig:\n  let: {a: a + 1}\n  require: a\n",
    pattern("$X"),
    pattern("$X(...)"),
    pattern("..."),
    pattern("f("),
    pattern("(" * 300 + "f()" + ")" * 300),
    pattern("f(" + "1, " * 50_000 + ")"),
    pattern("f($X)", "  where: {X: {regex: '(x+x+)+y'}}\n"),
    pattern("f($X)", "  replace: 'f($Y)'\n"),
    pattern("f($X)", "  replace: 'f($X)'\n"),
    pattern("f(\0)"),
    "id: x\nforbidden: {imports: ['*']}\n",
    "id: x\nforbidden: {calls: ['*']}\n",
    "id: x\nforbidden: {}\n",
    "a: &a [x]\nb: *a\n",
    "? [a]\n: 1\n",
    "!!python/object/apply:os.system ['touch /tmp/owned']\n",
    "id: " + "[" * 5000 + "]" * 5000 + "\n",
    "id: x\nforbidden: {imports: [" + "a, " * 30_000 + "a]}\n",
    "id: x\n" + "k: v\n" * 100,
]


@pytest.mark.parametrize("block", HOSTILE, ids=[str(number) for number in range(len(HOSTILE))])
def test_a_hostile_block_is_one_error(block: str) -> None:
    found = problems(block)

    assert len(found) == 1
    assert len(found[0]) < 600
    assert "Traceback" not in found[0]


def test_markdown_that_nests_without_end_is_read_in_time() -> None:
    for text in ("> " * 20_000, "- " * 5_000 + "x", "[" * 50_000, "*a " * 20_000, "1. " * 2_000, "```\n" * 20_000):
        began = time.monotonic()
        read_constraints("c.md", text.encode())
        assert time.monotonic() - began < 5 * SECONDS, text[:4]
