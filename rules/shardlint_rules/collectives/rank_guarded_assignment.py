"""The rule rank-guarded-assignment."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, LocalRule, Site, UnboundOnRanks, observation


class RankGuardedAssignment(LocalRule):
    """Reports a name that is bound on some ranks only and read on all of them.

    Why is this bad?
    The ranks for which the test is false have no such name: they raise `UnboundLocalError`, while the others go on to
    the next collective and wait for them until the timeout. A run on one device never shows it.

    Use instead
    Bind it before the test (`paths = None`), or in an `else`, and hand the value of the one rank to all with
    `broadcast_object_list`.

    Known limits
    Only names of one function are judged. A read under a condition of its own is not, since the condition may be about
    the same ranks; nor is a process group, of which new-group-in-rank-branch speaks.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.python.org/3/library/exceptions.html#UnboundLocalError")
    suspects = UnboundOnRanks()
    ranks = (
        "rank 0 binds the name and goes on",
        "rank 1 reads a name that it never bound, and stops with `UnboundLocalError`",
        "rank 0 waits in the next collective until the launcher ends it",
    )
    symptoms = (r"UnboundLocalError: (?:cannot access )?local variable",)
    bad = (
        Bad(
            """
            import torch.distributed as dist

            def prepare(folder):
                if dist.get_rank() == 0:
                    listed = [folder]
                dist.barrier()
                return listed  # error
            """,
            raises={"prepare(folder)": "UnboundLocalError"},
        ),
        Bad(
            """
            import os

            RANK = int(os.environ.get("RANK", 0))

            def start(steps, log):
                if RANK != 0:
                    print("quiet")
                else:
                    writer, started = log(), True
                for step in steps:
                    writer.add(step)  # error
            """
        ),
        Bad(
            """
            from accelerate import Accelerator

            class Trainer:
                def __init__(self):
                    self.accelerator = Accelerator()

                def run(self):
                    if self.accelerator.is_main_process:
                        tracker = make()
                    with self.accelerator.autocast():
                        tracker.log({"loss": self.step()})  # error
            """
        ),
    )
    good = (
        Good(
            """
            import torch.distributed as dist

            def prepare(folder):
                shared = [None]
                if dist.get_rank() == 0:
                    shared = [folder]
                dist.broadcast_object_list(shared)
                return shared[0]

            def either(folder):
                if dist.get_rank() == 0:
                    name = folder
                else:
                    name = None
                return name

            def guarded(folder):
                if dist.get_rank() == 0:
                    name = folder
                if dist.get_rank() == 0:
                    print(name)

            def leaves(folder):
                if dist.get_rank() == 0:
                    name = folder
                else:
                    return None
                return name

            def adapted(weight, rank):
                if rank > 0:
                    low = weight[:rank]
                return [low for low in weight]

            def flagged(folder, save):
                if dist.get_rank() == 0 and save:
                    name = folder
                if save and dist.get_rank() == 0:
                    return name
            """,
            runs=("prepare(folder); either(folder); guarded(folder); leaves(folder); flagged(folder, True)",),
        ),
    )

    def judge(self, site: Site) -> Findings:
        name, test = site.positional
        if any("new_group" in value.text for value in name.values):
            return
        yield site.finding(
            f"`{name.text}` is bound on some ranks only, by the test `{test.text}`: the others raise "
            "`UnboundLocalError` here, and those that go on wait for them in the next collective",
            help=f"bind `{name.text}` on every rank, before the test or in the other branch, or broadcast it",
            at=name,
            related=[test.note("bound under this test")],
        )
