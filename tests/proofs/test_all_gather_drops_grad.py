"""Proof of all-gather-drops-grad: what a model learns from features that two ranks gather."""

from __future__ import annotations

import pytest

from .conftest import bad, good
from .ranks import Ranks

pytestmark = pytest.mark.proves("all-gather-drops-grad")

MODEL = """
model, scale = torch.nn.Linear(2, 2), torch.nn.Parameter(torch.ones(1))
batch = torch.ones(2, 2) + rank

def loss(features):
    return features.exp().sum()
"""
GRADIENTS = """
[scale.grad is not None, model.weight.grad is not None]
"""


def test_the_model_has_no_gradient_and_nothing_is_said(ranks: Ranks) -> None:
    driver = "step(model, scale, batch, loss)"
    assert ranks.values(MODEL, driver, GRADIENTS, bad("all-gather-drops-grad")) == [[True, False]] * 2


def test_the_own_features_put_back_carry_the_gradient(ranks: Ranks) -> None:
    driver = "step(model, scale, batch, loss)"
    assert ranks.values(MODEL, driver, GRADIENTS, good("all-gather-drops-grad")) == [[True, True]] * 2


def test_the_differentiable_gather_carries_the_gradient(ranks: Ranks) -> None:
    driver = "differentiable(model, scale, batch, loss)"
    assert ranks.values(MODEL, driver, GRADIENTS, good("all-gather-drops-grad")) == [[True, True]] * 2
