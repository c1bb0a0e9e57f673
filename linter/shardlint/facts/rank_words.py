"""Which texts can hold a rank test at all: the identifiers that the rank facts know, found without a parser.

An over-approximation: a text without such an identifier has no rank test. The bare name `rank` is everywhere (LoRA,
matrices), and it counts as a process number only when it is compared, so it needs a comparison on its line or the next.
"""

from __future__ import annotations

import re

from shardlint.facts.rank_tests import is_rank_flag
from shardlint.facts.rank_values import is_rank_name
from shardlint.facts.rank_vocabulary import WORDS

_IDENTIFIER = re.compile(r"\w+")
_COMPARISONS = ("==", "!=", "<", ">", " in ", " in(", " in[", "match ")
_known: dict[str, bool] = {}


def is_rank_identifier(word: str) -> bool:
    """Whether one identifier can name a process number or a question about it."""
    answer = _known.get(word)
    if answer is None:
        answer = _known[word] = is_rank_name(word) or is_rank_flag(word)
    return answer


def mentions_rank(text: str, aliases: frozenset[str] = frozenset()) -> bool:
    """Whether a text can hold a rank test; `aliases` are further names that stand for one."""
    if any(alias in text for alias in aliases):
        return True
    for word in WORDS:
        at = text.find(word)
        while at >= 0:
            start, end = _around(text, at, len(word))
            if is_rank_identifier(text[start:end]) and (text[start:end] != "rank" or _compared(text, start, end)):
                return True
            at = text.find(word, end)
    return False


def _around(text: str, at: int, length: int) -> tuple[int, int]:
    start = at
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    found = _IDENTIFIER.match(text, at)
    return start, max(found.end() if found else at, at + length)


def _compared(text: str, start: int, end: int) -> bool:
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    stop = text.find("\n", stop + 1) if stop >= 0 else -1
    near = text[line : stop if stop >= 0 else len(text)]
    return any(sign in near for sign in _COMPARISONS)


_ASSIGNED = re.compile(r"^[ \t]*(?:self\.|cls\.)?(\w+)[ \t]*(?::[^=\n]+)?=(?!=)([^\n]*)", re.MULTILINE)


def rank_aliases(text: str) -> frozenset[str]:
    """Names of a file that are assigned from something that mentions a rank: `MAIN = dist.get_rank() == 0`."""
    found: set[str] = set()
    for match in _ASSIGNED.finditer(text):
        if any(word in match.group(2) for word in WORDS) and mentions_rank(match.group(2) + " =="):
            found.add(match.group(1))
    return frozenset(found - {"rank", "_"})
