"""The rule fsdp-unit-dtype."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanRule, PlanUnits, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_MODEL = """
    module layers.{0..3}             Block
    module layers.{0..3}.gate        Router
    embed.weight                     [1000, 64]   bf16
    layers.{0..3}.attn.weight        [64, 64]     bf16
    layers.{0..3}.gate.weight        [8, 64]      fp32
"""
_FROZEN = """
    module layers.{0..3}             Block
    embed.weight                     [1000, 64]   bf16
    layers.{0..3}.attn.weight        [64, 64]     bf16  frozen
    layers.{0..3}.attn.quantized     [64, 64]     uint8  frozen
    layers.{0..3}.lora.weight        [8, 64]      fp32
"""


class FsdpUnitDtype(PlanRule):
    """Reports a unit of FSDP2 whose trainable parameters differ in dtype.

    Why is this bad?
    The gradients of a unit are reduced in one buffer of one dtype. At the first forward torch stops with an
    AssertionError, `FSDP expects uniform original parameter dtype`, after the model was built, wrapped and loaded.

    Use instead
    Keep the parameters in one dtype and let `MixedPrecisionPolicy` choose that of the computation; or wrap the modules
    with another dtype (a router in 32 bits) in units of their own, before what holds them.

    Known limits
    A cast between the model's construction and its first forward is not seen. Frozen parameters may differ.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html")
    suspects = PlanUnits()
    symptoms = (r"FSDP expects uniform original parameter dtype",)
    proof = ("test_fsdp_units", "FSDP2 asks for one dtype in a unit and stops")
    bad = (
        Bad(model=_MODEL, plan="matcher: torch\nunit layers.*  # error"),
        Bad(model=_MODEL, plan="matcher: torch  # error\nunit embed"),
        Bad(model=_FROZEN, plan="matcher: torch\nunit layers.*.attn\nunit embed + layers.0  # error"),
    )
    good = (
        Good(model=_MODEL, plan="matcher: torch\nunit Router\nunit Block"),
        Good(model=_FROZEN, plan="matcher: torch\nunit Block"),
        Good(model=_MODEL, plan="matcher: veomni\nno_shard layers.*.gate\nunit Block"),
    )

    def judge(self, plan: Plan) -> Findings:
        reported: set[object] = set()
        for call, names in plan.wrapping.taken.items():
            dtypes: dict[str, list[str]] = {}
            for name in names:
                parameter = plan.model.parameters[name]
                if parameter.trainable:
                    dtypes.setdefault(parameter.dtype, []).append(name)
            if len(dtypes) < 2 or call.unit in reported:
                continue
            reported.add(call.unit)
            rarest = min(dtypes.values(), key=len)
            counts = " and ".join(f"{len(held)} in {dtype}" for dtype, held in dtypes.items())
            unit = f"the unit of `{call.modules[0]}`" if call.modules[0] else "the root unit"
            yield plan.finding_at(
                call.unit.place,
                f"{unit} has parameters of several dtypes, {counts} (`{rarest[0]}`): it reduces their gradients in one "
                "buffer, and torch stops at the first forward",
                help="cast them to one dtype, or wrap the modules with the other one in units of their own first",
            )
