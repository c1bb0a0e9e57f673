"""What the ranks of a job do, with the code of the copy of minitrain that they were given."""

# No types of torch are there when the tests are checked, and minitrain is found at run time.
# pyright: basic, reportMissingImports=false
# mypy: disable-error-code="import-not-found, no-untyped-call"
from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

Overrides = dict[str, dict[str, Any]]


def arguments_of(config: str, overrides: Overrides) -> Any:
    """The arguments of a configuration of minitrain, with some of them replaced."""
    arguments = importlib.import_module("minitrain.arguments")
    folder = Path(str(arguments.__file__)).parents[1]
    loaded = arguments.load_arguments(folder / "configs" / config)
    sections = {name: replace(getattr(loaded, name), **values) for name, values in overrides.items()}
    return replace(loaded, **sections)


def train(config: str, **overrides: dict[str, Any]) -> list[float]:
    """Train, and give the losses."""
    from minitrain.train import train

    losses: list[float] = train(arguments_of(config, overrides))
    return losses


def norms_at_step(config: str, **overrides: dict[str, Any]) -> list[float]:
    """Train, and give the norm of the gradients that each step of the optimizer finds."""
    from minitrain.train import train
    from torch.nn.utils import get_total_norm
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    found: list[float] = []

    def hear(optimizer: Any, *_: object) -> None:
        grads = [p.grad.full_tensor() for group in optimizer.param_groups for p in group["params"]]
        found.append(float(get_total_norm(grads)))

    register_optimizer_step_pre_hook(hear)
    train(arguments_of(config, overrides))
    return found


def moments_after_resume(config: str, **overrides: dict[str, Any]) -> int:
    """How many parameters have moments once a checkpoint is loaded."""
    from minitrain.parallel_state import init_parallel_state
    from minitrain.train import build

    arguments = arguments_of(config, overrides)
    _, optimizer, _ = build(arguments, init_parallel_state(arguments.parallel))
    return sum("exp_avg" in state and bool(state["exp_avg"].to_local().any()) for state in optimizer.state.values())


def rows_of_experts(config: str) -> list[int]:
    """How many experts a rank holds of each of their weights, in the first layer, when FSDP has gathered them."""
    from minitrain.parallel_state import init_parallel_state
    from minitrain.train import build

    arguments = arguments_of(config, {})
    model, _, _ = build(arguments, init_parallel_state(arguments.parallel))
    experts = model.layers[0].mlp.experts
    experts.unshard()
    weights = (experts.gate, experts.up, experts.down)
    return [len(weight.to_local() if hasattr(weight, "to_local") else weight) for weight in weights]


def ends_in_labels() -> int:
    """How many labels of a batch of eight figures are the end of a text."""
    from minitrain.parallel_state import init_parallel_state
    from minitrain.tokenizer import Tokenizer
    from minitrain.train import build_loader

    arguments = arguments_of("figures.yaml", {"parallel": {"sp": 1}})
    loader, _ = build_loader(arguments, init_parallel_state(arguments.parallel))
    batch = next(iter(loader))
    return int((batch["labels"] == Tokenizer().eos_token_id).sum())


def read_weights(path: str) -> list[str]:
    """The names of the weights in a file."""
    from minitrain.checkpoint import read_weights

    return sorted(read_weights(path))


def generated() -> tuple[str, str]:
    """The generated file as it is, and as the generator writes it."""
    from minitrain.models import mini_patch_gen_config
    from minitrain.models.generated import patched_modeling_mini
    from minitrain.patchgen import generate

    there = Path(patched_modeling_mini.__file__).read_text()
    return there, generate(mini_patch_gen_config.config, mini_patch_gen_config.__name__)
