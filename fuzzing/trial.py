"""One numbered input: made from seed and number alone, and tried."""

from __future__ import annotations

import traceback
from random import Random

from fuzzing.case import Broken, Case, Failure
from fuzzing.invariants import Checks
from fuzzing.kinds import KINDS, Kind, World
from fuzzing.place import Place

_SLOTS: list[Kind] = [kind for kind in KINDS for _ in range(kind.share)]
Random(0).shuffle(_SLOTS)


def kind_of(number: int) -> Kind:
    """The kind of the input of a number: in each hundred the shares are exact."""
    return _SLOTS[number % len(_SLOTS)]


def made(world: World, seed: int, number: int) -> Case:
    """The input of a number."""
    return kind_of(number).make(world, Random(f"{seed} {number}"))


def tried(world: World, place: Place, kind: Kind, case: Case, seed: int, number: int) -> Failure | None:
    """What is wrong with what the linter makes of an input."""
    chance = Random(f"check {seed} {number}")
    try:
        kind.check(Checks(place, case, chance, world.rows))
    except Broken as broken:
        return Failure(broken.mark, broken.detail)
    except MemoryError:
        return Failure("memory", traceback.format_exc())
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        mark = f"{type(error).__name__} at {at.filename.rpartition('/')[2]}:{at.lineno}"
        return Failure(mark, traceback.format_exc()[-4000:])
    return None
