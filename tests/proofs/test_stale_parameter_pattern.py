"""Proof of stale-parameter-pattern: torch applies the plan of the rule's own examples to the renamed model."""

from __future__ import annotations

import pytest

from .conftest import bad, good
from .ranks import Ranks

pytestmark = pytest.mark.proves("stale-parameter-pattern")

DIVIDED = """
import tp
from net.model import Block
from torch.distributed.tensor import DTensor

model = Block(4)
{module}.shard(model, dist.init_device_mesh("cpu", (2,)))
[name for name, weight in model.named_parameters() if isinstance(weight, DTensor)]
"""
BOTH = [f"attention.{part}.{kind}" for part in ("query_in", "wv") for kind in ("weight", "bias")]


def test_the_renamed_weight_stays_whole_on_every_rank_and_no_error_says_so(ranks: Ranks) -> None:
    driver = DIVIDED.replace("import tp", "import net.tp").format(module="net.tp")
    assert ranks.values(driver, bad("stale-parameter-pattern")) == [BOTH[2:]] * 2


def test_a_plan_that_was_renamed_along_divides_both(ranks: Ranks) -> None:
    assert ranks.values(DIVIDED.format(module="tp"), good("stale-parameter-pattern")) == [BOTH] * 2


def test_a_name_without_a_match_freezes_and_groups_nothing(ranks: Ranks) -> None:
    example = bad("stale-parameter-pattern", 2)
    driver = """
    chosen = [name for name, _ in Block(4).named_parameters() if any(part in name for part in no_decay)]
    [no_decay, chosen]
    """
    found = ranks.values(driver, example, main="opt/groups.py")
    assert found == [[["wq", "wv"], ["attention.wv.weight", "attention.wv.bias"]]] * 2
