"""Patterns that cannot be taken, each with its place and one sentence; and hostile ones, which cost little."""

from __future__ import annotations

import ast
import time

import pytest

from shardlint.facts.module import Module
from shardlint.knowledge.problem import CheckProblem
from shardlint.syntax.patterns import Forbidden, Match, Pattern, Unjudged
from shardlint.syntax.patterns.bounded import bounded
from shardlint.syntax.patterns.scan import MANY, ONE


def refusal(plain: dict[str, object]) -> CheckProblem:
    with pytest.raises(CheckProblem) as caught:
        Pattern(plain)
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        "$X",
        "...",
        "$...X",
        "$X(...)",
        "$X($...A)",
        "$X()",
        "$X.$Y",
        "$X.$Y(...)",
        "$X[...]",
        "$X[$Y]",
        "$X = $Y",
        "$X = ...",
        "$X: $Y = $Z",
        "$X += $Y",
        "$X + $Y",
        "($X, $Y)",
        "[...]",
        "{...}",
        '"..."',
        "if $X: ...",
        "for $X in $Y: ...",
        "with $X: ...",
        "def $F(...): ...",
        "class $C: ...",
        "class $C(...): ...",
        "return $X",
        "$X\n$Y",
        "...\n...",
        "$X = $Y\n...\n$Z = $W",
        "import $X",
        "from $X import ...",
        "from $X import $Y",
    ],
)
def test_a_pattern_that_matches_nearly_everything(text: str) -> None:
    problem = refusal({"match": text})
    assert "everything" in str(problem)
    assert problem.where == ("match",)


@pytest.mark.parametrize(
    "plain",
    [
        {"match": "$X($X)"},
        {"match": "$X = $X"},
        {"match": "raise $X"},
        {"match": "$X == $Y"},
        {"match": "$F(...)", "where": {"F": {"regex": "^all_"}}},
        {"match": "def $F(...): ...", "inside": "class $C(Trainer): ..."},
        {"match": "$X(...)", "inside": "with torch.no_grad(): ..."},
    ],
)
def test_a_pattern_that_says_little_is_taken(plain: dict[str, object]) -> None:
    Pattern(plain)


@pytest.mark.parametrize(
    "plain",
    [
        {"match": "$F(...)", "where": {"F": {"regex": ".*"}}},
        {"match": "$X", "inside": "with torch.no_grad(): ..."},
        {"match": "$F(...)", "inside": "def $G(...): ..."},
        {"match": "$F(...)", "not_inside": "with torch.no_grad(): ..."},
    ],
)
def test_a_condition_that_says_nothing_does_not_help(plain: dict[str, object]) -> None:
    assert "everything" in str(refusal(plain))


