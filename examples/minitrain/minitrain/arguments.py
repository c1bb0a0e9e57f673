"""The arguments of a job: dataclasses over a YAML file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_type_hints

import yaml


@dataclass(frozen=True)
class ModelArguments:
    """Args:
    config: sizes that differ from those of `MiniConfig`.
    init_from: a file of weights to begin with; without it they are drawn from the seed.
    """

    config: dict[str, int] = field(default_factory=dict)
    init_from: str | None = None


@dataclass(frozen=True)
class DataArguments:
    """Args:
    kind: whose samples these are: `CountingDataset`, or `FigureDataset`.
    max_length: tokens of a text at most.
    global_batch_size: samples of a step, over all ranks.
    """

    kind: Literal["text", "image-text"] = "text"
    samples: int = 256
    max_length: int = 32
    global_batch_size: int = 8


@dataclass(frozen=True)
class ParallelArguments:
    """Args:
    sp: how many ranks share the sequence of a batch.
    ep: how many ranks hold the experts together.
    """

    sp: int = 1
    ep: int = 1


@dataclass(frozen=True)
class OptimizerArguments:
    """Args:
    warmup_steps: steps until the learning rate is reached.
    max_grad_norm: the norm to which gradients are clipped.
    """

    lr: float = 1.0e-2
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.1
    warmup_steps: int = 4
    max_grad_norm: float = 1.0


@dataclass(frozen=True)
class TrainArguments:
    """Args:
    output: where checkpoints go; without it none is written.
    resume: the checkpoint to go on from.
    save_every, log_every: steps from one to the next.
    """

    seed: int = 17
    epochs: int = 1
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    output: str | None = None
    resume: str | None = None
    save_every: int = 100
    log_every: int = 1


@dataclass(frozen=True)
class Arguments:
    model: ModelArguments = field(default_factory=ModelArguments)
    data: DataArguments = field(default_factory=DataArguments)
    parallel: ParallelArguments = field(default_factory=ParallelArguments)
    optimizer: OptimizerArguments = field(default_factory=OptimizerArguments)
    train: TrainArguments = field(default_factory=TrainArguments)


def load_arguments(path: str | Path) -> Arguments:
    """The arguments that a YAML file holds. Values are taken as YAML reads them.

    Raises:
        ValueError: when it has a section that there are no arguments for.
        TypeError: when a section has a key that is no argument.
    """
    document: dict[str, dict[str, Any]] = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    sections = get_type_hints(Arguments)
    if unknown := document.keys() - sections.keys():
        raise ValueError(f"{path}: there are no arguments for {', '.join(sorted(unknown))}")
    return Arguments(**{name: sections[name](**section) for name, section in document.items()})
