"""Which candidate an incident speaks of: what people wrote about the cause tells which part of the fix counted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from shardlint.knowledge.capture.difference import is_list

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shardlint.knowledge.capture.candidate import Candidate

_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*(?:\.[A-Za-z_$][A-Za-z0-9_$]*)*")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_SHORTEST = 3
"""Letters of a word that counts; numbers count at any length."""

_SHORTEST_STEM = 4
_LONGEST_ENDING = 3
"""`load` and `loaded` are one word: the shorter begins the longer, which has at most so many letters more."""

_UNSAID = 0.1
"""What a word costs that nobody used."""

_ANYTHING = frozenset(("VALUE", "TEXT", "FUNCTION", "ITEM", "ITEMS", "SELF", "TEST", "TURN", "TURNS", "X"))
"""Metavariables that stand for no name."""

_SYNTAX = re.compile(r"if|for|while|with|def|not|and|import|from|async|exists|default|True|False|true|false|None|none")
"""Words of patterns and conditions that are no names."""

_RELATIONS = (
    ("%", re.compile(r"multiple of|divisible|evenly|remainder|\bdivides\b")),
    (">=", re.compile(r"at least|less than|fewer|too few|too small|below|not enough|smaller")),
    ("<=", re.compile(r"at most|more than|too many|too (?:large|big|high)|above|exceed|larger|greater")),
)
"""What people say of a relation between numbers."""


class _Told(NamedTuple):
    """What an incident speaks of: words, names as code writes them, and signs of relations."""

    words: frozenset[str]
    names: frozenset[str]
    signs: frozenset[str]


def by_relevance(candidates: Sequence[Candidate], told: str) -> list[Candidate]:
    """The candidates in the order of how much of them is spoken of; what is equal keeps its order.

    told: title, symptom and cause.
    """
    said = _Told(
        frozenset(_words(told)),
        frozenset(part for name in _NAME.findall(told) for part in name.split(".") if "_" in part),
        frozenset(sign for sign, phrase in _RELATIONS if phrase.search(told.lower())),
    )
    return sorted(candidates, key=lambda one: -_score(one, said)) if said.words else list(candidates)


def _score(candidate: Candidate, told: _Told) -> float:
    texts = list(_texts(candidate.check))
    # Each forbidden call is a case of its own: what is said of one of them is said of all.
    alternatives = [[one] for one in texts if one[1] == "calls"] or [texts]
    return max(_spoken_of(one, told) for one in alternatives)


def _spoken_of(texts: Sequence[tuple[str, str]], told: _Told) -> float:
    """How much is spoken of: each word, a name in full once more, and a relation between numbers."""
    names = {name for text, key in texts for name in _names(text, key)}
    words = {word for name in names for word in _of_name(name)}
    said = [word for word in told.words if any(_alike(word, one) for one in words)]
    unsaid = [word for word in words if not any(_alike(word, one) for one in told.words)]
    in_full = {name.rpartition(".")[2].lstrip("$") for name in names} & told.names
    relations = [sign for sign in told.signs if any(f" {sign} " in text for text, _ in texts)]
    return len(said) - _UNSAID * len(unsaid) + len(in_full) + bool(relations)


def _texts(check: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a check that say what is looked for, each with its key; not its files."""
    for key, value in check.items():
        if key not in ("files", "at", "where", "kind"):
            yield from ((str(one), key) for one in _listed(value))


def _listed(value: Any) -> list[Any]:
    return value if is_list(value) else [value]


def _names(text: str, key: str) -> Iterator[str]:
    """The names of a text. Of what would be right, the value does not count: people tell what was wrong."""
    for found in _NAME.finditer(text):
        if key != "not" or text[found.end() : found.end() + 1] in ("(", "="):
            yield found[0]


def _of_name(name: str) -> Iterator[str]:
    """The words of the last part of a dotted name: the module that it lies in says nothing."""
    parts = name.split(".")
    if not name.startswith("$"):
        parts = parts[-1:]
    elif parts[0].strip("$").rstrip("0123456789") in _ANYTHING:
        del parts[0]
    if not _SYNTAX.fullmatch(name):
        for part in parts:
            yield from _words(part)


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if len(word) >= _SHORTEST or word.isdigit():
            yield word.lower()


def _alike(word: str, other: str) -> bool:
    shorter, longer = sorted((word, other), key=len)
    if word == other:
        return True
    ending = len(longer) - len(shorter)
    return len(shorter) >= _SHORTEST_STEM and ending <= _LONGEST_ENDING and longer.startswith(shorter)
