"""Words for the prefilter: whatever breaks a check spells one of them."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from fuzzing import expressions
from shardlint.configs.document import read_document
from shardlint.knowledge.config_check import Broken, ConfigCheck
from shardlint.knowledge.problem import CheckProblem
from shardlint.prefilter import spells


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ({"require": "train.heads % train.tp_size == 0"}, ("heads",)),
        ({"when": "exists(train.seed)", "require": "a.b > 1"}, ("b",)),
        ({"when": "exists(train.seed)", "require": "world_size % 8 == 0"}, ("seed",)),
        ({"require": "exists(train.seed)"}, ()),
        ({"require": "not exists(train.seed)"}, ("seed",)),
        ({"require": "a.x > 1 or b.y > 1"}, ("x",)),
        ({"require": "a.x > 1 and b.y > 1"}, ("x", "y")),
        ({"require": "not (a.x > 1 and b.y > 1)"}, ("x",)),
        ({"require": "default(a.x, 1) == 2"}, ()),
        ({"require": "not default(a.x, false)"}, ("x",)),
        ({"require": "default(a.x, false)"}, ()),
        ({"require": "false"}, ()),
        ({"require": "world_size > 1"}, ()),
        ({"require": "1 < a.x < world_size"}, ("x",)),
        ({"require": "1 > 2 > a.x"}, ()),
        ({"require": "all(x > 1 for x in a.list)"}, ("list",)),
        ({"require": "any(values('a.muon_*'))"}, ()),
        ({"require": "not any(values('a.muon_*'))"}, ("a",)),
        ({"require": "len([a.x, 1]) == 2"}, ()),
        ({"require": "y > 1", "let": {"y": "a.x * 2"}}, ("x",)),
        ({"require": "y", "let": {"y": "a.x and b.z"}}, ("x", "z")),
        ({"require": "(a.x if b.y else 1) == 2"}, ()),
        ({"require": "a.x == 1 if b.y else false"}, ()),
        ({"unless": "a.x == 1", "require": False}, ("x",)),
        ({"require": "matches(a.name, 'x')"}, ("name",)),
        ({"require": "version('torch') >= a.least"}, ("least",)),
        ({"require": "key('a.\"x y\"') == 1"}, ("x",)),
        ({"kind": "exclusive", "keys": ["fp16", "bf16"]}, ("bf16",)),
        ({"kind": "exclusive", "keys": ["fp16", "bf16", "fp8"]}, ("bf16", "fp16")),
        ({"kind": "exclusive", "keys": ["a.fp*", "a.bf16"]}, ("a",)),
        ({"kind": "no-effect", "keys": ["o.muon_*"], "unless": "o.type == 'muon'"}, ("o",)),
        ({"kind": "no-effect", "keys": ["*"], "unless": "o.type == 'muon'"}, ("type",)),
        ({"kind": "removed", "keys": ["a.x", "b.y"]}, ("x", "y")),
        ({"kind": "removed", "keys": ["*"]}, ()),
        ({"kind": "one-of", "keys": ["a.style"], "values": ["x"]}, ("style",)),
        ({"kind": "requires", "keys": ["a.pad"], "needs": ["a.dyn"]}, ("pad",)),
        ({"kind": "env", "name": "X", "when": "a.tp > 1"}, ("tp",)),
    ],
)
def test_the_words_of_a_check(plain: dict[str, object], words: tuple[str, ...]) -> None:
    assert ConfigCheck(plain).words == words


def test_a_file_that_spells_none_of_the_words_breaks_nothing() -> None:
    tried = broken = 0
    for number in range(4_000):
        chance = Random(f"words {number}")
        plain: dict[str, Any] = {"require": expressions.Writer(chance).expression()}
        for name in ("when", "unless"):
            if chance.random() < 0.3:
                plain[name] = expressions.Writer(chance).expression()
        if chance.random() < 0.2:
            plain["let"] = {"n": expressions.Writer(chance).expression()}
        given = expressions.values(chance)
        kept = {key: given[key] for key in given if chance.random() < 0.3}
        text = json.dumps(kept).encode()
        try:
            check = ConfigCheck(plain)
        except CheckProblem:
            continue
        breaks = any(isinstance(one, Broken) for one in check.judge(read_document("a.json", text), world=[8]))
        spelled = not check.words or any(spells(text, word.encode()) for word in check.words)
        assert spelled or not breaks, (plain, kept, check.words)
        tried += not spelled
        broken += breaks
    assert min(tried, broken) > 100, (tried, broken)
