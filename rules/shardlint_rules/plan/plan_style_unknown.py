"""The rule plan-style-unknown."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanEntries, PlanRule, close_style, known_styles, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_BLOCK = """
    model.layers.{0..3}.mlp.{up,down}_proj.weight  [64, 64]  bf16
    model.layers.{0..3}.experts.up                 [8, 64, 64]  bf16
"""
_INSTALLED = _BLOCK + "    styles colwise rowwise sequence_parallel team_rowwise\n"
_OLD = """
    matcher: hf
    model.layers.*.mlp.up_proj: colwise
    model.layers.*.mlp.down_proj: rowwise_rep  # error
"""
_SLIPS = """
    matcher: hf
    model.layers.*.mlp.up_proj: col_wise  # error
    model.layers.*.mlp.down_proj: row-wise  # error
    model.layers.*.mlp.gate_proj: ColwiseParallel  # error
"""
_OWN = """
    matcher: hf
    model.layers.*.mlp.up_proj: colwise
    model.layers.*.mlp.down_proj: team_rowwise
"""


class PlanStyleUnknown(PlanRule):
    """Reports a placement that the framework does not know.

    Why is this bad?
    Transformers refuses a plan with a style that it has not registered, when the model is loaded on all ranks. VeOmni
    reads `.dim` of each placement, so anything but a `Shard` ends in an `AttributeError` at the first match.

    Use instead
    One of the styles that the installed version registers (`ALL_PARALLEL_STYLES`); `Shard(dim)` in VeOmni.

    Known limits
    Where the model's facts do not hold the registered styles, those of every release of Transformers since 4.50 are
    known ones, and a style of your own is reported. torch's styles are classes, which Python itself looks up.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://huggingface.co/docs/transformers/perf_infer_gpu_multi")
    suspects = PlanEntries()
    symptoms = (
        r"Unsupported `?(?:tp|ep|fsdp)_plan`? styles",
        r"Unsupported tensor parallel style",
        r"'Replicate' object has no attribute 'dim'",
    )
    proof = ("test_transformers_names", "transformers refuses the plan with the error that the rule states")
    bad = (
        Bad(model=_INSTALLED, mesh="tp=4", plan=_OLD),
        Bad(model=_BLOCK, plan=_SLIPS),
        Bad(model=_BLOCK, plan="matcher: veomni\n*.experts.up: Replicate()  # error"),
        Bad(model=_BLOCK, plan="matcher: veomni\n*.experts.up: colwise  # error"),
    )
    good = (
        Good(model=_INSTALLED, mesh="tp=4", plan=_OWN),
        Good(model=_BLOCK, plan=_OLD.replace("  # error", "")),
        Good(model=_BLOCK, plan="matcher: veomni\n*.experts.up: Shard(0)\n*.experts.down: Replicate()"),
        Good(model=_BLOCK, plan="matcher: torch\nmodel.layers.*.mlp.up_proj: OurColwise"),
        Good(model=_BLOCK, plan="matcher: hf\nmodel.layers.*: free_full_weight on fsdp"),
    )

    def judge(self, plan: Plan) -> Findings:
        for entry in plan.entries:
            if plan.matcher.name == "veomni" and entry.dim is None and plan.matches(entry):
                yield plan.finding(
                    entry,
                    f"VeOmni reads `.dim` of `{entry.placement}` for `{plan.matches(entry)[0]}`, and only a `Shard` "
                    "has one: the plan fails when it is applied",
                    help="write `Shard(dim)`, or leave the pattern out: what none matches is replicated",
                )
            known = known_styles(plan.model)
            if plan.matcher.name == "hf" and entry.placement not in known:
                near = close_style(entry.placement, known)
                yield plan.finding(
                    entry,
                    f"`{entry.placement}` is no style that Transformers registers, so every rank refuses the plan for "
                    f"`{entry.pattern}` when the model is loaded",
                    help=f"write `{near}`" if near else f"write one of {', '.join(sorted(known))}",
                    certainty=1.0 if plan.model.styles else 0.8,
                )
