"""Which entries of a checkpoint are the model's, and which are the optimizer's."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from shardlint.runtime.checkpoint.patterns import collapsed
from shardlint.runtime.checkpoint.stored import Contents, Stored

_LEAVES = frozenset(
    [
        "exp_avg",
        "exp_avg_sq",
        "max_exp_avg_sq",
        "momentum_buffer",
        "square_avg",
        "acc_delta",
        "sum",
        "step",
        "grad_avg",
        "exp_inf",
        "ax",
        "eta",
        "mu",
    ]
)
"""What torch's optimizers keep for a parameter."""

_FLAT_STATE = re.compile(r"(?:.*?\.)?state\.(?P<name>.+)\.(?P<leaf>\w+)")
_FLAT_GROUP = re.compile(r"(?:\w*optim\w*\.)?param_groups\..+")
_OPTIMIZER = re.compile(r"optim", re.IGNORECASE)
_TRAINING = re.compile(
    r"(?:lr_?)?schedulers?|lr_scheduler|data_?loader|train(?:er|ing)?_state|trainer|rng(?:_states?)?|(?:global_)?step|"
    r"extra_state|epoch"
)
"""What is saved beside a model so that a job can go on."""


class Parts:
    """The entries of a checkpoint, told apart.

    Args:
        contents: the checkpoint.
        names: of the model's parameters and buffers.
    """

    def __init__(self, contents: Contents, names: Collection[str]) -> None:
        self.states: dict[str, set[str]] = {}
        """Parameter -> what the optimizer keeps for it."""
        self.optimizer = False
        rest = [entry for entry in contents.entries.values() if not self._is_optimizer(entry, names)]
        self.holder = _holder((entry for entry in rest if entry.tensor), names)
        self.model = [entry for entry in rest if entry.tensor and entry.holder == self.holder]
        self.resumes = any(
            _TRAINING.fullmatch(entry.path[0]) is not None
            for entry in rest
            if not entry.tensor or entry.holder != self.holder or entry.key not in names
        )
        """Whether it holds what only a job that goes on needs: a step, a scheduler, the place in the data."""

    def _is_optimizer(self, entry: Stored, names: Collection[str]) -> bool:
        if entry.key in names and not any(_OPTIMIZER.search(step) for step in entry.holder):
            return False
        if any(_OPTIMIZER.search(step) for step in entry.holder) or (len(entry.path) > 2 and entry.path[-3] == "state"):
            self.optimizer = True
            if len(entry.path) > 2 and entry.path[-3] == "state":
                self.states.setdefault(entry.path[-2], set()).add(entry.key)
            else:
                self._flat(entry, names)
            return True
        return not entry.holder and self._flat(entry, names)

    def _flat(self, entry: Stored, names: Collection[str]) -> bool:
        """An entry of an optimizer whose state was flattened into keys."""
        found = _FLAT_STATE.fullmatch(entry.key)
        if found is not None and (found["leaf"] in _LEAVES or found["name"] in names):
            self.optimizer = True
            self.states.setdefault(found["name"], set()).add(found["leaf"])
            return True
        return _FLAT_GROUP.fullmatch(entry.key) is not None


def _holder(entries: Iterable[Stored], names: Collection[str]) -> tuple[str, ...]:
    """The part of the state that resembles the model most; of equals, one that is called a model."""
    ends = {_end(collapsed(name)) for name in names}
    scores: dict[tuple[str, ...], int] = {}
    for entry in entries:
        scores[entry.holder] = scores.get(entry.holder, 0) + (_end(collapsed(entry.key)) in ends)
    if not scores:
        return ()
    return max(scores, key=lambda holder: (scores[holder], "model" in "/".join(holder), -len(holder)))


def _end(pattern: str) -> str:
    """The last two names of a pattern: what is left of a key under another prefix."""
    return ".".join(pattern.rsplit(".", 2)[-2:])