@pytest.mark.parametrize(
    ("plain", "where", "words"),
    [
        ({}, (), "either `match`, or `any`"),
        ({"match": "f()", "any": ["g()"]}, (), "either `match`, or `any`"),
        ({"match": "f()", "insde": "g()"}, ("insde",), "no part of a pattern"),
        ({"match": ""}, ("match",), "as text"),
        ({"match": 7}, ("match",), "as text"),
        ({"match": ["f()"]}, ("match",), "as text"),
        ({"match": "# nothing"}, ("match",), "only a comment"),
        ({"any": []}, ("any",), "1 to 20"),
        ({"any": ["f()"] * 21}, ("any",), "1 to 20"),
        ({"any": ["f()", "g("]}, ("any", 1), "not Python"),
        ({"match": "f("}, ("match",), "line 1, column 2"),
        ({"match": "f()\n  g()"}, ("match",), "line 2"),
        ({"match": "f(a=1, ..., b c)"}, ("match",), "column 13"),
        ({"match": "$X = f($Y $Z)"}, ("match",), "column 8"),
        ({"match": "é($X $Y)"}, ("match",), "column 3"),
        ({"match": "f($x)"}, ("match",), "begins a metavariable"),
        ({"match": "f($)"}, ("match",), "line 1, column 3"),
        ({"match": "f($1)"}, ("match",), "begins a metavariable"),
        ({"match": "f($...)"}, ("match",), "needs a name"),
        ({"match": "f($...args)"}, ("match",), "needs a name"),
        ({"match": "f($X$Y)"}, ("match",), "a whole name"),
        ({"match": "f($$X)"}, ("match",), "begins a metavariable"),
        ({"match": "f(f'{$X}')"}, ("match",), "f-string"),
        ({"match": f"f({ONE}X)"}, ("match",), "cannot be used"),
        ({"match": f"f({MANY})"}, ("match",), "cannot be used"),
        ({"match": "from .x import y"}, ("match",), "relative"),
        ({"match": "f()", "inside": "a()\nb()"}, ("inside",), "one expression or statement"),
        ({"match": "f()", "not_inside": ["g()", "h("]}, ("not_inside", 1), "not Python"),
        ({"match": "f()", "within_guard": "if x: ..."}, ("within_guard",), "a guard is a condition"),
        ({"match": "f()", "not_after": []}, ("not_after",), "1 to 20"),
        ({"match": "f($X)", "where": {"Y": {"regex": "a"}}}, ("where", "Y"), "is not in what is looked for"),
        ({"match": "f($X)", "where": {"$X": {"regex": "a"}}}, ("where", "$X"), "without `$`"),
        ({"match": "f($X)", "where": {"X": {"regx": "a"}}}, ("where", "X", "regx"), "only `type` and `regex`"),
        ({"match": "f($X)", "where": {"X": "a"}}, ("where", "X"), "a mapping"),
        ({"match": "f($X)", "where": []}, ("where",), "a mapping"),
        ({"match": "f($X)", "where": {"X": {"type": "a b"}}}, ("where", "X", "type"), "dotted name"),
        ({"match": "f($X)", "where": {"X": {"type": ["a", 1]}}}, ("where", "X", "type", 1), "dotted name"),
        ({"match": "f($X)", "where": {"X": {"regex": "("}}}, ("where", "X", "regex"), "regular expression"),
        ({"any": ["f($X)", "g()"], "where": {"X": {"regex": "a"}}}, ("where", "X"), "is not in what is looked for"),
        ({"match": "f($X)", "replace": "g($Y)"}, ("replace",), "stands for nothing"),
        ({"match": "f($_)", "replace": "g($_)"}, ("replace",), "stands for nothing"),
        ({"match": "f(...)", "replace": "g(...)"}, ("replace",), "name it `$...X`"),
        ({"match": "f($X)", "replace": "g("}, ("replace",), "not Python"),
        ({"match": "f($X)", "replace": "x = g($X)"}, ("replace",), "only be replaced by an expression"),
        ({"any": ["f($X)", "x = $X"], "replace": "g($X)"}, ("replace",), "all expressions, or all statements"),
        ({"match": "f($...A)", "replace": "f($...A, k=1)"}, ("replace",), "would never end"),
        ({"match": "f($X)", "safe": "why"}, ("safe",), "there is none"),
        ({"match": "f($X)", "replace": "g($X)", "safe": True}, ("safe",), "a sentence"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(plain: dict[str, object], where: tuple[object, ...], words: str) -> None:
    problem = refusal(plain)
    assert problem.where == where
    assert words in str(problem)
    assert "\n" not in str(problem)
    assert ONE not in str(problem) or "cannot be used" in str(problem)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 500 + ")" * 500,
        "-" * 3_900 + "x",
        "f(" * 60 + ")" * 60,
        "x" * 4_001,
        "f(" + "a, " * 1_200 + ")",
        "[" * 90 + "f()" + "]" * 90,
        "f(" + "not " * 900 + "x)",
        "a" + ".b" * 400,
        "if x:\n" + "".join(" " * depth + "if x:\n" for depth in range(1, 60)) + " " * 60 + "f()",
        "f(\0)",
        "f('" + "a" * 3_990 + "'",
        "$" * 3_000,
        "f(" + "$X," * 1_300 + ")",
        "'" * 3_999,
        "9" * 3_999 + " + f()",
    ],
)
def test_what_is_huge_or_deep_is_refused_at_once(text: str) -> None:
    started = time.process_time()
    refusal({"match": text})
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("pattern", "source"),
    [
        ("f(..., $A, ..., $B, ..., $C, ..., $D, ..., $A)", "f(" + "x1, x2, " * 200 + "y)"),
        ("[..., $A, ..., $A, ..., $A, ..., z]", "[" + ", ".join(f"a{i}" for i in range(300)) + "]"),
        ("a\n" + "...\n$X\n" * 12 + "...\nz", "\n".join(["a", *["b"] * 400])),
        ("f($A=1, $B=1, $C=1, $D=1, $E=1, $F=2)", "f(" + ", ".join(f"k{i}=1" for i in range(60)) + ")"),
        ("f({$A: 1, $B: 1, $C: 1, $D: 1, $E: 2})", "f({" + ", ".join(f"k{i}: 1" for i in range(60)) + "})"),
        ("class $C(A, B, C, $D, $E, $F, $G, $H, $D): ...", f"class X({', '.join(f'B{i}' for i in range(60))}): ..."),
    ],
)
def test_too_many_ways_to_compare_end_soon(pattern: str, source: str) -> None:
    compiled = Pattern({"match": pattern})
    module = Module("x.py", source, ast.parse(source))
    started = time.process_time()
    answers = list(compiled.matches(module))
    assert time.process_time() - started < 2
    assert not any(isinstance(answer, Match) for answer in answers)


