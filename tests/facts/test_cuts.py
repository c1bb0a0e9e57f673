"""Cuts: what is sliced up to a length limit, under which names, and what keeps its length beside it."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.cuts import cuts
from shardlint.facts.matching import matches
from shardlint.facts.module import Module
from shardlint.facts.site import Site
from shardlint.facts.truncation import uncut_beside
from shardlint.finding import Evidence
from shardlint.prefilter import Words, passes
from shardlint.query import Given, Sliced
from shardlint.voice import Voice

VOICE = Voice("rule", "family", "warning", Evidence("observation"), 0.9)


def parsed(source: str) -> Module:
    text = dedent(source)
    return Module("example.py", text, ast.parse(text))


def sites(source: str, query: Sliced | Given) -> list[Site]:
    module = parsed(source)
    return [Site(module, hit, VOICE) for hit in matches(module, query)]


@pytest.mark.parametrize(
    ("source", "keys"),
    [
        ("ids = ids[:, :max_length]", ["ids"]),
        ("b['ids'] = b['ids'][..., : cfg.block_size]", ["ids"]),
        ("b['ids'] = b['ids'][:, : args['cutoff_len']]", ["ids"]),
        ("b['ids'] = [row[:MAX_LEN] for row in rows]", ["ids"]),
        ("ids = ids[\n    :,\n    : self.tokenizer.model_max_length,\n]", ["ids"]),
        ("ids = ids[-max_seq_len:]", ["ids"]),
        ("a, b = a[:limit], b[:limit]", ["a", "b"]),
        ("x = {'ids': ids[:limit]}", ["ids"]),
        ("x = dict(ids=ids[:limit])", ["ids"]),
        ("for k in ('a', 'b'):\n    x[k] = x[k][:limit]", ["a b"]),
        ("for k, v in x.items():\n    x[k] = v[:limit]", ["*"]),
        ("for k in list(x.keys()):\n    x[k] = x[k][:limit]", ["*"]),
        ("x = {k: v[:limit] for k, v in x.items()}", ["*"]),
    ],
)
def test_a_slice_up_to_a_limit_is_a_cut(source: str, keys: list[str]) -> None:
    assert [" ".join(cut.keys) for cut in cuts(parsed(source))] == keys
    names = " ".join(keys).replace("*", "ids").split()
    assert passes(Sliced(*names).needs(), Words(source.encode()))


@pytest.mark.parametrize(
    "source",
    [
        "ids = ids[:, :n]",
        "ids = ids[:limit, 0]",
        "ids = ids[:, 1:limit]",
        "ids = ids[:limit:2]",
        "ids = ids[:, :-1]",
        "head = ids[:limit] + tail",
        "def f(rows):\n    max_len = max(len(r) for r in rows)\n    ids = pad(rows)\n    ids = ids[:, :max_len]",
        "ids = ids[:, : mask.sum(1).max()]",
        "for k in keys:\n    x[k] = x[k][:limit]",
    ],
)
def test_another_slice_is_none(source: str) -> None:
    assert cuts(parsed(source)) == []


def test_a_site_of_a_cut_has_what_is_cut_and_the_limit() -> None:
    (site,) = sites("def f(batch, limit):\n    batch['ids'] = batch['ids'][:, :limit]\n", Sliced("ids"))
    assert [part.text for part in site.positional] == ["batch['ids']", "limit"]
    assert (site.name, site.called, site.function.name) == ("ids", "cut", "f")
    assert (site.span.line, site.span.column) == (2, 20)


def test_a_call_is_found_by_a_keyword() -> None:
    (site,) = sites("f(a=1)\ng.i(0, b=2)\nh(c, a)\n", Given("b", "c"))
    assert site.text == "g.i(0, b=2)"


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ("b['labels'] = b['ids']\nb['ids'] = b['ids'][:limit]", ["labels"]),
        ("b['ids'] = b['ids'][:limit]\nb['labels'] = b['ids']", []),
        ("b['labels'] = b['ids']\nb['ids'] = b['ids'][:limit]\nb['labels'] = b['labels'][:limit]", []),
        ("b['labels'] = 1\nc['ids'] = c['ids'][:limit]", []),
        ("labels = old\nids = ids[:limit]\nreturn ids, labels", ["labels"]),
        ("labels = old\nids = ids[:limit]\nreturn ids", []),
    ],
)
def test_a_key_that_nothing_cuts_keeps_its_length(lines: str, left: list[str]) -> None:
    body = "\n".join(f"    {line}" for line in lines.split("\n"))
    (site,) = sites(f"def f(b, c, ids, old, limit):\n{body}\n", Sliced("ids"))
    assert uncut_beside(site, ("labels",)) == left
