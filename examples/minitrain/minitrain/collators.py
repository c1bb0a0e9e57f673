"""How samples become a batch. Rows have a length that the ranks along `sp` can share."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from minitrain.datasets import Sample
from minitrain.models.modeling_mini import IGNORE_INDEX
from minitrain.tokenizer import Tokenizer


def pad_to_multiple(row: Tensor, multiple: int, value: int) -> Tensor:
    """Pad the last dim at its end."""
    return F.pad(row, (0, -row.shape[-1] % multiple), value=value)


class PackingCollator:
    """Joins texts to one row; position ids start anew with each of them."""

    def __init__(self, tokenizer: Tokenizer, multiple: int) -> None:
        self.tokenizer = tokenizer
        self.multiple = multiple

    def __call__(self, samples: list[Sample]) -> dict[str, Tensor]:
        input_ids = torch.cat([sample["input_ids"] for sample in samples])[None]
        labels = torch.cat([sample["labels"] for sample in samples])[None]
        position_ids = torch.cat([torch.arange(len(sample["input_ids"])) for sample in samples])[None]
        return {
            "input_ids": pad_to_multiple(input_ids, self.multiple, self.tokenizer.pad_token_id),
            "labels": pad_to_multiple(labels, self.multiple, IGNORE_INDEX),
            "position_ids": pad_to_multiple(position_ids, self.multiple, 0),
        }


class FigureCollator:
    """Pads texts to one length and joins the patches of their images."""

    def __init__(self, tokenizer: Tokenizer, multiple: int) -> None:
        self.tokenizer = tokenizer
        self.multiple = multiple

    def __call__(self, samples: list[Sample]) -> dict[str, Tensor]:
        pad = self.tokenizer.pad_token_id
        input_ids = pad_sequence([sample["input_ids"] for sample in samples], batch_first=True, padding_value=pad)
        labels = pad_sequence([sample["labels"] for sample in samples], batch_first=True, padding_value=IGNORE_INDEX)
        input_ids = pad_to_multiple(input_ids, self.multiple, pad)
        return {
            "input_ids": input_ids,
            "labels": pad_to_multiple(labels, self.multiple, IGNORE_INDEX),
            "position_ids": torch.arange(input_ids.shape[1]).expand(len(samples), -1),
            "pixel_values": torch.cat([sample["pixel_values"] for sample in samples]),
        }
