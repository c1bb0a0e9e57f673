"""The rule plan-composed-divide."""

from __future__ import annotations

import math

from shardlint.rule import Bad, Findings, Good, PlanEntries, PlanRule, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Entry, Parameter, Plan

_MOE = """
    model.layers.{0..3}.mlp.experts.gate_up_proj  [128, 3072, 4096]  bf16
    model.layers.{0..3}.mlp.experts.down_proj     [128, 4096, 1536]  bf16
    model.layers.{0..3}.mlp.experts.bias          [128]              bf16
"""
_PLAN = """
    matcher: veomni
    model.layers.*.mlp.experts.gate_up_proj: Shard(0)
    model.layers.*.mlp.experts.down_proj: Shard(0)  # error
"""
_SECOND = """
    matcher: veomni
    model.layers.*.mlp.experts.down_proj: Shard(1)  # error
    model.layers.*.mlp.experts.bias: Shard(0)
"""
_TWO_AXES = """
    matcher: veomni
    model.layers.*.mlp.experts.down_proj: Shard(0)
    model.layers.*.mlp.experts.*_proj: Shard(0) on etp  # error
"""
_TWO_DIMS = _TWO_AXES.replace("Shard(0) on etp  # error", "Shard(2) on etp")


class PlanComposedDivide(PlanRule):
    """Reports a dim that each axis divides evenly, or that a plan leaves alone, but that all axes together do not.

    Why is this bad?
    Axes are applied one after the other, so the second divides what the first has left. VeOmni also shards the stacked
    experts over `ep_fsdp`, on dim 1, where FSDP refuses uneven parts: `FSDP does not support uneven sharding on dim 1`,
    after the cluster was allocated.

    Use instead
    Sizes whose product divides the dim.

    Known limits
    The option of VeOmni that shards the experts over `ep_fsdp` on dim 0 is not known here.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html")
    suspects = PlanEntries()
    symptoms = (r"FSDP does not support uneven sharding on dim \d+",)
    proof = ("test_plan_in_torch", "`fully_shard` refuses uneven parts on dim 1")
    bad = (
        Bad(model=_MOE, mesh="ep=8 ep_fsdp=48", plan=_PLAN),
        Bad(model=_MOE, mesh="ep=64 ep_fsdp=128", plan=_SECOND),
        Bad(model=_MOE, mesh="ep=32 etp=8", plan=_TWO_AXES),
    )
    good = (
        Good(model=_MOE, mesh="ep=8 ep_fsdp=64", plan=_PLAN.replace("  # error", "")),
        Good(model=_MOE, mesh="ep=8 dp=48", plan=_PLAN.replace("  # error", "")),
        Good(model=_MOE, mesh="ep=48 ep_fsdp=8", plan=_PLAN.replace("  # error", "")),
        Good(model=_MOE, mesh="ep=32 ep_fsdp=128", plan=_SECOND.replace("  # error", "")),
        Good(model=_MOE, mesh="ep=32 etp=8", plan=_TWO_DIMS),
    )

    def judge(self, plan: Plan) -> Findings:
        for at, entry in enumerate(plan.entries):
            ranks, fsdp = (
                plan.size(entry),
                plan.mesh.get(f"{entry.axis}_fsdp", 1) if plan.matcher.name == "veomni" else 1,
            )
            earlier = {o.axis: (o, set(plan.placed(o))) for o in plan.entries[:at] if o.axis != entry.axis}
            if ranks is None or ranks == 1 or (fsdp == 1 and not earlier):
                continue
            for parameter in plan.placed(entry):
                cuts = [entry, *(other for other, placed in earlier.values() if parameter in placed)]
                short = _short(plan, cuts, parameter, fsdp)
                if short is not None:
                    dim, axes = short
                    yield plan.finding(
                        entry,
                        f"dim {dim} of `{parameter.name}` has {parameter.shape[dim]} entries, which {axes} cannot "
                        "share evenly: the plan fails when the last of them is applied",
                        help=f"choose sizes whose product divides {parameter.shape[dim]}",
                    )
                    break


def _short(plan: Plan, cuts: list[Entry], parameter: Parameter, fsdp: int) -> tuple[int, str] | None:
    """A dim that the axes together cannot divide, and their sizes; None where one of them cannot by itself."""
    axes: dict[int, dict[str, int]] = {}
    for entry in cuts:
        cut, ranks = plan.division(entry, parameter), plan.size(entry)
        if cut is None or ranks is None or not cut.even or not cut.within(parameter):
            continue
        if parameter.shape[cut.dim] % ranks:
            return None
        axes.setdefault(cut.dim % len(parameter.shape), {})[entry.axis] = ranks
    if fsdp > 1 and len(parameter.shape) > 1:
        axes.setdefault(1, {})[f"{cuts[0].axis}_fsdp"] = fsdp
    for dim, sizes in axes.items():
        if parameter.shape[dim] % math.prod(sizes.values()):
            return dim, " x ".join(f"{axis}={size}" for axis, size in sizes.items())
    return None
