"""Proof of missing-set-epoch: the order of the samples in three epochs of the rule's own examples."""

from __future__ import annotations

import pytest

from .conftest import bad, good
from .ranks import Ranks

pytestmark = pytest.mark.proves("missing-set-epoch")

EPOCHS = """
seen = []

def see(loader):
    seen.append([int(x) for x in loader])
"""


@pytest.mark.parametrize(
    "driver",
    [
        "train([(i, i) for i in range(32)], None, lambda model, x, y: seen.append(int(x)))\n"
        "[seen[:16], seen[16:32], seen[32:]]",
        "main(list(range(32)), 3, lambda batches, epoch: see(batches))\nseen",
    ],
)
def test_every_epoch_has_the_same_order(ranks: Ranks, driver: str) -> None:
    for epochs in ranks.values(EPOCHS, driver, bad("missing-set-epoch")):
        assert len(epochs[0]) == 16
        assert epochs[0] == epochs[1] == epochs[2] != sorted(epochs[0])


def test_a_sampler_that_is_told_the_epoch_shuffles_anew(ranks: Ranks) -> None:
    for epochs in ranks.values(EPOCHS, "train(list(range(32)), see)\nseen", good("missing-set-epoch")):
        assert len(epochs[0]) == 16
        assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
