"""The rule plan-memory."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanMesh, PlanRule, gib, inference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_MODEL = """
    module layers.{0..31}                      Block
    embed.weight                               [128000, 4096]     bf16
    layers.{0..31}.attn.weight                 [4096, 16384]      bf16
    layers.{0..31}.mlp.experts.up              [64, 4096, 4096]   bf16
"""
_PLAN = "matcher: veomni{}\nlayers.*.mlp.experts.up: Shard(0)\nunit Block"


class PlanMemory(PlanRule):
    """Reports a plan with which parameters, gradients and optimizer states alone exceed the memory of a device.

    Why is this bad?
    The job runs out of memory while the model is loaded or at the first step of the optimizer, whatever the batch: it
    needs another mesh or another plan, not a smaller batch.

    Use instead
    More ranks on an axis that divides the largest tensors, units that take what is whole on each rank, or an optimizer
    with smaller states.

    Known limits
    An estimate: Adam with 32-bit moments and a master copy of what has 16 bits (2+2+12 bytes for each bfloat16
    parameter, 4+4+8 for float32), padding included, activations and buffers of collectives left out. With pipeline
    stages an even split is taken. Offloading is not known.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = inference("https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html")
    suspects = PlanMesh()
    symptoms = (r"CUDA out of memory", r"torch\.OutOfMemoryError")
    unproved = "it is a sum of sizes, and no device is at hand that it would not fit"
    bad = (
        Bad(model=_MODEL, mesh="dp=8 ep=8 world=8 budget=40", plan=_PLAN.format("  # error")),
        Bad(model=_MODEL, mesh="dp=64 tp=2 budget=80", plan="matcher: torch  # error\nlayers.*.attn: ColwiseParallel"),
        Bad(model=_MODEL, mesh="dp_replicate=8 dp_shard=4 budget=80", plan=_PLAN.format("  # error")),
    )
    good = (
        Good(model=_MODEL, mesh="dp=32 ep=8 world=32 budget=40", plan=_PLAN.format("")),
        Good(model=_MODEL, mesh="dp_shard=64 budget=80", plan="matcher: torch"),
        Good(model=_MODEL, mesh="dp=8 ep=8 world=8", plan=_PLAN.format("")),
        Good(model=_MODEL.replace("bf16", "bf16 frozen"), mesh="budget=80", plan="matcher: hf"),
        Good(model=_MODEL, mesh="dp=8 pp=4 budget=40", plan=_PLAN.format("")),
    )

    def judge(self, plan: Plan) -> Findings:
        budget, stages = plan.ranks.budget, plan.ranks.get("pp", 1)
        needed = sum(share.total for share in plan.layout.shares) / stages
        if budget is None or needed <= budget * 2**30 or plan.layout.units_missing:
            return
        whole = [share for share in plan.layout.shares if not share.axes and share.fsdp is None]
        kept = sum(share.total for share in whole) / stages
        largest = max(whole or plan.layout.shares, key=lambda share: share.total).parameter.name
        if kept > needed / 2:
            why, help = f", {gib(kept)} of them whole on each rank (`{largest}`)", "divide them by a unit or an entry"
        else:
            why, help = f", `{largest}` the largest", "put more ranks on the axes that divide them"
        yield plan.finding_at(
            plan.head,
            f"a rank holds {gib(needed)} of parameters, gradients and Adam states{why}, and has {budget:g} GiB, before "
            "any activation",
            help=f"{help}, or choose an optimizer with smaller states",
        )
