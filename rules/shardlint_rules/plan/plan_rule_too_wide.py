"""The rule plan-rule-too-wide."""

from __future__ import annotations

import re

from shardlint.rule import Bad, Findings, Good, PlanEntries, PlanRule, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_SHARED = """
    model.layers.{0..3}.mlp.experts.up_proj                [8, 64, 64]  bf16
    model.layers.{0..3}.mlp.shared_experts.up_proj.weight  [64, 64]     bf16
    model.layers.{0..3}.mtp.mlp.experts.up_proj            [8, 64, 64]  bf16
    model.norm.weight                                      [64]         bf16
"""
_PLAIN = """
    matcher: veomni
    model.layers.*.mlp.experts.up_proj: Shard(0)  # error
"""
_FREE = """
    matcher: veomni
    *.experts.up_proj: Shard(0)
    *norm.weight: Shard(0)
    model.layers.*.experts.up_proj: Shard(0)
    model.layers.*.mlp.experts.down_proj: Shard(0)
"""


class PlanRuleTooWide(PlanRule):
    """Reports a VeOmni pattern whose `*` reaches across dots into names of another depth.

    Why is this bad?
    In VeOmni `*` stands for any text, dots included. A pattern that reads like one name a star, as `layers.*.mlp.up`,
    therefore also divides what lies deeper and ends alike: the experts of a prediction head, a tower, an adapter.

    Use instead
    Write out the names that are meant, or begin the pattern with `*.` where every depth is meant.

    Known limits
    Only a pattern that also matches name by name is looked at; one that begins with `*` means every depth.
    """

    severity = "note"
    since = "0.1.0"
    evidence = observation("https://github.com/ByteDance-Seed/VeOmni")
    suspects = PlanEntries()
    symptoms = (r"sharding: slicing param .* along .*_mesh",)
    unproved = "what `*` means is VeOmni's own, and VeOmni does not run beside the proofs"
    bad = (
        Bad(model=_SHARED, mesh="ep=4", plan=_PLAIN),
        Bad(model="a.b.up [8, 4] bf16\na.b.c.up [8, 4] bf16", plan="matcher: veomni\na.*.up: Shard(0)  # error"),
    )
    good = (
        Good(model=_SHARED, mesh="ep=4", plan=_FREE),
        Good(model=_SHARED, plan="matcher: torch\nmodel.layers.*.mlp: PrepareModuleInput"),
        Good(model="a.{0..3}.up [8, 4] bf16", plan="matcher: veomni\na.*.up: Shard(0)"),
        Good(model=_SHARED, mesh="ep=1", plan=_PLAIN.replace("  # error", "")),
    )

    def judge(self, plan: Plan) -> Findings:
        if plan.matcher.name != "veomni":
            return
        for entry in plan.entries:
            if entry.pattern.startswith("*") or plan.size(entry) == 1:
                continue
            one_name = re.compile(re.escape(entry.pattern).replace(r"\*", "[^.]*"))
            names = plan.matches(entry)
            meant = [name for name in names if one_name.fullmatch(name)]
            deeper = [name for name in names if not one_name.fullmatch(name)]
            if meant and deeper:
                yield plan.finding(
                    entry,
                    f"`*` also stands for dots here: `{entry.pattern}` places {len(meant)} parameters such as "
                    f"`{meant[0]}`, and {len(deeper)} of another depth such as `{deeper[0]}`",
                    help="write out the names that are meant, or begin with `*.` if every depth is",
                )
