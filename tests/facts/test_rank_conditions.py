"""Rank tests are looked for in text, and in no text for long."""

from __future__ import annotations

from shardlint.facts.rank_conditions import RankConditions


def test_of_very_many_uses_one_is_believed_to_decide() -> None:
    """Each is looked for in a long line: a file of nothing else would take half a minute."""
    few, many = (f"x = f({'rank, ' * count})\n" for count in (1_000, 3_000))

    assert not RankConditions(few).test_in(0, len(few))
    assert RankConditions(many).test_in(0, len(many))
