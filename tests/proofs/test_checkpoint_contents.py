"""Proof of the rules about the contents of a checkpoint: DCP and `load_state_dict` read one that does not fit.

`net` is the model of the job, `other` the one that was saved.
"""

from __future__ import annotations

from typing import Any

import pytest

from .ranks import Ranks

SAVED = """
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict

Linear = torch.nn.Linear

def net(width=2, **more):
    return torch.nn.ModuleDict({"up": Linear(2, width, bias=False), **more})

def said(load):
    try:
        load()
    except BaseException as error:  # that of a checkpoint is no Exception
        return str(error)

def through_dcp(other, model, **how):
    state = model.state_dict()
    dcp.save(other.state_dict(), checkpoint_id=folder)
    return said(lambda: dcp.load(state, checkpoint_id=folder, **how))

def stays(model, load):
    before = model["up"].weight.detach().clone()
    load()
    return torch.equal(model["up"].weight, before)

partial = DefaultLoadPlanner(allow_partial_load=True)
"""


def both(ranks: Ranks, driver: str) -> Any:
    """What the driver gives, the same on both ranks."""
    first, second = ranks.values(SAVED, driver)
    assert first == second
    return first


@pytest.mark.proves(
    "checkpoint-key-missing", "checkpoint-key-unexpected", "checkpoint-shape", "checkpoint-optimizer-missing"
)
def test_a_checkpoint_of_the_same_model_is_loaded(ranks: Ranks) -> None:
    driver = """
    other, model = net(), net()
    [through_dcp(other, model), torch.equal(other["up"].weight, model["up"].weight)]
    """
    assert both(ranks, driver) == [None, True]


@pytest.mark.proves("checkpoint-key-missing")
def test_a_wrapper_prefix_hides_every_key_and_only_a_strict_loader_says_so(ranks: Ranks) -> None:
    driver = """
    other, model = torch.nn.ModuleDict({"module": net()}), net()
    strict = [through_dcp(other, model), said(lambda: model.load_state_dict(other.state_dict()))]
    [*strict, stays(model, lambda: model.load_state_dict(other.state_dict(), strict=False))]
    """
    dcp, strict, stays = both(ranks, driver)
    assert "Missing key in checkpoint state_dict: up.weight" in dcp
    assert "Missing key(s) in state_dict" in strict
    assert stays


@pytest.mark.proves("checkpoint-key-missing")
def test_a_partial_load_leaves_what_is_missing_as_initialised(ranks: Ranks) -> None:
    driver = """
    other, model = torch.nn.ModuleDict({"module": net()}), net()
    stays(model, lambda: through_dcp(other, model, planner=partial))
    """
    assert both(ranks, driver) is True


@pytest.mark.proves("checkpoint-key-unexpected")
def test_dcp_drops_what_the_model_has_no_place_for_and_a_strict_load_refuses(ranks: Ranks) -> None:
    driver = """
    other, model = net(head=Linear(2, 1)), net()
    [through_dcp(other, model), said(lambda: model.load_state_dict(other.state_dict()))]
    """
    dcp, strict = both(ranks, driver)
    assert dcp is None
    assert 'Unexpected key(s) in state_dict: "head.weight", "head.bias"' in strict


@pytest.mark.proves("checkpoint-shape")
def test_another_shape_cannot_be_loaded_even_without_strict(ranks: Ranks) -> None:
    driver = """
    other, model = net(width=3), net()
    [through_dcp(other, model), said(lambda: model.load_state_dict(other.state_dict(), strict=False))]
    """
    dcp, loose = both(ranks, driver)
    assert "Size mismatch between saved torch.Size([3, 2]) and current" in dcp
    assert "size mismatch for up.weight: copying a param with shape torch.Size([3, 2])" in loose


CONVERTED = """
model = net()
with torch.no_grad():
    model["up"].weight.fill_({value})
kept = model["up"].weight.detach().clone()
refused = through_dcp(model.to(torch.{dtype}), fresh := net())
[refused, str(fresh["up"].weight.dtype), torch.equal(fresh["up"].weight, kept)]
"""


@pytest.mark.proves("checkpoint-dtype")
@pytest.mark.parametrize(("value", "dtype"), [("1 + 2**-10", "bfloat16"), ("0.3", "float8_e4m3fn")])
def test_a_dtype_with_fewer_bits_is_converted_without_a_word_and_what_it_lost_stays_lost(
    ranks: Ranks, value: str, dtype: str
) -> None:
    assert both(ranks, CONVERTED.format(value=value, dtype=dtype)) == [None, "torch.float32", False]


@pytest.mark.proves("checkpoint-dtype")
@pytest.mark.parametrize(("value", "dtype"), [("1 + 2**-10", "float32"), ("1 + 2**-7", "bfloat16")])
def test_what_the_dtype_of_the_checkpoint_can_hold_comes_back(ranks: Ranks, value: str, dtype: str) -> None:
    assert both(ranks, CONVERTED.format(value=value, dtype=dtype)) == [None, "torch.float32", True]


RESUMED = """
model = net()
optimizer = torch.optim.AdamW(model.parameters())
model["up"](torch.ones(1, 2)).sum().backward()
optimizer.step()
saved = {"model": model.state_dict()} | OPTIMIZER
dcp.save(saved, checkpoint_id=folder)
resumed = net()
state = {
    "model": resumed.state_dict(),
    "optim": get_optimizer_state_dict(resumed, torch.optim.AdamW(resumed.parameters())),
}
refused = said(lambda: dcp.load(state, checkpoint_id=folder))
dcp.load(state, checkpoint_id=folder, planner=partial)
[refused, torch.equal(state["optim"]["state"]["up.weight"]["exp_avg"], optimizer.state[model["up"].weight]["exp_avg"])]
"""


@pytest.mark.proves("checkpoint-optimizer-missing")
def test_without_its_state_the_optimizer_starts_from_zero_or_the_load_is_refused(ranks: Ranks) -> None:
    refused, restored = both(ranks, RESUMED.replace("OPTIMIZER", "{}"))
    assert "Missing key in checkpoint state_dict: optim" in refused
    assert not restored


@pytest.mark.proves("checkpoint-optimizer-missing")
def test_with_its_state_the_optimizer_goes_on(ranks: Ranks) -> None:
    saved = '{"optim": get_optimizer_state_dict(model, optimizer)}'
    assert both(ranks, RESUMED.replace("OPTIMIZER", saved)) == [None, True]
