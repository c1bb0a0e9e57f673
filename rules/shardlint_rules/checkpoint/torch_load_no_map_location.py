"""The rule torch-load-no-map-location."""

from __future__ import annotations

import re

from shardlint.rule import Bad, Call, Expression, Findings, Good, LocalRule, Site, Spelled, file_calls, research

_SAVE = Call("torch.save", "torch.serialization.save")
_LOAD_STATE = Call("*.load_state_dict")
_ON_GPU = re.compile(r"\.cuda\(|\.to\(|device_ids|set_device")
_SMALL = re.compile(r"sched|scaler|loader|sampler|(?:^|_)rng|random|meter|tokenizer", re.IGNORECASE)


class TorchLoadNoMapLocation(LocalRule):
    """Reports a checkpoint of a distributed job that every rank loads to the device that it was saved from.

    Why is this bad?
    `torch.load` puts each tensor back where it lay: the file that rank 0 wrote holds tensors of `cuda:0`, so every rank
    of a node opens a context on GPU 0 and loads all weights there. Eight ranks need eight times the memory on one GPU:
    the job that ran for days is out of memory when it is resumed.

    Use instead
    `torch.load(path, map_location="cpu")`, or `map_location=f"cuda:{local_rank}"`.

    Known limits
    Only a load whose state dict goes into `load_state_dict` in the same function is judged, in a file that also saves
    one. A path that names the rank, or a load under a test of the rank, is another matter.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = research("https://github.com/pytorch/examples/issues/1078")
    suspects = Call("torch.load", "torch.serialization.load") & Spelled(
        "LOCAL_RANK", "local_rank", "DistributedDataParallel", "init_process_group", "FullyShardedDataParallel"
    )
    symptoms = (r"CUDA out of memory.*GPU 0\b", r"Attempting to deserialize object on CUDA device \d+")
    unproved = "two GPUs are needed: tensors on the CPU are loaded to where they lay, which is right"
    bad = (
        Bad(
            """
            import os
            import torch
            from torch.nn.parallel import DistributedDataParallel as DDP

            def main(model, path):
                local_rank = int(os.environ["LOCAL_RANK"])
                model = DDP(model.to(local_rank), device_ids=[local_rank])
                if os.path.exists(path):
                    model.load_state_dict(torch.load(path, weights_only=True))  # error
                torch.save(model.state_dict(), path)
            """
        ),
        Bad(
            """
            import torch
            import torch.distributed as dist
            from torch import load as read

            class Trainer:
                def __init__(self, model):
                    dist.init_process_group("nccl")
                    self.model = model.cuda()

                def save(self, path):
                    torch.save({"model": self.model.state_dict(), "step": self.step}, path)

                def resume(self, path):
                    snapshot = read(path)  # error
                    self.model.load_state_dict(snapshot["model"])
                    self.ema.load_state_dict(torch.serialization.load(path).pop("model"))  # error
            """
        ),
    )
    good = (
        Good(
            """
            import torch
            import torch.distributed as dist

            def run(model, scheduler, path, local_rank):
                dist.init_process_group("nccl")
                model.to(local_rank)
                torch.save(model.state_dict(), path)
                model.load_state_dict(torch.load(path, map_location="cpu"))
                model.load_state_dict(torch.load(path, f"cuda:{local_rank}"))
                model.load_state_dict(torch.load(f"{path}_{dist.get_rank()}"))
                scheduler.load_state_dict(torch.load(path))
                if dist.get_rank() == 0:
                    model.load_state_dict(torch.load(path))
                return torch.load(path)
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        path = site.argument("f", 0)
        if path is None or site.opaque or site.argument("map_location", 1) is not None:
            return
        if site.on_some_ranks or site.in_tests:
            return
        if "rank" in path.text.lower() or any(part.rank is not None for part in path.parts):
            return
        owner = self._loaded_into(site)
        if owner is None or not _ON_GPU.search(site.module.text) or not self._saved(site):
            return
        yield site.finding(
            f"every rank loads the tensors to the GPU that saved them, all of `{path.text}` once for each rank on one "
            f"GPU, before `{owner.text}` takes them",
            help='give `map_location="cpu"`, or the device of this rank',
        )

    def _loaded_into(self, site: Site) -> Expression | None:
        """The object with many tensors that takes the loaded state, if one does in the same function."""
        names = {target.text for target in site.targets}
        for load in site.function.calls(_LOAD_STATE):
            given, owner = load.argument("state_dict", 0), load.receiver
            if given is None or owner is None or _SMALL.search(owner.text):
                continue
            if any(part.ast is site.ast or part.text in names for part in given.parts):
                return owner
        return None

    def _saved(self, site: Site) -> bool:
        """Whether the same file saves the state dict of something."""
        given = [save.argument("obj", 0) for save in file_calls(site, _SAVE)]
        values = [value for one in given if one is not None for value in (one, *one.values)]
        return any(".state_dict()" in value.text for value in values)
