"""Which names a pattern of a plan means, by the rules of the framework that applies the plan.

`*` means something else in each of them. Each matcher here agrees with what the framework does, name for name: the
tests hold tables made by the frameworks themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache

from shardlint.runtime.model_facts import ModelFacts, parent_of


class Matcher:
    """The matcher of one framework."""

    name: str
    """As the head of a plan writes it."""
    axis: str
    """The mesh axis that its plans shard over unless an entry names another."""
    target: str
    """What its patterns name."""
    wildcard: str
    """What `*` stands for, as a clause."""

    def names(self, pattern: str, model: ModelFacts, patterns: Collection[str]) -> tuple[str, ...]:
        """The parameters or modules that the framework applies a pattern to, in the order of the model.

        Args:
            patterns: all patterns of the same plan, for a framework that prefers one over another.
        """
        raise NotImplementedError

    def covers(self, pattern: str, name: str) -> bool:
        """Whether a pattern means a name, wherever that name may come from."""
        raise NotImplementedError


class VeOmniMatcher(Matcher):
    """VeOmni's `ParallelPlan.apply`: the whole name of a parameter, where `*` stands for any text, dots included. Of a
    tied tensor it sees the first name only."""

    name, axis, target = "veomni", "ep", "parameter"
    wildcard = "`*` stands for any text, dots included, and nothing else is special"

    def names(self, pattern: str, model: ModelFacts, patterns: Collection[str]) -> tuple[str, ...]:
        del patterns
        names = model.remembered("veomni", _untied)
        text = model.remembered("veomni text", lambda facts: "\n".join(_untied(facts)))
        if not all(part in text for part in pattern.split("*")):
            return ()  # Most patterns that are only tried match nothing.
        return tuple(name for name in names if self.covers(pattern, name))

    def covers(self, pattern: str, name: str) -> bool:
        first, *rest = pattern.split("*")
        if not rest:
            return name == pattern
        *middle, last = rest
        if not name.startswith(first) or not name.endswith(last):
            return False
        at, end = len(first), len(name) - len(last)
        for part in middle:
            found = name.find(part, at, end)
            if found < 0:
                return False
            at = found + len(part)
        return at <= end


def _untied(model: ModelFacts) -> tuple[str, ...]:
    return tuple(p.name for p in model.parameters.values() if p.tied_to is None)


class TorchMatcher(Matcher):
    """torch's `parallelize_module`: the path of a module from the one that is passed, matched name by name with shell
    patterns. An empty pattern, and a dot at the end, mean the module reached so far."""

    name, axis, target = "torch", "tp", "module"
    wildcard = "`*` stands for one name of the path, never for a dot"

    def names(self, pattern: str, model: ModelFacts, patterns: Collection[str]) -> tuple[str, ...]:
        del patterns
        reached = [""]
        for token in _torch_tokens(pattern):
            reached = [
                child
                for parent in reached
                for child in model.children(parent)
                if fnmatchcase(child.rpartition(".")[2], token)
            ]
        return tuple(reached)

    def covers(self, pattern: str, name: str) -> bool:
        tokens, path = _torch_tokens(pattern), name.split(".") if name else []
        return len(tokens) == len(path) and all(map(fnmatchcase, path, tokens))


def _torch_tokens(pattern: str) -> list[str]:
    if not pattern:
        return []
    tokens = pattern.split(".")
    if len(tokens) > 1 and not tokens[-1]:
        tokens.pop()
    return tokens


class HuggingFaceMatcher(Matcher):
    """Transformers' `tp_plan` and its kin: numbers in a name become `*`, then the name must be a key of the plan. A
    parameter falls back to the key of the module that holds it."""

    name, axis, target = "hf", "tp", "module or parameter"
    wildcard = "`*` stands for the number of a layer, and a number itself never matches"

    def names(self, pattern: str, model: ModelFacts, patterns: Collection[str]) -> tuple[str, ...]:
        index = model.remembered("hf", _starred_names)
        return tuple(name for name, own in index.get(pattern, ()) if own is None or own not in patterns)

    def covers(self, pattern: str, name: str) -> bool:
        return starred(name) == pattern


def _starred_names(model: ModelFacts) -> dict[str, list[tuple[str, str | None]]]:
    """What each pattern means. A parameter that is meant by the key of its module comes with its own key."""
    index: dict[str, list[tuple[str, str | None]]] = {}
    for module in model.modules.values():
        if module.same_as is not None:
            continue
        index.setdefault(starred(module.name), []).append((module.name, None))
        for parameter in _first_names(model, module.name):
            written = starred(parameter)
            index.setdefault(written, []).append((parameter, None))
            if "." in written:
                index.setdefault(parent_of(written), []).append((parameter, written))
    return index


def _first_names(model: ModelFacts, module: str) -> Iterator[str]:
    """The parameters that a module holds; of one that it holds twice, the first name."""
    seen: set[str] = set()
    for parameter in model.own_parameters(module):
        identity = parameter.tied_to or parameter.name
        if identity not in seen:
            seen.add(identity)
            yield parameter.name


@lru_cache(maxsize=100_000)
def starred(name: str) -> str:
    """A name as Transformers writes it: each number between dots, or after the last dot, becomes `*`. Of two numbers in
    a row only the first does, and a number at the start stays."""
    parts = name.split(".")
    replaced = False
    for at in range(1, len(parts)):
        replaced = not replaced and parts[at].isdecimal()
        if replaced:
            parts[at] = "*"
    return ".".join(parts)


MATCHERS: dict[str, Matcher] = {
    matcher.name: matcher for matcher in (VeOmniMatcher(), TorchMatcher(), HuggingFaceMatcher())
}
"""By the name that the head of a plan gives."""
