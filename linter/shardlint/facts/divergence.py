"""Where ranks part: a test whose two answers lead to different sequences of collectives.

A guard is a rank test, or a test of data that only this rank has. For each guard of a function its trace is run twice,
once with the test true and once with it false. What is left between the common start and the common end is compared as
sequences, calls followed through the program; every other condition stays open and gives one sequence more. A sequence
of one side that the other side cannot follow is a divergence. A broadcast in both arms is none, nor is a barrier that
comes first on one rank and last on the others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from shardlint.facts.effects import Effect, Effects
from shardlint.facts.expansion import Expansion, Hop, Item, Path, Place, Reached, alike, following, given, known_arm
from shardlint.facts.local_words import KINDS as LOCAL_KINDS
from shardlint.facts.names import BY_NAME
from shardlint.facts.program import Program
from shardlint.facts.trace import Test, Trace, plain, tests_rank

_HALVES = ("__enter__", "__exit__", "__aenter__", "__aexit__")
"""Two methods that always run as a pair: what one does on some ranks, the other does on the rest."""

_STOP: Item = ("exit", "raise")
"""An error, or an end of the process: the launcher ends the others, too."""

_MOST = 16
_ALTERNATIVES = 64
"""How many ways past early exits are told apart in one comparison; beyond, only what all of them know is used."""
_PARALLEL = re.compile(
    r"parallel|mesh|(?:^|[._(])(?:tp|dp|pp|cp|sp|ep|mp|fsdp|ddp|ulysses|data|tensor|model|shard|replicate)_?(?:process_)?(?:group|pg)"
)
"""Groups whose members all take the same way through the code, by their names."""
_SAME_DATA = re.compile(r"tensor|model|sequence|context|pipeline|ulysses|(?:^|[._(])(?:tp|cp|sp|mp|pp)_")
"""Groups whose members work on the same batch, by their names."""

Items = tuple[Item, ...]
Taken = frozenset[tuple[str, bool]]
Rest = tuple[Items, bool]
"""Items that follow outside of a block; the flag marks the end of a loop body, where break and continue stop."""


class Way:
    """What the ranks of one answer still do together after the ranks have parted.

    `unknown` says that this way has a call, which the other way has not, that may issue any collective. `next` is the
    first collective on it, of whatever table.
    """

    __slots__ = ("next", "reached", "unknown")

    def __init__(self, reached: tuple[Reached, ...], unknown: bool, next: Reached | None) -> None:
        self.reached = reached
        self.unknown = unknown
        self.next = next

    def agrees_with(self, other: Way) -> bool:
        """Whether both ways issue the same operations in the same groups and order."""
        return alike(self.reached, other.reached)


class Guard:
    """The test where the ranks part, as it is written. `calls`: those in which they may have agreed on its answer."""

    __slots__ = ("calls", "certainty", "group", "key", "kind", "positive", "span", "text")

    def __init__(self, test: Test) -> None:
        self.key, self.positive, self.text, self.span, self.kind, self.group, self.certainty, self.calls = test


class Split:
    """A divergence in one function: the ranks on `here` issue `first`, the ranks on `there` do not.

    `holds` says whether `here` is the side on which the guard, as written, is true.
    """

    __slots__ = ("first", "function", "guard", "here", "holds", "path", "there")

    def __init__(
        self, path: str, function: str, guard: Guard, here: Way, there: Way, first: Reached, holds: bool
    ) -> None:
        self.path = path
        self.function = function
        self.guard = guard
        self.here = here
        self.there = there
        self.first = first
        self.holds = holds


def splits(
    program: Program,
    path: str,
    function: str,
    effects: Effects,
    unjudged: list[tuple[Guard, Place]] | None = None,
    *,
    local: Collection[str] = (),
) -> list[Split]:
    """Every divergence of one function for one table of collectives, unknown ones included.

    Args:
        unjudged: takes each guard that parts no known collectives, but has a call on one side only that may issue any.
        local: the kinds of local data whose tests are the guards; rank tests, unless given.
    """
    steps = program.file(path).trace(function)
    if not steps or function.rpartition(".")[2] in _HALVES:
        return []
    guards: dict[str, list[Guard]] = {}
    _guards(steps, guards, frozenset(local))
    found: list[Split] = []
    for key, written in guards.items():
        comparison = _Comparison(program, path, function, effects, key, written)
        split = comparison.split(steps)
        if split is not None:
            found.append(split)
        elif unjudged is not None:
            unjudged += [(written[0], place) for place in comparison.open[:1]]
    return found


def _guards(steps: Trace, found: dict[str, list[Guard]], local: frozenset[str]) -> None:
    for step in steps:
        if step[0] == "if":
            _guard(step[2], found, local)
            _guards(step[3], found, local)
            _guards(step[4], found, local)
        elif step[0] == "loop":
            for test in step[3:]:
                _guard(test, found, local)
            _guards(step[2], found, local)


def _guard(test: Test | str, found: dict[str, list[Guard]], local: frozenset[str]) -> None:
    if isinstance(test, str):
        return
    if test[4] in local if local else tests_rank(test):
        guard = Guard(test)
        found.setdefault(guard.key, []).append(guard)


def run(steps: Trace, key: str, answer: bool) -> tuple[Items, bool]:
    """The items of a trace when the test `key` has one answer; the flag says that the way ends there."""
    items: list[Item] = []
    for step in steps:
        kind = step[0]
        if kind == "call":
            items.append(("call", step))
        elif kind == "if":
            arm = known_arm(step[2], key, answer)
            if arm is not None:
                inner, ended = run(step[arm], key, answer)
                items += inner
                if ended:
                    return tuple(items), True
                continue
            then, first = run(step[3], key, answer)
            otherwise, second = run(step[4], key, answer)
            if then or otherwise:
                items.append(("if", step[1], plain(step[2]), then, otherwise))
            if first and second:
                return tuple(items), True
        elif kind == "loop":
            if answer or len(step) == 3 or step[3][0] != key:
                items.append(("loop", step[1], run(step[2], key, answer)[0]))
        else:
            items.append(step)
            if kind == "exit":
                return tuple(items), True
    return tuple(items), False


def _stays(item: Item, taken: Taken) -> list[Taken]:
    """The conditions of every way that does not leave at an `if` in which some ways do."""
    if item[0] == "exit":
        return []
    if item[0] != "if" or not _leave((item,)):
        return [taken]
    found: list[Taken] = []
    for arm, answer in ((item[3], True), (item[4], False)):
        if (item[2], not answer) not in taken:
            found += _all_stays(arm, taken | given(item[2], answer))
    return found


def _all_stays(items: Items, taken: Taken) -> list[Taken]:
    ways = [taken]
    for item in items:
        ways = [after for way in ways for after in _stays(item, way)][:_MOST]
    return ways


class _Side:
    """The items of one answer from where the sides differ: `apart` up to where they are the same again, then `rest`."""

    def __init__(self, expansion: Expansion, path: str, apart: Items, rest: tuple[Rest, ...], taken: Taken) -> None:
        self.expansion = expansion
        self.taken = taken
        self.path = path
        self.apart = apart
        self.rest = rest
        self.unknown: set[Place] = set()

    def ways(self, *, onward: bool) -> list[Path]:
        """The ways through it; with `onward`, to the end. Those that stop the job with an error are left out."""
        found = [Path((), "", self.taken)]
        for block, loop_end in ((self.apart, False), *(self.rest if onward else ())):
            if loop_end:
                found = [way.outside() for way in found]
            if all(way.leaves for way in found):
                continue
            found = following(found, self.expansion.paths(block, self.path, self.unknown))
        return [way for way in found if way.leaves != "raise"]


class _Comparison:
    def __init__(
        self, program: Program, path: str, function: str, effects: Effects, key: str, written: list[Guard]
    ) -> None:
        self.path = path
        self.function = function
        self.effects = effects
        self.key = key
        self.written = written
        self.open: tuple[Place, ...] = ()
        self.budget = _ALTERNATIVES
        self.sides = (Expansion(program, effects, key, True), Expansion(program, effects, key, False))

    def split(self, steps: Trace) -> Split | None:
        yes, _ = run(steps, self.key, True)
        no, _ = run(steps, self.key, False)
        return self._compare(yes, no, (), (), frozenset())

    def _compare(
        self, yes: Items, no: Items, after_yes: tuple[Rest, ...], after_no: tuple[Rest, ...], taken: Taken
    ) -> Split | None:
        """The first divergence of two ways that have taken the same conditions so far.

        Where only one block differs, the ways part inside of it; where more does, they are compared as a whole, since a
        barrier in one block may belong to one in another.
        """
        start = 0
        while start < len(yes) and start < len(no) and yes[start] == no[start]:
            stays = _stays(yes[start], taken)
            if not stays:
                return None
            start += 1
            if len(stays) > 1 and self.budget > len(stays):
                self.budget -= len(stays)
                return self._each(yes[start:], no[start:], after_yes, after_no, stays)
            taken = stays[0]
            for stay in stays[1:]:
                taken &= stay
        yes, no = yes[start:], no[start:]
        if not yes and not no:
            return None
        if yes and no and yes[0][:2] == no[0][:2] and yes[0][0] in ("if", "loop") and yes[1:] == no[1:]:
            return self._inside(yes, no, after_yes, after_no, taken)
        return self._judge(yes, no, after_yes, after_no, taken)

    def _each(
        self, yes: Items, no: Items, after_yes: tuple[Rest, ...], after_no: tuple[Rest, ...], stays: list[Taken]
    ) -> Split | None:
        """Ways that came past an early exit for different reasons are compared each with what it knows."""
        for stay in stays:
            found = self._compare(yes, no, after_yes, after_no, stay)
            if found is not None:
                return found
        return None

    def _inside(
        self, yes: Items, no: Items, after_yes: tuple[Rest, ...], after_no: tuple[Rest, ...], taken: Taken
    ) -> Split | None:
        looped = yes[0][0] == "loop"
        rest_yes = ((yes[1:], looped), *after_yes)
        rest_no = ((no[1:], looped), *after_no)
        arms = slice(2 if looped else 3, None)
        for first, second, answer in zip(yes[0][arms], no[0][arms], (True, False), strict=False):
            if not looped and (yes[0][2], not answer) in taken:
                continue
            inside: Taken = given("", answer) if looped else taken | given(yes[0][2], answer)
            found = self._compare(first, second, rest_yes, rest_no, inside)
            if found is not None:
                return found
        return None

    def _judge(
        self, yes: Items, no: Items, after_yes: tuple[Rest, ...], after_no: tuple[Rest, ...], taken: Taken
    ) -> Split | None:
        """Compare two ways from where they part to where they are the same again: that cannot make them differ."""
        if any(block[-1:] == (_STOP,) for block in (yes, no)):
            return None
        common = 0
        while common < min(len(yes), len(no)) and yes[-1 - common] == no[-1 - common]:
            common += 1
        leaves = any(_leave(block[: len(block) - common]) for block in (yes, no))
        sides: list[_Side] = []
        for expansion, items, after in zip(self.sides, (yes, no), (after_yes, after_no), strict=True):
            cut = len(items) - common
            sides.append(_Side(expansion, self.path, items[:cut], ((items[cut:], False), *after), taken))
        return self._differ(sides, onward=leaves or after_yes != after_no)

    def _differ(self, sides: list[_Side], *, onward: bool) -> Split | None:
        ours, theirs = (self._own(side.ways(onward=onward)) for side in sides)
        if not ours or not theirs:
            return None
        for answer, mine, others in ((True, ours, theirs), (False, theirs, ours)):
            found = _unmatched(mine, others)
            if found is not None:
                here, there = sides if answer else sides[::-1]
                return self._split(here, there, *found, answer=answer)
        self.open += tuple(sorted(sides[0].unknown ^ sides[1].unknown))
        return None

    def _split(
        self, here: _Side, there: _Side, mine: Sequence[Reached], other: Sequence[Reached], *, answer: bool
    ) -> Split:
        mine, other = _without_end(mine, other)
        place = _common(mine, other)
        first = mine[place]
        ahead = Way(tuple(mine[place:]), bool(here.unknown - there.unknown), first)
        unknown = bool(there.unknown - here.unknown)
        following = [way.reached[place:] for way in there.ways(onward=True) if way.reached[place:]]
        behind = Way(tuple(other[place:]), unknown, following[0][0] if following else None)
        guard = self._guard(first)
        return Split(self.path, self.function, guard, ahead, behind, first, guard.positive == answer)

    def _own(self, ways: list[Path]) -> list[tuple[Reached, ...]]:
        return [
            tuple(r for r in way.reached if self.effects.owns(r.effect) and self._touched(r.effect)) for way in ways
        ]

    def _guard(self, reached: Reached) -> Guard:
        """The last writing of the test before the collective."""
        line = reached.place[1][0]
        before = [guard for guard in self.written if guard.span[0] <= line]
        return before[-1] if before else self.written[0]

    def _touched(self, effect: Effect) -> bool:
        """Whether the test can part the members of the group that the collective runs on.

        A group of its own (with processes outside of the job, of the first ranks of each node) may well be used by one
        rank; the groups of the usual kinds of parallelism are not, nor is one of the whole job under another name.
        """
        if effect.group is None:
            return True
        if any(guard.group is not None and guard.group == effect.group for guard in self.written):
            return True
        guard = self.written[0]
        if guard.kind in LOCAL_KINDS:
            named = _PARALLEL.search(effect.written) is not None and _SAME_DATA.search(effect.written) is None
            return effect.whole or named
        one_process = guard.kind == "flag" or (guard.kind == "global" and self.key.rpartition(" == ")[2].isdigit())
        everyone = effect.whole or _PARALLEL.search(effect.written) is not None
        return one_process and guard.certainty > BY_NAME and everyone


def _leave(items: Items, *, looped: bool = False) -> bool:
    """Whether the items may leave what they stand in, so that what follows is not the same for all of their ways."""
    for item in items:
        if item[0] == "exit":
            return not looped or item[1] not in ("break", "continue")
        if item[0] == "if" and (_leave(item[3], looped=looped) or _leave(item[4], looped=looped)):
            return True
        if item[0] == "loop" and _leave(item[2], looped=True):
            return True
    return False


def _unmatched(
    mine: list[tuple[Reached, ...]], others: list[tuple[Reached, ...]]
) -> tuple[tuple[Reached, ...], tuple[Reached, ...]] | None:
    """A sequence of one side that the other side cannot follow, with the one that follows it furthest."""
    for way in mine:
        if any(alike(way, other) for other in others):
            continue
        closest = max(others, key=lambda other: _common(way, other))
        if _common(way, closest) < len(way):
            return way, closest
    return None


def _without_end(mine: Sequence[Reached], other: Sequence[Reached]) -> tuple[Sequence[Reached], Sequence[Reached]]:
    """Both sequences without the very calls that both end in, so that the one told is the one too many."""
    same = 0
    while same < min(len(mine), len(other)) and mine[-1 - same].place == other[-1 - same].place:
        same += 1
    left, right = mine[: len(mine) - same], other[: len(other) - same]
    return (left, right) if _common(left, right) < len(left) else (mine, other)


def _common(first: Sequence[Reached], second: Sequence[Reached]) -> int:
    """How many collectives two sequences share from their start."""
    place = 0
    while place < min(len(first), len(second)) and first[place].effect.matches(second[place].effect):
        place += 1
    return place


__all__ = ["Guard", "Hop", "Reached", "Split", "Way", "splits"]
