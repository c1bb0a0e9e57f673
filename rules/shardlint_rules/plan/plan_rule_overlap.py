"""The rule plan-rule-overlap."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanEntries, PlanRule, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Entry, Plan

_EXPERTS = "model.layers.{0..3}.mlp.experts.{gate,up,down}_proj  [8, 64, 64]  bf16"
_DENSE = """
    layers.{0..3}.attention.w{q,k,v,o}.weight  [64, 64]  bf16
    layers.{0..3}.norm.weight                  [64]      bf16
"""
_SHADOWED = """
    matcher: veomni
    *.experts.*_proj: Shard(0)
    model.layers.*.mlp.experts.down_proj: Shard(1)  # error
    model.layers.*.mlp.experts.up_proj: Shard(0)
"""
_TWICE = """
    matcher: torch
    layers.*.attention.w[qkvo]: ColwiseParallel
    layers.*.attention.wo: RowwiseParallel  # error
    layers.*.attention: PrepareModuleInput
    layers.*.atten*: PrepareModuleOutput
"""
_OVERRIDE = """
    matcher: veomni
    model.layers.*.mlp.experts.down_proj: Shard(1)
    *.experts.*_proj: Shard(0)
    *.experts.down_proj: Shard(2) on tp
"""
_PAIRS = """
    matcher: hf
    model.layers.*.mlp.experts: ep_dispatch_experts on ep
    model.layers.*.mlp.experts.gate_proj: grouped_gemm on ep
    model.layers.*.mlp.experts.up_proj: grouped_gemm on ep
"""


class PlanRuleOverlap(PlanRule):
    """Reports two patterns of a plan that claim the same parameter or module.

    Why is this bad?
    VeOmni takes the first pattern that matches a parameter and never looks at the others, so a later one with another
    placement does nothing. torch's `parallelize_module` applies every style that matches a module, and refuses the
    second: `distribute_module should only be called once on a module`.

    Use instead
    Narrow the wide pattern; in VeOmni, write the narrow one first.

    Known limits
    In VeOmni a narrow pattern before a wide one is taken for an exception that is meant. In Transformers a parameter
    has one key at most, the module's or its own, so nothing overlaps.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html")
    suspects = PlanEntries()
    symptoms = (r"distribute_module should only be called once on a module",)
    proof = ("test_plan_styles", "torch refuses the second style on a module")
    bad = (
        Bad(model=_EXPERTS, mesh="ep=4", plan=_SHADOWED),
        Bad(model=_EXPERTS, plan="matcher: veomni\n*: Shard(0)\n*.up_proj: Shard(1)  # error"),
        Bad(model=_DENSE, mesh="tp=4", plan=_TWICE),
        Bad(model=_DENSE, plan="matcher: torch\nlayers.*.norm: SequenceParallel\n*.0.norm: SequenceParallel  # error"),
    )
    good = (
        Good(model=_EXPERTS, mesh="ep=4 tp=2", plan=_OVERRIDE),
        Good(model=_EXPERTS, plan=_PAIRS),
        Good(model=_DENSE, plan="matcher: torch\nlayers.*.attention.w[qkv]: ColwiseParallel\n*.*.*.wo: Other"),
    )

    def judge(self, plan: Plan) -> Findings:
        torch = plan.matcher.name == "torch"
        if plan.matcher.name == "hf":
            return
        claims: dict[Entry, list[tuple[Entry, str]]] = {}
        for at, entry in enumerate(plan.entries):
            if plan.size(entry) == 1:
                continue
            for earlier in plan.entries[:at]:
                shared = _shared(plan, earlier, entry, torch)
                if shared is not None:
                    claims.setdefault(earlier, []).append((entry, shared))
                    break
        for earlier, later in claims.items():
            entry, shared = later[0]
            if torch:
                fault = f"torch refuses `{entry.placement}` there, for a module is distributed once"
            else:
                fault = f"VeOmni stops at the first pattern that matches, so `{entry.placement}` is never applied"
            yield plan.finding(
                entry,
                f"`{shared}` has `{earlier.placement}` by `{earlier.pattern}` already: {fault}",
                help="narrow one of the two" + ("" if torch else ", or write the narrow one first"),
                related=[
                    plan.note(earlier, "claimed here first"),
                    *(plan.note(e, "and again here") for e, _n in later[1:4]),
                ],
            )


def _shared(plan: Plan, earlier: Entry, entry: Entry, torch: bool) -> str | None:
    """A name that an earlier entry takes from an entry."""
    if earlier.axis != entry.axis:
        return None
    names = set(plan.matches(entry))
    shared = [name for name in plan.matches(earlier) if name in names]
    if torch:
        return shared[0] if shared and earlier.distributes and entry.distributes else None
    return shared[0] if shared and len(shared) == len(names) and earlier.placement != entry.placement else None
