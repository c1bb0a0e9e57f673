"""The expression language: Python's answers on known values, three-valued logic on the rest, and nothing else."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from shardlint.knowledge.compiler import Scope
from shardlint.knowledge.expression import MAX_LETS, Condition, Expression, define
from shardlint.knowledge.key_source import PlainSource
from shardlint.knowledge.language import MAX_DEPTH, MAX_NODES, MAX_SOURCE
from shardlint.knowledge.problem import CheckProblem
from shardlint.knowledge.trial import Trial
from shardlint.knowledge.unknown import ABSENT, UNKNOWN, Truth

sys.path.append(str(Path(__file__).parents[2]))

from fuzzing import expressions

CONFIG: dict[str, object] = {
    "train": {"lr": 0.1, "steps": 12, "name": "muon", "none": None, "flag": True, "open": "${x}", "zero": 0},
    "layers": [{"dim": 64}, {"dim": 32}],
    "names": ["a", "b"],
    "mixed": [1, "${x}", 3],
    "a-b": {"c.d": 5, "_target_": "x", "lambda": 2},
}


def trial(values: Mapping[str, object] = CONFIG, *, world: int | None = None) -> Trial:
    return Trial(PlainSource(values), world=world)


def value(source: str, values: Mapping[str, object] = CONFIG) -> object:
    return Expression(source, ("require",), Scope()).of(trial(values))


def truth(source: str, values: Mapping[str, object] = CONFIG) -> Truth:
    return Condition(source, ("require",), Scope()).of(trial(values))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("train.steps + 1", 13),
        ("train.steps % 8 == 4", True),
        ("train.steps // 5 * 5", 10),
        ("train.steps / 8", 1.5),
        ("-train.steps", -12),
        ("1 < train.steps <= 12", True),
        ("1 < train.steps < 12 < 13", False),
        ("train.name in ['muon', 'adamw']", True),
        ("'uo' in train.name", True),
        ("'lr' in train", True),
        ("train.name not in ('a', 'b')", True),
        ("train.none is null", True),
        ("train.none is not None", False),
        ("train.none == null", True),
        ("train.flag is true", True),
        ("train.flag == 1", True),
        ("layers[0].dim", 64),
        ("layers[1]['dim']", 32),
        ("key('layers[1].dim')", 32),
        ("key('a-b.\"c.d\"')", 5),
        ("key('a-b._target_')", "x"),
        ("key('a-b.lambda')", 2),
        ("names[-1]", "b"),
        ("[x for x in names if x != 'a']", ["b"]),
        ("sum(x.dim for x in layers)", 96),
        ("all(x.dim % 32 == 0 for x in layers)", True),
        ("any(x == 'c' for x in names)", False),
        ("len(layers)", 2),
        ("min(3, 1, 2)", 1),
        ("max(names)", "b"),
        ("abs(-3)", 3),
        ("product([2, 3, 4])", 24),
        ("product(2, 3)", 6),
        ("divides(4, train.steps)", True),
        ("divides(train.steps, 4)", False),
        ("startswith(train.name, 'mu')", True),
        ("matches(train.name, '^mu')", True),
        ("matches(train.name, 'n$')", True),
        ("matches(train.name, '^x')", False),
        ("exists(train.lr)", True),
        ("exists(train.none)", True),
        ("exists(train.absent)", False),
        ("exists('a-b.\"c.d\"')", True),
        ("exists(layers[5])", False),
        ("default(train.absent, 7)", 7),
        ("default(train.none, 7)", None),
        ("default(train.lr, 7)", 0.1),
        ("values('layers[*].dim')", [64, 32]),
        ("values('train.n*')", ["muon", None]),
        ("'a' if train.flag else 'b'", "a"),
        ("train.zero or 5", 5),
        ("train.steps and 5", 5),
        ("'a' + 'b'", "ab"),
        ("[1] + [2]", [1, 2]),
        ("not train.zero", True),
        ("  train.steps\n   + 1 ", 13),
    ],
)
def test_known_values_give_what_python_gives(source: str, expected: object) -> None:
    answer = value(source)
    assert answer == expected
    assert type(answer) is type(expected)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("train.steps % train.zero", "divides by zero"),
        ("train.steps // 0", "divides by zero"),
        ("1 / 0.0", "divides by zero"),
        ("train.steps % train.name", "an integer % a text"),
        ("train.name * 3 if true else 1", "a text \\* an integer"),
        ("train.name % 3 == 0", "a text % an integer"),
        ("train.steps < train.name", "an integer < a text has no answer"),
        ("train.none > 1", "null > an integer has no answer"),
        ("names < names", "has no answer"),
        ("1 in train.name", "cannot look for"),
        ("1 in 2", "cannot look for"),
        ("names in train", "is no key of a mapping"),
        ("-train.name", "is for numbers"),
        ("+names", "is for numbers"),
        ("len(3)", "takes a list"),
        ("abs('a')", "takes a number"),
        ("sum(names)", "takes numbers"),
        ("min([])", "empty list"),
        ("max(1, 'a')", "numbers alone or texts alone"),
        ("min(3)", "takes a list"),
        ("any('ab')", "takes a list"),
        ("startswith(3, 'a')", "takes two texts"),
        ("matches(train.steps, 'a')", "takes a text"),
        ("[x for x in train.steps]", "runs over a list"),
        ("layers[0].dim.x + [2][4]", "has no `4`"),
        ("[2][4]", "has no `4`"),
        ("2 ** 1 if false else 2", None),
        (f"{2**127} * 4", "128 bits"),
        ("1e308 * 10 // 1 == 2 ** 2", None),
    ],
)
def test_where_python_raises_the_answer_is_unknown_and_says_why(source: str, reason: str | None) -> None:
    if reason is None:
        with pytest.raises(CheckProblem, match="is not allowed"):
            value(source)
        return
    run = trial()
    assert Expression(source, (), Scope()).of(run) is UNKNOWN
    if "layers[0].dim.x" not in source:
        import re

        assert re.search(reason, run.problem), run.problem
        assert "cannot be computed" in run.problem


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("nowhere", UNKNOWN),
        ("train.open == 1", UNKNOWN),
        ("train.open.below == 1", UNKNOWN),
        ("exists(train.open)", True),
        ("exists(train.open.below)", UNKNOWN),
        ("default(train.open, 1) == 1", UNKNOWN),
        ("nowhere and false", False),
        ("false and nowhere", False),
        ("nowhere and true", UNKNOWN),
        ("nowhere or true", True),
        ("true or nowhere", True),
        ("nowhere or false", UNKNOWN),
        ("not nowhere", UNKNOWN),
        ("not (nowhere and false)", True),
        ("nowhere if true else 1", UNKNOWN),
        ("1 if nowhere else 1", True),
        ("1 if nowhere else 0", UNKNOWN),
        ("1 > 2 > nowhere", False),
        ("nowhere < 1 < 0", False),
        ("nowhere < 1 < 2", UNKNOWN),
        ("1 in [nowhere, 1]", True),
        ("2 in [nowhere, 1]", UNKNOWN),
        ("len([nowhere, 1]) == 2", True),
        ("[nowhere, 1] == [1, 2]", False),
        ("[nowhere, 1] == [1, 1]", UNKNOWN),
        ("[nowhere] == [1, 2]", False),
        ("1 in mixed", True),
        ("2 in mixed", UNKNOWN),
        ("len(mixed) == 3", True),
        ("sum(mixed) > 1", UNKNOWN),
        ("any(x == 1 for x in mixed)", True),
        ("any(x == 2 for x in mixed)", UNKNOWN),
        ("all(x == 1 for x in mixed)", False),
        ("all(x > 0 for x in mixed)", UNKNOWN),
        ("any(x == 3 for x in mixed if x > 1)", True),
        ("any(x == 2 for x in mixed if x > 5)", UNKNOWN),
        ("all(x < 9 for x in mixed if x != 1)", UNKNOWN),
        ("any([nowhere, 1])", True),
        ("all([nowhere, 0])", False),
        ("any(nowhere)", UNKNOWN),
        ("[x for x in mixed if x > 1] == []", UNKNOWN),
        ("values('train.open.*') == []", UNKNOWN),
        ("len(values('*.open.*')) == 0", UNKNOWN),
        ("any(values('train.open.*'))", UNKNOWN),
        ("any(values('train.*'))", True),
        ("any(values('train.[*].x'))", False),
        ("any(values('mixed[*].x'))", UNKNOWN),
        ("all(values('*.zero'))", False),
        ("all(values('*.*.x'))", UNKNOWN),
        ("any(true for x in values('train.open.*'))", UNKNOWN),
        ("world_size == 1", UNKNOWN),
        ("version('torch') >= '2.6'", UNKNOWN),
        ("env('X') == '1'", UNKNOWN),
        ("(nowhere or true) == true", UNKNOWN),
    ],
)
def test_what_is_not_known_stays_so_unless_the_rest_decides(source: str, expected: Truth) -> None:
    assert truth(source) is expected


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("train.steps > 1 and train.zero", ["train.zero"]),
        ("train.steps > 1 and train.flag", ["train.steps", "train.flag"]),
        ("nowhere and train.zero", ["train.zero"]),
        ("train.zero or train.flag", ["train.flag"]),
        ("train.zero or train.none", ["train.zero", "train.none"]),
        ("train.zero and train.flag", ["train.zero"]),
        ("not (train.flag or nowhere)", ["train.flag"]),
        ("exists(train.lr) and default(train.zero, 1) == 1", ["train.zero"]),
        ("values('train.s*') == []", ["train.steps"]),
    ],
)
def test_the_trace_holds_what_decided(source: str, names: list[str]) -> None:
    run = trial()
    Condition(source, (), Scope()).of(run)
    assert [read.name for read in run.reads] == names


def test_the_world_size_is_a_name() -> None:
    scope = Scope()
    condition = Condition("train.steps % world_size == 0", (), scope)
    assert scope.uses == {"world"}
    assert [condition.of(trial(world=size)) for size in (4, 5)] == [True, False]


def test_names_under_let_are_computed_once_and_in_order() -> None:
    scope = Scope()
    define({"half": "train.steps // 2", "quarter": "half // 2", "known": "nowhere or train.flag"}, scope)
    run = trial()
    assert Expression("quarter + half + quarter", (), scope).of(run) == 12
    assert [read.name for read in run.reads] == ["train.steps"] * 3
    assert Condition("known", (), scope).of(run) is True, (
        "a name is asked for its truth where it stands for a condition"
    )
    assert Expression("[half for x in names]", (), scope).of(run) == [6, 6]


def test_a_name_that_loops_leaves_the_item_of_the_loop_around_it() -> None:
    scope = Scope()
    define({"known": "[x for x in [5] if x > nowhere] == [1]"}, scope)
    assert Condition("any(known or y == 5 for y in [1])", (), scope).of(trial()) is UNKNOWN
    assert Condition("any(known or y == 1 for y in [1])", (), scope).of(trial()) is True


@pytest.mark.parametrize("given", [float("inf"), float("-inf"), float("nan")])
def test_a_number_of_yaml_that_is_not_finite_is_no_key_of_that_name(given: float) -> None:
    with pytest.raises(CheckProblem, match="a float is finite"):
        Expression(given, (), Scope())


def test_doubling_names_cost_no_more_than_they_say() -> None:
    scope = Scope()
    names = {"n0": "train.steps"} | {f"n{i}": f"n{i - 1} - n{i - 1} + 1" for i in range(1, MAX_LETS)}
    define(names, scope)
    started = time.process_time()
    assert Expression(f"n{MAX_LETS - 1}", (), scope).of(trial()) == 1
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    ("lets", "where", "message"),
    [
        ({"a": "a + 1"}, ("let", "a"), "it uses itself"),
        ({"a": "b", "b": "1"}, ("let", "a"), "`b`, which comes after it"),
        ({"len": "1"}, ("let", "len"), "has a meaning already"),
        ({"world_size": "8"}, ("let", "world_size"), "has a meaning already"),
        ({"true": "0"}, ("let", "true"), "has a meaning already"),
        ({"env": "0"}, ("let", "env"), "has a meaning already"),
        ({"_a": "1"}, ("let", "_a"), "cannot be a name"),
        ({"a-b": "1"}, ("let", "a-b"), "cannot be a name"),
        ({"if": "1"}, ("let", "if"), "cannot be a name"),
        ({3: "1"}, ("let", "3"), "cannot be a name"),
        ({"a": ["1"]}, ("let", "a"), "an expression is a text"),
        (["a"], ("let",), "is a mapping"),
        ({f"a{i}": "1" for i in range(99)}, ("let",), "at most"),
    ],
)
def test_names_that_cannot_be_taken(lets: object, where: tuple[str, ...], message: str) -> None:
    with pytest.raises(CheckProblem, match=message) as caught:
        define(lets, Scope())
    assert caught.value.where == where


def test_numbers_and_booleans_of_yaml_stand_for_themselves() -> None:
    scope = Scope()
    define({"a": 8, "b": True, "c": 0.5}, scope)
    assert Expression("[a, b, c]", (), scope).of(trial()) == [8, True, 0.5]


REFUSED = {
    "().__class__": "may not begin with `_`",
    "train.__class__": "may not begin with `_`",
    "_x": "may not begin with `_`",
    "__import__('os')": "may not begin with `_`",
    "lambda: 1": "no function can be defined",
    "(a := 1)": "`:=` is not allowed",
    "f'{a}'": "f-strings",
    "{1: 2}": "a mapping cannot be written",
    "{1, 2}": "write a list",
    "{x for x in a}": "write a list",
    "{x: x for x in a}": "a mapping cannot be written",
    "[*a]": "is not allowed",
    "a[1:2]": "slices",
    "a[b]": "a number or a text",
    "a[1.5]": "a number or a text",
    "2 ** 3": "no bound",
    "1 << 9": "no bound",
    "1 >> 9": "write `//`",
    "a | b": "write `or`",
    "a & b": "write `and`",
    "a ^ b": "write `!=`",
    "~a": "write `not`",
    "a @ b": "is not allowed",
    "await a": "is not allowed|is no expression",
    "a.join(b)": "is a method",
    "'{0.x}'.format(a)": "is a method",
    "a()()": "by its name",
    "[len][0](a)": "by its name",
    "len(a, key=b)": "by name",
    "open('x')": "`open` is no function",
    "len()": "takes 1 arguments, and 0",
    "len(a, b)": "takes 1 arguments, and 2",
    "divides(a)": "takes 2",
    "min()": "1 or more",
    "exists(1)": "takes a key",
    "exists(len(a))": "takes a key",
    "exists('a*')": "many keys",
    "exists('a..b')": "no key path",
    "default(a)": "takes 2",
    "values(a)": "as a text in quotes",
    "version(a)": "as a text in quotes",
    "env('')": "as a text in quotes",
    "matches(a, b)": "as a text in quotes",
    "matches(a, '(a+)+')": "may take very long",
    "matches(a, '[')": "no regular expression",
    "'a' * 9": "neither repeats nor formats",
    "9 * 'a'": "neither repeats nor formats",
    "'%99d' % a": "neither repeats nor formats",
    "a is 3": "alone; write `==`",
    "a is b": "alone; write `==`",
    "x for x in a": "is no expression",
    "exists(x for x in a)": "takes a key",
    "(x for x in a)": "alone in a call",
    "divides((x for x in a), 2)": "alone in a call",
    "startswith((x for x in a), 'b')": "alone in a call",
    "max((x for x in a), 3)": "alone in a call",
    "1e999": "a float is finite",
    "len(x for x in a)": "takes a list",
    "[x for x in a for y in b]": "one `for`",
    "[[y for y in x] for x in a]": "one `for`",
    "[x for x, y in a]": "is one name",
    "[len for len in a]": "has a meaning already",
    "feasible.world_size": "in messages alone",
    "feasible": "in messages alone",
    "1j": "values are numbers",
    "b'a'": "values are numbers",
    "...": "values are numbers",
    str(2**128 + 1): "128 bits",
    "0x" + "f" * 99: "128 bits",
    "a if": "is no expression",
    "a = 1": "is no expression",
    "import os": "is no expression",
    "a; b": "is no expression",
    "a\x00b": "is no expression|nothing that Python can parse",
    "'\ud800' == a": "is no expression|nothing that Python can parse",
    "a\n# b\nand c": "several lines may hold no `#`",
    "": "an expression is a text",
    "a + " * 501 + "a": f"at most {MAX_SOURCE:,}",
    "a + " * 160 + "a": f"more than {MAX_NODES} parts|more than {MAX_DEPTH} levels",
    "[" + "a, " * 400 + "]": f"more than {MAX_NODES} parts",
    "not " * 60 + "a": f"more than {MAX_DEPTH} levels",
    "(" * 900 + "a" + ")" * 900: "is no expression|nothing that Python can parse",
}


@pytest.mark.parametrize(("source", "message"), REFUSED.items(), ids=lambda text: text[:40].encode("ascii", "replace"))
def test_what_the_language_leaves_out_is_refused_in_one_sentence(source: str, message: str) -> None:
    with pytest.raises(CheckProblem, match=message) as caught:
        Expression(source, ("require",), Scope())
    assert caught.value.where == ("require",)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("source", [None, [], {}, b"a"])
def test_what_is_no_text_is_refused(source: object) -> None:
    with pytest.raises(CheckProblem, match="an expression is a text"):
        Condition(source, (), Scope())


def test_a_repeated_text_of_the_file_is_never_made() -> None:
    assert value("train.name * 999999999 == 1") is UNKNOWN
    assert value("names * 999999999 == 1") is UNKNOWN
    assert value("key('train.name') % 1 == 1") is UNKNOWN


@pytest.mark.parametrize("source", expressions.HOSTILE, ids=lambda text: text[:40].encode("ascii", "replace"))
def test_hostile_expressions_end_soon_and_take_little(source: str) -> None:
    large = {"l": [*range(9_000)], "s": "a" * 9_000, "a": "a" * 290, "t": {"x": ["a" * 100] * 5_000}}

    def tried() -> object:
        try:
            return value(source, large)
        except CheckProblem as problem:
            return problem

    started = time.process_time()
    assert tried() is not ABSENT
    assert time.process_time() - started < 1.0
    tracemalloc.start()
    tried()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


def test_work_in_loops_is_bounded() -> None:
    large = {"l": [*range(9_000)], "t": ["a" * 290] * 4_000}
    for source in ("all(x in l for x in l)", "any(sum(l) < 0 for x in l)", "any(matches(x, '.*a.*b') for x in t)"):
        run = trial(large)
        started = time.process_time()
        assert Condition(source, (), Scope()).of(run) is UNKNOWN
        assert "would look at more than" in run.problem or "longer than" in run.problem
        assert time.process_time() - started < 1.0


def test_random_expressions_agree_with_python() -> None:
    came = Counter[str]()
    for number in range(1_500):
        chance = Random(f"agreement {number}")
        text, given = expressions.Writer(chance).expression(), expressions.values(chance)
        came[expressions.agrees(text, given, chance)] += 1
    assert came["known"] > 600, came
    assert came["raises"] > 300, came
    assert came["unknown"] < 100, came


def test_another_answer_than_pythons_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Falsely known answers, and falsely unknown ones, are what the test above is there to find."""
    import ast

    from fuzzing.case import Broken
    from shardlint.knowledge import operations

    given = {**expressions.values(Random(0)), "a": 7, "b": 2}

    def always(operator: type[ast.operator], answer: object) -> None:
        def wrong(_left: object, _right: object) -> object:
            return answer

        monkeypatch.setattr(operations, "BINARY", {**operations.BINARY, operator: ("?", wrong)})

    always(ast.Mod, 0)
    with pytest.raises(Broken, match="another answer"):
        expressions.agrees("a % b", given, Random(0))
    always(ast.Mod, UNKNOWN)
    with pytest.raises(Broken, match="unknown where Python knows"):
        expressions.agrees("a % b", given, Random(0))
    always(ast.Div, 1)
    with pytest.raises(Broken, match="where Python raises"):
        expressions.agrees("a / 0", given, Random(0))


def test_random_checks_are_refused_or_end_soon() -> None:
    data = b'{"a": 1, "b": "${x}", "t": {"x": 1, "y": "a", "z": null}, "l": [1, 2], "m": [1], "s": "abc", "n": null}'
    came = Counter[str]()
    for number in range(400):
        chance = Random(f"check {number}")
        for plain in (expressions.check(chance), {"require": expressions.hostile(chance)}):
            started = time.process_time()
            answer = expressions.judged(plain, expressions.text_of_message(chance) if number % 2 else "", data)
            came["refused" if answer == "refused" else "judged"] += 1
            assert time.process_time() - started < 1.0, plain
    assert min(came["refused"], came["judged"]) > 50, came
