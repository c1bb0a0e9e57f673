"""Calls that all ranks of a group must make together, as data that a rule pack gives.

An entry maps a dotted name to how the call takes part:

    "torch.distributed.barrier" = { group = 0 }            position of the `group` argument (its keyword always counts)
    "all_reduce" = { in = ["torch.distributed"], group = 2 }        one entry for a name of several packages
    "torch.distributed.checkpoint.save" = { unless = { no_dist = true } }   no collective when that argument is so
    "pkg.get_state" = { when = { options = "full=True" } } a collective only when the argument's text holds this
    "*.full_tensor" = { mesh = true }                      any receiver, believed by name; the group is the receiver's
    "*.accelerator.gather" = {}                            any receiver of that last name

Other keys of an entry (`why`, `reference`) are for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardlint.facts.names import BY_NAME
from shardlint.facts.trace import OPAQUE, WHOLE, Step

ANY_GROUP = "?"
"""A group that cannot be told from the call: it may be the same as any other."""

Given = dict[int | str, tuple[str, bool, object]]
Entry = dict[str, object]


class Effect:
    """One call that is a collective: what it is called, in which group (None: the world), where, and how sure.

    `written` is the group as the call writes it. `whole` says that this group has every process of the job. `open` says
    that an argument which is not known decides whether the call is a collective at all.
    """

    __slots__ = ("certainty", "group", "name", "open", "path", "span", "text", "whole", "written")

    def __init__(
        self,
        name: str,
        text: str,
        group: str | None,
        path: str,
        span: tuple[int, int, int, int],
        certainty: float,
        open: bool = False,
        written: str = "",
        whole: bool = False,
    ) -> None:
        self.name = name
        self.text = text
        self.group = group
        self.path = path
        self.span = span
        self.certainty = certainty
        self.open = open
        self.written = written or group or ""
        self.whole = whole

    def matches(self, other: Effect) -> bool:
        """Whether two ranks meet in these calls: the same operation and group; positions and tensors may differ."""
        if self.name.rpartition(".")[2] != other.name.rpartition(".")[2]:
            return False
        return self.group == other.group or ANY_GROUP in (self.group, other.group)

    def in_any_group(self) -> Effect:
        """The same call as another function sees it, where the name of its group says nothing."""
        if self.group is None:
            return self
        return Effect(self.name, self.text, ANY_GROUP, self.path, self.span, self.certainty, self.open, self.written)

    def opened(self) -> Effect:
        """The same call, of which it is not known whether it is a collective."""
        group, place = self.group, (self.path, self.span)
        return Effect(self.name, self.text, group, *place, self.certainty, True, self.written, self.whole)


class Effects:
    """A table of collective calls. `beside` holds further ones that are followed, but are no concern of the rule."""

    def __init__(self, table: Mapping[str, Mapping[str, object]], *, beside: Effects | None = None) -> None:
        self.own = _expanded(table)
        self.table: dict[str, Entry] = {**beside.table, **self.own} if beside is not None else self.own
        self.words = frozenset(name.rpartition(".")[2] for name in self.table)

    def __or__(self, other: Effects) -> Effects:
        return Effects({**self.own, **other.own})

    def extended(self, table: Mapping[str, Mapping[str, object]]) -> Effects:
        """These effects and those of a further table, all of them the rule's concern."""
        return Effects({**self.own, **table}, beside=Effects(self.table)) if table else self

    def owns(self, effect: Effect) -> bool:
        """Whether an effect is the rule's concern."""
        return effect.name in self.own

    def of(self, step: Step, path: str) -> Effect | None:
        """The effect that a call step has, or None when it is not in the table or an argument exempts it."""
        _, names, certainty, span, text, arguments = step
        for name in names:
            key, sure = self._key(name, certainty)
            if key is None:
                continue
            entry = self.table[key]
            given = {place: (shown, known, value) for place, shown, known, value in arguments}
            taken = _taken(entry, given)
            if taken is False:
                return None
            written = "mesh" if entry.get("mesh") else ""
            group, whole = _group(entry, given)
            return Effect(key, text, group, path, span, sure, taken is None, written, whole)
        return None

    def _key(self, name: str, certainty: float) -> tuple[str | None, float]:
        if name in self.table:
            return name, BY_NAME if name.startswith("*.") else certainty
        parts = name.split(".")
        for last in (2, 1):
            loose = "*." + ".".join(parts[-last:])
            if loose in self.table:
                return loose, BY_NAME
        return None, certainty


def _expanded(table: Mapping[str, Mapping[str, object]]) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for name, entry in table.items():
        packages = entry.get("in")
        if packages is None:
            found[name] = dict(entry)
        else:
            told = {key: value for key, value in entry.items() if key != "in"}
            found.update({f"{package}.{name}": told for package in _each(packages)})
    return found


def _each(value: Any) -> list[str]:
    """The names in a list of the table."""
    return [str(item) for item in value]


def _pairs(value: Any) -> list[tuple[int | str, object]]:
    """Argument -> value of an inline table; none when the entry has no such table."""
    return [(place, value[place]) for place in value or ()]


def _taken(entry: Entry, given: Given) -> bool | None:
    """Whether the arguments make the call a collective; None when that cannot be told."""
    when = _pairs(entry.get("when"))
    answer: bool | None = True
    for place, value in _pairs(entry.get("unless")):
        if place in given:
            _, known, constant = given[place]
            if known and constant == value:
                return False
            if not known:
                answer = None
        elif OPAQUE in given:
            answer = None
    if when:
        return answer if any(place in given and str(text) in given[place][0] for place, text in when) else False
    return answer


def _group(entry: Entry, given: Given) -> tuple[str | None, bool]:
    """The group of a call, None for the world, and whether it is known to have every process of the job."""
    if entry.get("mesh"):
        return ANY_GROUP, False
    place = entry.get("group")
    text, whole = None, False
    for key in ("group", "process_group", place):
        if isinstance(key, (int, str)) and not isinstance(key, bool) and key in given:
            text, whole = given[key][0], f"{WHOLE}{key}" in given
            break
    if text is None:
        return (ANY_GROUP, False) if OPAQUE in given else (None, False)
    if text == "None" or text.rpartition(".")[2] in ("WORLD", "_get_default_group()"):
        return None, False
    return text, whole
