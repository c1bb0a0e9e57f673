"""Where ranks part: a rank test whose two answers lead to different sequences of collectives.

For each rank test of a function its trace is run twice, once with the test true and once with it false; every other
condition stays open and counts as the same on both sides. What is left after the common start is compared as sequences,
calls expanded through the program. Equal sequences are no divergence: a broadcast in both arms, or a barrier that comes
first on one rank and last on the others.
"""

from __future__ import annotations

from typing import Any

from shardlint.facts.effects import Effect, Effects
from shardlint.facts.names import BY_NAME
from shardlint.facts.program import Program
from shardlint.facts.trace import Step, Trace

Item = tuple[Any, ...]
"""("call", step) | ("unknown", span) | ("if", span, text, items, items) | ("loop", span, items) | ("exit", kind)"""

_EVERYWHERE = (
    "is_initialized",
    "is_available",
    "world_size",
    "is_distributed",
    "distributed",
    "get_world_size",
    "num_processes",
)
"""A condition with one of these words asks whether the job is distributed: in such a job it holds on every rank."""
_DEPTH = 8


class Hop:
    """A call on the way from a function to a collective: where it is, and what it calls."""

    __slots__ = ("path", "span", "text")

    def __init__(self, path: str, span: tuple[int, int, int, int], text: str) -> None:
        self.path = path
        self.span = span
        self.text = text


class Reached:
    """A collective and the calls that lead to it, outermost first; none when the function issues it itself."""

    __slots__ = ("effect", "hops")

    def __init__(self, effect: Effect, hops: tuple[Hop, ...] = ()) -> None:
        self.effect = effect
        self.hops = hops

    @property
    def place(self) -> tuple[str, tuple[int, int, int, int], str]:
        """Path, span and text of the call that stands in the function where the ranks part."""
        if self.hops:
            return self.hops[0].path, self.hops[0].span, self.hops[0].text
        return self.effect.path, self.effect.span, self.effect.text


class Way:
    """What the ranks of one answer still do together after the ranks have parted.

    `unknown` says that this way has a call, which the other way has not, that may issue any collective.
    """

    __slots__ = ("reached", "unknown")

    def __init__(self, reached: tuple[Reached, ...], unknown: bool) -> None:
        self.reached = reached
        self.unknown = unknown

    def agrees_with(self, other: Way) -> bool:
        """Whether both ways issue the same operations in the same groups and order."""
        return [r.effect.signature for r in self.reached] == [r.effect.signature for r in other.reached]


class Guard:
    """The rank test where the ranks part, as it is written."""

    __slots__ = ("certainty", "group", "key", "kind", "positive", "span", "text")

    def __init__(self, test: tuple[Any, ...]) -> None:
        self.key, self.positive, self.text, self.span, self.kind, self.group, self.certainty = test


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


def splits(program: Program, path: str, function: str, effects: Effects) -> list[Split]:
    """Every divergence of one function for one table of collectives, unknown ones included."""
    steps = program.file(path).trace(function)
    if not steps:
        return []
    guards: dict[str, list[Guard]] = {}
    _guards(steps, guards)
    found: list[Split] = []
    for key, written in guards.items():
        split = _Comparison(program, path, function, effects, key, written).split(steps)
        if split is not None:
            found.append(split)
    return found


def _guards(steps: Trace, found: dict[str, list[Guard]]) -> None:
    for step in steps:
        if step[0] == "if":
            if not isinstance(step[2], str):
                guard = Guard(step[2])
                found.setdefault(guard.key, []).append(guard)
            _guards(step[3], found)
            _guards(step[4], found)
        elif step[0] == "loop":
            _guards(step[2], found)


