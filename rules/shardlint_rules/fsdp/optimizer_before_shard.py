"""The rule optimizer-before-shard."""

from __future__ import annotations

from shardlint.rule import Bad, Call, Expression, Findings, Good, InFunctionWith, LocalRule, Site, observation, table

_TABLE = table("optimizers", of=__name__)
_TORCH = str(_TABLE["torch"]["names"]).split()
_OPTIMIZER = Call(
    *(f"torch.optim.{module}{name}" for name in _TORCH for module in ("", f"{name.lower()}.")),
    *(f"{package}.{name}" for package, names in _TABLE["others"].items() for name in str(names).split()),
)
_FSDP1 = str(_TABLE["sharding"]["fsdp1"]).split()
_SHARD = Call(*_FSDP1, *str(_TABLE["sharding"]["others"]).split())


class OptimizerBeforeShard(LocalRule):
    """Reports an optimizer that is built from the parameters of a model which is sharded only afterwards.

    Why is this bad?
    `fully_shard`, `FSDP(model)`, `parallelize_module` and `to_empty` put new parameters into the model. An optimizer
    that was built before holds the old ones: `step` updates tensors that no forward reads, and the loss stays flat
    without any error.

    Use instead
    Shard the model first, then build the optimizer from the parameters of the sharded model.

    Known limits
    Optimizer and sharding must stand in one function, on a name that is followed there, with no other optimizer after
    the sharding. `FSDP(..., use_orig_params=True)`, and with no constant there, keeps the parameters: not reported.
    """

    severity, since = "error", "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/fsdp.html")
    suspects = _OPTIMIZER & InFunctionWith(_SHARD)
    symptoms = (r"optimizer does not seem to reference any FSDP parameters",)
    proof = ("test_optimizer_before_shard", "a step moves no parameter of the sharded model")
    bad = (
        Bad(
            """
            import torch
            from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, fully_shard
            from torch.optim import SGD

            def wrap(model):
                opt = torch.optim.AdamW(model.parameters())  # error
                model = FSDP(model)
                return model, opt

            class Trainer:
                def setup(self):
                    decay = [p for name, p in self.model.named_parameters() if "bias" not in name]
                    self.opt = SGD([{"params": decay, "weight_decay": 0.1}])  # error
                    fully_shard(self.model)
            """
        ),
    )
    good = (
        Good(
            """
            import torch
            from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, fully_shard

            def after(model):
                model = FSDP(model)
                return model, torch.optim.AdamW(model.parameters())

            def another(model, teacher):
                opt = torch.optim.AdamW(model.parameters())
                fully_shard(teacher)
                return opt

            def original_parameters(model):
                opt = torch.optim.AdamW(model.parameters())
                return FSDP(model, use_orig_params=True), opt

            def in_a_loop(models):
                for model in models:
                    fully_shard(model)
                    yield torch.optim.AdamW(model.parameters())

            def built_again(model):
                opt = torch.optim.AdamW(model.parameters())
                fully_shard(model)
                return torch.optim.AdamW(model.parameters())
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        given = site.argument("params", 0)
        owners = _owners(given) if given is not None else []
        for shard in site.function.calls(_SHARD):
            model = shard.receiver if shard.name == "*.to_empty" else shard.argument("module", 0)
            if model is None or not site.reaches_in_round(shard) or _keeps_parameters(shard) or _built_again(shard):
                continue
            sure = [certainty for owner, certainty in owners if model.same_as(owner)]
            if sure:
                yield site.finding(
                    f"`{site.called}` takes the parameters of `{model.text}` before `{shard.called}` replaces them: "
                    "`step` updates tensors that the model no longer uses, and nothing is learned",
                    help=f"build the optimizer after `{shard.called}`, from the parameters of the sharded model",
                    related=[shard.note("the parameters are replaced here")],
                    certainty=min(shard.certainty, max(sure)),
                )
                return


def _owners(given: Expression, depth: int = 0) -> list[tuple[Expression, float]]:
    """The models whose `parameters()` an argument is made of; less certain, what `groups_of(model, decay)` is given."""
    found: list[tuple[Expression, float]] = []
    for value in given.values:
        made = value.as_site()
        found += [(argument, 0.8) for argument in (made.positional if made is not None else ())]
        for part in value.parts:
            call = part.as_site()
            if call is not None and call.called.endswith((".parameters", ".named_parameters")) and call.receiver:
                found.append((call.receiver, 1.0))
            elif call is None and depth < 2 and part.last_name and part is not value:
                found += _owners(part, depth + 1)
    return found


def _keeps_parameters(shard: Site) -> bool:
    original = shard.argument("use_orig_params")
    return shard.name in _FSDP1 and (shard.opaque or (original is not None and original.literal is not False))


def _built_again(shard: Site) -> bool:
    return any(shard.reaches(other) for other in shard.function.calls(_OPTIMIZER) if not other.reaches_in_round(shard))
