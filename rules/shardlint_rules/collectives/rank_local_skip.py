"""The rule rank-local-skip."""

from __future__ import annotations

from shardlint.rule import NUMBERS, Bad, Divergence, Divergent, Effects, Findings, Good, ProgramRule, observation, table

_ENGINES = ["deepspeed.initialize", "deepspeed.DeepSpeedEngine", "deepspeed.runtime.engine.DeepSpeedEngine"]
_COLLECTIVES = Effects.catalogue(table("collectives", of=__name__))
_STEPS = Effects({"*.backward": {}, "step": {"in": _ENGINES}}, beside=_COLLECTIVES)


class RankLocalSkip(ProgramRule):
    """Reports a `backward` that a rank leaves out because of its own loss or clock, where ranks train together.

    Why is this bad?
    DDP, FSDP and ZeRO reduce gradients inside of `backward`, on all ranks together. A rank that skips a batch meets the
    others with its next one: gradients of different steps are added up, and in the end one rank waits for ever.

    Use instead
    Skip together: `bad = (~torch.isfinite(loss)).float()`, `dist.all_reduce(bad, op=dist.ReduceOp.MAX)`, and skip on
    all ranks if `bad` is set.

    Known limits
    Judged only where the file, or one that it imports, wraps a model with DDP, FSDP, DeepSpeed or Accelerate. A loss
    must be computed in the same function. An error ends the job on all ranks, so it is no hang. A skip of the
    optimizer's step after `backward` makes weights differ, but nobody wait.
    """

    severity, since, preview = "warning", "0.1.0", True
    evidence = observation("https://github.com/NVIDIA-NeMo/Automodel/issues/2468")
    suspects = Divergence(guard=NUMBERS, effect=_STEPS)
    ranks = (
        "rank 0 skips a bad batch and its backward",
        "rank 1 runs the backward and waits in the reduction of the gradients",
        "rank 0 joins it with the next batch: from then on the ranks are a step apart, and one waits at the end",
    )
    symptoms = (r"Watchdog caught collective operation timeout", r"(?i)loss is (?:nan|inf)\w*.*skip")
    bad = (
        Bad(
            """
            import time
            import torch
            from torch.nn.parallel import DistributedDataParallel

            def train(net, batches):
                model = DistributedDataParallel(net)
                for batch in batches:
                    loss = model(batch).mean()
                    if not torch.isfinite(loss):
                        continue
                    loss.backward()  # error

            def until(model, loader, minutes, accelerator):
                start = time.time()
                for batch in loader:
                    out_of_time = time.time() - start > minutes * 60
                    if out_of_time:
                        break
                    accelerator.backward(model(**batch).loss)  # error
            """,
            waits={"train(torch.nn.Linear(1, 1), [torch.ones(1), torch.ones(1) / (1 - rank)])": "backward"},
        ),
        Bad(
            {
                "train.py": """
                from math import isnan as broken
                from torch.nn.functional import mse_loss
                from setup import wrapped

                class Trainer:
                    def __init__(self, net):
                        self.model = wrapped(net)

                    def step(self, x, y):
                        loss = mse_loss(self.model(x), y)
                        value = loss.item()
                        if broken(value) or value > 100.0:
                            return None
                        loss.backward()  # error
                        return value
                """,
                "setup.py": """
                from torch.nn.parallel import DistributedDataParallel as Wrapper

                def wrapped(net):
                    return Wrapper(net)
                """,
            },
            waits={"Trainer(torch.nn.Linear(1, 1)).step(torch.ones(1), torch.ones(1) * 1e6 * rank)": "backward"},
        ),
    )
    good = (
        Good(
            """
            import torch
            import torch.distributed as dist
            from torch.nn.parallel import DistributedDataParallel

            def together(net, batches):
                model = DistributedDataParallel(net)
                for batch in batches:
                    loss = model(batch).mean()
                    bad = (~torch.isfinite(loss)).float()
                    dist.all_reduce(bad, op=dist.ReduceOp.MAX)
                    if bad.item():
                        continue
                    loss.backward()

            def scaled(model, batch, optimizer, scaler):
                loss = model(batch).mean()
                if torch.isnan(loss):
                    raise RuntimeError("the loss is no number")
                norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                if torch.isfinite(norm):
                    scaler.scale(loss).backward()

            def some(model, batch, loss_limit, step, args):
                if step <= args.steps and loss_limit > 0:
                    model(batch).mean().backward()
            """,
            runs=("together(torch.nn.Linear(1, 1), [torch.ones(1), torch.ones(1) / (1 - rank)])",),
        ),
        Good("def one(model, x):\n    loss = model(x).mean()\n    if not loss.isnan():\n        loss.backward()\n"),
    )

    def judge(self, split: Divergent) -> Findings:
        here, there = split.paths
        if there.unknown or here.agrees_with(there) or not split.trains_together:
            return
        yield split.finding(
            f"{split.subject} reduces gradients with all ranks, but each rank decides by its own data: {split.who} "
            "reach it; one that does not is a step behind, and in the end a rank waits until the timeout",
            help="share the decision with `all_reduce(flag, op=MAX)` before it, so that all ranks skip the same batch",
        )
