"""Entries of the tables that have more to them than a name, each through the rule that reads them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example

COLLECTIVE, CHECKPOINT, GROUP = "rank-guarded-collective", "rank-guarded-checkpoint", "new-group-in-rank-branch"

TORCH = "import torch.distributed as dist\n"
DTENSOR = TORCH + "from torch.distributed.tensor import DTensor, Replicate, distribute_tensor\n"
FSDP = TORCH + "from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel as FSDP, fully_shard\n"
DDP = TORCH + "from torch.nn.parallel import DistributedDataParallel as DDP\n"
ACCELERATE = "from accelerate import Accelerator\n\naccelerator = Accelerator()\n"
ENGINE = TORCH + "import deepspeed\n\nengine, *_ = deepspeed.initialize(model=net)\n"
LIGHTNING = "import lightning.pytorch as pl\n"
FIRST = "import os\nimport torch.distributed as dist\n\nif int(os.environ['RANK']) == 0:\n"
TRAINER = "from transformers import Trainer\n\ntrainer = Trainer(model)\n"


def guarded(call: str) -> str:
    """A call that the first rank alone makes."""
    return f"\ndef run(model, x, mesh, flag):\n    if dist.get_rank() == 0:\n        {call}\n"


def main(call: str, test: str = "accelerator.is_main_process") -> str:
    """A call that the main process alone makes."""
    return f"\ndef run(model, x, flag):\n    if {test}:\n        {call}\n"


def logged(arguments: str) -> str:
    """A module of Lightning that logs on the first rank."""
    return (
        f"{LIGHTNING}\nclass Net(pl.LightningModule):\n    def validation_step(self, batch):\n"
        f"        if self.trainer.is_global_zero:\n            self.log('loss', batch, {arguments}"
    )


REPORTED = {
    "ddp": (COLLECTIVE, DDP + guarded("DDP(model)  # error")),
    "fsdp1 sends": (COLLECTIVE, FSDP + guarded("FSDP(model, sync_module_states=True)  # error")),
    "fsdp1 clips": (
        COLLECTIVE,
        FSDP + "sharded = FSDP(net)\n" + main("sharded.clip_grad_norm_(1)  # error", "dist.get_rank() == 0"),
    ),
    "fsdp2 unshards": (
        COLLECTIVE,
        FSDP + "\ndef run(m: FSDPModule):\n    if dist.get_rank() == 0:\n        m.unshard()  # error\n",
    ),
    "into replicas": (
        COLLECTIVE,
        DTENSOR
        + "\ndef run(x: DTensor):\n    if dist.get_rank() == 0:\n"
        + "        x.redistribute(placements=[Replicate()])  # error\n",
    ),
    "with a check": (COLLECTIVE, DTENSOR + guarded("DTensor.from_local(x, mesh, [Replicate()], True)  # error")),
    "scattered": (COLLECTIVE, DTENSOR + guarded("distribute_tensor(x, mesh)  # error")),
    "debugger": (COLLECTIVE, TORCH + guarded("dist.breakpoint()  # error")),
    "first in turn": (COLLECTIVE, ACCELERATE + main("with accelerator.main_process_first(): x()  # error")),
    "trigger": (COLLECTIVE, ACCELERATE + main("accelerator.check_trigger()  # error")),
    "step": (COLLECTIVE, ENGINE + guarded("engine.step()  # error")),
    "sync_dist": (COLLECTIVE, logged("sync_dist=True)  # error")),
    "evaluate": (COLLECTIVE, TRAINER + main("trainer.evaluate()  # error", "trainer.is_world_process_zero()")),
    "metric": (
        COLLECTIVE,
        TORCH
        + "from torchmetrics.text import Perplexity\n\nmetric = Perplexity()\n"
        + guarded("metric.compute()  # error"),
    ),
    "trainer of trl": (
        COLLECTIVE,
        TORCH + "import trl\n\ntrainer = trl.SFTTrainer(model)\n" + guarded("trainer.evaluate()  # error"),
    ),
    "fsdp1 state": (
        CHECKPOINT,
        FSDP + "sharded = FSDP(net)\n" + main("sharded.state_dict()  # error", "dist.get_rank() == 0"),
    ),
    "state of zero": (CHECKPOINT, TORCH + guarded("flag.optimizer.consolidate_state_dict()  # error")),
    "lightning": (
        CHECKPOINT,
        LIGHTNING
        + "\ndef run(trainer: pl.Trainer, rank):\n    if rank == 0:\n        trainer.save_checkpoint('x')  # error\n",
    ),
    "veomni": (
        CHECKPOINT,
        TORCH
        + "from veomni.checkpoint import build_checkpointer\n\nCheckpointer = build_checkpointer('dcp', 'fsdp2')\n"
        + guarded("Checkpointer.save(x, flag)  # error"),
    ),
    "megatron": (
        CHECKPOINT,
        TORCH + "from megatron.core import dist_checkpointing as dc\n" + guarded("dc.load(x, flag)  # error"),
    ),
    "default group": (
        GROUP,
        FIRST + "    dist.init_process_group('gloo')  # error\n",
    ),
    "split": (GROUP, TORCH + guarded("dist.split_group(split_ranks=[[0, 1]])  # error")),
    "model parallel": (
        GROUP,
        TORCH
        + "from megatron.core import parallel_state\n"
        + guarded("parallel_state.initialize_model_parallel(2)  # error"),
    ),
}
SILENT = {
    "ddp without check": (COLLECTIVE, DDP + guarded("DDP(model, init_sync=False)")),
    "fsdp1 sends nothing": (COLLECTIVE, FSDP + guarded("FSDP(model)")),
    "fsdp2 cuts": (COLLECTIVE, FSDP + guarded("fully_shard(model)")),
    "into parts": (COLLECTIVE, DTENSOR + "\ndef run(x: DTensor, place):\n    if dist.get_rank() == 0:\n"
        "        x.redistribute(placements=[place])\n"),
    "without a check": (COLLECTIVE, DTENSOR + guarded("DTensor.from_local(x, mesh, [Replicate()])")),
    "checked perhaps": (COLLECTIVE, DTENSOR + guarded("DTensor.from_local(x, mesh, [Replicate()], run_check=flag)")),
    "placed as it is": (COLLECTIVE, DTENSOR + guarded("distribute_tensor(x, mesh, src_data_rank=None)")),
    "point to point": (COLLECTIVE, TORCH + "\ndef run(x):\n    if dist.get_rank() == 0:\n"
        "        dist.send(x, 1)\n    else:\n        dist.recv(x, 0)\n"),
    "prepare": (COLLECTIVE, ACCELERATE + main("accelerator.prepare(x)")),
    "own method": (COLLECTIVE, TORCH +
        "class Plain:\n    def wait_for_everyone(self):\n        print('alone')\n\nplain = Plain()\n" +
        guarded("plain.wait_for_everyone()")),
    "rank_zero_only": (COLLECTIVE, logged("sync_dist=True, rank_zero_only=True)")),
    "not reduced": (COLLECTIVE, logged("batch_size=1)")),
    "of one of two classes": (CHECKPOINT, FSDP +
        "\ndef run(net, flag):\n    model = FSDP(net) if flag else net\n"
        "    if dist.get_rank() == 0:\n        model.state_dict()\n"),
    "plain module": (CHECKPOINT, TORCH + guarded("model.state_dict()")),
    "16 bits": (CHECKPOINT, ENGINE + guarded("engine.save_16bit_model(x)")),
    "save_state": (CHECKPOINT, ACCELERATE + main("accelerator.save_state(x)")),
    "save_model": (CHECKPOINT, TRAINER + main("trainer.save_model(x)", "trainer.is_world_process_zero()")),
    "group of one": (GROUP, FIRST + "    dist.init_process_group('gloo', world_size=1, rank=0)\n"),
    "end": (GROUP, TORCH + guarded("dist.destroy_process_group()")),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "source"), REPORTED.values(), ids=REPORTED.keys())
def test_marked_line_is_reported(problems: Callable[[str, Example], list[str]], rule: str, source: str) -> None:
    assert "# error" in source
    assert problems(rule, Example(source)) == []


@pytest.mark.parametrize(("rule", "source"), SILENT.values(), ids=SILENT.keys())
def test_nothing_is_reported(problems: Callable[[str, Example], list[str]], rule: str, source: str) -> None:
    assert problems(rule, Example(source)) == []
