"""The rule plan-expert-uncovered."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanEntries, PlanRule, observation, parent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Entry, Parameter, Plan

_MOE = """
    model.layers.{0..3}.mlp.gate.weight                 [128, 2048]        bf16
    model.layers.{0..3}.mlp.experts.gate_up_proj        [128, 1536, 2048]  bf16
    model.layers.{0..3}.mlp.experts.gate_up_proj_bias   [128, 1536]        bf16
    model.layers.{0..3}.mlp.experts.down_proj           [128, 2048, 768]   bf16
    model.layers.{0..3}.mlp.shared_expert.up.weight     [768, 2048]        bf16
    talker.layers.{0..3}.mlp.experts.down_proj          [128, 2048, 768]   bf16
"""
_SPLIT = """
    layers.{0..3}.experts.up.weight    [16, 64, 64]  bf16
    layers.{0..3}.experts.up.scale     [16]          fp32
    layers.{0..3}.experts.down.weight  [16, 64, 64]  bf16
"""
_MISSING = """
    matcher: veomni
    model.layers.*.mlp.experts.gate_up_proj: Shard(0)  # error
"""
_FALLBACK = """
    matcher: hf
    model.layers.*.mlp.experts: ep_dispatch_experts on ep
    model.layers.*.mlp.experts.gate_up_proj: grouped_gemm on ep  # error
    model.layers.*.mlp.experts.down_proj: grouped_gemm on ep
"""
_COVERED = """
    matcher: veomni
    model.layers.*.mlp.experts.gate_up*: Shard(0)
    model.layers.*.mlp.experts.down_proj: Shard(0)
"""
_KEPT = _FALLBACK.replace("  # error", "") + "    model.layers.*.mlp.experts.gate_up_proj_bias: replicate on ep\n"
_SLIP = _COVERED.replace("down_proj", "down_porj")


class PlanExpertUncovered(PlanRule):
    """Reports a parameter of the experts that a plan leaves whole while it divides its siblings by expert.

    Why is this bad?
    A rank then holds some experts of one parameter and all experts of the other. Local expert 0 of rank 1 meets the
    bias or the down projection of global expert 0: the shapes fail in a grouped matrix product, or the wrong experts
    are combined without an error. The memory that expert parallelism was to save is not saved.

    Use instead
    A pattern for every parameter with a row an expert: biases and scales of quantization too.

    Known limits
    Looked at are parameters with as many rows as there are experts, in the module that holds a divided one or beside
    it. Routers and shared experts stay whole on purpose; so do experts of another part of the model.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://huggingface.co/docs/transformers/expert_parallelism")
    suspects = PlanEntries()
    symptoms = (
        r"(?:expert|grouped).* (?:size|shape) mismatch",
        r"The size of tensor a \(\d+\) must match the size of tensor b \(\d+\)",
    )
    proof = ("test_plan_in_torch", "the bias does not fit the local experts, or is that of other ones")
    bad = (
        Bad(model=_MOE, mesh="ep=8", plan=_MISSING),
        Bad(model=_MOE, plan=_FALLBACK),
        Bad(model=_SPLIT, plan="matcher: veomni\nlayers.*.experts.up.*: Shard(0)  # error"),
        Bad(
            model=_SPLIT,
            mesh="ep=4",
            plan="matcher: veomni\nlayers.*.experts.up.weight: Shard(0)  # error\nlayers.*.down.weight: Shard(0)",
        ),
    )
    good = (
        Good(model=_MOE, mesh="ep=8", plan=_COVERED),
        Good(model=_MOE, plan=_KEPT),
        Good(model=_MOE, mesh="ep=8", plan=_SLIP),
        Good(model=_MOE, mesh="ep=1", plan=_MISSING.replace("  # error", "")),
        Good(model=_MOE, plan="matcher: veomni\nmodel.layers.*.mlp.gate.weight: Shard(0)"),
    )

    def judge(self, plan: Plan) -> Findings:
        for axis in dict.fromkeys(entry.axis for entry in plan.entries):
            entries = [entry for entry in plan.entries if entry.axis == axis and plan.size(entry) != 1]
            divided, chosen = _divided(plan, entries)
            reached = plan.kinds(plan.model.parameters[name] for name in (*divided, *chosen))
            meant = [nearest for entry in entries if plan.is_dead(entry) and (nearest := plan.nearest(entry))]
            for kind, parameters in plan.kinds(plan.model.parameters.values()).items():
                bare = () if kind in reached else [p for p in parameters if not plan.is_excused(p.name)]
                left = [p for p in bare if _sibling(p, divided, plan)]
                sibling = _sibling(left[0], divided, plan) if left else None
                if sibling is None or any(plan.matcher.covers(pattern, kind) for pattern in meant):
                    continue
                yield plan.finding(
                    sibling,
                    f"`{kind}` has a row for each of {left[0].shape[0]} experts and no pattern of `{axis}` divides it, "
                    f"while its sibling is divided: local experts meet rows of other experts{plan.extra(left, axis)}",
                    help=f"add a pattern for `{kind}` with `{sibling.placement}`",
                )


def _divided(plan: Plan, entries: list[Entry]) -> tuple[dict[str, Entry], set[str]]:
    """The parameters that are divided by expert, by name; and those that a pattern of their own leaves whole."""
    divided: dict[str, Entry] = {}
    chosen: set[str] = set()
    for entry in entries:
        for parameter in plan.placed(entry):
            cut = plan.division(entry, parameter)
            if cut is not None and cut.dim % max(1, len(parameter.shape)) == 0:
                divided.setdefault(parameter.name, entry)
            elif cut is not None or plan.matcher.covers(entry.pattern, parameter.name):
                chosen.add(parameter.name)
    return divided, chosen


def _sibling(parameter: Parameter, divided: dict[str, Entry], plan: Plan) -> Entry | None:
    """What divides the stack of experts that a parameter belongs to: in its module, or beside it."""
    holder = parent_of(parameter.name)
    near = [p.name for p in plan.model.own_parameters(holder)]
    if "expert" in parent_of(holder) and len(parameter.shape) > 1 and "shared" not in holder:
        near += [p.name for child in plan.model.children(parent_of(holder)) for p in plan.model.own_parameters(child)]
    for name in near:
        stack = plan.model.parameters[name].shape
        if name in divided and len(stack) > 2 and parameter.shape[:1] == stack[:1]:
            return divided[name]
    return None
