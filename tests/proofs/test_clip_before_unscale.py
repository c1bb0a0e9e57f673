"""Proof of clip-before-unscale: the size of a step with the scaler of the rule's own examples."""

from __future__ import annotations

import pytest

from .conftest import bad, good
from .ranks import Ranks

pytestmark = pytest.mark.proves("clip-before-unscale")

SET_UP = """
model = torch.nn.Linear(4, 1, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
scaler = torch.amp.GradScaler("cpu")
before = model.weight.detach().clone()
loss = model(torch.full((1, 4), 100.0)).sum()

def stepped():
    return float((model.weight.detach() - before).norm())
"""
SCALE = 65536


def test_a_step_that_is_clipped_before_unscale_is_as_much_too_small_as_the_scale_is_large(ranks: Ranks) -> None:
    steps = ranks.values(SET_UP, "step(model, optimizer, loss, scaler); stepped()", bad("clip-before-unscale"))
    assert steps == pytest.approx([1 / SCALE] * 2, rel=1e-3)


def test_a_step_that_is_clipped_after_unscale_has_the_size_of_the_limit(ranks: Ranks) -> None:
    driver = "scaler.scale(loss).backward(); two_tests(model, optimizer, scaler); stepped()"
    assert ranks.values(SET_UP, driver, good("clip-before-unscale")) == pytest.approx([1, 1], rel=1e-3)
