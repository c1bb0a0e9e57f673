"""The rule plan-dim-divide."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanEntries, PlanRule, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Division, Entry, Parameter, Plan

_MOE = """
    model.layers.{0..3}.mlp.experts.gate_up_proj  [60, 2816, 2048]  bf16
    model.layers.{0..3}.mlp.experts.down_proj     [60, 2048, 1408]  bf16
"""
_DENSE = """
    tok_embeddings.weight                [50257, 1000]  bf16
    layers.{0..3}.attention.wq.weight    [1000, 1000]   bf16
    layers.{0..3}.feed_forward.w1.weight [2730, 1000]   bf16
    layers.{0..3}.feed_forward.w2.weight [1000, 2730]   bf16
    layers.{0..3}.feed_forward.w2.bias   [1001]         bf16
    output.weight                        [50257, 1000]  bf16
    config n_heads = 10
    config dim = 1000
"""
_RECENT = "    styles colwise ep_dispatch_experts\n"
_UNEVEN = """
    matcher: veomni
    model.layers.*.mlp.experts.gate_up_proj: Shard(0)  # error
    model.layers.*.mlp.experts.down_proj: Shard(0)
    model.layers.*.mlp.experts.down_proj: Shard(1) on tp
"""
_PAIR = """
    matcher: torch
    tok_embeddings: RowwiseParallel
    layers.*.attention.wq: ColwiseParallel
    layers.*.feed_forward.w1: ColwiseParallel  # error
    layers.*.feed_forward.w2: RowwiseParallel
    output: ColwiseParallel
"""
_PACKED = """
    matcher: hf
    model.layers.*.mlp.experts.gate_up_proj: packed_colwise  # error
    model.layers.*.mlp.experts.down_proj: rowwise
"""
_WHOLE = """
    matcher: hf
    model.layers.*.mlp.experts.gate_up_proj: grouped_gemm on ep  # error
    model.layers.*.mlp.experts.down_proj: moe_tp_experts
"""


class PlanDimDivide(PlanRule):
    """Reports a dim that the ranks of an axis cannot share evenly where the framework needs equal parts.

    Why is this bad?
    VeOmni asserts it without a message, Transformers refuses uneven experts, and between a column-wise and a row-wise
    linear layer of torch the shapes of the local product do not fit. Matrices packed into one (gate and up) are divided
    each for itself: older versions of Transformers drop the rows that remain.

    Use instead
    A size of the axis that divides the dim, or another dim.

    Known limits
    Where uneven parts are allowed (embeddings, output layers, `colwise` and `rowwise` of Transformers, FSDP's dim 0)
    nothing is reported. A projection that is cut through an attention head is left to plan-heads-divide.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html")
    suspects = PlanEntries()
    symptoms = (
        r"assert param\.size\(shard\.dim\) % para_size == 0",
        r"a and b must have same reduction dim",
        r"Cannot evenly shard \d+ experts across",
    )
    proof = ("test_plan_styles", "the local product of a column-wise and a row-wise layer does not fit")
    bad = (
        Bad(model=_MOE, mesh="ep=8 tp=2", plan=_UNEVEN),
        Bad(model=_DENSE, mesh="tp=4", plan=_PAIR),
        Bad(model=_MOE, mesh="tp=512", plan=_PACKED),
        Bad(model=_MOE, mesh="ep=16 tp=3", plan=_WHOLE),
    )
    good = (
        Good(model=_MOE, mesh="ep=4 tp=2", plan=_UNEVEN.replace("  # error", "")),
        Good(model=_MOE, plan=_UNEVEN.replace("  # error", "")),
        Good(model=_DENSE, mesh="tp=2", plan=_PAIR.replace("  # error", "")),
        Good(
            model=_MOE + "    styles colwise ep_dispatch_experts", mesh="tp=512", plan=_PACKED.replace("  # error", "")
        ),
        Good(model=_DENSE, mesh="tp=8", plan="matcher: hf\nlayers.*.feed_forward.w1: colwise"),
        Good(model=_DENSE, mesh="tp=16", plan="matcher: torch\nlayers.*.attention.wq: ColwiseParallel"),
    )

    def judge(self, plan: Plan) -> Findings:
        causes: dict[tuple[str, int], list[tuple[Entry, Parameter, Division]]] = {}
        for entry in plan.entries:
            ranks = plan.size(entry)
            if ranks is None or ranks == 1 or plan.split_heads(entry) is not None:
                continue
            for parameter in plan.placed(entry):
                cut = plan.division(entry, parameter)
                if (
                    cut is not None
                    and cut.even
                    and cut.within(parameter)
                    and parameter.shape[cut.dim] % (ranks * cut.parts)
                ):
                    extent = parameter.shape[cut.dim] // cut.parts
                    causes.setdefault((entry.axis, extent), []).append((entry, parameter, cut))
                    break
        for (axis, extent), places in causes.items():
            entry, parameter, cut = places[0]
            ranks = plan.mesh[axis]
            packed = f" for each of its {cut.parts} packed matrices" if cut.parts > 1 else ""
            yield plan.finding(
                entry,
                f"dim {cut.dim} of `{parameter.name}` has {extent} entries{packed}, which {ranks} ranks of `{axis}` "
                f"cannot share evenly: {extent} / {ranks} leaves {extent % ranks}",
                help=f"use a size of `{axis}` that divides {extent}, or divide another dim",
                related=[plan.note(other, f"divides {extent} entries too") for other, _p, _c in places[1:4]],
            )
