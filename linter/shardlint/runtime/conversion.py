"""What a framework renames and merges while it loads a checkpoint, as Transformers' `conversion_mapping` states it.

A step with operations merges or splits tensors; one without is a plain rename. All renames are applied in turn, then
the first step with operations that matches. https://huggingface.co/docs/transformers/main/en/weightconverter
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from shardlint.errors import PlanError

_LONGEST = 500
_REPEATED_GROUP = re.compile(r"\([^()]*[+*}][^()]*\)[+*{]")
"""A repetition of a repetition may take time without end."""


@dataclass(frozen=True)
class Step:
    """One rename, merge or split.

    Args:
        source: regular expressions over the checkpoint's keys, in which `*.` is any text; of several, all flow into
            the target.
        target: what the match becomes, `\\1` for the group of the source; several for a split.
        operations: the names of what is done to the values; empty for a rename.
        scope: a prefix that keys must have for the step to be for them.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    operations: tuple[str, ...] = ()
    scope: str = ""


@dataclass(frozen=True)
class Conversion:
    """All that is done to the keys of a checkpoint.

    Args:
        steps: in the order in which they are tried.
        base_prefix: the name of the inner model; the framework adds it to keys, or takes it away, where that helps.
        ignored_missing, ignored_unexpected: regular expressions for keys of which the framework says nothing.

    Raises PlanError for a regular expression that is none, or that may take time without end.
    """

    steps: tuple[Step, ...] = ()
    base_prefix: str = ""
    ignored_missing: tuple[str, ...] = ()
    ignored_unexpected: tuple[str, ...] = ()
    _compiled: tuple[tuple[Step, re.Pattern[str]], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        compiled = [(step, _alternatives(step)) for step in self.steps if step.source and step.target]
        object.__setattr__(self, "_compiled", tuple(compiled))
        for pattern in (*self.ignored_missing, *self.ignored_unexpected):
            _compile(pattern)

    def converted(self, key: str) -> tuple[str, Step | None]:
        """What a key is called after all renames, and the step that merges or splits it."""
        for step, pattern in self._compiled:
            if not step.operations:
                key = self._replaced(key, step, pattern) or key
        for step, pattern in self._compiled:
            merged = self._replaced(key, step, pattern) if step.operations else None
            if merged is not None:
                return merged, step
        return key, None

    def _replaced(self, key: str, step: Step, pattern: re.Pattern[str]) -> str | None:
        prefix = self._scope(key, step)
        if prefix is None:
            return None
        rest = key[len(prefix) :]
        found = pattern.search(rest)
        if found is None or found.lastgroup is None:
            return None
        group = pattern.groupindex[found.lastgroup]
        target = re.sub(r"\\([0-9.])", lambda part: _part(part[1], found, group), step.target[0])
        return prefix + rest[: found.start()] + target + rest[found.end() :]

    def _scope(self, key: str, step: Step) -> str | None:
        if not step.scope:
            return ""
        scopes = (f"{self.base_prefix}.{step.scope}.", f"{step.scope}.")
        return next((scope for scope in scopes if key.startswith(scope)), None)

    def ignores_missing(self, key: str) -> bool:
        """Whether the framework says nothing when a key of the model is not in the checkpoint."""
        return any(re.search(pattern, key) for pattern in self.ignored_missing)

    def ignores_unexpected(self, key: str) -> bool:
        """Whether the framework says nothing when the model has no such key."""
        return any(re.search(pattern, key) for pattern in self.ignored_unexpected)


def _part(named: str, found: re.Match[str], group: int) -> str:
    """What stands for `\\1` or for `\\.` in a target; groups are counted within the source that matched."""
    if named == ".":
        return "."
    number = group + int(named)
    return (found[number] or "") if number <= (found.re.groups or 0) else ""


def _alternatives(step: Step) -> re.Pattern[str]:
    """Any of a step's sources, the longest first; `lastgroup` tells which one."""
    ordered: Iterable[tuple[int, str]] = sorted(enumerate(step.source), key=lambda one: -len(one[1]))
    branches: list[str] = []
    for number, source in ordered:
        _compile(source)
        pattern = source.replace("*.", r".*\.")
        # A source ends where a name ends: `weight` is not the start of `weight_scale`.
        end = r"(?!\w)" if re.search(r"[a-zA-Z0-9]$", pattern) else ""
        branches.append(f"(?P<source{number}>{pattern}{end})")
    return _compile("|".join(branches), longest=_LONGEST * len(step.source) * 2)


def _compile(pattern: str, *, longest: int = _LONGEST) -> re.Pattern[str]:
    if len(pattern) > longest or _REPEATED_GROUP.search(pattern):
        raise PlanError(f"model facts: the conversion pattern `{pattern[:80]}` may take too long to match")
    try:
        return re.compile(pattern)
    except re.error as error:
        raise PlanError(f"model facts: the conversion pattern `{pattern[:80]}` is none: {error}") from None