def run(steps: Trace, key: str, answer: bool) -> tuple[tuple[Item, ...], bool]:
    """The items of a trace when the rank test `key` has one answer; the flag says that the way ends there."""
    items: list[Item] = []
    for step in steps:
        kind = step[0]
        if kind == "call":
            items.append(("call", step))
        elif kind == "if":
            test = step[2]
            if not isinstance(test, str) and test[0] == key:
                taken = step[3] if test[1] == answer else step[4]
                inner, ended = run(taken, key, answer)
                items += inner
                if ended:
                    return tuple(items), True
            else:
                then, first = run(step[3], key, answer)
                otherwise, second = run(step[4], key, answer)
                if then or otherwise:
                    items.append(("if", step[1], test if isinstance(test, str) else "", then, otherwise))
                if first and second and step[3] and step[4]:
                    return tuple(items), True
        elif kind == "loop":
            items.append(("loop", step[1], run(step[2], key, answer)[0]))
        else:
            items.append(step)
            if kind == "exit":
                return tuple(items), True
    return tuple(items), False


class _Rest:
    """What one side still does: its collectives, and the places of calls that may be anything."""

    __slots__ = ("reached", "unknown")

    def __init__(self) -> None:
        self.reached: list[Reached] = []
        self.unknown: set[tuple[int, int, int, int]] = set()


Rest = tuple[tuple[Item, ...], bool]
"""Items that follow outside of a block; the flag marks the end of a loop body, where break and continue stop."""


