"""The rule plan-dim-range."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanEntries, PlanRule, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_MODEL = """
    embed.weight                  [32000, 64]  bf16
    layers.{0..3}.norm.weight     [64]         fp32
    layers.{0..3}.experts.up      [8, 64, 64]  bf16
    layers.{0..3}.experts.up_bias [8, 64]      bf16
    layers.{0..3}.experts.scale   []           fp32
"""
_WIDE = """
    matcher: veomni
    layers.*.experts.up*: Shard(2)  # error
    layers.*.norm.weight: Shard(1)  # error
    embed.weight: Shard(-3)  # error
"""
_FITS = """
    matcher: veomni
    layers.*.experts.up: Shard(2)
    layers.*.experts.up_bias: Shard(-2)
    layers.*.norm.weight: Shard(dim=0)
    layers.*.absent: Shard(4)
"""
_SCALAR = """
    matcher: hf
    layers.*.experts.scale: grouped_gemm on ep  # error
    layers.*.norm.weight: embedding_colwise  # error
    embed: embedding_rowwise
"""


class PlanDimRange(PlanRule):
    """Reports a placement that divides a dim which the tensor does not have.

    Why is this bad?
    A pattern that was written for matrices also matches a bias, a norm or a scale, which have fewer dims. The framework
    asks such a tensor for the dim and fails with an `IndexError` when the plan is applied, on every rank.

    Use instead
    A dim that each tensor has, or a pattern that leaves the smaller ones out.

    Known limits
    Of torch's styles, which choose the dim themselves, none divides a dim that is not there.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.tensor.html")
    suspects = PlanEntries()
    symptoms = (
        r"IndexError: Dimension out of range",
        r"Dimension specified as \S+ but tensor has no dimensions",
        r"Shard(?:ing)? (?:on )?dim \S+ (?:is )?(?:greater than|out of)",
    )
    proof = ("test_plan_in_torch", "`distribute_tensor` raises an IndexError")
    bad = (
        Bad(model=_MODEL, mesh="ep=8", plan=_WIDE),
        Bad(model=_MODEL, plan="matcher: veomni\n*.experts.*: Shard(0)  # error"),
        Bad(model=_MODEL, mesh="tp=2 ep=2", plan=_SCALAR),
    )
    good = (
        Good(model=_MODEL, mesh="ep=8", plan=_FITS),
        Good(model=_MODEL, plan="matcher: torch\nembed: RowwiseParallel\nlayers.*.norm: SequenceParallel"),
        Good(model=_MODEL, mesh="ep=1", plan="matcher: veomni\nlayers.*.norm.weight: Shard(1)"),
    )

    def judge(self, plan: Plan) -> Findings:
        for entry in plan.entries:
            if plan.size(entry) == 1:
                continue
            outside = [p for p in plan.placed(entry) if (cut := plan.division(entry, p)) and not cut.within(p)]
            for parameter in outside[:1]:
                cut = plan.division(entry, parameter)
                assert cut is not None
                kinds = len(plan.kinds(outside))
                more = f" (nor have {kinds - 1} other kinds of tensors that it matches)" if kinds > 1 else ""
                yield plan.finding(
                    entry,
                    f"`{entry.placement}` divides dim {cut.dim}, but `{parameter.name}` has the shape "
                    f"{list(parameter.shape)} and no such dim{more}: the plan fails when it is applied",
                    help="divide a dim that it has, or narrow the pattern so that it is left out",
                )
