"""What a pattern asks of its metavariables: `where: {X: {type: ..., regex: ...}}`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from shardlint.facts.matching import with_bases
from shardlint.facts.module import Module
from shardlint.facts.packages import Class
from shardlint.facts.values import literal, made_from
from shardlint.knowledge.problem import CheckProblem
from shardlint.syntax.patterns.bindings import Bound, State
from shardlint.syntax.patterns.bounded import bounded, longest
from shardlint.syntax.patterns.plain import Where, items, mapping
from shardlint.syntax.patterns.snippet import dotted

_MOST_TYPES = 20
_MOST_BASES = 50
"""Classes looked at between a class and the one asked for."""


class Requirement:
    """What is asked of one metavariable: a class, by its dotted name, and a text that is found in it."""

    def __init__(self, name: str, types: tuple[str, ...], regex: re.Pattern[str] | None) -> None:
        self.name = name
        self.types = types
        self.regex = regex

    @property
    def says_something(self) -> bool:
        """Whether some binding does not meet it."""
        return bool(self.types) or (self.regex is not None and self.regex.search("") is None)

    def met(self, module: Module, state: State) -> State | None:
        """The state in which it is met: a doubtful one where that is not known, None where it is not."""
        bound = state.bound.get(self.name)
        if bound is None:
            return state.doubted(f"`${self.name}` stands for nothing here")
        if self.regex is not None:
            text = text_of(module, bound)
            if text is None:
                state = state.doubted(f"the text of `${self.name}` is not known")
            elif self.regex.search(text[: longest(self.regex)]) is None:
                return None
        return self._of_type(module, bound, state) if self.types else state

    def _of_type(self, module: Module, bound: Bound, state: State) -> State | None:
        made = made_from(module, bound) if isinstance(bound, ast.expr) else None
        if made is None or not made.names:
            return state.doubted(f"the class of `${self.name}` is not known")
        answers = {is_a(module, name, self.types) for name in made.names}
        if answers == {False}:
            return None if made.certainty == 1.0 else state.doubted(f"the class of `${self.name}` is not known")
        if True in answers:
            return state.lowered(made.certainty)
        return state.doubted(f"it is not known whether `{made.names[0]}` is a `{self.types[0]}`")


def text_of(module: Module, bound: Bound) -> str | None:
    """The text of a constant, or a name as it is written; None for anything else."""
    if isinstance(bound, str):
        return bound
    if not isinstance(bound, ast.expr):
        return None
    value = literal(module, bound)
    return value if isinstance(value, str) else dotted(bound)


def is_a(module: Module, name: str, wanted: Iterable[str]) -> bool | None:
    """Whether a class is one of those that are wanted or derives from one; None where that is not known."""
    wanted = tuple(wanted)
    known = with_bases(module, [name])
    if any(one in wanted for one in known):
        return True
    owner = module.environment.packages.owner
    targets = [found for one in wanted if isinstance(found := owner(one), Class)]
    if len(targets) < len(wanted):
        return None
    pending: list[object] = [owner(one) for one in known]
    for _ in range(_MOST_BASES):
        if not pending:
            return False
        at = pending.pop()
        if not isinstance(at, Class):
            return None
        if any(at is target for target in targets):
            return True
        pending += at.bases()
    return None


def read_requirements(plain: object, where: Where) -> list[Requirement]:
    """The requirements of a mapping of metavariables. Raises CheckProblem."""
    return [
        _requirement(name, asked, (*where, name)) for name, asked in mapping(plain, where, "{X: {regex: ...}}").items()
    ]


def _requirement(name: str, plain: object, where: Where) -> Requirement:
    if name.startswith("$"):
        raise CheckProblem(where, f"write the name without `$`: `{name.lstrip('$.')}`")
    asked = mapping(plain, where, "{regex: ...}")
    for key in asked:
        if key not in ("type", "regex"):
            raise CheckProblem((*where, key), f"`{key}` cannot be asked of a metavariable: only `type` and `regex` can")
    types: list[str] = []
    for place, one in items(asked["type"], (*where, "type"), "types", _MOST_TYPES) if "type" in asked else ():
        if not isinstance(one, str) or not all(part.isidentifier() for part in one.split(".")):
            raise CheckProblem(place, "a type is the dotted name of a class, such as `torch.optim.Optimizer`")
        types.append(one)
    regex = bounded(asked["regex"], (*where, "regex")) if "regex" in asked else None
    return Requirement(name, tuple(types), regex)
