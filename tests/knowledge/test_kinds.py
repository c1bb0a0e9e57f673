"""The short forms of config checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from shardlint.knowledge.config_check import Broken, ConfigCheck
from shardlint.knowledge.kinds import KINDS, MAX_KEYS
from shardlint.knowledge.problem import CheckProblem
from shardlint.not_judged import NotJudged

EXCLUSIVE: dict[str, object] = {"kind": "exclusive", "keys": ["fp16", "bf16", "fp8.*"]}
REQUIRES: dict[str, object] = {"kind": "requires", "keys": ["a.pad"], "needs": ["a.dyn", "a.len"]}
DIVIDES: dict[str, object] = {"kind": "divides", "value": "m.heads", "by": "t.tp * 2"}
PRODUCT: dict[str, object] = {"kind": "product", "value": "t.dp", "factors": ["t.a", "t.b", 2]}
ONE_OF: dict[str, object] = {"kind": "one-of", "keys": ["o.*_style"], "values": ["linear", 1, True]}
NO_EFFECT: dict[str, object] = {"kind": "no-effect", "keys": ["o.muon_*"], "unless": "o.type == 'muon'"}
RENAMED: dict[str, object] = {"kind": "renamed", "from": "a.offload", "to": "a.offload_config", "since": "0.1.10"}
REMOVED: dict[str, object] = {"kind": "removed", "keys": ["a.old", "a.x_*"], "since": "2.0", "package": "trl"}
ENV: dict[str, object] = {"kind": "env", "name": "MAX_CONNECTIONS", "values": [1], "when": "t.tp > 1"}
SET: dict[str, object] = {"kind": "env", "name": "TOKEN", "when": "t.push"}
VERSION: dict[str, object] = {"kind": "version", "package": "torch", "needs": ">=2.6,<3", "when": "t.compile"}


def broken(plain: Mapping[str, object], values: dict[str, Any]) -> list[tuple[str, str]]:
    """The key and message of each finding."""
    found = ConfigCheck(plain).judge_plain(values)
    return [(one.key, one.message) for one in found if isinstance(one, Broken)]


@pytest.mark.parametrize(
    ("plain", "values", "keys"),
    [
        (EXCLUSIVE, {"fp16": True, "bf16": True}, ["bf16"]),
        (EXCLUSIVE, {"fp16": True, "bf16": True, "fp8": {"enable": True}}, ["bf16", "fp16", "bf16"]),
        (EXCLUSIVE, {"fp16": True, "bf16": False, "fp8": {"enable": False}}, []),
        (EXCLUSIVE, {"fp16": True, "bf16": None}, []),
        (EXCLUSIVE, {"fp16": True, "bf16": "${x}"}, []),
        (EXCLUSIVE, {"fp16": True}, []),
        (EXCLUSIVE, {}, []),
        (EXCLUSIVE, {"fp16": True, "fp8": "${x}"}, []),
        (REQUIRES, {"a": {"pad": True}}, ["a.pad", "a.pad"]),
        (REQUIRES, {"a": {"pad": True, "dyn": True, "len": 0}}, ["a.pad"]),
        (REQUIRES, {"a": {"pad": True, "dyn": True, "len": 8}}, []),
        (REQUIRES, {"a": {"pad": True, "dyn": "${x}", "len": 8}}, []),
        (REQUIRES, {"a": {"pad": False}}, []),
        (REQUIRES, {"a": {"pad": None}}, []),
        (REQUIRES, {"a": {"pad": "${x}"}}, []),
        (REQUIRES, {"a": {}}, []),
        (DIVIDES, {"m": {"heads": 30}, "t": {"tp": 2}}, ["m.heads"]),
        (DIVIDES, {"m": {"heads": 32}, "t": {"tp": 2}}, []),
        (DIVIDES, {"m": {"heads": 32}, "t": {"tp": 0}}, []),
        (DIVIDES, {"m": {"heads": 32}, "t": {"tp": "two"}}, []),
        (DIVIDES, {"m": {"heads": 32}}, []),
        (PRODUCT, {"t": {"dp": 8, "a": 2, "b": 3}}, ["t.dp"]),
        (PRODUCT, {"t": {"dp": 12, "a": 2, "b": 3}}, []),
        (PRODUCT, {"t": {"dp": 12, "a": 2}}, []),
        (ONE_OF, {"o": {"lr_style": "cosin", "wd_style": 2}}, ["o.lr_style", "o.wd_style"]),
        (ONE_OF, {"o": {"lr_style": "linear", "wd_style": None, "x_style": "${y}"}}, []),
        (NO_EFFECT, {"o": {"type": "adamw", "muon_lr": 1, "muon_eps": 0}}, ["o.muon_lr", "o.muon_eps"]),
        (NO_EFFECT, {"o": {"type": "adamw", "muon_lr": None, "lr": 1}}, []),
        (NO_EFFECT, {"o": {"type": "muon", "muon_lr": 1}}, []),
        (NO_EFFECT, {"o": {"muon_lr": 1}}, []),
        (RENAMED, {"a": {"offload": {"x": 1}}}, ["a.offload"]),
        (RENAMED, {"a": {"offload": None}}, ["a.offload"]),
        (RENAMED, {"a": {"offload": "${x}"}}, ["a.offload"]),
        (RENAMED, {"a": {"offload_config": 1}}, []),
        (REMOVED, {"a": {"old": 1, "x_y": 2}, "versions": {"trl": "2.1"}}, ["a.old", "a.x_y"]),
        (REMOVED, {"a": {"old": 1}, "versions": {"trl": "1.9"}}, []),
        (REMOVED, {"a": {"old": 1}}, []),
        (ENV, {"t": {"tp": 2}, "env": {"MAX_CONNECTIONS": "8"}}, ["t.tp"]),
        (ENV, {"t": {"tp": 2}, "env": {"MAX_CONNECTIONS": None}}, ["t.tp"]),
        (ENV, {"t": {"tp": 2}, "env": {"MAX_CONNECTIONS": 1}}, []),
        (ENV, {"t": {"tp": 1}, "env": {"MAX_CONNECTIONS": "8"}}, []),
        (ENV, {"t": {"tp": 2}}, []),
        (SET, {"t": {"push": True}, "env": {"TOKEN": None}}, ["t.push"]),
        (SET, {"t": {"push": True}, "env": {"TOKEN": "x"}}, []),
        (VERSION, {"t": {"compile": True}, "versions": {"torch": "2.5.1"}}, ["t.compile"]),
        (VERSION, {"t": {"compile": True}, "versions": {"torch": "3.0"}}, ["t.compile"]),
        (VERSION, {"t": {"compile": True}, "versions": {"torch": "2.6"}}, []),
        (VERSION, {"t": {"compile": False}, "versions": {"torch": "2.5"}}, []),
        (VERSION, {"t": {"compile": True}}, []),
        ({**VERSION, "needs": "~=2.6"}, {"t": {"compile": True}, "versions": {"torch": "2.9"}}, []),
        ({**VERSION, "needs": "~=2.6.1"}, {"t": {"compile": True}, "versions": {"torch": "2.7"}}, ["t.compile"]),
        ({**VERSION, "needs": "!=2.6"}, {"t": {"compile": True}, "versions": {"torch": "2.6.0"}}, ["t.compile"]),
    ],
)
def test_what_each_kind_finds(plain: dict[str, object], values: dict[str, Any], keys: list[str]) -> None:
    assert [key for key, _ in broken(plain, values)] == keys


@pytest.mark.parametrize(
    ("plain", "values", "message"),
    [
        (EXCLUSIVE, {"fp16": True, "bf16": 1}, "`fp16` and `bf16` exclude each other, and both are set"),
        (REQUIRES, {"a": {"pad": 1, "len": 1}}, "`a.pad` is set, and `a.dyn`, which it needs, is not"),
        (DIVIDES, {"m": {"heads": 30}, "t": {"tp": 2}}, "`m.heads` = 30 is no multiple of `t.tp * 2` = 4"),
        (
            PRODUCT,
            {"t": {"dp": 8, "a": 2, "b": 3}},
            "`t.dp` = 8 is not the product of `t.a` = 2, `t.b` = 3, 2, which is 12",
        ),
        (ONE_OF, {"o": {"lr_style": "cosin"}}, "`o.lr_style` is cosin, which is none of linear, 1, True"),
        (
            NO_EFFECT,
            {"o": {"type": "a", "muon_lr": 1}},
            "`o.muon_lr` has no effect here: `o.type == 'muon'` does not hold",
        ),
        (RENAMED, {"a": {"offload": 1}}, "`a.offload` was renamed `a.offload_config` in 0.1.10"),
        (REMOVED, {"a": {"old": 1}, "versions": {"trl": "2"}}, "`a.old` was removed in trl 2.0"),
        (
            ENV,
            {"t": {"tp": 2}, "env": {"MAX_CONNECTIONS": None}},
            "the job needs `MAX_CONNECTIONS=1` in its environment, and it is null",
        ),
        (SET, {"t": {"push": 1}, "env": {"TOKEN": None}}, "the job needs the environment variable `TOKEN`"),
        (
            VERSION,
            {"t": {"compile": 1}, "versions": {"torch": "2.5.1"}},
            "this needs `torch` >=2.6,<3, and the project has 2.5.1",
        ),
    ],
)
def test_what_each_kind_says(plain: dict[str, object], values: dict[str, Any], message: str) -> None:
    assert broken(plain, values)[0][1] == message
    own = next(iter(ConfigCheck(plain, message="mine", help="too").judge_plain(values)))
    assert isinstance(own, Broken)
    assert (own.message, own.help) == ("mine", "too")


def test_every_kind_is_tried() -> None:
    tried = (EXCLUSIVE, REQUIRES, DIVIDES, PRODUCT, ONE_OF, NO_EFFECT, RENAMED, REMOVED, ENV, VERSION)
    assert {plain["kind"] for plain in tried} == KINDS.keys()


@pytest.mark.parametrize(
    "plain", [EXCLUSIVE, DIVIDES, PRODUCT, ONE_OF, RENAMED, REQUIRES], ids=lambda plain: plain["kind"]
)
def test_every_kind_takes_conditions_of_its_own(plain: dict[str, object]) -> None:
    values: dict[str, Any] = {
        "fp16": True,
        "bf16": True,
        "a": {"pad": True, "len": 1, "offload": 1},
        "m": {"heads": 30},
        "t": {"tp": 2, "dp": 8, "a": 2, "b": 3},
        "o": {"lr_style": "cosin"},
    }
    assert broken(plain, values)
    assert broken({**plain, "when": "t.tp == 3"}, values) == []
    assert broken({**plain, "unless": "double == 4", "let": {"double": "t.tp * 2"}}, values) == []
    assert broken({**plain, "at": "m.heads"}, values)[0][0] == "m.heads"


def test_no_effect_says_all_its_reasons() -> None:
    plain = {"kind": "no-effect", "keys": ["a"], "when": ["b == 1", "c == 1"], "unless": ["d == 1", "e == 1"]}
    assert broken(plain, {"a": 1, "b": 1, "c": 1, "d": 2, "e": 2}) == [
        ("a", "`a` has no effect here: `b == 1 and c == 1` holds and `d == 1 or e == 1` does not hold")
    ]


def test_a_key_in_two_patterns_is_reported_once() -> None:
    assert [key for key, _ in broken({"kind": "removed", "keys": ["a.x", "a.*"]}, {"a": {"x": 1}})] == ["a.x"]


def test_what_is_unknown_is_counted() -> None:
    def reasons(plain: dict[str, object], values: dict[str, Any]) -> list[str]:
        return [one.reason for one in ConfigCheck(plain).judge_plain(values) if isinstance(one, NotJudged)]

    assert reasons(EXCLUSIVE, {"fp16": True, "bf16": "${x}"}) == ["`bf16` is a value that only a run can tell"]
    assert reasons(EXCLUSIVE, {"fp16": True, "fp8": "${x}"}) == ["`fp8` is a value that only a run can tell"]
    assert reasons(DIVIDES, {"m": {"heads": 3}}) == ["`t.tp` is not given, and its default is not known"]
    assert reasons(REMOVED, {"a": {"old": 1}}) == ["the version of `trl` is not known"]
    assert reasons(NO_EFFECT, {"o": {"muon_lr": 1}}) == ["`o.type` is not given, and its default is not known"]


@pytest.mark.parametrize(
    ("plain", "where", "message"),
    [
        ({"kind": "exclusiv"}, ("kind",), "there are exclusive, requires"),
        ({"kind": 3}, ("kind",), "is no kind"),
        ({"kind": ["exclusive"]}, ("kind",), "is no kind"),
        ({"kind": "exclusive"}, (), "`exclusive` needs `keys`"),
        ({"kind": "exclusive", "keys": ["a"]}, ("keys",), "a list of 2 to"),
        ({"kind": "exclusive", "keys": ["a"] * (MAX_KEYS + 1)}, ("keys",), "a list of 2 to"),
        ({"kind": "exclusive", "keys": ["a", 3]}, ("keys", 1), "a key path is a text"),
        ({"kind": "exclusive", "keys": ["a", "b"], "by": "c"}, ("by",), "`by` is nothing that `exclusive` takes"),
        ({"kind": "requires", "keys": ["a"]}, (), "`requires` needs `needs`"),
        ({"kind": "divides", "value": "a"}, (), "`divides` needs `by`"),
        ({"kind": "divides", "value": "a) or (b", "by": "c"}, ("value",), "is no expression"),
        ({"kind": "divides", "value": "a", "by": "b # c"}, None, ""),
        ({"kind": "divides", "value": "foo(a)", "by": "b"}, ("value",), "`foo` is no function"),
        ({"kind": "product", "value": "a", "factors": ["b"]}, ("factors",), "a list of 2 to"),
        ({"kind": "product", "value": "a", "factors": ["b", "("]}, ("factors", 1), "is no expression"),
        ({"kind": "one-of", "keys": ["a"], "values": [[1]]}, ("values", 0), "a value is a text"),
        ({"kind": "one-of", "keys": ["a"], "values": [float("inf")]}, ("values", 0), "a value is a text"),
        ({"kind": "one-of", "keys": ["a"], "values": []}, ("values",), "a list of 1 to"),
        ({"kind": "no-effect", "keys": ["a"]}, ("kind",), "needs `when` or `unless`"),
        ({"kind": "renamed", "from": "a"}, (), "`renamed` needs `to`"),
        ({"kind": "renamed", "from": "a.*", "to": "b"}, ("from",), "is one key"),
        ({"kind": "renamed", "from": "a", "to": "a"}, ("from",), "is another"),
        ({"kind": "renamed", "from": "a", "to": "b.*"}, ("to",), "many keys"),
        ({"kind": "renamed", "from": "a", "to": "b", "since": 1.0}, ("since",), "in quotes"),
        ({"kind": "renamed", "from": "a", "to": "b", "package": "x"}, ("package",), "needs `since`"),
        ({"kind": "removed", "keys": ["a"], "package": "x", "since": "soon"}, ("since",), "is a version"),
        ({"kind": "removed", "keys": ["a"], "package": "a'b", "since": "1"}, ("package",), "name of a package"),
        ({"kind": "env", "name": "A"}, ("kind",), "`env` needs `when`"),
        ({"kind": "env", "name": "A B", "when": "a"}, ("name",), "name of an environment variable"),
        ({"kind": "version", "package": "torch", "needs": ">=2"}, ("kind",), "`version` needs `when`"),
        ({"kind": "version", "package": "torch", "needs": "new", "when": "a"}, ("needs",), "is no bound"),
        ({"kind": "version", "package": "torch", "needs": "~=2", "when": "a"}, ("needs",), "needs two numbers"),
        ({"kind": "version", "package": "torch", "needs": 2.6, "when": "a"}, ("needs",), "in quotes"),
    ],
)
def test_a_short_form_says_what_it_lacks(
    plain: dict[str, object], where: tuple[str | int, ...] | None, message: str
) -> None:
    if where is None:
        ConfigCheck(plain)
        return
    with pytest.raises(CheckProblem, match=message) as caught:
        ConfigCheck(plain)
    assert caught.value.where == where


def test_braces_and_quotes_in_keys_and_values_are_no_template_and_no_code() -> None:
    plain = {"kind": "one-of", "keys": ['a."{x}"'], "values": ["{y}", "it's", 'say "}"']}
    assert broken(plain, {"a": {"{x}": "z"}}) == [("a.{x}", '`a.{x}` is z, which is none of {y}, it\'s, say "}"')]
    assert broken(plain, {"a": {"{x}": "it's"}}) == []
    excluded = {"kind": "exclusive", "keys": ["'{a}'", "b"]}
    assert broken(excluded, {"{a}": 1, "b": 1})[0][1] == "`'{a}'` and `b` exclude each other, and both are set"
