"""The rule barrier-before-device-bind."""

from __future__ import annotations

from shardlint.rule import Bad, Call, Findings, Good, Iterator, LocalRule, Site, calls_around, research

_PACKAGES = ("torch.distributed", "torch.distributed.distributed_c10d")
_OBJECTS = ("all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list")
_MEETINGS = Call(*(f"{package}.{name}" for package in _PACKAGES for name in ("barrier", *_OBJECTS)))
_BINDINGS = ("set_device", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "set_default_device")
_SETTLES = ("set_device", "device", "all_reduce", "broadcast", "all_gather", "DistributedDataParallel", "fully_shard")


class BarrierBeforeDeviceBind(LocalRule):
    """Reports a barrier or an object collective of NCCL in a process that has not chosen its GPU.

    Why is this bad?
    NCCL needs a GPU for them. A barrier takes the current one, or that with the number of the rank, which need not be
    the one of the job; object collectives take the current one, and that is GPU 0 on every rank until one is set.

    Use instead
    `torch.cuda.set_device(local_rank)` first, or `init_process_group(..., device_id=torch.device("cuda", local_rank))`.

    Known limits
    Only with the backend written out, in the function that starts the group, or one that calls it. A project that binds
    a device anywhere else is not judged. It is right under a launcher that shows each process one GPU.
    """

    severity, since, preview = "warning", "0.1.0", True
    evidence = research("https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.barrier")
    suspects = Call(*(f"{package}.init_process_group" for package in _PACKAGES))
    ranks = (
        "rank 0 takes GPU 0 for the barrier",
        "rank 1 has chosen none yet, and takes GPU 0 as well",
        "both ranks wait for each other on one GPU, or stop with `Duplicate GPU detected`",
    )
    symptoms = (r"devices used by this process are currently unknown", r"Duplicate GPU detected")
    unproved = "it needs two GPUs"
    bad = (
        Bad(
            """
            import torch
            import torch.distributed as dist

            def start(local_rank):
                dist.init_process_group("nccl")  # error
                dist.barrier()
                torch.cuda.set_device(local_rank)
            """
        ),
        Bad(
            """
            from torch import distributed

            def start(names, name):
                distributed.init_process_group(backend="cuda:nccl")  # error
                distributed.all_gather_object(names, name)
            """
        ),
        Bad(
            {
                "groups.py": """
                from torch.distributed import init_process_group as start

                def set_up():
                    start("nccl", timeout=None)  # error
                """,
                "train.py": """
                import groups, torch.distributed as dist

                if __name__ == "__main__":
                    groups.set_up()
                    dist.barrier()
                """,
            }
        ),
    )
    good = (
        Good(
            """
            import torch
            import torch.distributed as dist

            def start(local_rank):
                torch.cuda.set_device(local_rank)
                dist.init_process_group("nccl")
                dist.barrier()

            def bound(local_rank):
                dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))
                dist.barrier()

            def on_cpu_too(names, name):
                dist.init_process_group("cpu:gloo,cuda:nccl")
                dist.all_gather_object(names, name)

            def named(local_rank, names):
                dist.init_process_group("nccl")
                dist.barrier(device_ids=[local_rank])
                dist.broadcast_object_list(names, device=torch.device("cuda", local_rank))

            def alone():
                dist.init_process_group("nccl", rank=0, world_size=1), dist.barrier()
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        backend, size = site.argument("backend", 0), site.argument("world_size")
        named = backend.literal if backend else None
        alone = site.in_tests or site.opaque or (size is not None and size.literal == 1)
        if not isinstance(named, str) or "nccl" not in named or "cpu" in named or alone or site.argument("device_id"):
            return
        bound = any(site.project.holding(word) for word in _BINDINGS)
        for start in (site, *calls_around(site)):
            meeting = next(_unbound(start, bound), None)
            if meeting is not None:
                yield site.finding(
                    f"`{meeting.called}` runs before the process has chosen its GPU: it may be another than the rest "
                    "of the job uses, or one for every rank, and then the ranks wait until the timeout",
                    help="call `torch.cuda.set_device(local_rank)` first, or give a `device_id` here",
                    related=[meeting.note("no GPU is chosen by here")],
                )
                return


def _unbound(start: Site, bound: bool) -> Iterator[Site]:
    """The meetings after a group was started that no choice of a GPU comes before."""
    settled = [call for word in _SETTLES for call in start.function.calls_spelled_with(word)]
    for meeting in start.function.calls(_MEETINGS):
        named = meeting.argument("device_ids") or meeting.argument("device")
        late = any(meeting.reaches(call) and call.called.endswith("set_device") for call in settled)
        early = any(call.call is not meeting.call and call.reaches(meeting) for call in settled)
        if start.reaches(meeting) and not early and not named and not meeting.opaque and (late or not bound):
            yield meeting
