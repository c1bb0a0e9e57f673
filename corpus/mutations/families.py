"""All mutators."""

from __future__ import annotations

from .collectives import rank_guards
from .devices import GlobalRankDevice
from .epochs import EpochNotSet
from .group_roots import SubgroupRoot
from .load_templates import EmptyTemplate
from .optimizers import ClipScaled, OptimizerFirst
from .pickles import UnsafeLoad
from .generated_files import GeneratedEdit, GeneratedOrphan, GeneratedStale
from .patch_targets import DeadTarget
from .registrations import RegistrationLost
from .renames import KeyRename, StalePattern
from .site import Mutator
from .yaml_floats import FloatWithoutDot


def mutators() -> list[Mutator]:
    """One mutator a rule, by the name of the rule."""
    found: list[Mutator] = [
        *rank_guards(),
        ClipScaled(),
        DeadTarget(),
        EmptyTemplate(),
        EpochNotSet(),
        FloatWithoutDot(),
        GeneratedEdit(),
        GeneratedOrphan(),
        GeneratedStale(),
        GlobalRankDevice(),
        KeyRename(),
        OptimizerFirst(),
        RegistrationLost(),
        StalePattern(),
        SubgroupRoot(),
        UnsafeLoad(),
    ]
    return sorted(found, key=lambda mutator: mutator.rule)
