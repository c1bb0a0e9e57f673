"""Proof of dcp-load-empty-template: an optimizer that made a step is saved, and the rule's own examples load it."""

from __future__ import annotations

import pytest

from .conftest import bad, good
from .ranks import Ranks

pytestmark = pytest.mark.proves("dcp-load-empty-template")

SAVED = """
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict

def trained():
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return model, optimizer

model, optimizer = trained()
"""


def test_a_raw_state_dict_of_a_fresh_optimizer_takes_nothing_and_nothing_is_said(ranks: Ranks) -> None:
    driver = """
    dcp.save({"model": model.state_dict(), "optim": optimizer.state_dict()}, checkpoint_id=folder)
    [len(optimizer.state), len(resume(torch.nn.Linear(2, 2), folder).state)]
    """
    assert ranks.values(SAVED, driver, bad("dcp-load-empty-template")) == [[2, 0], [2, 0]]


def test_an_empty_dict_takes_nothing(ranks: Ranks) -> None:
    driver = "dcp.save({'model': model.state_dict()}, checkpoint_id=folder); peek(folder)"
    assert ranks.values(SAVED, driver, bad("dcp-load-empty-template")) == [{}, {}]


def test_a_template_that_creates_the_state_brings_the_moments_back(ranks: Ranks) -> None:
    driver = """
    dcp.save({"optim": get_optimizer_state_dict(model, optimizer)}, checkpoint_id=folder)
    fresh = torch.nn.Linear(2, 2)
    state = resume(fresh, folder).state[fresh.weight]
    [torch.equal(state[name], optimizer.state[model.weight][name]) for name in ("step", "exp_avg", "exp_avg_sq")]
    """
    assert ranks.values(SAVED, driver, good("dcp-load-empty-template")) == [[True] * 3] * 2


def test_the_state_is_created_only_while_no_parameter_has_a_gradient(ranks: Ranks) -> None:
    driver = """
    model.zero_grad()
    sizes = []
    for backward in (False, True):
        fresh = torch.optim.AdamW(model.parameters())
        if backward:
            model(torch.ones(1, 2)).sum().backward()
        sizes.append(len(get_optimizer_state_dict(model, fresh)["state"]))
    sizes
    """
    assert ranks.values(SAVED, driver) == [[2, 0]] * 2
