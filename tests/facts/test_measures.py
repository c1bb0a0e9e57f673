"""Names of numbers that a rank computes, and of calls that compute them or hand out what all ranks have."""

from __future__ import annotations

import pytest

from shardlint.facts.measures import computes, hands_out, is_measure


@pytest.mark.parametrize(
    "name", ["loss", "val_loss", "loss_value", "losses", "eval_metrics", "acc1", "top1_acc", "ppl"]
)
def test_measures(name: str) -> None:
    assert is_measure(name)


@pytest.mark.parametrize("name", ["", "loss_fn", "best_loss", "loss_weight", "max_accuracy", "access", "loss_scaler"])
def test_settings_bounds_and_objects(name: str) -> None:
    assert not is_measure(name)


@pytest.mark.parametrize(("name", "sure"), [("model", True), ("ddp_model", True), ("criterion", True), ("mean", False)])
def test_forward_passes(name: str, sure: bool) -> None:
    assert computes(name) is sure


@pytest.mark.parametrize("name", ["parse_args", "load_best", "get", "Config", "read_flags", ""])
def test_what_every_rank_has(name: str) -> None:
    assert hands_out(name)
    assert not hands_out("evaluate")
