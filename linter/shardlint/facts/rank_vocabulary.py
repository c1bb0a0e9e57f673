"""The words of rank taint, as data without imports: the prefilter reads it before anything is parsed."""

from __future__ import annotations

WORDS = (
    "rank",
    "RANK",
    "is_main",
    "on_main",
    "main_process",
    "main_only",
    "master",
    "process_index",
    "process_zero",
    "global_zero",
    "last_process",
    "first_process",
    "PROCID",
    "LOCALID",
    "ordinal",
)
"""Every rank test of a file holds one of these words, or reads a name whose assignment does."""

CALLS = {
    "torch.distributed.get_rank": "global",
    "torch.distributed.distributed_c10d.get_rank": "global",
    "torch.distributed.get_node_local_rank": "local",
    "torch.distributed.get_group_rank": "group",
    "torch_xla.core.xla_model.get_ordinal": "global",
    "torch_xla.runtime.global_ordinal": "global",
    "horovod.torch.rank": "global",
    "horovod.torch.local_rank": "local",
    "deepspeed.comm.get_rank": "global",
    "deepspeed.comm.get_local_rank": "local",
}
CALL_NAMES = {
    "get_rank": "global",
    "get_global_rank": "global",
    "get_world_rank": "global",
    "global_rank": "global",
    "get_local_rank": "local",
    "local_rank": "local",
    "get_node_rank": "node",
}
VARIABLES = {
    "RANK": "global",
    "SLURM_PROCID": "global",
    "OMPI_COMM_WORLD_RANK": "global",
    "PMI_RANK": "global",
    "LOCAL_RANK": "local",
    "SLURM_LOCALID": "local",
    "OMPI_COMM_WORLD_LOCAL_RANK": "local",
    "GROUP_RANK": "node",
    "NODE_RANK": "node",
}
NUMBERS = {
    "rank": "global",
    "global_rank": "global",
    "world_rank": "global",
    "ddp_rank": "global",
    "dist_rank": "global",
    "process_index": "global",
    "process_rank": "global",
    "local_rank": "local",
    "local_process_index": "local",
    "ddp_local_rank": "local",
}
XLA_CALLS = ("get_ordinal", "global_ordinal")
KINDS = {"global": "global rank", "local": "local rank", "node": "node rank"}
