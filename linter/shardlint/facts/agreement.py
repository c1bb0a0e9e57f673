"""Whether ranks have agreed on a value: some call on its way shares it between them, as the program tells."""

from __future__ import annotations

import re

from shardlint.facts.effects import Effects
from shardlint.facts.measures import computes
from shardlint.facts.program import Program
from shardlint.facts.trace import QUIET, Step, Trace

_SHARES = re.compile(r"reduce|gather|broadcast|full_tensor|allreduce|redistribute|all_to_all")
_OWN_WORDS = "to eval train zero_grad parameters named_parameters named_modules modules compute reset"
_OF_ITSELF = frozenset(_OWN_WORDS.split())
"""Methods that a function calls on its model, batch or meters."""
_DEPTH = 20


class Agreement:
    """Judges calls for one table of collectives."""

    def __init__(self, program: Program, effects: Effects) -> None:
        self.program = program
        self.effects = effects

    def of(self, calls: Trace, path: str) -> bool | None:
        """Whether one of some calls, made in a file, shares values between ranks; None when that is not known."""
        return self._any(calls, path, 0)

    def _any(self, steps: Trace, path: str, depth: int) -> bool | None:
        answer: bool | None = False
        for step in steps:
            found = self._step(step, path, depth)
            if found:
                return True
            answer = None if found is None else answer
        return answer

    def _step(self, step: Step, path: str, depth: int) -> bool | None:
        kind = step[0]
        if kind == "call":
            return self._call(step, path, depth)
        if kind == "unknown":
            return False if computes(step[2]) or step[2] in _OF_ITSELF else None
        if kind == "if":
            return self._any((*step[3], *step[4]), path, depth)
        return self._any(step[2], path, depth) if kind == "loop" else False

    def _call(self, step: Step, path: str, depth: int) -> bool | None:
        effect = self.effects.of(step, path)
        if effect is not None:
            return _SHARES.search(effect.name.rpartition(".")[2]) is not None
        external = (step[0], tuple(map(self.program.external, step[1])), *step[2:])
        effect = self.effects.of(external, path)
        if effect is not None:
            return _SHARES.search(effect.name.rpartition(".")[2]) is not None or None
        answer: bool | None = False
        for name in step[1]:
            target = self.program.find(name)
            if target is not None:
                found = self._function(target, depth)
            else:
                quiet = name.partition(".")[0] in QUIET or name.startswith("builtins.")
                last = name.rpartition(".")[2]
                found = False if quiet or computes(last) or last in _OF_ITSELF or self.program.is_class(name) else None
            if found:
                return True
            answer = None if found is None else answer
        return answer if step[1] else None

    def _function(self, target: tuple[str, str], depth: int) -> bool | None:
        memo, key = self.program.memo, ("agreement", self.effects, target)
        if key not in memo:
            memo[key] = False  # what a function that calls itself adds
            steps = self.program.file(target[0]).trace(target[1]) if depth < _DEPTH else None
            memo[key] = None if steps is None else self._any(steps, target[0], depth + 1)
        found: bool | None = memo[key]
        return found
