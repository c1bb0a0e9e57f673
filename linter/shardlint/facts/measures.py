"""Names of numbers that a rank computes from its own batches, and of the calls that compute them.

What a name says is believed only of a value that the function itself has just computed (`local_tests.py`).
"""

from __future__ import annotations

import re

from shardlint.facts.local_words import MEASURES

_MEASURE = re.compile(
    rf"(?i)(?:.*_)?(?:{MEASURES})(?:e?s|_?(?:val(?:ue)?|item|avg|mean|sum|total|\d+))?(?:_.*)?|.*loss"
)
_OTHER_WORDS = (
    "grad norm fn func function type name key keys weight weights scale scaler coef coeff coefficient thresh threshold "
    "limit max min mask best prev previous init initial old start epoch epochs ids bound config cfg args meter tracker "
    "writer dict list tol tolerance target count num cls class module mode"
)
_OTHER = frozenset(_OTHER_WORDS.split())
"""Parts of a name that make it a setting, a bound or an object: those may be the same on all ranks."""
_FORWARDS = re.compile(
    r"(?:.*[._])?(?:model|net|network|criterion|module|engine|loss_?(?:fn|func|function)?|criterions?)|forward"
)
_GET_WORDS = "get pop setdefault getattr load loads zeros ones full new_zeros zeros_like empty"
_GETS = frozenset(_GET_WORDS.split())
_SAME_WORDS = "load read parse restore resume arg args arguments opt opts options config cfg conf flags params hparams"
_SAME_EVERYWHERE = frozenset(_SAME_WORDS.split())


def is_measure(name: str) -> bool:
    """Whether a name is that of a loss or a metric, and not of a bound or setting of one."""
    return bool(name) and _MEASURE.fullmatch(name) is not None and _OTHER.isdisjoint(name.lower().split("_"))


def computes(name: str) -> bool:
    """Whether a call of that last name, of which nothing is known, is a forward pass or a loss function."""
    return _FORWARDS.fullmatch(name) is not None


def hands_out(name: str) -> bool:
    """Whether a call of that last name gives what every rank has: a setting, a constant, an object."""
    return not name or name in _GETS or name[:1].isupper() or not _SAME_EVERYWHERE.isdisjoint(name.lower().split("_"))
