"""Proof of state-key-rename: a checkpoint of the model before, loaded into the model after, of the rule's examples."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from shardlint.example import Example

from .conftest import bad, good
from .ranks import Ranks

pytestmark = pytest.mark.proves("state-key-rename")

TRAINED = """
import after
import before
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict

def adam(model):
    return torch.optim.AdamW(model.parameters())

old, new = before.Attention(2), after.Attention(2)
optimizer = adam(old)
old(torch.ones(1, 2)).sum().backward()
optimizer.step()

def refusal(load):
    try:
        load()
    except BaseException as error:  # that of a checkpoint is no Exception
        return str(error)
"""


def states(example: Example) -> Mapping[str, str]:
    """The model before and after, and what else the change holds, as modules."""
    assert example.before is not None
    others = {path: text for path, text in example.files.items() if path != "model.py"}
    return {"before.py": example.before["model.py"], "after.py": example.files["model.py"], **others}


def test_the_new_key_stays_as_initialised_and_only_a_strict_load_says_so(ranks: Ranks) -> None:
    driver = """
    was = new.q_proj.weight.detach().clone()
    new.load_state_dict(old.state_dict(), strict=False)
    [torch.equal(new.q_proj.weight, was), refusal(lambda: new.load_state_dict(old.state_dict()))]
    """
    for stays, refused in ranks.values(TRAINED, driver, states(bad("state-key-rename"))):
        assert stays
        assert 'Missing key(s) in state_dict: "q_proj.weight", "q_proj.bias"' in refused


def test_the_moments_of_the_old_key_are_lost_with_it(ranks: Ranks) -> None:
    driver = """
    dcp.save({"optim": get_optimizer_state_dict(old, optimizer)}, checkpoint_id=folder)
    state = {"optim": get_optimizer_state_dict(new, adam(new))}
    refused = refusal(lambda: dcp.load(state, checkpoint_id=folder))
    dcp.load(state, checkpoint_id=folder, planner=DefaultLoadPlanner(allow_partial_load=True))
    average = state["optim"]["state"]["q_proj.weight"]["exp_avg"]
    [refused, optimizer.state[old.wq.weight]["exp_avg"].abs().sum() > 0, average.abs().sum()]
    """
    for refused, before, after in ranks.values(TRAINED, driver, states(bad("state-key-rename"))):
        assert "Missing key in checkpoint state_dict: optim.state.q_proj" in refused
        assert (before, after) == (True, 0)


def test_a_tensor_of_another_shape_is_refused_even_without_strict(ranks: Ranks) -> None:
    driver = "refusal(lambda: new.load_state_dict(old.state_dict(), strict=False))"
    for refused in ranks.values(TRAINED, driver, states(bad("state-key-rename", 3))):
        assert "size mismatch for wq.weight" in refused


def test_a_table_of_renames_brings_the_weights_back(ranks: Ranks) -> None:
    driver = """
    from loader import RENAMES
    parted = [(*key.split("."), one) for key, one in old.state_dict().items()]
    new.load_state_dict({f"{RENAMES[name]}.{kind}": one for name, kind, one in parted})
    torch.equal(new.q_proj.weight, old.wq.weight)
    """
    assert ranks.values(TRAINED, driver, states(good("state-key-rename"))) == [True, True]
