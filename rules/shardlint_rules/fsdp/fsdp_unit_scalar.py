"""The rule fsdp-unit-scalar."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanRule, PlanUnits, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_MODEL = """
    module layers.{0..3}             Block
    embed.weight                     [1000, 64]   bf16
    layers.{0..3}.attn.weight        [64, 64]     bf16
    layers.{0..3}.attn.gate          []           bf16
    logit_scale                      []           fp32
"""
_VECTORS = """
    module layers.{0..3}             Block
    layers.{0..3}.attn.gate          [1]          bf16
    buffer layers.{0..3}.attn.step   []           int64
"""


class FsdpUnitScalar(PlanRule):
    """Reports a parameter without dims in a unit of FSDP2.

    Why is this bad?
    FSDP2 divides a dim of each parameter. One that was made by `nn.Parameter(torch.tensor(1.0))` has none, and
    `fully_shard` stops with a ValueError. It names the parameter by its last name only.

    Use instead
    `nn.Parameter(torch.ones(1))`, which is a vector of one element, or give the parameter to `ignored_params`; then its
    gradient is not reduced and has to be reduced by hand.

    Known limits
    A scalar that was replaced between the model's construction and the call is not seen.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html")
    suspects = PlanUnits()
    symptoms = (r"fully_shard doesn't support scalar parameters",)
    proof = ("test_fsdp_units", "`fully_shard` refuses the parameter")
    bad = (
        Bad(model=_MODEL, plan="matcher: torch  # error\nunit layers.*  # error"),
        Bad(model=_MODEL, plan='matcher: veomni\nno_shard layers.*.attn\nunit Block\nunit embed\nunit ""  # error'),
    )
    good = (
        Good(model=_VECTORS, plan="matcher: torch\nunit Block"),
        Good(model=_MODEL, plan="matcher: torch\nlayers.*.attn: ColwiseParallel"),
    )

    def judge(self, plan: Plan) -> Findings:
        for unit, names in plan.wrapping.by_unit():
            scalars = [name for name in names if not plan.model.parameters[name].shape]
            if scalars:
                more = f" and {len(scalars) - 1} more like it have" if len(scalars) > 1 else " has"
                yield plan.finding_at(
                    unit.place,
                    f"`{scalars[0]}`{more} no dim that FSDP2 could divide: `fully_shard` stops with a ValueError",
                    help="make it a vector of one element, `nn.Parameter(torch.ones(1))`; reshape old checkpoints",
                )
