"""Calls that all ranks of a group must make together, as data that a rule pack gives.

An entry maps a dotted name to how the call takes part:

    "torch.distributed.all_reduce" = { group = 2 }                 position of the `group` argument (keyword `group` always)
    "torch.distributed.checkpoint.save" = { unless = { no_dist = true } }   no collective when that argument is given so
    "*.wait_for_everyone" = {}                                     any receiver: the method name is telling enough

Other keys of an entry (`why`, `reference`) are for people.
"""

from __future__ import annotations

from collections.abc import Mapping

from shardlint.facts.names import BY_NAME
from shardlint.facts.trace import Step

_WORLD = ("None", "WORLD", "group.WORLD")


class Effect:
    """One call that is a collective: what it is called, in which group (None: the world), where, and how sure."""

    __slots__ = ("certainty", "group", "name", "path", "span", "text")

    def __init__(
        self,
        name: str,
        text: str,
        group: str | None,
        path: str,
        span: tuple[int, int, int, int],
        certainty: float,
    ) -> None:
        self.name = name
        self.text = text
        self.group = group
        self.path = path
        self.span = span
        self.certainty = certainty

    @property
    def signature(self) -> tuple[str, str | None]:
        """Two ranks match when operation and group are the same; positions and tensors may differ."""
        return (self.name.rpartition(".")[2], self.group)


class Effects:
    """A table of collective calls. `names` are the dotted names, `words` their last parts."""

    def __init__(self, table: Mapping[str, Mapping[str, object]]) -> None:
        self.table = {name: dict(entry) for name, entry in table.items()}
        self.words = frozenset(name.rpartition(".")[2] for name in self.table)

    def __or__(self, other: Effects) -> Effects:
        return Effects({**self.table, **other.table})

    def of(self, step: Step, path: str) -> Effect | None:
        """The effect that a call step has, or None when it is not in the table or an argument exempts it."""
        _, names, certainty, span, text, arguments = step
        for name in names:
            entry, sure = self._entry(name, certainty)
            if entry is None:
                continue
            given = {place: (shown, known, value) for place, shown, known, value in arguments}
            if _exempt(entry, given):
                return None
            return Effect(name, text, _group(entry, given), path, span, sure)
        return None

    def _entry(self, name: str, certainty: float) -> tuple[dict[str, object] | None, float]:
        if name in self.table:
            return self.table[name], BY_NAME if name.startswith("*.") else certainty
        loose = "*." + name.rpartition(".")[2]
        if loose in self.table:
            return self.table[loose], BY_NAME
        return None, certainty


Given = dict[int | str, tuple[str, bool, object]]


def _exempt(entry: Mapping[str, object], given: Given) -> bool:
    unless = entry.get("unless")
    if not isinstance(unless, Mapping):
        return False
    for place, value in unless.items():
        if place in given and given[place][1] and given[place][2] == value:
            return True
    return False


def _group(entry: Mapping[str, object], given: Given) -> str | None:
    place = entry.get("group")
    text: str | None = None
    for key in ("group", "process_group", place):
        if isinstance(key, (int, str)) and not isinstance(key, bool) and key in given:
            text = given[key][0]
            break
    if text is None or text in _WORLD or text.endswith(".WORLD"):
        return None
    return text
