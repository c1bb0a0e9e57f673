"""The rule plan-rule-prefix."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanEntries, PlanRule, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_ORIGINS = {
    "_checkpoint_wrapped_module": "activation checkpointing",
    "_forward_module": "Lightning",
    "_fsdp_wrapped_module": "FSDP",
    "_orig_mod": "`torch.compile`",
    "base_model.model": "PEFT",
    "language_model": "a model of several modalities",
    "model.language_model": "a model of several modalities",
    "module": "DDP",
}
_BLOCK = """
    {P}embed_tokens.weight                         [32000, 2048]  bf16
    {P}layers.{0..15}.self_attn.{q,o}_proj.weight  [2048, 2048]   bf16
    {P}layers.{0..15}.mlp.{up,gate}_proj.weight    [8192, 2048]   bf16
    {P}layers.{0..15}.mlp.down_proj.weight         [2048, 8192]   bf16
"""
_PLAN = """
    matcher: torch
    model.layers.*.self_attn.q_proj: ColwiseParallel  # error
    model.layers.*.self_attn.o_proj: RowwiseParallel
    model.layers.*.mlp.down_proj: RowwiseParallel
"""
_HEADLESS = "matcher: hf\nlayers.*.mlp.up_proj: colwise  # error\nlayers.*.mlp.down_proj: rowwise"
_EXPERTS = "{P}layers.{0..3}.experts.{up,down}  [8, 64, 64]  bf16\nmodel.vision.layers.{0..3}.fc.weight [64, 64] bf16"
_RIGHT = """
    matcher: hf
    model.layers.*.self_attn.q_proj: colwise
    layers.*.self_attn.q_proj: colwise
    layers.*.self_attn.o_proj: rowwise
    model.layers.*.self_attn.o_proj: rowwise
"""
_VARIANT = """
    matcher: veomni
    model.layers.*.experts.up: Shard(0)
    model.layers.*.fc.weight: Shard(0)
    model.layers.*.fc.bias: Shard(0)
"""


def _under(prefix: str, text: str) -> str:
    return text.replace("{P}", prefix)


class PlanRulePrefix(PlanRule):
    """Reports the patterns of a plan that match nothing because of one prefix in the model's names.

    Why is this bad?
    A wrapper puts a name of its own before all names of a model: PEFT `base_model.model`, `torch.compile` `_orig_mod`,
    DDP `module`; a model of several modalities keeps the text model under `language_model`. Then no pattern matches
    any more, the framework prints warnings at most, and every rank holds and trains the whole model.

    Use instead
    Apply the plan before the model is wrapped, or write the prefix into the patterns.

    Known limits
    The prefix must explain at least two patterns, and four in five of those that any prefix explains. A single pattern
    is left to plan-rule-dead.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html")
    suspects = PlanEntries()
    symptoms = (
        r"Parallelize plan key '.*' could not be resolved: no submodule matching token",
        r"`(?:tp|ep)_plan` rules \[.*,.*\] match nothing in",
    )
    proof = ("test_plan_in_torch", "behind DDP and `torch.compile` no pattern divides a weight")
    bad = (
        Bad(model=_under("base_model.model.model.", _BLOCK), mesh="tp=8", plan=_PLAN),
        Bad(model=_under("_orig_mod.model.", _BLOCK), mesh="tp=8", plan=_PLAN),
        Bad(model=_under("model.language_model.", _BLOCK), plan=_PLAN),
        Bad(model=_under("", _BLOCK), plan=_PLAN),
        Bad(model=_under("model.", _BLOCK), plan=_HEADLESS),
        Bad(model=_under("", _BLOCK).replace("}.mlp", "}._checkpoint_wrapped_module.mlp"), plan=_HEADLESS),
        Bad(
            model=_under("thinker.model.", _EXPERTS),
            mesh="ep=4",
            plan="matcher: veomni\nmodel.layers.*.experts.up: Shard(0)  # error\nmodel.layers.*.experts.down: Shard(0)",
        ),
    )
    good = (
        Good(model=_under("model.", _BLOCK), plan=_RIGHT),
        Good(model=_under("model.", _EXPERTS), plan=_VARIANT),
        Good(model=_under("base_model.model.model.", _BLOCK), mesh="tp=1", plan=_PLAN.replace("  # error", "")),
        Good(model=_under("module.model.", _BLOCK), plan="matcher: hf\nmodel.layers.*.mlp.up_proj: colwise"),
    )

    def judge(self, plan: Plan) -> Findings:
        cause = plan.prefix_cause
        if cause is None:
            return
        first, pattern = cause.patterns[0]
        if not cause.meant:
            where, origin = f"no `{cause.written}.`", ""
        else:
            origin = next((f", from {o}," for name, o in _ORIGINS.items() if cause.meant.endswith(name)), "")
            where = f"`{cause.meant}.`" + (f" where they say `{cause.written}.`" if cause.written else "")
        lost = [p for entry, meant in cause.patterns if entry.shards for p in plan.named_by(meant)]
        yield plan.finding(
            first,
            f"{len(cause.patterns)} patterns match nothing for one reason: the model's names have {where}{origin} so "
            f"all that they name stays whole{plan.extra(lost, first.axis) if lost else ''}",
            help=f"apply the plan before the model is wrapped, or write `{pattern}`, and so with the others",
            related=[plan.note(entry, f"`{meant}` in this model") for entry, meant in cause.patterns[1:6]],
        )
