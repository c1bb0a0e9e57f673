"""The rule metric-gated-collective."""

from __future__ import annotations

from shardlint.rule import NUMBERS, Bad, Divergence, Divergent, Effects, Findings, Good, ProgramRule, observation, table

_COLLECTIVES, _CHECKPOINTS = (Effects.catalogue(table(name, of=__name__)) for name in ("collectives", "checkpoints"))


class MetricGatedCollective(ProgramRule):
    """Reports a collective behind a loss, a metric or a time that each rank has for itself.

    Why is this bad?
    Every rank computes its loss from its own batches and reads its own clock. Near the bound some ranks are below it
    and others are not: some enter the collective, the others go on, and the job hangs in an epoch like any other.

    Use instead
    Agree on the number first, `dist.all_reduce(value, op=dist.ReduceOp.AVG)`, or broadcast the decision of one rank.

    Known limits
    A number counts if its name speaks of a loss, metric or accuracy and this function has computed it, or if the
    branch reduces that very tensor; other parameters and attributes do not. Where a call on its way is not known,
    nothing is reported, and the function is counted as not judged. Ranks that evaluate the same data have the same
    number: suppress the finding then. Nothing is said of groups whose ranks share their batches.
    """

    severity, since = "warning", "0.1.0"
    evidence = observation("https://github.com/pytorch/pytorch/issues/77562")
    suspects = Divergence(guard=NUMBERS, effect=_COLLECTIVES | _CHECKPOINTS, extended_by="collectives")
    ranks = (
        "rank 0 has a loss below the bound, takes the branch and waits in the collective",
        "rank 1 has one above it and goes on: it never comes",
        "both ranks print nothing until the watchdog ends the job",
    )
    symptoms = (r"Watchdog caught collective operation timeout", r"Timed out waiting \d+ms for (?:recv|send) operation")
    bad = (
        Bad(
            """
            from time import monotonic as now
            import torch
            import torch.distributed as dist

            def evaluate(model, batch, best):
                loss = torch.nn.functional.mse_loss(model(batch), batch)
                if loss.item() < best:
                    dist.barrier()  # error
            def ragged(x):
                if x.sum() > 0:
                    dist.all_reduce(x)  # error
            def train(steps, seconds):
                start = now()
                for step in steps:
                    step()
                    if now() - start > seconds:
                        break
                    dist.barrier()  # error
            """,
            waits={
                "evaluate(lambda x: x + rank, torch.ones(1), 0.5)": "barrier",
                "ragged(torch.ones(1) * rank)": "all_reduce",
                "import time; train([lambda: time.sleep(rank), list], 0.5)": "barrier",
            },
        ),
        Bad(
            {
                "train.py": """
                from keep import save_best
                from measure import accuracy

                class Trainer:
                    def __init__(self, model):
                        self.model, self.best = model, 0.5

                    def validate(self, loader, path):
                        val_acc = accuracy(self.model, loader)
                        improved = val_acc > self.best
                        if improved:
                            save_best(self.model, path)  # error
                """,
                "measure.py": """
                def accuracy(model, loader):
                    return sum(float(model(x) == y) for x, y in loader) / len(loader)
                """,
                "keep.py": """
                from torch.distributed.checkpoint import save as write

                def save_best(model, path):
                    write(model.state_dict(), checkpoint_id=path)
                """,
            },
        ),
    )
    good = (
        Good(
            """
            import time
            import torch
            import torch.distributed as dist

            def mean(value):
                dist.all_reduce(value)
                return value / dist.get_world_size()

            def evaluate(model, batch, best):
                loss = mean(torch.nn.functional.mse_loss(model(batch), batch))
                if loss.item() < best:
                    dist.barrier()
            def decided(loss_value, best):
                stop = [loss_value > best]
                dist.broadcast_object_list(stop, src=0)
                if stop[0]:
                    dist.barrier()
            def given(loss, limit, step, args):
                if loss > limit or step > args.warm_up:
                    dist.barrier()

            def logged(step, model, limit):
                start = time.time()
                loss = sum(step(model))
                if torch.isnan(loss) or time.time() - start > limit:
                    print("slow, or no number")
                dist.barrier()
            """,
            runs=("evaluate(torch.exp, torch.ones(1) * rank, 5); decided(rank, 1); logged(list, torch.ones(1), 1)",),
        ),
    )

    def judge(self, split: Divergent) -> Findings:
        here, there = split.paths
        if there.unknown or here.agrees_with(there):
            return
        yield split.finding(
            f"{split.subject} needs all ranks, but each rank asks {split.asked}: {split.who} reach it; {split.onward}, "
            "and the job waits until the timeout",
            help="share the number first with `all_reduce`, or let one rank decide and broadcast that",
        )
