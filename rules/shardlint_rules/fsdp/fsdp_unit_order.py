"""The rule fsdp-unit-order."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanRule, PlanUnits, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_MODEL = """
    module layers                    ModuleList
    module layers.{0..3}             Block
    module layers.{0..3}.attn        Attention
    module layers.{0..3}.mlp         Experts
    module layers.{0..3}.drop        Dropout
    embed.weight                     [1000, 64]   bf16
    layers.{0..3}.attn.weight        [64, 64]     bf16
    layers.{0..3}.mlp.weight         [8, 64, 64]  bf16
    layers.{0..3}.norm.weight        [64]         bf16
"""


class FsdpUnitOrder(PlanRule):
    """Reports a unit of FSDP2 that is wrapped after one that holds it.

    Why is this bad?
    `fully_shard` takes all parameters below its module, apart from those of modules that were wrapped before. A child
    that comes later finds its parameters sharded already, and torch stops with `TypeError: Invariant encountered: value
    was None when it should not be`, which names neither the module nor the cause.

    Use instead
    Wrap from the leaves to the root: experts, then layers, then the model. `model.named_modules()` gives parents first,
    so a single loop over several classes needs `reversed(list(model.modules()))`.

    Known limits
    The order is that of the wrap list that is given; calls in other places of the program are not seen.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html")
    suspects = PlanUnits()
    symptoms = (r"Invariant encountered: value was None when it should not be",)
    proof = ("test_fsdp_units", "FSDP2 stops in the first forward")
    bad = (
        Bad(model=_MODEL, plan="matcher: torch\nunit Block\nunit Experts  # error"),
        Bad(model=_MODEL, plan='matcher: torch\nunit ""\nunit layers.*  # error'),
        Bad(model=_MODEL, plan="matcher: torch\nunit Block, Attention  # error"),
        Bad(
            model=_MODEL, plan="matcher: veomni\nunit layers.2\nunit layers.*.mlp  # error\nunit layers.*.attn  # error"
        ),
        Bad(
            model=_MODEL, plan="matcher: torch\nunit Attention\nunit Block\nunit layers.*.attn + layers.*.mlp  # error"
        ),
    )
    good = (
        Good(model=_MODEL, plan="matcher: torch\nunit Experts\nunit Block\nunit embed"),
        Good(model=_MODEL, plan="matcher: torch\nunit Block, Attention bottom-up"),
        Good(model=_MODEL, plan="matcher: torch\nunit Block\nunit Dropout"),
        Good(model=_MODEL, plan="matcher: torch\nunit layers.1\nunit layers.0.attn\nunit layers.0"),
        Good(model=_MODEL, plan='matcher: torch\nunit Attention\nunit Block\nunit ""'),
    )

    def judge(self, plan: Plan) -> Findings:
        for unit, clashes in plan.wrapping.late.items():
            first, others = clashes[0], len(clashes) - 1
            more = f" and {others} more like it are" if others else " is"
            holder = f"`{first.owner}`" if first.owner else "the whole model"
            same = first.earlier.unit == unit
            yield plan.finding_at(
                unit.place,
                f"`{first.module}`{more} wrapped after {holder}, which has taken the parameters: `fully_shard` "
                "stops with a TypeError that says `value was None`",
                help="name the classes in a loop over `reversed(list(model.modules()))`, which gives children first"
                if same
                else "wrap it before what holds it: from the leaves to the root",
                related=[] if same else [first.earlier.unit.place.note("the holder is wrapped here")],
            )
