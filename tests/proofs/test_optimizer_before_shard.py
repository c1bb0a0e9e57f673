"""Proof of optimizer-before-shard: one step of the optimizer of the rule's own examples, and how far the model moved.

FSDP(model), the first FSDP, does not run without an accelerator, so the example's function that wraps in it is left
out.
"""

from __future__ import annotations

import pytest

from .conftest import bad, good
from .ranks import Ranks

pytestmark = pytest.mark.proves("optimizer-before-shard")

MOVED = """
def moved(model, optimizer):
    whole = lambda: getattr(model.weight, "full_tensor", model.weight.clone)().detach()
    before = whole()
    model(torch.ones(2, 2)).sum().backward()
    optimizer.step()
    return float((whole() - before).abs().max())
"""


def test_the_model_does_not_move_when_it_is_sharded_after_its_optimizer_was_built(ranks: Ranks) -> None:
    driver = """
    trainer = Trainer()
    trainer.model = torch.nn.Linear(2, 2)
    trainer.setup()
    moved(trainer.model, trainer.opt)
    """
    assert ranks.values(MOVED, driver, bad("optimizer-before-shard")) == [0, 0]


@pytest.mark.parametrize(
    "driver",
    [
        "model = torch.nn.Linear(2, 2); [optimizer] = in_a_loop([model]); moved(model, optimizer)",
        "model = torch.nn.Linear(2, 2); moved(model, built_again(model))",
        "model = torch.nn.Linear(2, 2); moved(model, another(model, torch.nn.Linear(2, 2)))",
    ],
)
def test_the_model_moves_when_its_optimizer_has_its_parameters(ranks: Ranks, driver: str) -> None:
    first, second = ranks.values(MOVED, driver, good("optimizer-before-shard"))
    assert first == second > 0


@pytest.mark.parametrize(
    "replace",
    [
        "model.to_empty(device='cpu'); torch.nn.init.ones_(model.weight)",
        "parallelize_module(model, dist.init_device_mesh('cpu', (2,)), ColwiseParallel())",
    ],
)
def test_other_calls_that_replace_the_parameters_leave_the_optimizer_behind_too(ranks: Ranks, replace: str) -> None:
    driver = f"""
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    model = torch.nn.Linear(2, 2, bias=False, device="{"meta" if "empty" in replace else "cpu"}")
    optimizer = torch.optim.SGD(model.parameters())
    {replace}
    moved(model, optimizer)
    """
    assert ranks.values(MOVED, driver) == [0, 0]
