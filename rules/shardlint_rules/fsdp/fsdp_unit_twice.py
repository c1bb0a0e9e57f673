"""The rule fsdp-unit-twice."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanRule, PlanUnits, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_MODEL = """
    module ""                        Model
    module layers                    ModuleList
    module layers.{0..3}             Block
    embed.weight                     [1000, 64]   bf16
    layers.{0..3}.attn.weight        [64, 64]     bf16
    norm.weight                      [64]         bf16
    head.weight                      [1000, 64]   bf16
"""


class FsdpUnitTwice(PlanRule):
    """Reports a module that `fully_shard` wraps twice.

    Why is this bad?
    torch keeps one state for each wrapped module and stops at the second call with an AssertionError: `Each distinct
    composable distributed API can only be applied to a module once`.

    Use instead
    One call for each module; in a loop over classes or patterns that overlap, `if not isinstance(module, FSDPModule)`.

    Known limits
    Passes that look for `FSDPModule` themselves, as those of VeOmni and accelerate do, are not judged.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html")
    suspects = PlanUnits()
    symptoms = (r"Each distinct composable distributed API can only be applied to a module once",)
    proof = ("test_fsdp_units", "`fully_shard` refuses the second call")
    bad = (
        Bad(model=_MODEL, plan="matcher: torch\nunit Block\nunit layers.*  # error"),
        Bad(model=_MODEL, plan="matcher: torch\nunit Block\nunit norm + head\nunit head  # error"),
        Bad(model=_MODEL, plan='matcher: torch\nunit Block\nunit Model\nunit ""  # error'),
        Bad(model=_MODEL, plan="matcher: hf\nunit layers.0\nunit layers.[01]  # error\nunit layers.1  # error"),
    )
    good = (
        Good(model=_MODEL, plan="matcher: torch\nunit Block, layers.* bottom-up\nunit Block bottom-up"),
        Good(model=_MODEL, plan="matcher: torch\nunit layers.*, Block"),
        Good(model=_MODEL, plan="matcher: torch\nunit layers.0\nunit layers.[123]\nunit Model"),
    )

    def judge(self, plan: Plan) -> Findings:
        for unit, clashes in plan.wrapping.twice.items():
            first, others = clashes[0], len(clashes) - 1
            more = f" and {others} more like it are" if others else " is"
            name = f"`{first.module}`" if first.module else "the whole model"
            yield plan.finding_at(
                unit.place,
                f"{name}{more} wrapped already: the second `fully_shard` of a module stops with an AssertionError",
                help="leave one of the two out, or ask `isinstance(module, FSDPModule)` before the call",
                related=[first.earlier.unit.place.note("wrapped here before")],
            )
