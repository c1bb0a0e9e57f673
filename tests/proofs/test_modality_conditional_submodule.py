"""Proof of modality-conditional-submodule: a sharded model of the rule's examples, and a rank that has no image."""

from __future__ import annotations

import pytest

from shardlint.example import Example

from .conftest import bad, good
from .ranks import Answer, Ranks

pytestmark = pytest.mark.proves("modality-conditional-submodule")

BASE = """
import torch

class Base(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed, self.decoder = torch.nn.Embedding(4, 8), torch.nn.Linear(8, 8)
        self.vision_tower, self.blank = torch.nn.Linear(width, 8), torch.zeros(1, width)

    def merge(self, x, media):
        return x + media
"""
STEPS = """
from train import collate, shard

model = Reader({width})
shard(model)
for with_image in {steps}:
    batch = collate([{{"pixel_values": torch.ones(1, {width})}} if with_image else {{}}])
    model(torch.tensor([1]), **batch).sum().backward()
"""


def trained(ranks: Ranks, example: Example, steps: str, width: int = 8) -> list[Answer]:
    """A step for each entry of an expression that says whether the batch has an image, of so many pixels."""
    driver = STEPS.format(steps=steps, width=width)
    return ranks.run(driver, {**example.files, "base.py": BASE}, main="model.py")


def test_a_rank_without_images_skips_the_sharded_tower_and_all_wait(ranks: Ranks) -> None:
    first, second = trained(ranks, bad("modality-conditional-submodule"), "[rank == 0, True]")
    assert (first.state, second.state) == ("waiting", "waiting")
    assert first.stack[0].function != second.stack[0].function, "each waits in another collective"


def test_the_weights_of_the_tower_meet_those_of_the_decoder(ranks: Ranks) -> None:
    """Gloo compares their sizes, and ends the process that is sent too much."""
    answers = trained(ranks, bad("modality-conditional-submodule"), "[rank == 0, True]", width=6)
    assert sorted(answer.state for answer in answers) == ["died", "raised"]
    assert any("Connection reset by peer" in answer.error for answer in answers)


def test_all_ranks_train_where_each_has_an_image(ranks: Ranks) -> None:
    answers = trained(ranks, bad("modality-conditional-submodule"), "[True, True]")
    assert [answer.state for answer in answers] == ["finished"] * 2


def test_a_stand_in_for_the_image_lets_all_ranks_train(ranks: Ranks) -> None:
    answers = trained(ranks, good("modality-conditional-submodule"), "[rank == 0, True]")
    assert [answer.state for answer in answers] == ["finished"] * 2
