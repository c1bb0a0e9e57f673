"""The bad and the good way of pad-is-eos-mask, run: what a tiny model learns of the end of a text."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

pytestmark = pytest.mark.proves("pad-is-eos-mask")

PAD = EOS = 1
TEXTS = ([2, 3, 4, EOS], [2, 3, EOS], [5, 6, EOS])


@pytest.fixture(scope="module")
def torch() -> Any:
    """PyTorch, which the linter itself does not need."""
    pytest.importorskip("torch", reason="the proofs run PyTorch, which is not installed")
    return importlib.import_module("torch")


def batch(torch: Any) -> tuple[Any, Any]:
    """The texts, padded with the end-of-text token, and where they are."""
    longest = max(map(len, TEXTS))
    ids = torch.tensor([[*text, *[PAD] * (longest - len(text))] for text in TEXTS])
    mask = torch.tensor([[1] * len(text) + [0] * (longest - len(text)) for text in TEXTS])
    return ids, mask


def probability_of_the_end(torch: Any, ids: Any, labels: Any) -> float:
    """Train a table of next tokens on the labels; the probability that 6, which always ends a text, is the last."""
    torch.manual_seed(0)
    table = torch.nn.Embedding.from_pretrained(torch.zeros(7, 7), freeze=False)
    optimizer = torch.optim.AdamW(table.parameters(), lr=0.1)
    for _ in range(100):
        loss = torch.nn.functional.cross_entropy(table(ids[:, :-1]).flatten(0, 1), labels[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(table(torch.tensor(6)).softmax(-1)[EOS].detach())


def test_a_mask_by_value_takes_the_end_out_of_the_labels_and_the_model_does_not_learn_it(torch: Any) -> None:
    ids, mask = batch(torch)
    labels = ids.clone()
    labels[labels == PAD] = -100
    ends = mask.sum(-1) - 1
    assert labels[range(len(ids)), ends].tolist() == [-100, -100, -100]
    assert probability_of_the_end(torch, ids, labels) < 0.5


def test_a_mask_by_position_keeps_the_end_and_the_model_learns_it(torch: Any) -> None:
    ids, mask = batch(torch)
    labels = ids.clone()
    labels[mask == 0] = -100
    ends = mask.sum(-1) - 1
    assert labels[range(len(ids)), ends].tolist() == [EOS, EOS, EOS]
    assert (labels[mask == 0] == -100).all()
    assert probability_of_the_end(torch, ids, labels) > 0.9
