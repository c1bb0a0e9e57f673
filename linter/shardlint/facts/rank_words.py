"""Which identifiers can name a process number, or a question about one, whatever they stand for."""

from __future__ import annotations

from shardlint.facts.rank_tests import is_rank_flag
from shardlint.facts.rank_values import is_rank_name

_known: dict[str, bool] = {}


def is_rank_identifier(word: str) -> bool:
    """Whether one identifier can name a process number or a question about it."""
    answer = _known.get(word)
    if answer is None:
        answer = _known[word] = is_rank_name(word) or is_rank_flag(word)
    return answer
