"""What Mini needs on many devices: the source of `generated/patched_modeling_mini.py`.

After a change: python -m minitrain.patchgen minitrain.models.mini_patch_gen_config
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor, Placement, Shard
from torch.nn import functional as F

from minitrain.communication import all_to_all, exchange_counts, heads_to_sequence, sequence_to_heads
from minitrain.models.modeling_mini import IGNORE_INDEX, Attention, Experts, Mini, attend, run_experts
from minitrain.parallel_state import parallel_state
from minitrain.patchgen import PatchConfig

config = PatchConfig(source_module="minitrain.models.modeling_mini", target_file="patched_modeling_mini.py")
config.add_import("torch.distributed.tensor", names=["DTensor", "Placement", "Shard"])
config.add_import(
    "minitrain.communication", names=["all_to_all", "exchange_counts", "heads_to_sequence", "sequence_to_heads"]
)
config.add_import("minitrain.parallel_state", names=["parallel_state"])


@config.override_method("Attention.forward", description="each rank attends with its part of the heads")
def attention_forward(self: Attention, hidden: Tensor, position_ids: Tensor) -> Tensor:
    sp = parallel_state().sp_group
    parts = self.qkv(hidden).unflatten(-1, (3, self.heads, -1)).unbind(2)
    query, key, value = (sequence_to_heads(part, sp) for part in parts)
    mixed = attend(query, key, value, position_ids)
    return self.out(heads_to_sequence(mixed, sp).flatten(2))


@config.override_method("Experts.forward", description="rows travel to the rank that holds their expert")
def experts_forward(self: Experts, rows: Tensor, counts: Tensor) -> Tensor:
    ep = parallel_state().ep_group
    gate, up, down = (w.to_local() if isinstance(w, DTensor) else w for w in (self.gate, self.up, self.down))
    arriving = exchange_counts(counts, ep)
    sent = counts.view(ep.size(), -1).sum(dim=1).tolist()
    received = arriving.sum(dim=1).tolist()
    rows = all_to_all(rows, received, sent, ep)
    # They arrive ordered by rank, then by expert; the experts want them by expert.
    expert = torch.arange(arriving.numel(), device=rows.device) % arriving.shape[1]
    by_expert = expert.repeat_interleave(arriving.flatten()).argsort(stable=True)
    out = run_experts(rows[by_expert], arriving.sum(dim=0), gate, up, down)
    return all_to_all(torch.empty_like(out).index_copy(0, by_expert, out), sent, received, ep)


@config.override_method("Mini.forward", description="each rank runs the layers on its part of the sequence")
def mini_forward(
    self: Mini, input_ids: Tensor, position_ids: Tensor, labels: Tensor, pixel_values: Tensor | None = None
) -> Tensor:
    sp = parallel_state().sp_group
    hidden = self.embed_inputs(input_ids, pixel_values).chunk(sp.size(), dim=1)[sp.rank()]
    labels = labels.chunk(sp.size(), dim=1)[sp.rank()]
    for layer in self.layers:
        hidden = layer(hidden, position_ids)
    logits = self.head(self.norm(hidden)).float()
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE_INDEX, reduction="sum")


@config.override_method("Mini.get_parallel_plan", description="axis of the mesh, parameters, placement")
def mini_get_parallel_plan(self: Mini) -> dict[str, dict[str, Placement]]:
    return {"ep": {"layers.*.mlp.experts.*": Shard(0)}} if self.config.experts else {}
