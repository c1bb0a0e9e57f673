"""Samples from disk and how they become a batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from model import IGNORE, PAD


class SpokenFigures(Dataset[dict[str, torch.Tensor]]):
    """One line of `index.jsonl` is one sample: token ids, a figure and a spoken question."""

    def __init__(self, root: str) -> None:
        self.root = Path(root)
        with open(self.root / "index.jsonl", encoding="utf-8") as lines:
            self.rows = [json.loads(line) for line in lines]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        row = self.rows[index]
        return {
            "input_ids": torch.tensor(row["input_ids"]),
            "labels": torch.tensor(row["labels"]),
            "pixel_values": self._array(row["figure"]),
            "input_features": self._array(row["question"]),
        }

    def _array(self, name: str) -> torch.Tensor:
        return torch.from_numpy(np.load(self.root / name)).float()


class FigureCollator:
    """Pads the token ids and joins the patches of all figures of a batch."""

    def __call__(self, samples: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
        return {
            "input_ids": pad_sequence([s["input_ids"] for s in samples], batch_first=True, padding_value=PAD),
            "labels": pad_sequence([s["labels"] for s in samples], batch_first=True, padding_value=IGNORE),
            "pixel_values": torch.cat([s["pixel_values"] for s in samples]),
        }


def build_loader(settings: dict[str, Any], split: str, seed: int) -> DataLoader[dict[str, torch.Tensor]]:
    dataset = SpokenFigures(f"{settings['root']}/{split}")
    sampler = DistributedSampler(dataset, shuffle=split == "train", seed=seed, drop_last=split == "train")
    return DataLoader(
        dataset,
        batch_size=settings["batch_size"],
        sampler=sampler,
        num_workers=settings["workers"],
        collate_fn=FigureCollator(),
        pin_memory=True,
        drop_last=split == "train",
    )
