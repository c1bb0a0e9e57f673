"""The rule plan-buffer-shard."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanEntries, PlanRule, research

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_MODEL = """
    layers.{0..3}.mlp.experts.up               [8, 64, 32]   bf16
    layers.{0..3}.mlp.gate.weight              [8, 64]       bf16
    layers.{0..3}.attn.sinks                   [16]          bf16
    layers.{0..3}.conv.weight                  [64, 3]       bf16
    buffer layers.{0..3}.mlp.experts.owner     [8]           int64
    buffer layers.{0..3}.mlp.gate.bias         [8]           fp32
    buffer layers.{0..3}.attn.slopes           [16]          fp32
    buffer layers.{0..3}.attn.mask             [1, 1, 64]    bool
    buffer layers.{0..3}.conv.running_mean     [64]          fp32
"""


class PlanBufferShard(PlanRule):
    """Notes a buffer with an entry for each part of a dim that a plan divides beside it.

    Why is this bad?
    A plan divides parameters; buffers stay as they are. A map of experts, slopes for each head or running means keep
    all entries while the parameter next to them has the rank's own part: sizes differ, or the first entries are used
    on every rank.

    Use instead
    Slice the buffer where it is used, by the rank's place on the axis, or register it after the plan was applied.

    Known limits
    Only equal extents in one module are compared, so a buffer of the same length by chance is noted, and one whose
    module holds no parameters (rotary embeddings) is not. Code that slices the buffer is not seen. torch's own styles
    are left out: they make DTensors of the buffers of a module too, which fit its parameters.
    """

    severity = "note"
    since = "0.1.0"
    evidence = research("https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html")
    suspects = PlanEntries()
    symptoms = (r"The size of tensor a \(\d+\) must match the size of tensor b \(\d+\)",)
    proof = ("test_plan_in_torch", "the whole buffer does not fit what the rank holds of the weight")
    bad = (
        Bad(model=_MODEL, plan="matcher: veomni\nlayers.*.mlp.experts.up: Shard(0)  # error", mesh="ep=4"),
        Bad(model=_MODEL, plan="matcher: veomni\nlayers.*.attn.sinks: Shard(-1) on tp  # error", mesh="tp=2"),
        Bad(model=_MODEL, plan="matcher: hf\nlayers.*.attn.sinks: colwise  # error\nlayers.*.mlp.gate: replicate"),
    )
    good = (
        Good(model=_MODEL, plan="matcher: veomni\nlayers.*.mlp.experts.up: Shard(1)", mesh="ep=4"),
        Good(model=_MODEL, plan="matcher: veomni\nlayers.*.mlp.experts.up: Shard(0)", mesh="ep=1"),
        Good(model=_MODEL, plan="matcher: torch\nlayers.*.conv: ColwiseParallel"),
        Good(model="w [1, 8] bf16\nbuffer b [1, 1] bf16", plan="matcher: veomni\nw: Shard(0)"),
    )

    def judge(self, plan: Plan) -> Findings:
        for entry in plan.entries:
            dim = 0 if entry.dim is None and "col" in entry.placement.lower() else entry.dim
            if dim is None or not entry.shards or plan.size(entry) == 1 or plan.matcher.name == "torch":
                continue
            for parameter in plan.parameters(plan.matches(entry)):
                extent = parameter.shape[dim] if -len(parameter.shape) <= dim < len(parameter.shape) else 1
                beside = plan.model.own_buffers(parameter.name.rpartition(".")[0])
                buffer = next((buffer for buffer in beside if extent > 1 and extent in buffer.shape), None)
                if buffer is not None:
                    yield plan.finding(
                        entry,
                        f"the buffer `{buffer.name}` has {extent} entries, as has dim {dim} of `{parameter.name}`, "
                        f"which `{entry.axis}` divides: the buffer stays whole on each rank",
                        help="slice the buffer by the rank's place on the axis, if its entries belong to that dim",
                    )
                    break
