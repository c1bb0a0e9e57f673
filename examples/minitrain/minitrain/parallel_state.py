"""Which devices do what: the process group of the job, and its meshes."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from minitrain.arguments import ParallelArguments


@dataclass(frozen=True)
class ParallelState:
    """The meshes of a job. Each has all ranks; an axis that is not used has size 1.

    Args:
        device: the device of this rank.
        fsdp: axis `fsdp`, over which the weights are sharded.
        data: axes `dp` and `sp`. Ranks along `sp` share a batch, each with a part of the sequence.
        experts: axes `ep_fsdp` and `ep`. Ranks along `ep` hold different experts, which `ep_fsdp` shards further.
    """

    device: torch.device
    fsdp: DeviceMesh
    data: DeviceMesh
    experts: DeviceMesh

    @property
    def sp_group(self) -> dist.ProcessGroup:
        """The ranks that share a batch with this one."""
        return self.data.get_group("sp")

    @property
    def ep_group(self) -> dist.ProcessGroup:
        """The ranks that hold all experts together with this one."""
        return self.experts.get_group("ep")


_state: ParallelState | None = None


def init_parallel_state(arguments: ParallelArguments) -> ParallelState:
    """Join the job and make the meshes. `torchrun` says who this process is.

    Raises:
        ValueError: when the ranks of the job cannot be divided as asked.
    """
    global _state
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    else:
        device = torch.device("cpu")
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    world = dist.get_world_size()
    for axis, size in (("sp", arguments.sp), ("ep", arguments.ep)):
        if world % size:
            raise ValueError(f"{world} ranks cannot form groups of {axis}={size}")
    _state = ParallelState(
        device,
        fsdp=init_device_mesh(device.type, (world,), mesh_dim_names=("fsdp",)),
        data=init_device_mesh(device.type, (world // arguments.sp, arguments.sp), mesh_dim_names=("dp", "sp")),
        experts=init_device_mesh(device.type, (world // arguments.ep, arguments.ep), mesh_dim_names=("ep_fsdp", "ep")),
    )
    return _state


def parallel_state() -> ParallelState:
    """The state of this process.

    Raises:
        RuntimeError: before `init_parallel_state`.
    """
    if _state is None:
        raise RuntimeError("call init_parallel_state first")
    return _state
