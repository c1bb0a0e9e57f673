"""The rule new-group-in-rank-branch."""

from __future__ import annotations

from shardlint.rule import RANK, Bad, Divergence, Divergent, Effects, Findings, Good, ProgramRule, observation, table

_TABLES = ("process_groups", "collectives", "checkpoints")
_GROUPS = Effects.catalogue(*(table(name, of=__name__) for name in _TABLES))


class NewGroupInRankBranch(ProgramRule):
    """Reports a process group or device mesh that only some ranks create.

    Why is this bad?
    `init_process_group`, `new_group`, `new_subgroups`, `init_device_mesh` and `DeviceMesh` must be called by every
    rank of the job in the same order, also by those that will be no members. When ranks skip the call, its members wait
    in it; and later groups are counted differently, so that the next one is paired with another.

    Use instead
    Create all groups on every rank, and choose the one to use afterwards:
    `lo = new_group(first); hi = new_group(second); mine = lo if rank < half else hi`. Where only members can make the
    call, pass `use_local_synchronization=True`.

    Known limits
    Two arms that create the same number of groups count as balanced, whatever their ranks. A `ranks=` list that is
    computed from the rank itself is not looked at. What is said of meshes rests on their documentation; a mesh of one
    axis over all ranks, one of shape (1, 2) on two ranks, and a group of one rank make nobody wait, and are reported
    all the same.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.new_group")
    suspects = Divergence(guard=RANK, effect=_GROUPS)
    ranks = (
        "rank 0 makes the group and waits in the store for all others",
        "rank 1 never makes it: its next group has another name",
        "both ranks wait until the store gives up",
    )
    symptoms = (r"[Ww]ait timeout after \d+ms, waiting for keys", r"Timed out initializing process group in store")
    bad = (
        Bad(
            """
            import torch.distributed as dist

            def pair():
                if dist.get_rank() == 0:
                    return dist.new_group([0, 1])  # error
                return None
            """,
            waits={"pair()": "new_group"},
        ),
        Bad(
            """
            import os
            from torch.distributed import init_device_mesh as mesh_of

            def mesh(size):
                rank = int(os.environ["RANK"])
                return mesh_of("cuda", (2, size // 2)) if rank < 4 else None  # error
            """
        ),
        Bad(
            {
                "groups.py": """
                import torch.distributed as dist

                def logging_group(ranks):
                    return dist.new_group(ranks=ranks, backend="gloo")
                """,
                "train.py": """
                from groups import logging_group

                def setup(args, ranks):
                    if not args.is_main_process:
                        return None
                    return logging_group(ranks)  # error
                """,
            },
            waits={"setup(type('Args', (), {'is_main_process': rank == 0}), [0, 1])": "new_group"},
        ),
    )
    good = (
        Good(
            """
            import torch.distributed as dist

            def halves(world):
                mine = None
                for ranks in (range(world // 2), range(world // 2, world)):
                    group = dist.new_group(list(ranks))
                    if dist.get_rank() in ranks:
                        mine = group
                return mine

            def local(ranks):
                if dist.get_rank() in ranks:
                    return dist.new_group(ranks, use_local_synchronization=True)
                return None

            def either(rank):
                if dist.get_rank() == 0:
                    print("creating the group")
                if dist.is_initialized():
                    return dist.new_group([0, 1])
                return None
            """,
            runs=("dist.barrier(halves(2))", "g = local([1]); rank and dist.barrier(g)", "dist.barrier(either(rank))"),
        ),
    )

    def judge(self, split: Divergent) -> Findings:
        here, there = split.paths
        if there.unknown or here.agrees_with(there):
            return
        yield split.finding(
            f"{split.subject} must be entered by every rank of the job, but {split.who} reach it; {split.onward}, "
            "and the ranks wait in it, or in the next group, until the timeout",
            help="create the group on every rank, and choose what to use afterwards",
        )
