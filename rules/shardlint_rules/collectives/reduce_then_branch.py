"""The rule reduce-then-branch."""

from __future__ import annotations

from shardlint.rule import Bad, Call, Findings, Good, LocalRule, Site, Written, derivation, observation, partings

_PACKAGES = ("torch.distributed", "deepspeed.comm")
_SHARING = ("all_reduce", "broadcast", "broadcast_object_list")
_OTHERS = ("barrier", "reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "gather", "scatter")
_SHARES = Call(*(f"{package}.{name}" for package in _PACKAGES for name in _SHARING))
_TOGETHER = Call(
    *(f"{package}.{name}" for package in _PACKAGES for name in (*_SHARING, *_OTHERS)),
    *("*.backward", "*.barrier", "*.step", "*.save_checkpoint", "*.wait_for_everyone"),
)


class ReduceThenBranch(LocalRule):
    """Reports a branch of all ranks on what `dist.reduce` has left on one of them.

    Why is this bad?
    `dist.reduce` gives the result to rank `dst` alone; the others keep a value of their own, or a partial sum. When all
    decide on it whether to stop, skip or save, some leave the loop, and the others wait in the next collective.

    Use instead
    `dist.all_reduce`, which gives the result to every rank; or decide on `dst` and broadcast the decision.

    Known limits
    The value is followed through the function, and through one call of it in the same file. A branch counts where it
    jumps, or holds a collective or a step, and another can follow. Under a test that names a rank nothing is reported.
    """

    severity, since = "error", "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.reduce")
    suspects = Call(*(f"{package}.reduce" for package in _PACKAGES)) & Written("reduce(")
    ranks = (
        "rank 0 holds the sum after `dist.reduce`, and decides by it",
        "rank 1 holds whatever was in its tensor, and decides by that",
        "both ranks part: one enters the next collective and waits for the other",
    )
    symptoms = (r"Watchdog caught collective operation timeout", r"Detected mismatch between collectives on ranks")
    bad = (
        Bad(
            """
            import torch.distributed as dist

            def train(batches, least):
                for batch in batches:
                    total = batch.sum()
                    dist.reduce(total, dst=0)  # error
                    mean = total / dist.get_world_size()
                    if mean.item() < least:
                        break
            """,
            waits={"train([torch.ones(1) * (1 + 2 * (rank == 0))] * 2, 1.9)": "reduce"},
        ),
        Bad(
            """
            from torch.distributed import ReduceOp, all_reduce, reduce as add_up

            class Trainer:
                def fit(self, loader):
                    while not self.stop:
                        for batch in loader:
                            self.step(batch)
                        add_up(self.loss, 0, op=ReduceOp.SUM)  # error
                        self.stop = bool(self.loss < self.best)
                        all_reduce(self.seen)
            """
        ),
        Bad(
            """
            import torch, torch.distributed as dist

            def is_finite(loss):
                bad = (~torch.isfinite(loss)).float()
                dist.reduce(bad, 0, op=dist.ReduceOp.MAX)  # error
                return bad.item() == 0

            def step(model, batch, optimizer):
                loss = model(batch)
                if not is_finite(loss):
                    return
                loss.backward()
                optimizer.step()
            """
        ),
    )
    good = (
        Good(
            """
            import torch.distributed as dist

            def train(batches, least):
                for total in batches:
                    dist.all_reduce(total)
                    if total.item() < least:
                        break

            def shared(batches, least):
                for batch in batches:
                    total = batch.sum()
                    dist.reduce(total, dst=0)
                    stop = (total < least).float()
                    dist.broadcast(stop, src=0)
                    if stop.item():
                        break

            def logged(batches, log):
                for batch in batches:
                    count, total = batch.ne(0).sum(), batch.sum()
                    dist.reduce(total, 0)
                    dist.reduce(count, 0)
                    if len(total.shape) > 1 or dist.get_rank() != 0:
                        continue
                    if count > 0:
                        log(total / count)
            """,
            runs=("train([torch.ones(1) * rank] * 2, 0.5)", "shared([torch.ones(1) * rank] * 2, 0.5)"),
        ),
    )

    def judge(self, site: Site) -> Findings:
        total = site.argument("tensor", 0)
        if total is None:
            return
        value = derivation(site, total, site.function.calls(_SHARES))
        test = next(partings(value, together=_TOGETHER, shared=_SHARES), None)
        if test is not None:
            dst = site.argument("dst", 1)
            yield site.finding(
                f"`{site.called}` leaves the result on rank {dst.text if dst else 0} alone, but all ranks decide "
                f"`{test.text}` with it: they go different ways, and some wait until the timeout",
                help="use `all_reduce`, or decide on one rank and broadcast the decision",
                related=[test.note("decided here")],
            )
