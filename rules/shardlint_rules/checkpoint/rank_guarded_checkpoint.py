"""The rule rank-guarded-checkpoint."""

from __future__ import annotations

from shardlint.rule import RANK, Bad, Divergence, Divergent, Effects, Findings, Good, ProgramRule, observation, table

_TABLES = ("checkpoints", "collectives", "process_groups")
_CHECKPOINTS = Effects.catalogue(*(table(name, of=__name__) for name in _TABLES))


class RankGuardedCheckpoint(ProgramRule):
    """Reports a distributed checkpoint call that only some ranks reach.

    Why is this bad?
    Distributed Checkpoint, DeepSpeed and Megatron write and read a checkpoint together: every rank contributes its
    shards and waits for the others. When only rank 0 makes the call, it waits for ranks that never come, the others
    wait in their next collective, and the job stands still until the timeout.

    Use instead
    Call it on every rank, and keep only what is truly for one rank (a log line, a `latest` file) behind the guard.

    Known limits
    A call through a name that cannot be resolved is not seen. `get_model_state_dict` and its kin are collectives only
    with `full_state_dict=True` or `broadcast_from_rank0=True`, which must stand in the call. Accelerate's `save_state`
    is one only with FSDP or DeepSpeed, which its call does not tell, so it is never reported. Where the other ranks
    make a call that is not known, or the call itself takes `**kwargs` that may hold `no_dist` or a group, nothing is
    reported, and the function is counted as not judged. A `process_group` counts only if it is named after a kind of
    parallelism, is None by default, or is made by `new_group()` without ranks in the same file.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.checkpoint.html")
    suspects = Divergence(guard=RANK, effect=_CHECKPOINTS)
    ranks = (
        "rank 0 enters the save and waits for the shards of the others",
        "rank 1 goes on training and never comes",
        "both ranks print nothing until the watchdog ends the job",
    )
    symptoms = (r"Watchdog caught collective operation timeout", r"Timed out waiting \d+ms for (?:recv|send) operation")
    bad = (
        Bad(
            """
            import torch.distributed as dist
            import torch.distributed.checkpoint as dcp

            def save(state, path):
                if dist.get_rank() == 0:
                    dcp.save(state, checkpoint_id=path)  # error
            """,
            waits={"save({'w': torch.ones(1)}, folder)": "save"},
        ),
        Bad(
            {
                "train/loop.py": """
                import os
                from .save import finish

                def train(state, steps):
                    main = int(os.environ["RANK"]) == 0
                    for step in range(steps):
                        if step % 100 == 0 and main:
                            finish(state)  # error
                """,
                "train/save.py": """
                from torch.distributed.checkpoint import save as write

                def finish(state):
                    write(state, checkpoint_id="last")
                """,
                "train/__init__.py": "",
            },
            waits={"train({'w': torch.ones(1)}, 1)": "save"},
        ),
        Bad(
            """
            import deepspeed

            def train(args, model, local_rank):
                engine, _, _, _ = deepspeed.initialize(args=args, model=model)
                if args.global_rank > 0:
                    return
                engine.save_checkpoint(args.out)  # error
            """
        ),
    )
    good = (
        Good(
            """
            import torch.distributed as dist
            import torch.distributed.checkpoint as dcp
            from torch.distributed.checkpoint.state_dict import get_model_state_dict

            def save(state, path):
                dcp.save(state, checkpoint_id=path)
                if dist.get_rank() == 0:
                    print("saved", path)

            def export(model, path):
                if dist.get_rank() == 0:
                    dcp.save(get_model_state_dict(model), checkpoint_id=path, no_dist=True)
            """,
            runs=("save({'w': torch.ones(1)}, folder)", "export(torch.nn.Linear(1, 1), folder)"),
        ),
        Good(
            """
            import torch
            from accelerate import Accelerator

            def train(accelerator: Accelerator, model, path):
                if accelerator.is_main_process:
                    accelerator.save_state(path)
                    torch.save(model.state_dict(), path)
                    model.save_checkpoint(path)
            """
        ),
    )

    def judge(self, split: Divergent) -> Findings:
        here, there = split.paths
        if there.unknown or here.agrees_with(there):
            return
        yield split.finding(
            f"{split.subject} saves or loads with all ranks together, but {split.who} reach it; {split.onward}, "
            "and the job waits until the timeout",
            help="call it on every rank, and keep only what is for one rank behind the guard",
        )
