"""Fine-tune FigureTalker with FSDP2: `scripts/train.sh configs/sft.yaml`."""

from __future__ import annotations

import argparse
import logging
import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import yaml
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from data import build_loader
from model import FigureTalker
from save import load_pretrained, resume, save_checkpoint

log = logging.getLogger(__name__)


def setup() -> torch.device:
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    logging.basicConfig(level=logging.INFO if dist.get_rank() == 0 else logging.WARNING)
    return torch.device("cuda", local_rank)


def build(config: dict[str, Any], device: torch.device) -> tuple[nn.Module, torch.optim.Optimizer]:
    model = FigureTalker(**config["model"]).to(device)
    if config["init_from"]:
        load_pretrained(model, config["init_from"])
    optim = config["optim"]
    optimizer = torch.optim.AdamW(model.parameters(), lr=optim["lr"], weight_decay=optim["weight_decay"])
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    return model, optimizer


@torch.no_grad()
def evaluate(model: nn.Module, loader: DataLoader[dict[str, torch.Tensor]], device: torch.device) -> float:
    model.eval()
    total = torch.zeros(2, device=device)
    for batch in loader:
        batch = {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
        total += torch.stack([model(**batch), torch.ones((), device=device)])
    model.train()
    if dist.get_rank() == 0:
        dist.all_reduce(total)
        log.info("validation loss %.4f", total[0] / total[1])
    return float(total[0] / total[1])


def train(config: dict[str, Any], device: torch.device) -> None:
    model, optimizer = build(config, device)
    step = resume(model, optimizer, config["resume"]) if config["resume"] else 0
    loader = build_loader(config["data"], "train", config["seed"])
    validation = build_loader(config["data"], "validation", config["seed"])
    warmup = config["optim"]["warmup_steps"]
    schedule = LambdaLR(optimizer, lambda done: min(1.0, (done + 1) / warmup))
    scaler = torch.amp.GradScaler("cuda")
    out = Path(config["out"])

    for epoch in range(config["epochs"]):
        if isinstance(loader.sampler, DistributedSampler):
            loader.sampler.set_epoch(epoch)
        for batch in loader:
            batch = {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(**batch)
            scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), config["optim"]["max_norm"])
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
            step += 1
            if step % config["log_every"] == 0:
                log.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
            if step % config["save_every"] == 0:
                save_checkpoint(model, optimizer, step, out)
        log.info("epoch %d validation loss %.4f", epoch, evaluate(model, validation, device))
    save_checkpoint(model, optimizer, step, out)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    with open(parser.parse_args().config, encoding="utf-8") as text:
        config = yaml.safe_load(text)
    device = setup()
    torch.manual_seed(config["seed"])
    try:
        train(config, device)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
