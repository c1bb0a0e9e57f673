"""The rule optimizer-before-shard."""

from __future__ import annotations

from shardlint.rule import Bad, Call, Expression, Findings, Good, InFunctionWith, Iterator, LocalRule, Site, observation

_TORCH = (
    *("Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD", "LBFGS", "Lion", "Muon", "NAdam", "RAdam"),
    *("RMSprop", "Rprop", "SGD", "SparseAdam"),
)
_BITS = tuple(
    f"{page}{name}{bits}" for page in ("", "Paged") for name in ("Adam", "AdamW", "Lion") for bits in ("", "8bit")
)
_OPTIMIZER = Call(
    *(f"torch.optim.{name}" for name in _TORCH),
    *(f"torch.optim.{name.lower()}.{name}" for name in _TORCH),
    *(f"bitsandbytes.optim.{name}" for name in _BITS),
    *(f"apex.optimizers.{name}" for name in ("FusedAdam", "FusedLAMB", "FusedSGD", "FusedNovoGrad")),
    *(f"deepspeed.ops.adam.{name}" for name in ("FusedAdam", "DeepSpeedCPUAdam")),
    *(f"torchao.optim.{name}" for name in ("AdamW8bit", "AdamW4bit", "AdamWFp8", "CPUOffloadOptimizer")),
)
_FSDP1 = (
    "torch.distributed.fsdp.FullyShardedDataParallel",
    "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
    "fairscale.nn.FullyShardedDataParallel",
    "fairscale.nn.data_parallel.FullyShardedDataParallel",
)
_SHARD = Call(
    *_FSDP1,
    "torch.distributed.fsdp.fully_shard",
    "torch.distributed._composable.fsdp.fully_shard",
    "torch.distributed._composable.fully_shard",
    "torch.distributed.tensor.parallel.parallelize_module",
    "*.to_empty",
)


class OptimizerBeforeShard(LocalRule):
    """Reports an optimizer that is built from the parameters of a model which is sharded only afterwards.

    Why is this bad?
    `fully_shard`, `FSDP(model)`, `parallelize_module` and `to_empty` put new parameters into the model. An optimizer
    that was built before holds the old ones: `step` updates tensors that no forward reads, and the loss stays flat
    without any error.

    Use instead
    Shard the model first, then build the optimizer from the parameters of the sharded model.

    Known limits
    Optimizer and sharding must stand in one function, on a name that is followed there. Nothing is reported where
    another optimizer is built after the sharding. `FSDP(..., use_orig_params=True)` keeps the parameters, so it is not
    reported; the same holds when that argument is no constant.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/fsdp.html")
    suspects = _OPTIMIZER & InFunctionWith(_SHARD)
    symptoms = (r"optimizer does not seem to reference any FSDP parameters",)
    bad = (
        Bad(
            """
            import torch
            from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

            def wrap(model):
                opt = torch.optim.AdamW(model.parameters())  # error
                model = FSDP(model)
                return model, opt
            """
        ),
        Bad(
            """
            from torch.optim import SGD
            from torch.distributed.fsdp import fully_shard

            class Trainer:
                def setup(self):
                    decay = [p for name, p in self.model.named_parameters() if "bias" not in name]
                    self.opt = SGD([{"params": decay, "weight_decay": 0.1}])  # error
                    for block in self.model.blocks:
                        fully_shard(block)
                    fully_shard(self.model)
            """
        ),
        Bad(
            """
            import torch.optim as optim

            def build(config):
                net = config.build()
                m = net
                opt = optim.Adam(filter(lambda p: p.requires_grad, m.parameters()))  # error
                net.to_empty(device="cuda")
                return opt
            """
        ),
    )
    good = (
        Good(
            """
            import torch
            from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, fully_shard
            from torch.nn.parallel import DistributedDataParallel as DDP

            def after(model):
                model = FSDP(model)
                return model, torch.optim.AdamW(model.parameters())

            def ddp(model):
                opt = torch.optim.AdamW(model.parameters())
                return DDP(model), opt

            def another(model, teacher):
                opt = torch.optim.AdamW(model.parameters())
                fully_shard(teacher)
                return opt

            def original_parameters(model):
                opt = torch.optim.AdamW(model.parameters())
                return FSDP(model, use_orig_params=True), opt

            def either(model, sharded):
                if sharded:
                    fully_shard(model)
                else:
                    return torch.optim.AdamW(model.parameters())

            def in_a_loop(models):
                for model in models:
                    fully_shard(model)
                    yield torch.optim.AdamW(model.parameters())

            def built_again(model):
                opt = torch.optim.AdamW(model.parameters())
                fully_shard(model)
                opt = torch.optim.AdamW(model.parameters())
                return opt
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        given = site.argument("params", 0)
        if given is None:
            return
        owners = list(_owners(given))
        for shard in site.function.calls(_SHARD):
            model = shard.receiver if shard.name == "*.to_empty" else shard.argument("module", 0)
            if not site.reaches_in_round(shard) or _keeps_parameters(shard) or _built_again(shard):
                continue
            if model is not None and any(model.same_as(owner) for owner in owners):
                yield site.finding(
                    f"`{site.called}` takes the parameters of `{model.text}` before `{shard.called}` replaces them: "
                    "`step` updates tensors that the model no longer uses, and nothing is learned",
                    help=f"build the optimizer after `{shard.called}`, from the parameters of the sharded model",
                    related=[shard.note("the parameters are replaced here")],
                    certainty=shard.certainty,
                )
                return


def _owners(given: Expression, depth: int = 0) -> Iterator[Expression]:
    """The models whose `parameters()` an argument is made of."""
    for value in given.values:
        for part in value.parts:
            call = part.as_site()
            if call is not None and call.called.endswith((".parameters", ".named_parameters")) and call.receiver:
                yield call.receiver
            elif call is None and depth < 2 and part.last_name and part is not value:
                yield from _owners(part, depth + 1)


def _keeps_parameters(shard: Site) -> bool:
    if shard.name not in _FSDP1:
        return False
    original = shard.argument("use_orig_params")
    return shard.opaque or (original is not None and original.literal is not False)


def _built_again(shard: Site) -> bool:
    return any(shard.reaches(other) for other in shard.function.calls(_OPTIMIZER) if not other.reaches_in_round(shard))
