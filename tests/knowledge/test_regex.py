"""Regular expressions of a constraint file: taken if they are quick on any text, refused in a sentence if not."""

from __future__ import annotations

import re
import time

import pytest

from shardlint.knowledge.problem import CheckProblem
from shardlint.knowledge.regex import LONGEST_TEXTS, bounded, longest, power

TAKEN = {
    "qwen": 2,
    "^adamw$": 1,
    r"\Aa+\Z": 1,
    r"^[a-z]+-[a-z]+-[0-9]+\.[a-z]+$": 1,
    r"^(adamw|anyprecision_adamw|muon|sgd)$": 1,
    r"https?://\S+": 2,
    r"(?i)qwen[23]_?moe": 2,
    r"(?:ab)*c": 2,
    r"[^/]*/[^/]*/[^/]*$": 2,
    r"\d+\.\d+(\.\d+)?": 3,
    r"^\w+é\w+": 2,
    r"^.*checkpoint": 2,
    r".*a.*b": 4,
    r"(x{1,3}y)?z": 2,
    r"(?m)^a": 2,
}
"""Pattern, and the power of the text's length that a search costs at worst."""

REFUSED = {
    "(a+)+": "repeats a group",
    "(a*)*b": "repeats a group",
    "(a|a)*b": "repeats a group",
    "(ab|cd)*": "repeats a group",
    r"(\w+\s?)*$": "repeats a group",
    "(a?){20}a{20}": "repeats a group",
    "(?:a{0,50}){2}": "repeats a group",
    "((a{2,3}))+": "repeats a group",
    ".*.*.*x": "too many places",
    "a?" * 25 + "a" * 25: "too many alternatives",
    "(a|a)" * 25 + "b": "too many alternatives",
    "(a|ab)" * 12 + "c": "too many alternatives",
    "(?i:a*)A*a*A*a*b": "too many places",
    r"(x)\1": "refers back",
    "(?P<n>x)(?P=n)": "refers back",
    "(x)?(?(1)a|b)": "refers back",
    "(?=a)b": "ahead or behind",
    "(?<!a)b": "ahead or behind",
    "[": "no regular expression",
    "a**": "no regular expression",
    "(?P<x": "no regular expression",
    "a" * 501: "at most 500",
    "": "is a text",
}


@pytest.mark.parametrize(("pattern", "expected"), TAKEN.items())
def test_patterns_that_are_taken(pattern: str, expected: int) -> None:
    compiled = bounded(pattern)
    assert isinstance(compiled, re.Pattern)
    assert power(compiled) == expected
    assert longest(compiled) == LONGEST_TEXTS[expected - 1]


@pytest.mark.parametrize(("pattern", "reason"), REFUSED.items())
def test_patterns_that_are_refused(pattern: str, reason: str) -> None:
    with pytest.raises(CheckProblem, match=reason) as caught:
        bounded(pattern, ("where", "X", "regex"))
    assert caught.value.where == ("where", "X", "regex")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [3, None, ["a"], b"a"])
def test_what_is_no_text_is_refused(given: object) -> None:
    with pytest.raises(CheckProblem, match="is a text"):
        bounded(given)


def test_deep_nesting_is_refused_or_taken_and_never_fails() -> None:
    assert bounded("(" * 90 + "a" + ")" * 90).search("a")
    with pytest.raises(CheckProblem):
        bounded("(" * 499)


@pytest.mark.parametrize(
    "pattern",
    [
        *TAKEN,
        ".*.*b",
        "^.*.*.*b",
        "^a*a*a*b",
        "a*a*b",
        "(a|a)(a|a)(a|a)(a|a)a*b",
        "a{1,1000}a{1,1000}b",
        "a?a?a?a?aaaa*b",
        "[ab]*[bc]*a",
        "(?:ab)*(?:ab)*c",
    ],
)
def test_the_longest_text_is_searched_soon(pattern: str) -> None:
    compiled = bounded(pattern)
    length = longest(compiled)
    texts = [fill * length for fill in ("a", "ab", "1.", "/", "é", "x", "a-", "\n")]
    started = time.process_time()
    for text in texts:
        compiled.search(text[: length - 1] + "!")
        compiled.search(text[:length])
    assert time.process_time() - started < 1.0


def test_a_class_that_is_negated_is_read_as_its_opposite() -> None:
    # Here the two parts share no letter, so there is one way; below they share `b`.
    assert power(bounded("^[^ab]*[ab]+c")) == 1
    assert power(bounded("^[^a]*[ab]+c")) == 2
    assert power(bounded(r"^\d*\D+1")) == 1
    assert power(bounded(r"^\w*\W1")) == 1
    assert power(bounded(r"^[^é]*é")) == 2, "other letters above ASCII are told apart only in sorts"
