"""Sharded checkpoints to go on from, and whole files of weights to begin with."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_model_state_dict,
    set_state_dict,
)
from torch.optim import Optimizer

log = logging.getLogger(__name__)

RENAMED = {"ffn.": "mlp.", "lm_head.": "head."}
"""Parts of names that weights had in earlier releases, with those that they have now."""


def save(model: nn.Module, optimizer: Optimizer, step: int, output: str) -> None:
    """Write a checkpoint. All ranks must call it."""
    folder = Path(output) / f"step-{step}"
    weights, moments = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": moments, "step": step}, checkpoint_id=folder)
    if dist.get_rank() == 0:
        log.info("saved %s", folder)


def load(model: nn.Module, optimizer: Optimizer, folder: str) -> int:
    """Read a checkpoint, from any number of ranks, and return its step. All ranks must call it."""
    weights, moments = get_state_dict(model, optimizer)
    state: dict[str, Any] = {"model": weights, "optimizer": moments, "step": 0}
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)
    return int(state["step"])


def read_weights(path: str) -> dict[str, Tensor]:
    """The weights in a file, under the names that they have now."""
    weights: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    for old, new in RENAMED.items():
        weights = {name.replace(old, new): weight for name, weight in weights.items()}
    return weights


def share_weights(model: nn.Module, weights: dict[str, Any]) -> None:
    """Give each rank its shards of the weights that rank 0 has. All ranks must call it."""
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(model, weights, options=options)
