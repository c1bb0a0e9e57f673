"""Trains a model: ./train.sh configs/text.yaml"""

from __future__ import annotations

import argparse
import logging
from collections import defaultdict
from fnmatch import fnmatchcase
from itertools import islice

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from minitrain import checkpoint, gradients
from minitrain.arguments import Arguments, OptimizerArguments, load_arguments
from minitrain.collators import FigureCollator, PackingCollator
from minitrain.communication import sum_over_ranks
from minitrain.datasets import CountingDataset, FigureDataset, Sample
from minitrain.models.generated.patched_modeling_mini import IGNORE_INDEX, Mini, MiniConfig, MoE, init_weights
from minitrain.parallel_state import ParallelState, init_parallel_state
from minitrain.tokenizer import Tokenizer

log = logging.getLogger(__name__)

NO_DECAY = ("norm", "embed")
PRECISION = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def apply_plan(model: Mini, mesh: DeviceMesh) -> None:
    """Shard the parameters that the plan of the model names. Nothing is sent: the weights come later."""
    for axis, patterns in model.get_parallel_plan().items():
        for name, parameter in list(model.named_parameters()):
            for pattern, placement in patterns.items():
                if fnmatchcase(name, pattern):
                    sharded = distribute_tensor(parameter, mesh[axis], [placement], src_data_rank=None)
                    owner, _, own = name.rpartition(".")
                    setattr(model.get_submodule(owner), own, nn.Parameter(sharded))


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """Groups for the optimizer. It updates a group at once, so all tensors of a group are on one mesh."""
    groups: dict[tuple[object, float], list[nn.Parameter]] = defaultdict(list)
    for name, parameter in model.named_parameters():
        decay = 0.0 if any(part in name for part in NO_DECAY) else weight_decay
        mesh = parameter.device_mesh if isinstance(parameter, DTensor) else None
        groups[mesh, decay].append(parameter)
    return [{"params": params, "weight_decay": decay} for (_, decay), params in groups.items()]


def build(arguments: Arguments, state: ParallelState) -> tuple[Mini, Optimizer, int]:
    """The sharded model, its optimizer, and how many steps they have behind them."""
    config = MiniConfig(**arguments.model.config)
    with torch.device("meta"):
        model = Mini(config)
    apply_plan(model, state.experts)
    precision = MixedPrecisionPolicy(param_dtype=PRECISION[arguments.train.precision], reduce_dtype=torch.float32)
    for layer in model.layers:
        if isinstance(layer.mlp, MoE):
            fully_shard(
                layer.mlp.experts,
                mesh=state.experts["ep_fsdp"],
                mp_policy=precision,
                shard_placement_fn=lambda _: Shard(1),
            )
        fully_shard(layer, mesh=state.fsdp, mp_policy=precision)
    fully_shard(model, mesh=state.fsdp, mp_policy=precision)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            # The loss is divided by the tokens of all ranks, so gradients are summed.
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(True)
    model.to_empty(device=state.device)
    checkpoint.share_weights(model, first_weights(config, arguments) if dist.get_rank() == 0 else {})
    optimizer = torch.optim.AdamW(
        parameter_groups(model, arguments.optimizer.weight_decay),
        lr=arguments.optimizer.lr,
        betas=arguments.optimizer.betas,
    )
    step = checkpoint.load(model, optimizer, arguments.train.resume) if arguments.train.resume else 0
    return model, optimizer, step


def first_weights(config: MiniConfig, arguments: Arguments) -> dict[str, Tensor]:
    """The whole weights to begin with, from a file or from the seed."""
    if arguments.model.init_from:
        return checkpoint.read_weights(arguments.model.init_from)
    model = Mini(config)
    init_weights(model, arguments.train.seed)
    return model.state_dict()


def model_of(path: str) -> Mini:
    """The model of a configuration, without its parallel plan: `shardlint plan` judges both."""
    return Mini(MiniConfig(**load_arguments(path).model.config))


def build_loader(arguments: Arguments, state: ParallelState) -> tuple[DataLoader[Sample], DistributedSampler[Sample]]:
    """The batches of this rank, and what draws its samples. Ranks along `sp` get the same batches.

    Raises:
        ValueError: when the ranks cannot share the batch evenly.
    """
    data, dp = arguments.data, state.data["dp"]
    if data.global_batch_size % dp.size():
        raise ValueError(f"{dp.size()} ranks cannot share a batch of {data.global_batch_size} samples evenly")
    tokenizer = Tokenizer()
    dataset: Dataset[Sample]
    collator: PackingCollator | FigureCollator
    if data.kind == "text":
        dataset = CountingDataset(data.samples, data.max_length, tokenizer)
        collator = PackingCollator(tokenizer, arguments.parallel.sp)
    else:
        dataset = FigureDataset(data.samples, arguments.model.config["patch_dim"], tokenizer)
        collator = FigureCollator(tokenizer, arguments.parallel.sp)
    sampler: DistributedSampler[Sample] = DistributedSampler(
        dataset, dp.size(), dp.get_local_rank(), seed=arguments.train.seed, drop_last=True
    )
    size = data.global_batch_size // dp.size()
    return DataLoader(dataset, size, sampler=sampler, collate_fn=collator, drop_last=True), sampler


def train(arguments: Arguments) -> list[float]:
    """Train as the arguments say, and return the loss of each step, which is the same on every rank."""
    state = init_parallel_state(arguments.parallel)
    model, optimizer, step = build(arguments, state)
    loader, sampler = build_loader(arguments, state)
    scaler = GradScaler(state.device.type, enabled=arguments.train.precision == "fp16")
    losses: list[float] = []
    first_epoch, done = divmod(step, len(loader))
    for epoch in range(first_epoch, arguments.train.epochs):
        sampler.set_epoch(epoch)
        for batch in islice(loader, done, None):
            batch = {name: tensor.to(state.device) for name, tensor in batch.items()}
            set_learning_rate(optimizer, arguments.optimizer, step)
            tokens = sum_over_ranks((batch["labels"] != IGNORE_INDEX).sum()) / arguments.parallel.sp
            loss, norm = train_step(model, optimizer, scaler, batch, tokens, arguments.optimizer.max_grad_norm)
            step += 1
            losses.append(sum_over_ranks(loss).item())
            if step % arguments.train.log_every == 0 and dist.get_rank() == 0:
                log.info("epoch %d step %d loss %.4f norm %.3f", epoch, step, losses[-1], norm)
            if arguments.train.output and step % arguments.train.save_every == 0:
                checkpoint.save(model, optimizer, step, arguments.train.output)
        done = 0
    return losses


def train_step(
    model: Mini, optimizer: Optimizer, scaler: GradScaler, batch: Sample, tokens: Tensor, max_norm: float
) -> tuple[Tensor, Tensor]:
    """One step of the optimizer; the part of this rank in the loss, and the norm of the gradients.

    Args:
        batch: the batch of this rank.
        tokens: how many labels the batches of all ranks have.
        max_norm: the norm to which gradients are clipped.
    """
    loss = model(**batch) / tokens
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = gradients.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    return loss, norm


def set_learning_rate(optimizer: Optimizer, arguments: OptimizerArguments, step: int) -> None:
    """Warm up to the learning rate, then stay there."""
    for group in optimizer.param_groups:
        group["lr"] = arguments.lr * min(1.0, (step + 1) / arguments.warmup_steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", help="a YAML file of arguments")
    arguments = load_arguments(parser.parse_args().config)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        train(arguments)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
