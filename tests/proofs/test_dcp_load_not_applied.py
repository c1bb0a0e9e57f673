"""Proof of dcp-load-not-applied: the examples resume from a checkpoint of step 7."""

from __future__ import annotations

import pytest

from .conftest import bad, good
from .ranks import Ranks

pytestmark = pytest.mark.proves("dcp-load-not-applied")

DRIVER = """
import torch.distributed.checkpoint as dcp

def parts(seed):
    torch.manual_seed(seed)
    model = torch.nn.Linear(2, 2)
    return model, torch.optim.lr_scheduler.LinearLR(torch.optim.SGD(model.parameters(), lr=1.0))

model, scheduler = parts(0)
scheduler.last_epoch = 7
dcp.save({"model": model.state_dict(), "scheduler": scheduler.state_dict(), "step": 7}, checkpoint_id=folder)
fresh, schedule = parts(1)
step = resume(fresh, schedule, folder)
[torch.equal(fresh.weight, model.weight), step, schedule.last_epoch]
"""


def test_only_the_tensors_are_those_of_the_checkpoint(ranks: Ranks) -> None:
    assert ranks.values(DRIVER, bad("dcp-load-not-applied")) == [[True, 0, 0]] * 2


def test_what_is_read_from_the_dict_is_restored(ranks: Ranks) -> None:
    assert ranks.values(DRIVER, good("dcp-load-not-applied")) == [[True, 7, 7]] * 2
