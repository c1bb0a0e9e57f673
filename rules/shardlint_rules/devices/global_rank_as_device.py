"""The rule global-rank-as-device."""

from __future__ import annotations

import re

from shardlint.rule import Bad, Call, Expression, Findings, Good, InFileWith, LocalRule, Site, research

_DDP = ("torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.distributed.DistributedDataParallel")
_IN_RANKED_FILE = InFileWith(Call("torch.distributed.get_rank") | Call("torch.distributed.init_process_group"))
_DEVICE = Call("torch.cuda.set_device", "*.set_device")
_OTHERS = Call("torch.cuda.device", "torch.device", *_DDP, "*.to", "*.cuda")
_ONE_NODE = re.compile(r"\bspawn\(|start_processes\(|MultiProcessTestCase|DTensorTestBase")
_INDEXED = re.compile(r"(cuda|npu|xpu|musa|mlu):")


class GlobalRankAsDevice(LocalRule):
    """Reports the global rank of a process where the index of a device of its own machine is asked for.

    Why is this bad?
    Ranks are counted through all nodes, devices from 0 on every node. On the first node both agree, so the mistake
    stays hidden until the job gets a second node, and there CUDA answers `invalid device ordinal`.

    Use instead
    `int(os.environ["LOCAL_RANK"])`, which the launcher sets for every process.

    Known limits
    Only values that certainly come from the global rank count (`os.environ["RANK"]`, `dist.get_rank()`), no parameter
    called `rank` and no `args.rank`. Apart from `set_device`, calls are seen only in files that call `get_rank` or
    `init_process_group` of `torch.distributed`. Files that start their own processes (`mp.spawn`) run on one node and
    are not reported, nor are files of tests, nor what rank 0 alone runs: its device is 0.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = research("https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables")
    suspects = _DEVICE | (_OTHERS & _IN_RANKED_FILE)
    symptoms = (r"CUDA error: invalid device ordinal", r"Duplicate GPU detected")
    bad = (
        Bad(
            """
            import os
            import torch
            from torch import distributed as dist
            from torch.nn.parallel import DistributedDataParallel as DDP

            class Worker:
                def __init__(self):
                    self.rank = dist.get_rank()
                    self.device = torch.device("cuda", self.rank)  # error

                def wrap(self, model):
                    model = model.to(f"xpu:{self.rank}")  # error
                    return DDP(model, device_ids=[self.rank])  # error

            def main(model):
                torch.cuda.set_device(int(os.environ["RANK"]))  # error
                name = "cuda:" + os.getenv("RANK", "0")
                return model.to(torch.device(name))  # error
            """
        ),
    )
    good = (
        Good(
            """
            import os
            import torch
            import torch.distributed as dist

            rank = int(os.environ["RANK"])
            local_rank = int(os.environ["LOCAL_RANK"])
            torch.cuda.set_device(local_rank)
            device = torch.device("cuda", rank % torch.cuda.device_count())
            model = torch.nn.parallel.DistributedDataParallel(m.to(f"cuda:{rank % 8}"), device_ids=[rank % 8])

            def place(model, rank, mesh):
                torch.cuda.set_device(rank)
                torch.cuda.set_device(dist.get_rank(group=mesh.get_group("local")))
                return model.to(rank)

            def tensor(device):
                return torch.tensor(dist.get_rank()).to(device)
            """
        ),
        Good(
            """
            import torch
            import torch.distributed as dist
            import torch.multiprocessing as mp

            def worker(_):
                torch.cuda.set_device(dist.get_rank())

            mp.spawn(worker, nprocs=torch.cuda.device_count())
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        found = next((value for value in _index(site) if _global(value)), None)
        if found is None or site.in_tests or site.on_rank_zero or _ONE_NODE.search(site.module.text):
            return
        yield site.finding(
            f"`{site.called}` takes the global rank `{found.text}` as the index of a device: on the second node there "
            "is no device with that index, and the job ends with `invalid device ordinal`",
            help='use the rank on the node, `int(os.environ["LOCAL_RANK"])`',
            certainty=found.rank.certainty if found.rank else None,
        )


def _index(site: Site) -> list[Expression]:
    """The expressions that say which device a call means."""
    if site.name in _DDP:
        listed = site.argument("device_ids", 1)
        return [part for value in listed.values for part in value.taken_in] if listed is not None else []
    found: list[Expression] = []
    for given in (site.argument("device", 0), site.argument("index", 1) if site.name == "torch.device" else None):
        if given is not None:
            found.append(given)
            indexed = (v for v in given.values if any(_INDEXED.search(str(part.literal)) for part in v.parts))
            found += [part for value in indexed for part in value.taken_in]
    return found


def _global(value: Expression) -> bool:
    """Whether an expression is the global rank itself: of a remainder or a difference the facts say so in the label."""
    rank = value.rank
    if any(one.rank is not None and one.rank.kind != "global" for one in value.values):
        return False
    return rank is not None and rank.kind == "global" and rank.label == "global rank" and rank.certainty > 0.6