class _Comparison:
    def __init__(
        self, program: Program, path: str, function: str, effects: Effects, key: str, written: list[Guard]
    ) -> None:
        self.program = program
        self.path = path
        self.function = function
        self.effects = effects
        self.key = key
        self.written = written

    def split(self, steps: Trace) -> Split | None:
        yes, _ = run(steps, self.key, True)
        no, _ = run(steps, self.key, False)
        return self._compare(yes, no, (), ())

    def _compare(
        self, yes: tuple[Item, ...], no: tuple[Item, ...], after_yes: tuple[Rest, ...], after_no: tuple[Rest, ...]
    ) -> Split | None:
        start = 0
        while start < len(yes) and start < len(no) and yes[start] == no[start]:
            start += 1
        if start == len(yes) == len(no):
            return None
        if start < len(yes) and start < len(no) and yes[start][0] == no[start][0] and yes[start][0] in ("if", "loop"):
            inner = self._inside(yes, no, start, after_yes, after_no)
            if inner is not None:
                return inner
            return self._compare(yes[start + 1 :], no[start + 1 :], after_yes, after_no)
        return self._judge(self._way(yes[start:], after_yes), self._way(no[start:], after_no))

    def _inside(
        self,
        yes: tuple[Item, ...],
        no: tuple[Item, ...],
        at: int,
        after_yes: tuple[Rest, ...],
        after_no: tuple[Rest, ...],
    ) -> Split | None:
        one, other = yes[at], no[at]
        if one[1] != other[1]:
            return self._judge(self._way(yes[at:], after_yes), self._way(no[at:], after_no))
        looped = one[0] == "loop"
        rest_yes = ((yes[at + 1 :], looped), *after_yes)
        rest_no = ((no[at + 1 :], looped), *after_no)
        for first, second in zip(one[2 if looped else 3 :], other[2 if looped else 3 :], strict=True):
            found = self._compare(first, second, rest_yes, rest_no)
            if found is not None:
                return found
        return None

    def _judge(self, yes: _Rest | None, no: _Rest | None) -> Split | None:
        if yes is None or no is None:
            return None
        ours = [r for r in yes.reached if self._touched(r.effect)]
        theirs = [r for r in no.reached if self._touched(r.effect)]
        place = 0
        while (
            place < len(ours) and place < len(theirs) and ours[place].effect.signature == theirs[place].effect.signature
        ):
            place += 1
        if place == len(ours) == len(theirs):
            return None
        here, there, first, answer = (yes, no, ours, True) if place < len(ours) else (no, yes, theirs, False)
        guard = self._guard(first[place])
        ahead = Way(tuple(first[place:]), bool(here.unknown - there.unknown))
        behind = Way(tuple((theirs if answer else ours)[place:]), bool(there.unknown - here.unknown))
        return Split(self.path, self.function, guard, ahead, behind, first[place], guard.positive == answer)

    def _guard(self, reached: Reached) -> Guard:
        """The last writing of the test before the collective."""
        line = reached.place[1][0]
        before = [guard for guard in self.written if guard.span[0] <= line]
        return before[-1] if before else self.written[0]

    def _touched(self, effect: Effect) -> bool:
        """Whether the test can part the members of the group that the collective runs on."""
        if effect.group is None:
            return True
        for guard in self.written:
            if guard.group is not None and guard.group == effect.group:
                return True
        guard = self.written[0]
        one_process = guard.kind == "flag" or (guard.kind == "global" and self.key.rpartition(" == ")[2].isdigit())
        return one_process and guard.certainty > BY_NAME

    def _way(self, items: tuple[Item, ...], after: tuple[Rest, ...]) -> _Rest | None:
        """What is left on one side, or None when this side stops the job with an error."""
        rest = _Rest()
        leaving = ""
        for block, loop_end in ((items, False), *((left, end) for left, end in after)):
            if leaving in ("break", "continue") and loop_end:
                leaving = ""
            if leaving:
                continue
            for item in block:
                if item[0] == "exit":
                    if item[1] == "raise":
                        return None
                    leaving = item[1]
                    break
                self._collect(item, rest)
            if leaving == "return":
                break
        return rest

    def _collect(self, item: Item, rest: _Rest) -> None:
        kind = item[0]
        if kind == "unknown":
            rest.unknown.add(item[1])
        elif kind == "call":
            if self._call(item[1], self.path, rest.reached, 0, frozenset(), sure=True):
                rest.unknown.add(item[1][3])
        elif kind in ("if", "loop"):
            for inner in item[2:] if kind == "loop" else item[3:]:
                for part in inner:
                    self._collect(part, rest)

    def _call(
        self, step: Step, path: str, reached: list[Reached], depth: int, seen: frozenset[tuple[str, str]], *, sure: bool
    ) -> bool:
        effect = self._effect(step, path)
        if effect is not None:
            if sure:
                reached.append(Reached(effect))
            return not sure
        target = next((found for found in (self.program.find(name) for name in step[1]) if found), None)
        if target is None:
            return self._open(step)
        if target in seen or depth > _DEPTH:
            return True
        inner: list[Reached] = []
        steps = self.program.file(target[0]).trace(target[1]) or ()
        unknown = self._body(steps, target[0], inner, depth + 1, seen | {target}, sure=sure)
        hop = Hop(path, step[3], step[4])
        reached += [Reached(found.effect, (hop, *found.hops)) for found in inner]
        return unknown

    def _open(self, step: Step) -> bool:
        """Whether a call that leads to no function of the project may be anything."""
        return any(name.startswith("*.") for name in step[1]) or not step[1]

    def _effect(self, step: Step, path: str) -> Effect | None:
        effect = self.effects.of(step, path)
        if effect is None and step[4].rpartition(".")[2] in self.effects.words:
            names = tuple(self.program.external(name) for name in step[1])
            if names != step[1]:
                effect = self.effects.of((step[0], names, *step[2:]), path)
        return effect

    def _body(
        self,
        steps: Trace,
        path: str,
        reached: list[Reached],
        depth: int,
        seen: frozenset[tuple[str, str]],
        *,
        sure: bool,
    ) -> bool:
        """The collectives that a called function issues whenever it is called; others make the answer unknown."""
        unknown = False
        for step in steps:
            if step[0] == "call":
                unknown |= self._call(step, path, reached, depth, seen, sure=sure)
            elif step[0] == "unknown":
                unknown = True
            elif step[0] == "loop":
                unknown |= self._body(step[2], path, reached, depth, seen, sure=sure)
            elif step[0] == "if":
                everywhere = isinstance(step[2], str) and any(word in step[2] for word in _EVERYWHERE)
                for arm in (step[3], step[4]):
                    unknown |= self._body(arm, path, reached, depth, seen, sure=sure and everywhere)
                if not everywhere and (_leaves(step[3]) or _leaves(step[4])):
                    sure = False
            elif step[1] != "raise":
                break
        return unknown


def _leaves(arm: Trace) -> bool:
    return bool(arm) and arm[-1] == ("exit", "return")
