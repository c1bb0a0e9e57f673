"""The rule per-rank-filesystem-branch."""

from __future__ import annotations

from shardlint.rule import FILES, Bad, Divergence, Divergent, Effects, Findings, Good, ProgramRule, observation, table

_COLLECTIVES, _CHECKPOINTS = (Effects.catalogue(table(name, of=__name__)) for name in ("collectives", "checkpoints"))


class PerRankFilesystemBranch(ProgramRule):
    """Reports a collective behind a question about files that each rank asks for itself.

    Why is this bad?
    Ranks need not see the same files: nodes have disks of their own, NFS and Lustre show a new file later to some
    clients, and a slow rank may look after another has written. Then only some of them enter the collective.

    Use instead
    Let one rank look and share what it saw: `seen = [path.exists() if rank == 0 else None]`, then
    `dist.broadcast_object_list(seen, src=0)`, and branch on `seen[0]`.

    Known limits
    Off by default: on one shared file system, with nobody writing, every rank gets the same answer, and the code
    does not say whether the nodes share one. Questions asked in a function of another file, or kept in an
    attribute, are not seen. A branch that ends with an error, or logs one and returns, is a check of arguments.
    Tests, which run on one machine, are left alone.
    """

    severity, since, preview = "warning", "0.1.0", True
    evidence = observation("https://github.com/KempnerInstitute/KempnerForge/issues/49")
    suspects = Divergence(guard=FILES, effect=_COLLECTIVES | _CHECKPOINTS, extended_by="collectives")
    ranks = (
        "rank 0 finds the file and goes one way",
        "rank 1 looks at its own disk, or a moment earlier, finds none and goes the other",
        "both ranks wait for each other in different collectives, or one waits alone",
    )
    symptoms = (r"Watchdog caught collective operation timeout", r"Timed out waiting \d+ms for (?:recv|send) operation")
    bad = (
        Bad(
            """
            import glob
            import torch
            import torch.distributed as dist
            from pathlib import Path

            def resume(folder):
                state = Path(folder) / "state.pt"
                box = [None]
                if state.exists():
                    box[0] = torch.load(state, weights_only=True)
                    dist.broadcast_object_list(box, src=0)  # error
                return box[0]

            def merge(folder, parts, counts):
                found = glob.glob(folder + "/*.pt")
                while len(found) > 0:
                    dist.all_gather(parts, counts)  # error
            """,
            waits={
                "import pathlib; own = pathlib.Path(folder) / str(rank); own.mkdir(); "
                "rank or torch.save(1, own / 'state.pt'); resume(own)": "broadcast_object_list"
            },
        ),
        Bad(
            {
                "train.py": """
                from os.path import isdir as is_folder
                from state import restore

                class Trainer:
                    def __init__(self, model):
                        self.model = model

                    def start(self, folder):
                        known = is_folder(folder)
                        if not known:
                            return
                        restore(self.model, folder)  # error
                """,
                "state.py": """
                import torch.distributed.checkpoint as dcp

                def restore(model, folder):
                    dcp.load(model.state_dict(), checkpoint_id=folder)
                """,
            },
        ),
    )
    good = (
        Good(
            """
            import os
            import torch
            import torch.distributed as dist

            def resume(path):
                seen = [os.path.exists(path) if dist.get_rank() == 0 else None]
                dist.broadcast_object_list(seen, src=0)
                if seen[0]:
                    dist.barrier()

            def agreed(path):
                found = torch.tensor(int(os.path.exists(path)))
                dist.all_reduce(found, op=dist.ReduceOp.MIN)
                if found.item():
                    dist.barrier()

            def checked(path, log):
                if not os.path.isdir(path):
                    raise FileNotFoundError(path)
                if os.path.isfile(path):
                    log.error("a folder is needed")
                    return
                dist.barrier()

            def cached(path, build):
                if not os.path.exists(path):
                    build(path)
                dist.barrier()

            def tidy(path):
                if dist.get_rank() == 0 and os.path.exists(path):
                    os.remove(path)
            """,
            runs=("own = folder + str(rank); rank or open(own, 'w').close(); resume(own); agreed(own)",),
        ),
    )

    def judge(self, split: Divergent) -> Findings:
        here, there = split.paths
        if there.unknown or here.agrees_with(there):
            return
        yield split.finding(
            f"{split.subject} needs all ranks, but each rank asks {split.asked}: {split.who} reach it; "
            f"{split.onward}, and the job waits until the timeout when they do not see the same files",
            help="let one rank look, share the answer with `broadcast_object_list`, and branch on that",
        )
