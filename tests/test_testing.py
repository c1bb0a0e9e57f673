"""`shardlint.testing`: a plan against its model inside of a test."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed: the model cannot be built")

styles: Any = pytest.importorskip("torch.distributed.tensor.parallel")
tensor: Any = pytest.importorskip("torch.distributed.tensor")

from shardlint.errors import PlanError  # noqa: E402  # after the skip
from shardlint.testing import assert_plan_ok  # noqa: E402

COLUMNS, ROWS = styles.ColwiseParallel(), styles.RowwiseParallel()


def net(width: int = 64) -> Any:
    """Two layers, as a module without a class of its own."""
    layers = torch.nn.ModuleDict()
    layers["up"] = torch.nn.Linear(width, 4 * width)
    layers["down"] = torch.nn.Linear(4 * width, width)
    return layers


def test_a_plan_that_fits_passes() -> None:
    assert_plan_ok(net, {"up": COLUMNS, "down": ROWS}, {"tp": 4})
    assert_plan_ok(net(), {"up": "colwise", "down": "rowwise"}, {"tp": 4})


def test_a_plan_that_does_not_fit_fails_with_the_finding_at_the_call() -> None:
    with pytest.raises(
        AssertionError, match=r"test_testing\.py:\d+:1  error  plan-rule-dead\n  `dwn` matches no module"
    ):
        assert_plan_ok(net, {"up": COLUMNS, "dwn": ROWS}, {"tp": 4})
    with pytest.raises(AssertionError, match="plan-mesh-unused"):
        assert_plan_ok(net, {"up": COLUMNS, "down": ROWS}, {"tp": 4, "ep": 2})


def test_placements_are_a_plan_of_experts() -> None:
    assert_plan_ok(net, {"up.weight": tensor.Shard(0)}, {"ep": 4})
    assert_plan_ok(net, {"ep": {"up.weight": tensor.Shard(0)}}, {"ep": 4})
    with pytest.raises(AssertionError, match="plan-dim-range"):
        assert_plan_ok(net, {"up.weight": tensor.Shard(2)}, {"ep": 4})


def test_what_is_no_plan_is_said() -> None:
    with pytest.raises(PlanError, match="a list is no plan"):
        assert_plan_ok(net, ["up"], {"tp": 4})


def test_a_rule_can_be_left_out() -> None:
    assert_plan_ok(net, {"up": "colwise"}, {"tp": 4, "ep": 2}, ignore=["plan-mesh-unused"])
