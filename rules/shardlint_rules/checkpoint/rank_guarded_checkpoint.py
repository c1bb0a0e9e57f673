"""The rule rank-guarded-checkpoint."""

from __future__ import annotations

from shardlint.rule import RANK, Bad, Divergence, Divergent, Effects, Findings, Good, ProgramRule, research, table

CHECKPOINTS = Effects(table("checkpoints", of=__name__))


class RankGuardedCheckpoint(ProgramRule):
    """Reports a distributed checkpoint call that only some ranks reach.

    Why is this bad?
    Distributed Checkpoint, DeepSpeed and Accelerate write and read a checkpoint together: every rank contributes its
    shards and waits for the others. When only rank 0 makes the call, it waits for ranks that never come, the others
    wait in their next collective, and the job stands still until the timeout.

    Use instead
    Call it on every rank, and keep only what is truly for one rank (a log line, a `latest` file) behind the guard.

    Known limits
    A call through a name that cannot be resolved is not seen. Where the other ranks make a call that is not known,
    nothing is reported, and the function is counted as not judged.
    """

    severity = "error"
    since = "0.1.0"
    evidence = research("https://docs.pytorch.org/docs/stable/distributed.checkpoint.html")
    suspects = Divergence(guard=RANK, effect=CHECKPOINTS)
    symptoms = (r"Watchdog caught collective operation timeout", r"[Ss]aving checkpoint")
    bad = (
        Bad(
            """
            import torch.distributed as dist
            import torch.distributed.checkpoint as dcp

            def save(state, path):
                if dist.get_rank() == 0:
                    dcp.save(state, checkpoint_id=path)  # error
            """
        ),
    )
    good = (
        Good(
            """
            import torch.distributed as dist
            import torch.distributed.checkpoint as dcp

            def save(state, path):
                dcp.save(state, checkpoint_id=path)
                if dist.get_rank() == 0:
                    print("saved", path)
            """
        ),
    )

    def judge(self, split: Divergent) -> Findings:
        here, there = split.paths
        if there.unknown or here.agrees_with(there):
            return
        yield split.finding(
            f"`{split.effect}` is a collective, but {split.who} reach it; {split.onward}, "
            "and the job waits until the timeout",
            help="call it on every rank, and keep only what is for one rank behind the guard",
        )
