"""The rule rank-guarded-collective."""

from __future__ import annotations

from shardlint.rule import RANK, Bad, Divergence, Divergent, Effects, Findings, Good, ProgramRule, observation, table

_COLLECTIVES = Effects.catalogue(*(table(one, of=__name__) for one in ("collectives", "checkpoints", "process_groups")))


class RankGuardedCollective(ProgramRule):
    """Reports a collective that only some of the ranks of its group reach.

    Why is this bad?
    A collective returns when every rank of the group has called it. Behind a test of the rank, the ranks that enter it
    wait for ranks that never come, or meet them in another collective. Nothing is printed until the watchdog ends it.

    Use instead
    Call it on every rank, and keep only what is for one rank (printing, writing a file) behind the guard. Both arms of
    a branch may hold the same collective, and a barrier may come first on one rank and last on the others.

    Known limits
    A call through a name that cannot be resolved is not seen. Where the other ranks make a call that is not known,
    nothing is reported, and the function is counted as not judged. A collective in a group is reported only when the
    test asks for the rank in that very group, or picks one process and the group is named after a kind of parallelism,
    is `None` by default, or is made by `new_group()` without ranks in the same file.
    """

    severity, since = "error", "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.html#collective-functions")
    suspects = Divergence(guard=RANK, effect=_COLLECTIVES, extended_by="collectives")
    ranks = (
        "rank 0 takes the branch and waits in the collective",
        "rank 1 goes past it and never comes, or meets rank 0 in the next collective",
        "both ranks print nothing until the watchdog ends the job",
    )
    symptoms = (
        r"Watchdog caught collective operation timeout",
        r"Detected mismatch between collectives on ranks",
        r"Timed out waiting \d+ms for (?:recv|send) operation",
    )
    bad = (
        Bad(
            """
            import os
            import torch.distributed as dist

            MAIN = int(os.environ["RANK"]) == 0

            def total(score):
                on_cpu = dist.new_group(backend="gloo")
                if dist.get_rank() == 0:
                    dist.all_reduce(score, group=on_cpu)  # error

            def evaluate(model, loader):
                for batch in loader:
                    if MAIN and batch is not None:
                        dist.barrier()  # error
                    model(batch)
            """,
            waits={"total(torch.ones(1))": "all_reduce", "evaluate(print, [1])": "barrier"},
        ),
        Bad(
            {
                "train.py": """
                from sync import mean

                class Trainer:
                    def __init__(self, rank):
                        self.rank = rank

                    def log(self, loss):
                        if self.rank != 0:
                            return
                        print(mean(loss))  # error
                """,
                "sync.py": """
                from torch.distributed import all_reduce as reduce_all, get_world_size

                def mean(value):
                    if get_world_size() > 1:
                        reduce_all(value)
                    return value / get_world_size()
                """,
            },
            waits={"Trainer(rank).log(torch.ones(1))": "all_reduce"},
        ),
    )
    good = (
        Good(
            """
            import torch.distributed as dist

            def first(build):
                if dist.get_rank() != 0:
                    dist.barrier()
                data = build()
                if dist.get_rank() == 0:
                    dist.barrier()
                return data

            def share(value):
                box = [value]
                if dist.get_rank() == 0:
                    dist.broadcast_object_list(box, src=0)
                else:
                    dist.broadcast_object_list(box, src=0)
                return box[0]

            def members(x, ranks, group):
                if dist.get_rank() in ranks:
                    dist.all_reduce(x, group=group)

            def adapters(x, lora):
                if lora.rank == 0:
                    dist.all_reduce(x)

            def turns(save):
                for turn in range(dist.get_world_size()):
                    if turn == dist.get_rank():
                        save()
                    dist.barrier()
            """,
            runs=("first(list)", "assert share(rank) == 0", "members(torch.ones(1), [0, 1], None)", "turns(print)"),
        ),
    )

    def judge(self, split: Divergent) -> Findings:
        here, there = split.paths
        if there.unknown or here.agrees_with(there):
            return
        yield split.finding(
            f"{split.subject} is a collective, but {split.who} reach it; {split.onward}, "
            "and the job waits until the timeout",
            help="call it on every rank of its group, and keep only what is for one rank behind the guard",
        )
