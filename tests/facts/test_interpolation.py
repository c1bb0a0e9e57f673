"""What a string or a list takes in as it is, and what only goes into the making of another value."""

from __future__ import annotations

import ast

import pytest

from shardlint.facts.interpolation import taken_in

CASES = {
    "rank": ["rank"],
    "f'cuda:{rank}'": ["rank"],
    "f'cuda:{rank % 8}'": ["rank % 8"],
    "'cuda:' + str(rank)": ["'cuda:'", "rank"],
    "'cu' + 'da:' + str(rank // 8)": ["'cu'", "'da:'", "rank // 8"],
    "'cuda:%d' % rank": ["rank"],
    "'cuda:%d/%d' % (rank, of - 1)": ["rank", "of - 1"],
    "'cuda:{}'.format(rank)": ["rank"],
    "'cuda:{n}'.format(n=rank % 8)": ["rank % 8"],
    "[rank]": ["rank"],
    "[rank % 8]": ["rank % 8"],
    "[devices[rank]]": ["devices[rank]"],
    "[rank] if cuda else None": ["rank", "None"],
    "f'cuda:{rank}' if cuda else 'cpu'": ["rank", "'cpu'"],
    "rank if one_node else local": ["rank if one_node else local"],
    "rank % 8": ["rank % 8"],
    "rank + 1": ["rank + 1"],
    "pick(rank)": ["pick(rank)"],
    "str(rank, 'ascii')": ["str(rank, 'ascii')"],
}


@pytest.mark.parametrize("source", CASES)
def test_only_what_stands_unchanged_is_taken_in(source: str) -> None:
    assert [ast.unparse(node) for node in taken_in(ast.parse(source, mode="eval").body)] == CASES[source]
