"""The rule fsdp-unit-container."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanRule, PlanUnits, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_REFUSED = ("ModuleList", "ModuleDict")

_MODEL = """
    module layers                    ModuleList
    module layers.{0..3}             Block
    module heads                     ModuleDict
    module heads.text                Linear
    module stack                     Sequential
    module tower                     Tower  no_forward
    module tower.blocks              BlockList  no_forward
    module tower.blocks.{0..3}       Block
    embed.weight                     [1000, 64]   bf16
    layers.{0..3}.attn.weight        [64, 64]     bf16
    heads.text.weight                [1000, 64]   bf16
    stack.{0..1}.weight              [64, 64]     bf16
    tower.blocks.{0..3}.weight       [64, 64]     bf16
    tower.scale                      [64]         bf16
"""


class FsdpUnitContainer(PlanRule):
    """Reports a unit of FSDP2 whose module has no `forward`.

    Why is this bad?
    FSDP2 gathers the parameters of a unit in a hook that runs before the `forward` of its module. A `ModuleList` or
    `ModuleDict` has none, so `fully_shard` refuses it with a ValueError. Another module whose children are called
    directly is accepted, but its hook never runs: the children compute with sharded parameters, and torch stops with
    `got mixed torch.Tensor and DTensor`.

    Use instead
    Wrap the elements: `for layer in model.layers: fully_shard(layer)`. Modules that belong together without a forward
    of their own go into one call, `fully_shard([first, second])`.

    Known limits
    Methods other than `forward` that `register_fsdp_forward_method` has named are not known. The whole model may lack
    a `forward`.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html")
    suspects = PlanUnits()
    symptoms = (
        r"fully_shard does not support containers that do not implement forward",
        r"got mixed torch\.Tensor and DTensor",
    )
    proof = ("test_fsdp_units", "`fully_shard` refuses the container, or its weights stay divided in the forward")
    bad = (
        Bad(model=_MODEL, plan="matcher: torch\nunit layers  # error"),
        Bad(model=_MODEL, plan="matcher: torch\nunit ModuleDict, Linear bottom-up  # error"),
        Bad(model=_MODEL, plan="matcher: hf\nunit Block\nunit tower  # error"),
        Bad(model=_MODEL, plan="matcher: veomni\nunit ModuleList  # error\nunit BlockList  # error"),
    )
    good = (
        Good(model=_MODEL, plan="matcher: torch\nunit layers.*\nunit stack"),
        Good(model=_MODEL, plan="matcher: torch\nunit Block\nunit BlockList"),
        Good(model='module "" Model no_forward\nw [8] bf16', plan='matcher: torch\nunit ""'),
    )

    def judge(self, plan: Plan) -> Findings:
        for unit in plan.units:
            named = [call.modules for call in plan.wrapping.calls if call.unit == unit]
            modules = [plan.model.modules[name] for names in named for name in names if name]
            idle = [module for module in modules if not module.runs]
            refused = [module for module in idle if module.class_name in _REFUSED and not unit.together]
            unseen = [module for module in idle if module.name in plan.wrapping.taking]
            if refused:
                said = f"`{refused[0].name}` is a {refused[0].class_name}: `fully_shard` stops with a ValueError, "
                said += "for it gathers the parameters of a unit before its `forward`, and a container has none"
            elif unseen:
                said = f"`{unseen[0].name}` ({unseen[0].class_name}) has no `forward`, before which FSDP2 would gather "
                said += "its parameters: what it holds computes with sharded ones, and torch stops at a mixed operation"
            else:
                continue
            yield plan.finding_at(
                unit.place,
                said,
                help=f"wrap its parts, `{(refused or unseen)[0].name}.*`, or several modules in one call with a list",
            )
