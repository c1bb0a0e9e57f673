"""Proof of the rules about plans that torch itself can show: two ranks apply a plan to a tiny model."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from .ranks import Ranks

MODEL = """
import warnings

from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

mesh = dist.init_device_mesh("cpu", (2,))

class Model(nn.Module):
    def __init__(self, layers=12):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4, bias=False) for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

def divided(model):
    return [name for name, weight in model.named_parameters() if isinstance(weight, DTensor)]

def said(act):
    try:
        act()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""


def both(ranks: Ranks, driver: str) -> Any:
    """What the driver gives, the same on both ranks."""
    first, second = ranks.values(MODEL, driver)
    assert first == second
    return first


PLAN = """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = {model}
    parallelize_module(model, mesh, {{"{pattern}": ColwiseParallel()}})
[divided(model), " ".join(str(one.message) for one in caught)]
"""


@pytest.mark.proves("plan-rule-dead")
def test_a_pattern_that_matches_nothing_divides_nothing_with_a_warning_at_most(ranks: Ranks) -> None:
    names, warned = both(ranks, PLAN.format(model="Model()", pattern="layer.0"))
    assert names == []
    assert "Parallelize plan key 'layer.0' could not be resolved" in warned


@pytest.mark.proves("plan-rule-prefix")
@pytest.mark.parametrize(
    ("wrapper", "prefix"),
    [("nn.parallel.DistributedDataParallel(Model())", "module"), ("torch.compile(Model())", "_orig_mod")],
)
def test_behind_a_wrapper_no_pattern_matches_without_its_prefix(ranks: Ranks, wrapper: str, prefix: str) -> None:
    names, warned = both(ranks, PLAN.format(model=wrapper, pattern="layers.*"))
    assert names == []
    assert "could not be resolved" in warned
    names, _ = both(ranks, PLAN.format(model=wrapper, pattern=f"{prefix}.layers.*"))
    assert len(names) == 12


@pytest.mark.proves("plan-layer-uncovered")
def test_layers_that_begin_with_a_one_are_not_all_layers(ranks: Ranks) -> None:
    names, warned = both(ranks, PLAN.format(model="Model()", pattern="layers.1*"))
    assert (names, warned) == ([f"layers.{number}.weight" for number in (1, 10, 11)], "")


@pytest.mark.proves("plan-rule-dead", "plan-layer-uncovered")
def test_a_star_for_the_number_divides_every_layer(ranks: Ranks) -> None:
    names, warned = both(ranks, PLAN.format(model="Model()", pattern="layers.*"))
    assert (len(names), warned) == (12, "")


@pytest.mark.proves("plan-mesh-unused")
def test_ranks_of_an_axis_that_no_entry_uses_hold_and_compute_the_same(ranks: Ranks) -> None:
    driver = """
    def work(plan):
        torch.manual_seed(0)
        model = parallelize_module(Model(1), mesh, plan)
        (weight,) = model.parameters()
        local = weight.to_local() if isinstance(weight, DTensor) else weight
        return [list(local.shape), model(torch.ones(1, 4)).detach()]
    [work({}), work({"layers.*": ColwiseParallel()})]
    """
    (unused, used), (other_unused, other_used) = ranks.values(MODEL, driver)
    assert unused == other_unused
    assert unused[0] == [4, 4]
    assert used[0] == [2, 4]
    assert used[1] != other_used[1]


@pytest.mark.proves("plan-mesh-product")
def test_a_mesh_that_is_larger_than_the_job_is_refused(ranks: Ranks) -> None:
    refused = both(ranks, "said(lambda: dist.init_device_mesh('cpu', (3,)))")
    assert "Mesh should not be bigger than default world size" in refused


@pytest.mark.proves("plan-mesh-product")
def test_a_rank_outside_of_a_smaller_mesh_has_no_place_and_nothing_says_so(ranks: Ranks) -> None:
    places = ranks.values(MODEL, "dist.device_mesh.DeviceMesh('cpu', [0]).get_coordinate()")
    assert [place and list(place) for place in places] == [[0], None]


