"""All mutators."""

from __future__ import annotations

from corpus.mutations.collectives import rank_guards
from corpus.mutations.devices import GlobalRankDevice
from corpus.mutations.epochs import EpochNotSet
from corpus.mutations.group_roots import SubgroupRoot
from corpus.mutations.load_templates import EmptyTemplate
from corpus.mutations.optimizers import ClipScaled, OptimizerFirst
from corpus.mutations.pickles import UnsafeLoad
from corpus.mutations.site import Mutator


def mutators() -> list[Mutator]:
    """One mutator a rule, by the name of the rule."""
    found: list[Mutator] = [
        *rank_guards(),
        ClipScaled(),
        EmptyTemplate(),
        EpochNotSet(),
        GlobalRankDevice(),
        OptimizerFirst(),
        SubgroupRoot(),
        UnsafeLoad(),
    ]
    return sorted(found, key=lambda mutator: mutator.rule)
