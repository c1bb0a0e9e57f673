"""All mutators."""

from __future__ import annotations

from corpus.mutations.collectives import rank_guards
from corpus.mutations.site import Mutator


def mutators() -> list[Mutator]:
    """One mutator a rule, by the name of the rule."""
    found: list[Mutator] = [*rank_guards()]
    return sorted(found, key=lambda mutator: mutator.rule)