@pytest.mark.proves("plan-mesh-product")
def test_a_mesh_of_the_size_of_the_job_has_a_place_for_each_rank(ranks: Ranks) -> None:
    assert [list(place) for place in ranks.values(MODEL, "mesh.get_coordinate()")] == [[0], [1]]


@pytest.mark.proves("plan-dim-range")
def test_a_dim_that_a_tensor_does_not_have_is_an_error(ranks: Ranks) -> None:
    driver = "[said(lambda: distribute_tensor(torch.ones(4), mesh, [Shard(dim)])) for dim in (1, 0)]"
    wrong, right = both(ranks, driver)
    assert wrong.startswith("IndexError: Dimension out of range")
    assert right is None


@pytest.mark.proves("plan-composed-divide")
def test_fsdp_refuses_uneven_parts_of_what_a_first_axis_has_left(ranks: Ranks) -> None:
    driver = """
    def shard(columns):
        layer = nn.Linear(columns, 4, bias=False)
        return said(lambda: fully_shard(layer, mesh=mesh, shard_placement_fn=lambda _: Shard(1)))
    [shard(3), shard(4)]
    """
    uneven, even = both(ranks, driver)
    assert "FSDP does not support uneven sharding on dim 1" in uneven
    assert even is None


@pytest.mark.proves("plan-expert-uncovered")
def test_an_experts_bias_that_stays_whole_does_not_fit_or_is_that_of_another_expert(ranks: Ranks) -> None:
    driver = """
    experts = 4
    up, bias = torch.ones(experts, 2, 2), torch.arange(4.0)[:, None, None].expand(4, 1, 2)
    local = lambda whole: distribute_tensor(whole.contiguous(), mesh, [Shard(0)]).to_local()
    tokens = torch.zeros(experts // 2, 1, 2)
    grouped = lambda bias: tokens @ local(up) + bias
    [said(lambda: grouped(bias)), grouped(local(bias))[:, 0, 0], bias[0, 0, 0]]
    """
    (first, covered, _), (_, covered_there, taken) = ranks.values(MODEL, driver)
    assert "must match the size of tensor b" in first
    assert (covered, covered_there) == ([0, 1], [2, 3])
    assert taken == 0, "local expert 0 of rank 1 is global expert 2, and would take the bias of expert 0"


SCALED = """
class Scaled(nn.Linear):
    def __init__(self):
        super().__init__(4, 4, bias=False)
        self.register_buffer("scale", torch.arange(4.0))

    def forward(self, x):
        return super().forward(x) * self.scale

layer, x = Scaled(), torch.ones(1, 4)
whole = layer(x).detach()
mine = whole.chunk(2, dim=1)[rank]
"""


@pytest.mark.proves("plan-buffer-shard")
def test_a_buffer_keeps_all_entries_beside_a_weight_that_is_cut_in_place(ranks: Ranks) -> None:
    driver = """
    layer.weight = nn.Parameter(layer.weight.chunk(2)[rank])
    refused = said(lambda: layer(x))
    layer.scale = layer.scale.chunk(2)[rank]
    [refused, torch.equal(layer(x), mine)]
    """
    refused, fits = both(ranks, SCALED + dedent(driver))
    assert "The size of tensor a (2) must match the size of tensor b (4)" in refused
    assert fits


@pytest.mark.proves("plan-buffer-shard")
def test_the_styles_of_torch_make_the_buffer_fit(ranks: Ranks) -> None:
    driver = "torch.equal(parallelize_module(layer, mesh, ColwiseParallel())(x), mine)"
    assert both(ranks, SCALED + driver) is True


@pytest.mark.proves("fsdp-no-wrap")
def test_what_no_unit_takes_is_whole_before_the_first_layer_runs(ranks: Ranks) -> None:
    driver = """
    def whole_at_the_first_layer(units):
        model, seen = Model(4), []
        for layer in model.layers if units else []:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        model.layers[0].register_forward_pre_hook(
            lambda *_: seen.extend(one for one in model.layers if not isinstance(one.weight, DTensor))
        )
        model(torch.ones(1, 4))
        return len(seen)
    [whole_at_the_first_layer(False), whole_at_the_first_layer(True)]
    """
    assert both(ranks, driver) == [4, 1]
