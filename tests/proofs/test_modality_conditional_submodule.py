"""Proof of modality-conditional-submodule: two processes, a sharded tower, and one rank whose batch has no image."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("torch", reason="the proof trains a tiny sharded model on two processes")

WORKER = """
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

rank, store, stand_in = int(sys.argv[1]), sys.argv[2], sys.argv[3] == "stand-in"
dist.init_process_group("gloo", f"file://{store}", timedelta(seconds=5), world_size=2, rank=rank)
mesh = dist.init_device_mesh("cpu", (2,))


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.vision_tower, self.decoder = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x, pixel_values):
        if pixel_values is not None:
            x = x + self.vision_tower(pixel_values)
        elif stand_in:
            x = x + 0.0 * self.vision_tower(torch.zeros(1, 8)).sum()
        return self.decoder(x).sum()


model = Reader()
for part in (model.vision_tower, model.decoder, model):
    fully_shard(part, mesh=mesh)
for _ in range(2):
    model(torch.ones(1, 8), torch.ones(1, 8) if rank == 0 else None).backward()
dist.barrier()
print("trained")
"""


def run(folder: Path, stand_in: str) -> list[str]:
    """What each of two ranks says. A collective that waits for five seconds ends its rank with an error."""
    script = folder / "worker.py"
    script.write_text(dedent(WORKER), encoding="utf-8")
    ranks = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), str(folder / "store"), stand_in],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    return [process.communicate()[0] for process in ranks]


def test_a_rank_without_images_that_skips_the_sharded_tower_stops_all(tmp_path: Path) -> None:
    said = run(tmp_path, "none")
    assert not any("trained" in output for output in said)
    assert any("Timed out" in output for output in said)


def test_a_stand_in_for_the_image_lets_all_ranks_train(tmp_path: Path) -> None:
    assert ["trained" in output for output in run(tmp_path, "stand-in")] == [True, True]
