"""Config checks: what they ask, what they say, and the constraints of a real framework."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from shardlint.configs.document import read_document
from shardlint.environment import Environment, Version
from shardlint.finding import Span
from shardlint.knowledge.config_check import Broken, ConfigCheck
from shardlint.knowledge.problem import CheckProblem
from shardlint.not_judged import NotJudged
from shardlint.prefilter import spells

BATCH: dict[str, object] = {
    "files": ["configs/**/*.yaml"],
    "when": "exists(train.global_batch_size)",
    "let": {"dp": "world_size // train.accelerator.ulysses_size"},
    "require": "train.global_batch_size % (train.micro_batch_size * dp) == 0",
    "at": "train.global_batch_size",
}
CONFIG = """\
model:
  heads: 30
train:
  global_batch_size: 12
  micro_batch_size: 2
  accelerator: {ulysses_size: 1, tp_size: 4}
  dtype: ${env.dtype}
"""

FRAMEWORK = yaml.safe_load((Path(__file__).parent / "veomni_constraints.yaml").read_text(encoding="utf-8"))


def judged(plain: Mapping[str, object], text: str = CONFIG, *, path: str = "a.yaml", **facts: Any) -> list[Any]:
    texts = {name: facts.pop(name) for name in ("message", "help", "title") if name in facts}
    return list(ConfigCheck(plain, **texts).judge(read_document(path, text.encode()), **facts))


def test_a_broken_constraint_says_where_and_with_which_values() -> None:
    (found,) = judged(
        {"require": "model.heads % train.accelerator.tp_size == 0"},
        message="{model.heads} heads on {train.accelerator.tp_size} ranks",
        help="use {train.accelerator.tp_size * 8} heads",
    )
    assert isinstance(found, Broken)
    assert found.span == Span(2, 3, 2, 8)
    assert (found.key, found.message, found.help) == ("model.heads", "30 heads on 4 ranks", "use 32 heads")
    assert found.reads == (("model.heads", "30"), ("train.accelerator.tp_size", "4"))
    assert found.sizes == ()


def test_without_a_message_the_title_and_the_values_are_said() -> None:
    plain = {"require": "model.heads % 4 == 0"}
    assert judged(plain)[0].message == "`model.heads % 4 == 0` does not hold: model.heads is 30"
    assert judged(plain, title="heads divide")[0].message == "heads divide: model.heads is 30"


@pytest.mark.parametrize(
    ("plain", "key", "span"),
    [
        ({"require": "false", "at": "train.accelerator.tp_size"}, "train.accelerator.tp_size", Span(6, 34, 6, 41)),
        ({"require": "false", "at": "train.absent"}, "train.absent", Span(3, 1, 3, 6)),
        ({"require": "false", "at": "absent"}, "absent", Span(1, 1, 1, 6)),
        ({"require": "exists(train.seed) or train.micro_batch_size > 2"}, "train.micro_batch_size", Span(5, 3, 5, 19)),
        ({"require": "exists(train.seed)"}, "train.seed", Span(3, 1, 3, 6)),
        ({"when": "model.heads == 30", "require": False}, "model.heads", Span(2, 3, 2, 8)),
        ({"require": False}, "", Span(1, 1, 1, 6)),
    ],
)
def test_the_place_is_the_key_named_the_one_that_decided_or_the_nearest(
    plain: dict[str, object], key: str, span: Span
) -> None:
    (found,) = judged(plain)
    assert (found.key, found.span) == (key, span)


def test_several_whens_must_all_hold_and_any_unless_lifts_it() -> None:
    assert judged({"when": ["model.heads == 30", "train.micro_batch_size == 2"], "require": False})
    assert not judged({"when": ["model.heads == 30", "train.micro_batch_size == 3"], "require": False})
    assert not judged({"unless": ["model.heads == 31", "train.micro_batch_size == 2"], "require": False})
    assert judged({"unless": ["model.heads == 31"], "require": False})


@pytest.mark.parametrize(
    ("plain", "key", "line", "reason"),
    [
        (
            {"require": "train.dtype == 'a'"},
            "train.dtype",
            7,
            "`train.dtype` is `${env.dtype}`, which only a run can tell",
        ),
        (
            {"require": "model.heads % train.accelerator.ep_size == 0"},
            "model.heads",
            2,
            "`train.accelerator.ep_size` is not in the file, and its default is not known",
        ),
        ({"require": "model.heads > world_size"}, "model.heads", 2, "the world size is not known"),
        (
            {"require": "model.heads / 0 == 1"},
            "model.heads",
            2,
            "`model.heads / 0 == 1` cannot be computed: it divides by zero",
        ),
        (
            {"when": "train.seed > 1", "require": "model.heads == 1"},
            "model.heads",
            2,
            "`train.seed` is not in the file",
        ),
        (
            {"when": "model.heads", "require": "version('torch') > '2'"},
            "model.heads",
            2,
            "the version of `torch` is not known",
        ),
        (
            {"when": "model.heads", "require": "env('X') == '1'"},
            "model.heads",
            2,
            "the environment variable `X` is not known",
        ),
    ],
)
def test_what_cannot_be_told_is_counted_with_its_reason(
    plain: dict[str, object], key: str, line: int, reason: str
) -> None:
    (found,) = judged(plain)
    assert isinstance(found, NotJudged)
    assert (found.function, found.line) == (key, line)
    assert found.reason.startswith(reason)


def test_a_file_that_has_none_of_the_keys_is_not_counted() -> None:
    assert judged({"require": "optim.lr < 1 and optim.eps > 0"}) == []


@pytest.mark.parametrize(
    ("sizes", "answer"),
    [
        ((), "the world size is not known"),
        ((8,), "12 against 16 (world size 8)"),
        ((8, 16), "12 against 16 or 32 (with each of the world sizes 8, 16)"),
        ((3, 8), None),
        ((3,), None),
    ],
)
def test_a_world_size_breaks_a_constraint_only_if_none_makes_it_hold(
    sizes: tuple[int, ...], answer: str | None
) -> None:
    found = judged(
        BATCH,
        world=sizes,
        message="{train.global_batch_size} against {train.micro_batch_size * dp}",
        help="or a world size of {feasible.world_size}",
    )
    said = [one.message if isinstance(one, Broken) else one.reason for one in found]
    assert said == ([] if answer is None else [answer])
    if isinstance(found and found[0], Broken):
        assert found[0].help == "or a world size of 1, 2"
        assert found[0].sizes == sizes


def test_without_a_help_the_feasible_world_sizes_are_told() -> None:
    (found,) = judged(BATCH, world=[8])
    assert found.help == "it would hold with a world size of 1, 2"


def test_what_fails_whatever_the_world_size_says_nothing_of_it() -> None:
    (found,) = judged({"require": "model.heads % 8 == 0 and model.heads % world_size == 0"}, world=[7])
    assert (found.sizes, found.help) == ((), "")


def test_versions_come_from_the_project() -> None:
    plain = {"when": "model.heads > 1", "require": "version('torch') >= '2.6'"}
    locked = Environment({"torch": Version("torch", "2.5.1", "locked", "uv.lock")})
    bound = Environment({"torch": Version("torch", "2.5", "pinned", "pyproject.toml", ">=")})
    (found,) = judged(plain, environment=locked, message="torch is {version('torch')}")
    assert (found.message, found.key) == ("torch is 2.5.1", "model.heads")
    (unsure,) = judged(plain, environment=bound)
    assert unsure.reason == "the version of `torch` is only known as >=2.5"
    check = ConfigCheck(plain)
    assert (check.uses, check.packages) == (frozenset(("version",)), ("torch",))


def test_environment_variables_are_unknown_unless_given() -> None:
    plain = {"when": "model.heads > 1", "require": "env('X') == '1'"}
    assert [type(one) for one in judged(plain)] == [NotJudged]
    assert [type(one) for one in judged(plain, environ={"Y": "1"})] == [NotJudged]
    assert [type(one) for one in judged(plain, environ={"X": None})] == [Broken]
    assert judged(plain, environ={"X": "1"}) == []


def test_defaults_of_a_contract_fill_what_a_file_leaves_out() -> None:
    plain = {"require": "model.heads % train.accelerator.ep_size == 0"}
    assert judged(plain, defaults={"train.accelerator.ep_size": 3}) == []
    (found,) = judged(plain, defaults={"train.accelerator.ep_size": 4})
    assert found.reads == (("model.heads", "30"), ("train.accelerator.ep_size", "4"))
    exists = {"require": "exists(train.accelerator.ep_size)"}
    assert len(judged(exists, defaults={"train.accelerator.ep_size": 4})) == 1, "a default is not written"


def test_each_document_of_a_stream_is_judged() -> None:
    found = judged({"require": "a == 1"}, "a: 1\n---\na: 2\n---\na: 3\n")
    assert [one.span.line for one in found] == [3, 5]


@pytest.mark.parametrize(("path", "text"), [("a.json", '{"a": 2}'), ("a.toml", "a = 2\n"), ("a.yaml", "a: 2\n")])
def test_all_kinds_of_documents_are_judged_unless_the_patterns_say_otherwise(path: str, text: str) -> None:
    assert len(judged({"require": "a == 1"}, text, path=path)) == 1
    only = {"require": "a == 1", "files": "conf/*.yml"}
    assert len(judged(only, text, path=path)) == int(path == "a.yaml")


@pytest.mark.parametrize(
    ("files", "kinds"),
    [
        ([], ("yaml", "json", "toml")),
        (["configs/*.yaml", "x.yml"], ("yaml",)),
        (["a.toml", "b.json"], ("json", "toml")),
        (["configs/**"], ("yaml", "json", "toml")),
        ("a.json", ("json",)),
    ],
)
def test_the_kinds_follow_from_the_patterns(files: str | list[str], kinds: tuple[str, ...]) -> None:
    check = ConfigCheck({"require": "a == 1", "files": files})
    assert check.kinds == kinds
    assert check.files == (tuple(files) if isinstance(files, list) else (files,))


@pytest.mark.parametrize(
    ("plain", "where", "message"),
    [
        ({}, (), "add `require` or `kind`"),
        ({"require": None}, ("require",), "add `require` or `kind`"),
        ({"require": "a +"}, ("require",), "is no expression"),
        ({"require": "a", "wen": "b"}, ("wen",), "did you mean `when`"),
        ({"require": "a", "zzzzzz": "b"}, ("zzzzzz",), "there are files, kind, let"),
        ({"require": "a", "when": "("}, ("when",), "is no expression"),
        ({"require": "a", "when": ["a", "("]}, ("when", 1), "is no expression"),
        ({"require": "a", "unless": {"a": 1}}, ("unless",), "an expression is a text"),
        ({"require": "a", "let": {"x": "("}}, ("let", "x"), "is no expression"),
        ({"require": "a", "at": "a.*"}, ("at",), "many keys"),
        ({"require": "a", "at": ["a"]}, ("at",), "a key path is a text"),
        ({"require": "a", "files": [3]}, ("files", 0), "patterns of paths"),
        ({"require": "a", "files": ["x"] * 51}, ("files",), "at most 50"),
        ({"require": "a", "kind": None, "keys": ["a"]}, ("keys",), "is nothing that"),
    ],
)
def test_a_check_that_cannot_be_taken_is_refused(
    plain: dict[str, object], where: tuple[str | int, ...], message: str
) -> None:
    with pytest.raises(CheckProblem, match=message) as caught:
        ConfigCheck(plain)
    assert caught.value.where == where


@pytest.mark.parametrize("name", ["message", "help"])
def test_a_template_that_cannot_be_taken_is_refused(name: str) -> None:
    with pytest.raises(CheckProblem, match="not closed") as caught:
        ConfigCheck({"require": "a"}, **{name: "{a"})
    assert caught.value.where == (name,)


def test_a_document_of_any_shape_is_judged() -> None:
    for text in ("", "3\n", "[1, 2]\n", "a\n", "a: {b: [1, {c: 2}]}\n", "null\n", "? a\n: 1\n"):
        assert len(judged({"require": "exists(a.b[1].c)"}, text)) == int(text not in ("", "a: {b: [1, {c: 2}]}\n"))


@pytest.mark.parametrize("given", FRAMEWORK["constraints"], ids=lambda given: given["id"])
def test_the_constraints_of_a_framework_tell_bad_from_good(given: dict[str, Any]) -> None:
    check = ConfigCheck(given["config"])
    (bad,), good = check.judge_plain(given["bad"]), list(check.judge_plain(given["good"]))
    assert isinstance(bad, Broken)
    assert bad.message
    assert not any(isinstance(one, Broken) for one in good)
    world: Any = given["bad"].pop("world_size", [])
    sizes = [int(size) for size in ([world] if isinstance(world, int) else world)]
    text = json.dumps(given["bad"])
    (found,) = check.judge(read_document("a.yaml", text.encode()), world=sizes)
    assert isinstance(found, Broken)
    assert (found.message, found.key, found.reads) == (bad.message, bad.key, bad.reads)
    assert not check.words or any(spells(text.encode(), word.encode()) for word in check.words)


def test_every_constraint_of_the_framework_is_expressed_or_says_why_not() -> None:
    expressed = {given["id"] for given in FRAMEWORK["constraints"]}
    assert len(expressed) == 35
    assert expressed.isdisjoint(FRAMEWORK["not_expressible"])
    assert expressed | FRAMEWORK["not_expressible"].keys() == {f"V{number}" for number in range(1, 41)}


def test_a_plain_mapping_may_hold_what_is_known_besides_the_file() -> None:
    versions = ConfigCheck({"when": "a", "require": "version('torch') >= '2.6'"})
    assert len(list(versions.judge_plain({"a": 1, "versions": {"torch": "2.5"}}))) == 1
    assert list(versions.judge_plain({"a": 1, "versions": {"torch": "2.7.1"}})) == []
    variables = ConfigCheck({"when": "a", "require": "env('X') == '1'"})
    assert [type(one) for one in variables.judge_plain({"a": 1, "env": {"X": None}})] == [Broken]
    assert list(variables.judge_plain({"a": 1, "env": {"X": 1}})) == []
    named = ConfigCheck({"require": "env == 1 and versions == 2"})
    assert list(named.judge_plain({"env": 1, "versions": 2})) == [], (
        "a check that asks for neither has keys of that name"
    )
