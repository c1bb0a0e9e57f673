"""The rule local-rank-as-shard-index."""

from __future__ import annotations

import re

from shardlint.rule import Bad, Call, Expression, Findings, Good, LocalRule, Site, Spelled, observation

_SHARES = {
    "DistributedSampler": (("rank", 2), ("num_replicas", 1)),
    "StatefulDistributedSampler": (("rank", 2), ("num_replicas", 1)),
    "split_dataset_by_node": (("rank", 1), ("world_size", 2)),
    "shard": (("index", 1), ("num_shards", 0)),
}
_LOCAL = ("local_rank", "get_local_rank", "get_node_local_rank", "ddp_local_rank", "local_process_index")
_VARIABLES = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK")
_PLAIN = ("int", "str", "get", "getenv", "get_node_local_rank")
_OF_A_NODE = re.compile(r"device_count|local|per_node|nproc|gpus|num_devices", re.IGNORECASE)


class LocalRankAsShardIndex(LocalRule):
    """Reports data that is divided over the whole job by the number of a process on its node.

    Why is this bad?
    The local rank counts from 0 on each node. The first processes of all nodes take the same share and the last shares
    are read by nobody: with two nodes of 8, half of the data is never seen and the rest twice. On one node local and
    global rank are the same, so the bug shows with the first job on two.

    Use instead
    `dist.get_rank()` or `RANK`; a `DistributedSampler` without `rank=` asks for it by itself.

    Known limits
    Samplers, `split_dataset_by_node` and `.shard(...)` are known. Where the number of shares is that of the node as
    well, each node reads all data on purpose. `get_local_rank()` may be the place on an axis of a mesh: not judged.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables")
    suspects = Call(
        "torch.utils.data.DistributedSampler",
        "torch.utils.data.distributed.DistributedSampler",
        "torchdata.stateful_dataloader.sampler.StatefulDistributedSampler",
        "datasets.distributed.split_dataset_by_node",
        "*.shard",
    ) & Spelled(*_LOCAL, *_VARIABLES)
    symptoms = (r"[Ss]ame (?:samples|batches|data) on (?:both|all|every|each) nodes?",)
    proof = ("test_local_rank_as_shard_index", "two ranks that are each the first of a node read the same samples")
    bad = (
        Bad(
            """
            import os
            from torch.utils.data import DistributedSampler

            def samples(data, world_size):
                sampler = DistributedSampler(
                    data, num_replicas=world_size, rank=int(os.environ["LOCAL_RANK"]), shuffle=False  # error
                )
                return list(sampler)
            """
        ),
        Bad(
            """
            import os
            import torch.distributed as dist
            from datasets.distributed import split_dataset_by_node as split

            LOCAL = int(os.environ.get("LOCAL_RANK", "0"))

            class Data:
                def mine(self, rows):
                    return rows.shard(num_shards=dist.get_world_size(), index=self.env.local_process_index)  # error

            def rows(data):
                return split(data, LOCAL, dist.get_world_size())  # error
            """
        ),
    )
    good = (
        Good(
            """
            import os
            from torch.utils.data import DistributedSampler

            def samples(data, world_size):
                rank = int(os.environ["RANK"])
                return list(DistributedSampler(data, num_replicas=world_size, rank=rank, shuffle=False))
            """
        ),
        Good(
            """
            import os
            import torch
            import torch.distributed as dist
            from datasets.distributed import split_dataset_by_node
            from torch.utils.data import DistributedSampler

            LOCAL = int(os.environ["LOCAL_RANK"])

            def rows(data, dp, mesh, model):
                sampler = DistributedSampler(data, dp.size(), dp.get_local_rank())
                by_node = split_dataset_by_node(data, LOCAL, int(os.environ["LOCAL_WORLD_SIZE"]))
                model.shard(DistributedSampler(data, torch.cuda.device_count(), LOCAL), index=mesh.get_local_rank("dp"))
                return DistributedSampler(data), data.shard(dist.get_world_size(), dist.get_rank()), by_node, sampler
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        (place, at), (number, other) = _SHARES[site.name.rpartition(".")[2]]
        index, shares = site.argument(place, at), site.argument(number, other)
        if index is None or index.rank is None or index.rank.kind != "local" or self._of_mesh(index):
            return
        if self._counts_node(shares) if shares is not None else site.name == "*.shard":
            return
        yield site.finding(
            f"`{index.text}` is the rank on its node, but the data is divided over the whole job: processes of that "
            "number on other nodes read the same share, and the last shares are read by nobody",
            help="divide by the global rank: `dist.get_rank()`, or the variable `RANK`",
            at=index,
        )

    def _of_mesh(self, index: Expression) -> bool:
        """Whether a call gives it that may know a device mesh: `get_local_rank` is the place on an axis, too."""
        calls = [call for value in (index, *index.values) for part in value.parts if (call := part.as_site())]
        return any(call.called.rpartition(".")[2] not in _PLAIN for call in calls)

    def _counts_node(self, shares: Expression) -> bool:
        """Whether a number may be that of the processes of one node."""
        return any(_OF_A_NODE.search(value.text) for value in (shares, *shares.values))
