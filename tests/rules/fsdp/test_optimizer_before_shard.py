"""More cases of optimizer-before-shard."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example

CASES = {
    "groups-that-a-helper-makes": """
        import torch
        from torch.distributed.fsdp import fully_shard
        from groups import groups_of

        def grouped(model):
            opt = torch.optim.AdamW(groups_of(model, 0.1), lr=1e-3)  # error
            for layer in model.layers:
                fully_shard(layer)
            fully_shard(model)
            return opt

        def after(model):
            fully_shard(model)
            return torch.optim.AdamW(groups_of(model, 0.1))

        def of_another(model, teacher):
            opt = torch.optim.AdamW(groups_of(teacher, len(model.layers)))
            fully_shard(model)
            return opt
        """,
    "alias-filter-and-to-empty": """
        import torch.optim as optim

        def build(config):
            net = config.build()
            m = net
            opt = optim.Adam(filter(lambda p: p.requires_grad, m.parameters()))  # error
            net.to_empty(device="cuda")
            return opt
        """,
    "blocks-first": """
        from torch.optim import SGD
        from torch.distributed.fsdp import fully_shard

        class Trainer:
            def setup(self):
                decay = [p for name, p in self.model.named_parameters() if "bias" not in name]
                self.opt = SGD([{"params": decay, "weight_decay": 0.1}])  # error
                for block in self.model.blocks:
                    fully_shard(block)
                fully_shard(self.model)
        """,
    "optimizers-of-other-packages": """
        import bitsandbytes as bnb
        from apex.optimizers import FusedAdam
        from torch.optim.adamw import AdamW
        from torchao.optim import AdamW8bit
        from deepspeed.ops.adam import DeepSpeedCPUAdam
        from torch.distributed.tensor.parallel import parallelize_module

        def build(a, b, c, d, e, mesh, plan):
            one = bnb.optim.PagedAdamW8bit(a.parameters())  # error
            parallelize_module(a, mesh, plan)
            return one

        def second(model, mesh, plan):
            opt = FusedAdam(model.parameters())  # error
            parallelize_module(model, mesh, plan)
            return opt

        def third(model, mesh, plan):
            opt = AdamW(model.parameters())  # error
            parallelize_module(model, mesh, plan)
            return opt

        def fourth(model, mesh, plan):
            opt = AdamW8bit(model.parameters())  # error
            parallelize_module(model, mesh, plan)
            return opt

        def fifth(model, mesh, plan):
            opt = DeepSpeedCPUAdam(model.parameters())  # error
            parallelize_module(model, mesh, plan)
            return opt
        """,
    "data-parallel-keeps-the-parameters": """
        import torch
        from torch.distributed.fsdp import fully_shard
        from torch.nn.parallel import DistributedDataParallel as DDP

        def ddp(model, other):
            opt = torch.optim.AdamW(model.parameters())
            fully_shard(other)
            return DDP(model), opt
        """,
    "on-different-ways": """
        import torch
        from torch.distributed.fsdp import fully_shard

        def either(model, sharded):
            if sharded:
                fully_shard(model)
            else:
                return torch.optim.AdamW(model.parameters())
        """,
    "built-again-under-the-same-name": """
        import torch
        from torch.distributed.fsdp import fully_shard

        def built_again(model):
            opt = torch.optim.AdamW(model.parameters())
            fully_shard(model)
            opt = torch.optim.AdamW(model.parameters())
            return opt
        """,
    "flat-parameters-only-when-asked": """
        import torch
        from fairscale.nn import FullyShardedDataParallel as Old
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

        def flat(model):
            opt = torch.optim.AdamW(model.parameters())  # error
            return FSDP(model, use_orig_params=False), opt

        def unknown(model, original, options):
            opt = torch.optim.AdamW(model.parameters())
            return FSDP(model, use_orig_params=original), opt

        def hidden(model, options):
            opt = torch.optim.AdamW(model.parameters())
            return FSDP(model, **options), opt

        def fairscale(model):
            opt = torch.optim.AdamW(model.parameters())  # error
            return Old(model), opt
        """,
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_marked_lines_are_reported(problems: Callable[[str, Example], list[str]], source: str) -> None:
    assert problems("optimizer-before-shard", Example(source)) == []
