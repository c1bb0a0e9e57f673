"""Rows by the words that they cannot do without: most rows are ruled out for a file by one look at its words."""

from __future__ import annotations

from shardlint.prefilter import apart, passes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shardlint.loading import Row
    from shardlint.prefilter import Words


class RowIndex:
    """The rows of one kind of rule, asked once a file.

    A project may have a hundred constraints, and nearly all of them speak of words that a file does not have.
    """

    __slots__ = ("_always", "_by_word", "_rows")

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows
        self._always: list[int] = []
        self._by_word: dict[str, list[int]] = {}
        for place, row in enumerate(rows):
            words = one_of(row["needs"])
            if words is None:
                self._always.append(place)
            else:
                for word in words:
                    self._by_word.setdefault(word, []).append(place)

    def possible(self, words: Words) -> list[Row]:
        """The rows whose needs a file meets, in their order."""
        places = set(self._always)
        for word in self._by_word.keys() & words.identifiers():
            places.update(self._by_word[word])
        rows = [self._rows[place] for place in sorted(places)]
        return [row for row in rows if passes(row["needs"], words)]


def one_of(needs: tuple[Any, ...]) -> frozenset[str] | None:
    """Identifiers of which every file that meets `needs` spells at least one; None where none are known."""
    kind = needs[0]
    if kind == "word":
        return frozenset((needs[1],)) if needs[1].isascii() else None
    if kind == "text":
        # The first and the last piece may be parts of longer words.
        inside = apart(f"_{needs[1]}_")[1:-1] if needs[1].isascii() else []
        return frozenset(inside[:1]) or None
    if kind == "all":
        known = [words for part in needs[1:] if (words := one_of(part)) is not None]
        return min(known, key=len) if known else None
    if kind == "any":
        choices = [one_of(part) for part in needs[1:]]
        given = [words for words in choices if words is not None]
        return frozenset[str]().union(*given) if len(given) == len(choices) else None
    return None
