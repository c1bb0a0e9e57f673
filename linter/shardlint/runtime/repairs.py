"""Ways in which a pattern that matches nothing may have been meant: few and safe ones, for each becomes advice.

A slip of the pen, a prefix that a wrapper adds or takes away, a number where the framework wants `*`, a parameter named
where a module is wanted. A name that merely resembles another (`q_proj` and `q_a_proj`, `w1` and `w3`) is another
variant of the model, not a slip.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from shardlint.runtime.matchers import MATCHERS, Matcher, starred
from shardlint.runtime.model_facts import ModelFacts, parent_of

WRAPPERS = frozenset(
    (
        "_checkpoint_wrapped_module",
        "_forward_module",
        "_fsdp_wrapped_module",
        "_orig_mod",
        "base_layer",
        "base_model",
        "model",
        "module",
    )
)
"""Names that wrappers put into every path: compile, FSDP, activation checkpointing, DDP, PEFT, Lightning, and the
`model` of Transformers' heads."""


@dataclass(frozen=True)
class Repair:
    """A pattern that may have been meant.

    Args:
        pattern: in the framework's own writing.
        cost: the smaller, the surer: 0 the framework's own writing, 1 a wrapper's name, 2 a slip.
        spelling: whether it names what the pattern names, and only the writing is mended.
    """

    pattern: str
    cost: int
    spelling: bool = False


def repairs(pattern: str, matcher: Matcher, model: ModelFacts) -> Iterator[Repair]:
    """What a pattern may have been meant to be. Whether a repair matches anything is the caller's question."""
    yield from _framework_writing(pattern, matcher, model)
    segments = pattern.split(".")
    known = model.remembered("segments", _segments)
    held = any(matcher.covers(parent_of(pattern), module) for module in model.modules)
    for at in range(len(segments)):
        if held and at < len(segments) - 1:
            continue  # The holder is there, without the child: only the child's name can be a slip.
        for other in sorted(known):
            if is_slip(segments[at], other):
                yield Repair(".".join((*segments[:at], other, *segments[at + 1 :])), 2)
    yield from _other_wrappers(segments, known & WRAPPERS)


def _segments(model: ModelFacts) -> frozenset[str]:
    return frozenset(segment for name in (*model.parameters, *model.modules) for segment in name.split("."))


def _framework_writing(pattern: str, matcher: Matcher, model: ModelFacts) -> Iterator[Repair]:
    if matcher is MATCHERS["hf"]:
        yield Repair(starred(pattern), 0, spelling=True)
    if matcher is MATCHERS["veomni"]:
        yield Repair(f"{pattern}.weight", 0)
    if matcher is MATCHERS["torch"] and pattern.endswith(".weight"):
        yield Repair(parent_of(pattern), 0)
    if matcher is not MATCHERS["veomni"] and pattern.startswith("*."):
        for name in sorted({starred(module) for module in model.modules if module.endswith(pattern[1:])}):
            yield Repair(name, 0)


def _other_wrappers(segments: list[str], present: Collection[str]) -> Iterator[Repair]:
    """The pattern with wrappers' names taken out, and with up to two that the model has put in."""
    for at, segment in enumerate(segments):
        if segment in WRAPPERS and len(segments) > 1:
            yield Repair(".".join((*segments[:at], *segments[at + 1 :])), 1)
    for at in range(len(segments) + 1):
        for first in sorted(present):
            once = [*segments[:at], first, *segments[at:]]
            yield Repair(".".join(once), 1)
            for second in sorted(present):
                yield Repair(".".join((*once[: at + 1], second, *once[at + 1 :])), 1)


def is_slip(written: str, meant: str) -> bool:
    """Whether one name is the other with a single slip: a letter missing, added, changed, or two swapped.

    Short words (`q`, `w1`) and digits tell names apart, so a change there is none; a swap in a longer name is one, and
    so is a character typed twice.
    """
    if min(len(written), len(meant)) < 2 or written == meant:
        return False
    if len(written) == len(meant):
        differing = [at for at in range(len(written)) if written[at] != meant[at]]
        changed = "".join(written[at] + meant[at] for at in differing)
        if len(differing) == 1:
            return changed.isalpha() and _in_long_word(meant, differing[0])
        swapped = len(differing) == 2 and differing[1] == differing[0] + 1 and changed == changed[::-1]
        return swapped and len(meant) >= 5 and changed.replace("_", "").isalpha()
    longer, shorter = (written, meant) if len(written) > len(meant) else (meant, written)
    if len(longer) != len(shorter) + 1:
        return False
    at = next((at for at, char in enumerate(shorter) if longer[at] != char), len(shorter))
    if longer[at + 1 :] != shorter[at:]:
        return False
    doubled = at > 0 and longer[at - 1] == longer[at]
    return doubled or longer[at] == "_" or (longer[at].isalpha() and _in_long_word(longer, at))


def _in_long_word(name: str, at: int) -> bool:
    """Whether the word around a place, between underscores, is long enough for a slip to be told from another name."""
    start = name.rfind("_", 0, at) + 1
    end = name.find("_", at)
    return (len(name) if end < 0 else end) - start >= 4
