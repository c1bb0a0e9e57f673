"""Which statements of a constraint file are enforced, and which rule could enforce one that is only prose."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shardlint.knowledge.constraint import Constraint
    from shardlint.knowledge.constraint_file import Contents
    from shardlint.knowledge.markdown import Item

ALIKE = 0.24
"""From this similarity on a rule is proposed. Of the 43 statements of two files, in the words of their teams, 31 then
get a proposal; 23 of these name a rule that a reader would name, and no statement that has one is left without."""

CLOSE = 0.75
"""A second rule is proposed if it is this near to the first."""

_WORD = re.compile(r"[A-Za-z]{3,}")
_HUMP = re.compile(r"([a-z])([A-Z])")
_ENDINGS = ("ings", "ing", "ed", "es", "s")
_STEM = 4
"""Letters that an ending leaves at least."""

_TITLE = 2
"""How many times the words of a title count."""


class Covered(NamedTuple):
    """One statement. `by`: the constraints that belong to it. `proposed`: names of rules, when there are none."""

    file: str
    number: str
    title: str
    line: int
    by: tuple[Constraint, ...]
    proposed: tuple[str, ...]


def coverage(file: str, contents: Contents, rules: Rules) -> list[Covered]:
    """What becomes of each statement of a file: numbered items, and constraints that stand in none."""
    found: list[Covered] = []
    left = list(contents.constraints)
    for item in contents.items:
        own = tuple(one for one in left if one.number == item.number and _in(item, one, contents.items))
        left = [one for one in left if one not in own]
        proposed = () if own else rules.like(item)
        found.append(Covered(file, item.number, item.title, item.line, own, proposed))
    found += [Covered(file, one.number, one.title, one.line, (one,), ()) for one in left]
    return sorted(found, key=lambda one: one.line)


def _in(item: Item, constraint: Constraint, items: Sequence[Item]) -> bool:
    """Whether a block stands in or after an item, before the next one."""
    after = [one.line for one in items if one.line > item.line]
    return item.line <= constraint.line < min(after, default=constraint.line + 1)


class Rules:
    """The texts of the rules, in which the words of a statement are looked for (TF-IDF, cosine)."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        counted = {name: Counter(_words(f"{name} {name} {name} {text}")) for name, text in texts.items()}
        spread = Counter(word for words in counted.values() for word in words)
        self._weights = {word: math.log(1 + len(counted) / count) for word, count in spread.items()}
        self._vectors = {name: self._vector(words) for name, words in counted.items()}

    def like(self, item: Item) -> tuple[str, ...]:
        """The rules that speak of what a statement says, at most two, the best first."""
        asked = self._vector(Counter(_words(f"{item.title} " * _TITLE + item.text)))
        scores = sorted(
            (
                (sum(weight * vector.get(word, 0.0) for word, weight in asked.items()), name)
                for name, vector in self._vectors.items()
            ),
            reverse=True,
        )
        best = scores[0][0] if scores else 0.0
        return tuple(name for score, name in scores[:2] if score >= ALIKE and score >= CLOSE * best)

    def _vector(self, words: Counter[str]) -> dict[str, float]:
        """Weights of length 1."""
        raw = {word: (1 + math.log(n)) * self._weights[word] for word, n in words.items() if word in self._weights}
        length = math.sqrt(sum(weight * weight for weight in raw.values())) or 1.0
        return {word: weight / length for word, weight in raw.items()}


def _words(text: str) -> Iterable[str]:
    """The words of a text without endings; names in code are taken apart."""
    for word in _WORD.findall(_HUMP.sub(r"\1 \2", text.replace("_", " "))):
        lower = word.lower()
        ending = next((e for e in _ENDINGS if lower.endswith(e) and len(lower) - len(e) >= _STEM), "")
        yield lower.removesuffix(ending)
