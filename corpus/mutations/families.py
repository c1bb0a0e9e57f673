"""All mutators."""

from __future__ import annotations

from .collators import ColumnsRemoved, MediaDropped, PlaceholdersCut
from .collectives import rank_guards
from .devices import GlobalRankDevice
from .epochs import EpochNotSet
from .futures import FutureDropped
from .generated_files import GeneratedEdit, GeneratedOrphan, GeneratedStale
from .group_roots import SubgroupRoot
from .load_templates import EmptyTemplate
from .local_data import local_exits
from .modality_configs import WrongTemplate
from .optimizers import ClipScaled, OptimizerFirst
from .pad_masks import PadIsEos
from .pickles import UnsafeLoad
from .reductions import ReducedToOne
from .registrations import RegistrationLost
from .renames import KeyRename, StalePattern
from .site import Mutator
from .temporaries import CollectiveOnCopy
from .waits import NotWaited
from .yaml_floats import FloatWithoutDot


def mutators() -> list[Mutator]:
    """One mutator a rule, by the name of the rule."""
    found: list[Mutator] = [
        *rank_guards(),
        *local_exits(),
        ClipScaled(),
        CollectiveOnCopy(),
        ColumnsRemoved(),
        EmptyTemplate(),
        EpochNotSet(),
        FloatWithoutDot(),
        FutureDropped(),
        GeneratedEdit(),
        GeneratedOrphan(),
        GeneratedStale(),
        GlobalRankDevice(),
        KeyRename(),
        MediaDropped(),
        NotWaited(),
        OptimizerFirst(),
        PadIsEos(),
        PlaceholdersCut(),
        ReducedToOne(),
        RegistrationLost(),
        StalePattern(),
        SubgroupRoot(),
        UnsafeLoad(),
        WrongTemplate(),
    ]
    return sorted(found, key=lambda mutator: mutator.rule)
