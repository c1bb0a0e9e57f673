"""The rule plan-rule-dead."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanEntries, PlanRule, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_MOE = """
    model.embed_tokens.weight                         [151936, 2048]    bf16
    model.layers.{0..47}.self_attn.{q,o}_proj.weight  [4096, 2048]      bf16
    model.layers.{0..47}.mlp.gate.weight              [128, 2048]       bf16
    model.layers.{0..47}.mlp.experts.gate_up_proj     [128, 1536, 2048] bf16
    model.layers.{0..47}.mlp.experts.down_proj        [128, 2048, 768]  bf16
    tied lm_head.weight = model.embed_tokens.weight
"""
_DENSE = """
    layers.{0..31}.attention.w{q,o}.weight       [4096, 4096]   bf16
    layers.{0..31}.feed_forward.w{1,2,3}.weight  [14336, 4096]  bf16
    layers.{0..31}.attention_norm.weight         [4096]         fp32
"""
_PEFT = "base_model.model.layers.{0..3}.experts.up  [8, 64, 64]  bf16"
_SLIP = """
    matcher: veomni
    model.layers.*.mlp.experts.gate_up_proj: Shard(0)
    model.layers.*.mlp.expert.down_proj: Shard(0)  # error
"""
_MODULES = """
    matcher: torch
    layers.*.attention.wo.weight: RowwiseParallel  # error
    layers.*.feed_forward.w[13]: ColwiseParallel
    layers.*.feed_forward.w22: RowwiseParallel  # error
    *.attention_norm: SequenceParallel  # error
"""
_NUMBERS = """
    matcher: hf
    model.layers.0.self_attn.q_proj: colwise  # error
    layers.*.self_attn.o_proj: rowwise  # error
    model.embed_tokens: embedding_rowwise
"""
_OPTIONAL = """
    matcher: veomni
    model.layers.*.mlp.experts.*_proj: Shard(0)
    model.layers.*.mlp.experts.gate_up_proj_bias: Shard(0)
    *.bias: Shard(0)
    lm_head.weight: Shard(0)
"""
_FAMILY = """
    matcher: hf
    model.layers.*.self_attn.q_proj: colwise
    layers.*.self_attn.q_proj: colwise
    model.layers.*.self_attn.q_a_proj: colwise
    model.layers.*.mlp.gate_proj: colwise
    model.layers.*.mlp.shared_expert.up_proj: colwise
    lm_head: colwise_gather_output
"""
_LAYERS = """
    matcher: torch
    layers.0.attention.w[qo]: ColwiseParallel
    layers.*.feed_forward.w4: ColwiseParallel
    layers.40.attention.wq: ColwiseParallel
"""


class PlanRuleDead(PlanRule):
    """Reports a pattern of a parallel plan that matches nothing in the model.

    Why is this bad?
    A framework takes a pattern without a match for a request that needs nothing done: VeOmni says nothing, torch and
    Transformers print one warning among many. The parameters that were meant stay whole on every rank, and so do their
    gradients and optimizer states: the job runs out of memory, or trains with fewer shards than it was sized for.

    Use instead
    The names that `model.named_parameters()` (VeOmni), `model.named_modules()` (torch) or both (Transformers) print,
    with `*` where the framework allows it: any text in VeOmni, one name in torch, a layer's number in Transformers.

    Known limits
    A plan may also name other variants of its model: dense layers of a mixture of experts, optional biases. So a
    pattern that matches nothing is reported where another that nobody placed is surely meant (a slip, a wrapper's
    prefix, the framework's own way of writing), or where no pattern for its axis matches; other renames are missed.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html")
    suspects = PlanEntries()
    symptoms = (
        r"Parallelize plan key '.*' could not be resolved",
        r"TP rules were not applied on any of the layers",
        r"`(?:tp|ep|fsdp)_plan` rules .* match nothing in",
        r"no module in model match `extra_parallel_fsdp_no_shard_module`",
    )
    proof = ("test_plan_in_torch", "`parallelize_module` warns and divides nothing")
    bad = (
        Bad(model=_MOE, mesh="ep=8", plan=_SLIP),
        Bad(model=_MOE, plan="matcher: veomni\n*.q_proj: Shard(0)  # error\n*.o_proj.weight: Shard(1)"),
        Bad(model=_DENSE, mesh="tp=8", plan=_MODULES),
        Bad(model=_MOE, plan=_NUMBERS),
        Bad(model=_PEFT, plan="matcher: veomni\nlayers.*.experts.up: Shard(0)  # error"),
        Bad(model=_PEFT, plan="matcher: veomni\ndecoder.*.w1: Shard(0)  # error"),
    )
    good = (
        Good(model=_MOE, mesh="ep=8", plan=_OPTIONAL),
        Good(model=_MOE, plan=_FAMILY),
        Good(model=_DENSE, plan=_LAYERS),
        Good(model=_MOE, mesh="ep=1", plan="matcher: veomni\nmodel.layers.*.mlp.expert.down_proj: Shard(0)"),
    )

    def judge(self, plan: Plan) -> Findings:
        cause = plan.prefix_cause
        explained = cause.entries if cause is not None else ()
        for entry in plan.entries:
            if not plan.is_dead(entry) or entry in explained:
                continue
            nearest = plan.nearest(entry)
            if nearest is not None:
                lost = f"`{entry.placement}` is applied to nothing: {plan.undivided(entry, nearest)}"
                help = f"write `{nearest}`"
            elif cause is None and not plan.axis_matches(entry.axis):
                lost = f"each rank of `{entry.axis}` holds the whole model, for no other pattern does either"
                help = "compare it with the names that the model prints"
            else:
                continue
            yield plan.finding(
                entry,
                f"`{entry.pattern}` matches no {plan.matcher.target}, so {lost}",
                help=f"{help}; in this framework {plan.matcher.wildcard}",
            )
