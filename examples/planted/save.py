"""Checkpoints: a sharded one to go on from, and a pretrained one to start from."""

from __future__ import annotations

import logging
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

log = logging.getLogger(__name__)


def load_pretrained(model: nn.Module, path: str) -> None:
    weights = torch.load(path, map_location="cpu", weights_only=False)
    model.load_state_dict(weights)
    log.info("loaded %s", path)


def save_checkpoint(model: nn.Module, optimizer: torch.optim.Optimizer, step: int, out: Path) -> None:
    weights, moments = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": moments, "step": step}
    folder = out / f"step-{step:07d}"
    if dist.get_rank() == 0:
        folder.mkdir(parents=True, exist_ok=True)
        dcp.save(state, checkpoint_id=folder)
        log.info("saved %s", folder)
    dist.barrier()


def resume(model: nn.Module, optimizer: torch.optim.Optimizer, folder: str) -> int:
    weights, moments = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": moments, "step": 0}
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    return int(state["step"])
