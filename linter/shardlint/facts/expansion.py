"""The collectives behind a piece of a trace: calls are followed through the program.

What a called function does only under a condition is not known to happen, and makes the answer open. A condition that
asks whether there are ranks at all is none: where ranks can wait for each other, its answer is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shardlint.facts.effects import Effect, Effects
from shardlint.facts.job_tests import in_a_job
from shardlint.facts.program import Program
from shardlint.facts.trace import QUIET, Step, Test, Trace, plain

Place = tuple[int, int, int, int]
Item = tuple[Any, ...]
"""("call", step) | ("unknown", span, _) | ("if", span, text, items, items) | ("loop", span, items) | ("exit", kind)"""

_DEPTH = 40
_MOST = 32
_NONE: frozenset[tuple[str, bool]] = frozenset()


def given(text: str, answer: bool) -> frozenset[tuple[str, bool]]:
    """An answer to a plain condition. One that calls something may answer differently the next time."""
    return _NONE if not text or "(" in text else frozenset(((text, answer),))


class Hop:
    """A call on the way from a function to a collective: where it is, and what it calls."""

    __slots__ = ("path", "span", "text")

    def __init__(self, path: str, span: Place, text: str) -> None:
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
    def place(self) -> tuple[str, Place, str]:
        """Path, span and text of the call that stands in the function where the ranks part."""
        if self.hops:
            return self.hops[0].path, self.hops[0].span, self.hops[0].text
        return self.effect.path, self.effect.span, self.effect.text


class Path:
    """One way through a piece of code: the collectives in order, and how it leaves (empty: it runs to the end).

    `taken` holds the plain conditions that it took, with their answers.
    """

    __slots__ = ("leaves", "reached", "taken")

    def __init__(
        self, reached: tuple[Reached, ...] = (), leaves: str = "", taken: frozenset[tuple[str, bool]] = _NONE
    ) -> None:
        self.reached = reached
        self.leaves = leaves
        self.taken = taken

    def then(self, other: Path) -> Path | None:
        """This way, and the other one after it unless this one has left; None when one contradicts the other."""
        if self.leaves:
            return self
        joint = Path(self.reached + other.reached, other.leaves, self.taken | other.taken)
        return None if joint.contradicts() else joint

    def contradicts(self) -> bool:
        """Whether a condition is taken with both answers."""
        return any((text, not answer) in self.taken for text, answer in self.taken)

    def under(self, condition: frozenset[tuple[str, bool]]) -> Path:
        """This way, under a condition."""
        return Path(self.reached, self.leaves, self.taken | condition)

    def outside(self) -> Path:
        """This way as the end of a loop body: the loop may go on, and its conditions may change."""
        return Path(self.reached, "" if self.leaves in ("break", "continue") else self.leaves)


def alike(first: Sequence[Reached], second: Sequence[Reached]) -> bool:
    """Whether two ranks that issue these sequences meet in every call."""
    return len(first) == len(second) and all(a.effect.matches(b.effect) for a, b in zip(first, second, strict=True))


def following(ways: list[Path], options: list[Path]) -> list[Path]:
    """Each way with each option after it, without those that contradict themselves."""
    return _distinct([joint for way in ways for option in options if (joint := way.then(option)) is not None])


def _distinct(paths: list[Path]) -> list[Path]:
    """The paths without those that another covers: one that issues the same under fewer conditions."""
    kept: list[Path] = []
    for path in paths:
        place = 0
        while place < len(kept):
            joint = _covering(kept[place], path)
            if joint is None:
                place += 1
            else:  # a wider path may cover others in its turn
                path, place = joint, 0
                kept = [other for other in kept if _covering(other, joint) is None]
        kept.append(path)
    return kept


def _covering(one: Path, other: Path) -> Path | None:
    """The path that stands for both: the wider one, or, when one condition takes both answers, the one without it."""
    if one.leaves != other.leaves or not alike(one.reached, other.reached):
        return None
    left, right = one.taken - other.taken, other.taken - one.taken
    if not left or not right:
        return one if not left else other
    if len(left) == len(right) == 1 and next(iter(left))[0] == next(iter(right))[0]:
        return Path(one.reached, one.leaves, one.taken & other.taken)
    return None


def known_arm(test: Test | str, key: str, answer: bool) -> int | None:
    """Which arm of an `if` step runs, 3 or 4, when the test `key` has one answer; None when either may."""
    if not isinstance(test, str) and test[0] == key:
        return 3 if test[1] == answer else 4
    held = in_a_job(plain(test))
    return None if held is None else 3 if held else 4


class Expansion:
    """Follows calls for one table of collectives and one answer to one test."""

    def __init__(self, program: Program, effects: Effects, key: str, answer: bool) -> None:
        self.program = program
        self.effects = effects
        # A key that names a process means the same in every function; one that names a variable does not.
        self.key = key if key.endswith((" rank == 0", " rank == 1")) else ""
        self.answer = answer

    def paths(self, items: tuple[Item, ...], path: str, unknown: set[Place]) -> list[Path]:
        """Every different way through the items of a function of `path`; places of open calls go into `unknown`."""
        found = [Path()]
        for item in items:
            options = self._options(item, path, unknown)
            if len(options) == 1 and not options[0].reached and not options[0].leaves:
                continue
            found = following(found, options)
            if len(found) > _MOST:
                unknown.add((0, 0, 0, int(self.answer)))  # a place that the other side never has
                found = found[:_MOST]
        return found

    def _options(self, item: Item, path: str, unknown: set[Place]) -> list[Path]:
        kind = item[0]
        if kind == "call":
            reached, open_call = self.call(item[1], path, 0)
            if open_call:
                unknown.add(item[1][3])
            return [Path(tuple(reached))]
        if kind == "exit":
            return [Path((), item[1])]
        if kind == "if":
            arms = ((item[3], given(item[2], True)), (item[4], given(item[2], False)))
            ways = [way.under(taken) for arm, taken in arms for way in self.paths(arm, path, unknown)]
            return _distinct([way for way in ways if not way.contradicts()])
        if kind == "loop":
            ways = [way.outside() for way in self.paths(item[2], path, unknown)]
            return _distinct(ways if any(not way.leaves for way in ways) else [*ways, Path()])
        unknown.add(item[1])
        return [Path()]

    def call(self, step: Step, path: str, depth: int) -> tuple[list[Reached], bool]:
        """The collectives that a call leads to for certain, and whether it may lead to others."""
        if step[1] and all(name in self.effects.local for name in step[1]):
            return [], False
        effect = self.effects.of(step, path)
        targets: set[tuple[str, str]] = set()
        if effect is None or effect.name.startswith("*."):  # what the project itself defines says more than a name
            targets = {found for name in step[1] if (found := self.program.find(name))}
        if targets:
            effect = None
        elif effect is None:
            effect = self._re_exported(step, path)
        if effect is not None:
            return ([], True) if effect.open else ([Reached(effect)], False)
        if not targets:
            return [], self._open(step)
        if len(targets) > 1 or len(step[1]) > 1:
            answers = [self._function(target, depth) for target in targets]
            return [], any(reached or unknown for reached, unknown in answers) or len(targets) < len(step[1])
        inner, unknown = self._function(targets.pop(), depth)
        hop = Hop(path, step[3], step[4])
        return [Reached(found.effect.in_any_group(), (hop, *found.hops)) for found in inner], unknown

    def _open(self, step: Step) -> bool:
        """Whether a call that leads to no function of the project may be a collective.

        What a class leaves to its base is known by the base, but not where it calls it on itself: the method may be one
        that classes which extend it bring along.
        """
        on_itself = step[4].startswith(("self.", "cls."))
        names = step[1] if on_itself else tuple(map(self.program.external, step[1]))
        return not names or any(
            name.partition(".")[0] not in QUIET
            and not name.startswith("builtins.")
            and name not in self.effects.local
            and not self.program.is_class(name)
            for name in names
        )

    def _re_exported(self, step: Step, path: str) -> Effect | None:
        """The effect behind a name that a file of the project passes on. Without its arguments it is an open one."""
        names = tuple(self.program.external(name) for name in step[1])
        if names == step[1]:
            return None
        effect = self.effects.of((step[0], names, *step[2:]), path)
        seen = any(name.rpartition(".")[2] in self.effects.words for name in (step[4], *step[1]))
        return effect if effect is None or seen else effect.opened()

    def _function(self, target: tuple[str, str], depth: int) -> tuple[list[Reached], bool]:
        memo, key = self.program.memo, (self.effects, target, self.key, self.key != "" and self.answer)
        known = memo.get(key)
        if known is None:
            if depth > _DEPTH:
                return [], True
            memo[key] = [], True  # what a function that calls itself gets
            body = _Body(self, target[0], depth + 1)
            steps = self.program.file(target[0]).trace(target[1])
            if steps is None:
                return [], True
            body.run(steps, True)
            known = memo[key] = body.reached, body.unknown
        return known


class _Body:
    """What a called function issues whenever it is called."""

    def __init__(self, expansion: Expansion, path: str, depth: int) -> None:
        self.expansion = expansion
        self.path = path
        self.depth = depth
        self.reached: list[Reached] = []
        self.unknown = False

    def run(self, steps: Trace, sure: bool) -> tuple[bool, bool]:
        """Whether the way ends in these steps, and whether what follows them is still certain to run."""
        expansion = self.expansion
        for step in steps:
            kind = step[0]
            if kind == "call":
                self._call(step, sure)
            elif kind == "unknown":
                self.unknown = True
            elif kind == "loop":
                self.run(step[2], sure)
                sure = sure and not _leaves(step[2], ("return",))
            elif kind == "if":
                arm = known_arm(step[2], expansion.key, expansion.answer)
                if arm is not None:
                    ended, sure = self.run(step[arm], sure)
                    if ended:
                        return True, sure
                    continue
                for inner in (step[3], step[4]):
                    self.run(inner, False)
                sure = sure and not _leaves((step,), ("return", "break", "continue"))
            else:
                return True, sure
        return False, sure

    def _call(self, step: Step, sure: bool) -> None:
        reached, unknown = self.expansion.call(step, self.path, self.depth)
        self.unknown |= unknown
        if sure:
            self.reached += reached
        else:
            self.unknown |= bool(reached)


def _leaves(steps: Trace, kinds: tuple[str, ...]) -> bool:
    for step in steps:
        if step[0] == "exit" and step[1] in kinds:
            return True
        if step[0] == "if" and (_leaves(step[3], kinds) or _leaves(step[4], kinds)):
            return True
        if step[0] == "loop" and _leaves(step[2], ("return",)):
            return True
    return False
