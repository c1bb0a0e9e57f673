"""Samples that are made in the process: always the same ones, and none is downloaded."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import Dataset

from minitrain.models.modeling_mini import IGNORE_INDEX
from minitrain.tokenizer import Tokenizer

Sample = dict[str, Tensor]


def next_tokens(input_ids: list[int], prompt: int) -> list[int]:
    """The label of each token: the one that comes next, from the end of the prompt on."""
    return [*[IGNORE_INDEX] * (prompt - 1), *input_ids[prompt:], IGNORE_INDEX]


class CountingDataset(Dataset[Sample]):
    """Text: numbers that go on by the same step."""

    def __init__(self, samples: int, max_length: int, tokenizer: Tokenizer) -> None:
        self.samples = samples
        self.max_length = max_length
        self.tokenizer = tokenizer

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> Sample:
        random = torch.Generator().manual_seed(index)
        start, step = torch.randint(1, 7, (2,), generator=random).tolist()
        length = int(torch.randint(4, self.max_length - 2, (), generator=random))
        numbers = self.tokenizer.encode([start + step * place for place in range(length)])
        ids = [self.tokenizer.bos_token_id, *numbers, self.tokenizer.eos_token_id]
        return {"input_ids": torch.tensor(ids), "labels": torch.tensor(next_tokens(ids, prompt=1))}


class FigureDataset(Dataset[Sample]):
    """Image and text: how bright is it, and the two numbers after that. Images have two to eight patches."""

    def __init__(self, samples: int, patch_dim: int, tokenizer: Tokenizer) -> None:
        self.samples = samples
        self.patch_dim = patch_dim
        self.tokenizer = tokenizer

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> Sample:
        random = torch.Generator().manual_seed(index)
        patches = int(torch.randint(2, 9, (), generator=random))
        brightness = int(torch.randint(0, 8, (), generator=random))
        noise = torch.randn(patches, self.patch_dim, generator=random)
        image = [self.tokenizer.image_token_id] * patches
        answer = self.tokenizer.encode([brightness, brightness + 1, brightness + 2])
        ids = [self.tokenizer.bos_token_id, *image, *answer, self.tokenizer.eos_token_id]
        return {
            "input_ids": torch.tensor(ids),
            "labels": torch.tensor(next_tokens(ids, prompt=1 + patches)),
            "pixel_values": brightness / 4 - 1 + 0.1 * noise,
        }
