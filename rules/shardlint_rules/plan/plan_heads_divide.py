"""The rule plan-heads-divide."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanEntries, PlanRule, observation, parent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Entry, Heads, Parameter, Plan

_GROUPED = """
    model.layers.{0..3}.self_attn.q_proj.weight      [4096, 4096]  bf16
    model.layers.{0..3}.self_attn.{k,v}_proj.weight  [512, 4096]   bf16
    model.layers.{0..3}.self_attn.o_proj.weight      [4096, 4096]  bf16
    config hidden_size = 4096
    config num_attention_heads = 32
    config num_key_value_heads = 4
"""
_LATENT = """
    layers.{0..3}.self_attn.q_b_proj.weight   [3840, 768]   bf16
    layers.{0..3}.self_attn.kv_b_proj.weight  [5120, 256]   bf16
    config num_attention_heads = 20
    config num_key_value_heads = 20
    config head_dim = 64
"""
_TITAN = """
    layers.{0..3}.attention.wq.weight     [1536, 1536]  bf16
    layers.{0..3}.attention.w{k,v}.weight [512, 1536]   bf16
    config n_heads = 12
    config n_kv_heads = 4
    config dim = 1536
"""
_TOWERS = """
    model.language.layers.{0..3}.attn.q_proj.weight [4096, 4096]  bf16
    model.visual.blocks.{0..3}.attn.q_proj.weight   [1152, 1152]  bf16
    config text_config.num_attention_heads = 32
    config text_config.hidden_size = 4096
    config vision_config.num_attention_heads = 18
    config vision_config.hidden_size = 1152
"""
_PLAN = """
    matcher: hf
    model.layers.*.self_attn.q_proj: colwise
    model.layers.*.self_attn.k_proj: colwise  # error
    model.layers.*.self_attn.v_proj: colwise
    model.layers.*.self_attn.o_proj: rowwise
"""
_TOWERS_PLAN = """
    matcher: torch
    model.language.layers.*.attn.q_proj: ColwiseParallel
    model.visual.blocks.*.attn.q_proj: ColwiseParallel  # error
"""
_TITAN_PLAN = "matcher: torch\nlayers.*.attention.w[qkv]: ColwiseParallel  # error"


class PlanHeadsDivide(PlanRule):
    """Reports a column-wise projection whose attention heads the ranks cannot share.

    Why is this bad?
    The rows of a query, key or value projection belong to heads. With 4 key heads and 8 ranks each rank holds half of a
    head: the view into heads fails in the first forward, or pairs halves of different heads.

    Use instead
    A size of the axis that divides the heads: of grouped attention the key and value heads, the fewer ones.

    Known limits
    The heads are read from the model's configuration, and only where they explain the size of the projection. A model
    that repeats key and value heads over the ranks itself needs a suppression.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/tutorials/intermediate/TP_tutorial.html")
    suspects = PlanEntries()
    symptoms = (
        r"shape '\[.*\]' is invalid for input of size",
        r"num_(?:key_value|attention)_heads must be divisible by",
    )
    proof = ("test_plan_styles", "the view into heads fails")
    bad = (
        Bad(model=_GROUPED, mesh="tp=8", plan=_PLAN),
        Bad(model=_GROUPED, mesh="tp=3", plan="matcher: torch\n*.*.*.*.q_proj: ColwiseParallel  # error"),
        Bad(model=_LATENT, mesh="tp=8", plan="matcher: hf\nlayers.*.self_attn.q_b_proj: colwise  # error"),
        Bad(model=_TITAN, mesh="tp=6", plan=_TITAN_PLAN),
        Bad(model=_TOWERS, mesh="tp=4", plan=_TOWERS_PLAN),
    )
    good = (
        Good(model=_GROUPED, mesh="tp=4", plan=_PLAN.replace("  # error", "")),
        Good(model=_GROUPED, plan=_PLAN.replace("  # error", "")),
        Good(model=_GROUPED, mesh="tp=8", plan="matcher: hf\n*.k_proj: colwise\nmodel.layers.*.self_attn: all_reduce"),
        Good(model=_GROUPED, mesh="tp=8", plan=_PLAN.replace("colwise  # error", "colwise_rep").replace("v_", "y_")),
        Good(model=_TITAN, mesh="tp=4", plan=_TITAN_PLAN.replace("  # error", "")),
        Good(model=_TOWERS, mesh="tp=2", plan=_TOWERS_PLAN.replace("  # error", "")),
    )

    def judge(self, plan: Plan) -> Findings:
        split = [(entry, *found) for entry in plan.entries if (found := plan.split_heads(entry)) is not None]
        causes: dict[tuple[str, str], list[tuple[Entry, Parameter, Heads]]] = {}
        for entry, parameter, heads in split:
            causes.setdefault((entry.axis, parent_of(heads.field)), []).append((entry, parameter, heads))
        for (axis, _part), places in causes.items():
            entry, parameter, heads = min(places, key=lambda place: place[2].count)
            ranks, rows = plan.mesh[axis], parameter.shape[0] // heads.count
            yield plan.finding(
                entry,
                f"`{parent_of(parameter.name)}` has {heads.count} heads (`{heads.field}`) of {rows} rows, and each of "
                f"{ranks} ranks of `{axis}` would hold {heads.count / ranks:.4g} of them",
                help=f"use a size of `{axis}` that divides {heads.count}, or keep this projection whole",
                related=[
                    plan.note(other, f"cut through {count.count} heads too")
                    for other, _p, count in places
                    if other is not entry
                ][:3],
            )
