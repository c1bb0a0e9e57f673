"""Calls that all ranks of a group must make together, as data that a rule pack gives.

An entry maps a dotted name to how the call takes part:

    "torch.distributed.barrier" = { group = 0 }            position of the `group` argument (its keyword always counts)
    "torch.distributed.split_group" = { group = [0, "parent_pg"] }          and a keyword of another name
    "all_reduce" = { in = ["torch.distributed"], group = 2 }        one entry for a name of several packages
    "torch.distributed.checkpoint.save" = { unless = { no_dist = true } }   no collective when that argument is so
    "pkg.get_state" = { when = { options = "full=True" } } a collective only when the argument's text holds this,
    "pkg.from_local" = { when = { run_check = true, 3 = true } }            or is this value, by keyword or position
    "pkg.save_state" = { depends = "..." }                 the call does not tell whether it is one: never a finding
    "*.full_tensor" = { mesh = true }                      any receiver, believed by name; the group is the receiver's
    "*.accelerator.gather" = {}                            any receiver of that last name
    "torchmetrics.*.compute" = {}                          whatever of that package has such a method
    "pkg.flush" = { local = true }                         in the settings: none, whatever else is known of it

A *catalogue* holds such entries in sections, one for each part of a library, with what is common to them:

    [name]
    reference = "https://..."               where the library says so
    checked = "torch 2.13"                  the version whose source was read, for arguments and their positions
    in = ["torch.distributed"]              packages or classes that hold every name of the section
    [name.calls]                            collectives
    [name.depends]                          what is one in some modes alone: name -> which
    [name.local]                            what is none, although it looks like one: name -> why

Other keys of an entry (`reference`, `since`, `until`) are for people, and for the test that looks the names up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shardlint.facts.names import BY_NAME, CERTAIN
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
    """A table of collective calls. `beside` holds further ones that are followed, but are no concern of the rule.

    `local` has the names of calls that are known to wait for nobody, of packages of which that is not known otherwise.
    """

    def __init__(
        self,
        table: Mapping[str, Mapping[str, object]],
        *,
        beside: Effects | None = None,
        local: Iterable[str] = (),
    ) -> None:
        self.own = _expanded(table)
        self.table: dict[str, Entry] = {**beside.table, **self.own} if beside is not None else self.own
        elsewhere: frozenset[str] = beside.local if beside is not None else frozenset()
        self.local: frozenset[str] = elsewhere | frozenset(local)
        self.words = frozenset(name.rpartition(".")[2] for name in self.table)

    @classmethod
    def catalogue(cls, sections: Mapping[str, Mapping[str, Any]], *others: Mapping[str, Mapping[str, Any]]) -> Effects:
        """The effects of a catalogue: a table in sections. Those of the others are beside it."""
        beside = cls.catalogue(*others) if others else None
        table: dict[str, Entry] = {}
        local: list[str] = []
        for section in sections.values():
            packages = section["in"]
            for name, entry in section.get("calls", {}).items():
                table.update({whole: dict(entry) for whole in _whole(name, entry.get("in", packages))})
            for name, which in section.get("depends", {}).items():
                table.update({whole: {"depends": which} for whole in _whole(name, packages)})
            local += [whole for name in section.get("local", ()) for whole in _whole(name, packages)]
        return cls({name: _without_packages(entry) for name, entry in table.items()}, beside=beside, local=local)

    def __or__(self, other: Effects) -> Effects:
        return Effects({**self.own, **other.own}, local=self.local | other.local)

    def extended(self, table: Mapping[str, Mapping[str, object]]) -> Effects:
        """These effects and those of a further table, all of them the rule's concern but those that are `local`."""
        local = {name for name, entry in table.items() if entry.get("local")}
        added = {name: entry for name, entry in table.items() if name not in local}
        if not table:
            return self
        own = {name: entry for name, entry in {**self.own, **added}.items() if name not in local}
        beside = {name: entry for name, entry in self.table.items() if name not in local}
        return Effects(own, beside=Effects(beside), local=self.local | local)

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
            unsure = taken is None or (sure < CERTAIN and _of_a_class(key))
            return Effect(key, text, group, path, span, sure, unsure, written, whole)
        return None

    def _key(self, name: str, certainty: float) -> tuple[str | None, float]:
        if name in self.table:
            return name, BY_NAME if name.startswith("*.") else certainty
        parts = name.split(".")
        anywhere = f"{parts[0]}.*.{parts[-1]}"
        if anywhere in self.table:
            return anywhere, certainty
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


def _whole(name: str, packages: object) -> list[str]:
    """The dotted names of an entry of a section; one for any receiver, or of a whole package, is written in full."""
    return [name] if "*" in name else [f"{package}.{name}" for package in _each(packages)]


def _without_packages(entry: Mapping[str, object]) -> Entry:
    return {key: value for key, value in entry.items() if key != "in"}


def _of_a_class(name: str) -> bool:
    """Whether a name is a method of a known class. A receiver that may be of another class as well says little."""
    owner = name.rpartition(".")[0]
    return owner.rpartition(".")[2][:1].isupper() or owner.endswith(".*")


def _each(value: Any) -> list[str]:
    """The names in a list of the table."""
    return [str(item) for item in value]


def _pairs(value: Any) -> list[tuple[int | str, object]]:
    """Argument -> value of an inline table, whose keys are texts in TOML; none when the entry has no such table."""
    return [(int(place) if str(place).isdigit() else place, value[place]) for place in value or ()]


def _taken(entry: Entry, given: Given) -> bool | None:
    """Whether the arguments make the call a collective; None when that cannot be told."""
    if "depends" in entry:
        return None
    when = _pairs(entry.get("when"))
    answer: bool | None = True
    for place, value in _pairs(entry.get("unless")):
        if place in given:
            held = _holds(value, *given[place])
            if held:
                return False
            if held is None:
                answer = None
        elif OPAQUE in given:
            answer = None
    if when:
        answers = [_holds(wanted, *given[place]) for place, wanted in when if place in given]
        if True in answers:
            return answer
        return None if None in answers or OPAQUE in given else False
    return answer


def _holds(wanted: object, shown: str, known: bool, value: object) -> bool | None:
    """Whether an argument is the wanted value, or its text has the wanted part; None for one that has its value from
    elsewhere."""
    if isinstance(wanted, str):
        return True if wanted in shown else False if known or "(" in shown else None
    return value == wanted if known else None


def _group(entry: Entry, given: Given) -> tuple[str | None, bool]:
    """The group of a call, None for the world, and whether it is known to have every process of the job."""
    if entry.get("mesh"):
        return ANY_GROUP, False
    place: Any = entry.get("group")
    places: list[Any] = [place] if place is None or isinstance(place, (int, str)) else list(place)
    text, whole = None, False
    for key in ("group", "process_group", *places):
        if isinstance(key, (int, str)) and not isinstance(key, bool) and key in given:
            text, whole = given[key][0], f"{WHOLE}{key}" in given
            break
    if text is None:
        return (ANY_GROUP, False) if OPAQUE in given else (None, False)
    if text == "None" or text.rpartition(".")[2] in ("WORLD", "_get_default_group()"):
        return None, False
    return text, whole
