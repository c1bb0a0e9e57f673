"""Where a program makes ranks train one model together: DDP, FSDP, DeepSpeed, Accelerate, Fabric."""

from __future__ import annotations

import re

from shardlint.facts.program import Program

_WRAPS = re.compile(
    rb"\b(?:DistributedDataParallel|DDP|FullyShardedDataParallel|FSDP|fully_shard|deepspeed\.initialize|Accelerator"
    rb"|Fabric)\(|import\s[^\n]*\b(?:DistributedDataParallel|FullyShardedDataParallel|fully_shard)\b"
)


def trains_together(program: Program, path: str) -> bool:
    """Whether a file, or a file of the project that it imports from, wraps a model for all ranks."""
    if _WRAPS.search(program.text(path)) is not None:
        return True
    targets: list[str] = sorted(program.file(path).stored["imports"].values())
    homes = {home for target in targets for name in _modules(target) if (home := program.path_of(name)) is not None}
    return any(_WRAPS.search(program.text(home)) is not None for home in sorted(homes))


def _modules(target: str) -> tuple[str, str]:
    """The modules that an imported name may be, or come from."""
    return target, target.rpartition(".")[0]