def test_a_file_full_of_such_places_ends_soon_as_well() -> None:
    source = ("f(" + "x1, x2, " * 60 + "y)\n") * 400
    module = Module("x.py", source, ast.parse(source))
    started = time.process_time()
    answers = list(Pattern({"match": "f(..., $A, ..., $B, ..., $C, ..., $D, ..., z)"}).matches(module))
    assert time.process_time() - started < 6
    assert answers
    assert all(isinstance(answer, Unjudged) and "too many ways" in answer.reason for answer in answers)


def test_code_that_is_deeper_than_any_pattern_is_compared() -> None:
    source = "f(" + "-" * 60 + "x)\n" + "f(" + "[" * 60 + "]" * 60 + ")\n" + "f" + "()" * 90
    module = Module("x.py", source, ast.parse(source))
    assert len(list(Pattern({"match": "f($X)"}).matches(module))) == 2


@pytest.mark.parametrize(
    "regex",
    [
        "(a+)+$",
        "(a|a)*b",
        "(a*)*",
        "(.*a){10}",
        "(?:x+x+)+y",
        ".*.*.*.*.*=",
        r"(a)\1",
        "(?P<n>a)(?P=n)",
        "(",
        "a" * 501,
        "",
        3,
    ],
)
def test_an_expression_that_may_be_slow_or_is_none(regex: object) -> None:
    with pytest.raises(CheckProblem):
        bounded(regex, ("where",))


@pytest.mark.parametrize("regex", [r"^4\.", "a|b", "[a-z]+_group$", "(?:foo|bar)_x", r"\d+\.\d+", "[(*+]x{2,3}"])
def test_an_expression_that_is_taken(regex: str) -> None:
    assert bounded(regex).pattern == regex


@pytest.mark.parametrize(
    ("plain", "where", "words"),
    [
        ({}, (), "forbids nothing"),
        ({"guards": ["f()"]}, (), "forbids nothing"),
        ({"import": ["a"]}, ("import",), "no part of it"),
        ({"imports": []}, ("imports",), "1 to 200"),
        ({"imports": [1]}, ("imports", 0), "dotted name"),
        ({"imports": ["a b"]}, ("imports", 0), "no dotted name"),
        ({"imports": ["torch.*"]}, ("imports", 0), "needs no `*`"),
        ({"calls": ["*"]}, ("calls", 0), "no dotted name"),
        ({"calls": ["*.cuda"]}, ("calls", 0), "no dotted name"),
        ({"calls": ["torch.*a*b*c*d"]}, ("calls", 0), "at most 3"),
        ({"calls": ["a", "f(x)"]}, ("calls", 1), "no dotted name"),
        ({"attributes": ["a" * 201]}, ("attributes", 0), "dotted name"),
        ({"calls": ["f"], "guards": ["g("]}, ("guards", 0), "not Python"),
        ({"calls": ["f"], "guards": ["if x: ..."]}, ("guards", 0), "a guard is a condition"),
        ({"calls": ["f"], "allowed_in": [""]}, ("allowed_in", 0), "as in .gitignore"),
        ({"calls": ["f"], "allowed_in": []}, ("allowed_in",), "1 to 200"),
    ],
)
def test_what_forbidden_refuses(plain: dict[str, object], where: tuple[object, ...], words: str) -> None:
    with pytest.raises(CheckProblem) as caught:
        Forbidden(plain)
    assert caught.value.where == where
    assert words in str(caught.value)
