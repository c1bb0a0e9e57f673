"""The rule plan-mesh-unused."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanMesh, PlanRule, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_MODEL = """
    embed.weight                               [1000, 64]    bf16
    layers.{0..3}.attn.q_proj.weight           [64, 64]      bf16
    layers.{0..3}.mlp.experts.up               [8, 64, 64]   bf16
"""
_EXPERTS = "matcher: veomni\nlayers.*.mlp.experts.up: Shard(0)\n"


class PlanMeshUnused(PlanRule):
    """Reports an axis of the mesh that no entry of the plan uses.

    Why is this bad?
    The ranks of such an axis hold the same parameters and compute the same: eight devices do the work of one. Where
    the data is not divided by that axis they even read the same batches, and the loss looks healthy.

    Use instead
    An entry for the axis (`on tp` where the plan is for another one), or size 1.

    Known limits
    Axes of data, sequence and pipeline need no entry. A plan that is applied beside this one is not seen.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html")
    suspects = PlanMesh()
    symptoms = (r"TP rules were not applied on any of the layers",)
    proof = ("test_plan_in_torch", "two ranks hold the whole weight and compute the same")
    bad = (
        Bad(model=_MODEL, mesh="ep=4 tp=2", plan=_EXPERTS.replace("veomni", "veomni  # error")),
        Bad(
            model=_MODEL, mesh="dp=4 ep=4", plan="matcher: torch  # error\nlayers.*.attn.q_proj: ColwiseParallel on dp"
        ),
        Bad(model=_MODEL, mesh="emb=2 emb_fsdp=8", plan="matcher: veomni  # error\nunit layers.*"),
    )
    good = (
        Good(model=_MODEL, mesh="dp_shard=4 cp=2 pp=2 ulysses=2 ep=4 ep_fsdp=8 tp=1", plan=_EXPERTS),
        Good(model=_MODEL, mesh="tp=2 ep=2", plan=_EXPERTS + "layers.*.attn.*: Shard(0) on tp"),
        Good(model=_MODEL, mesh="tp=2", plan="matcher: torch\nlayers.*.norm: SequenceParallel"),
        Good(model=_MODEL, plan="matcher: torch\nunit layers.*"),
    )

    def judge(self, plan: Plan) -> Findings:
        used, mesh = {entry.axis for entry in plan.entries}, plan.ranks
        for axis in mesh.planned:
            if mesh[axis] == 1 or axis in used:
                continue
            if axis in mesh.carved and not mesh.lies_flat:
                lost = f"nothing is divided over its {mesh[axis]} ranks, and what it is meant for stays whole on each"
            else:
                lost = f"its {mesh[axis]} ranks hold the same parameters and do the same work"
            yield plan.finding_at(
                plan.head,
                f"no entry of the plan is for `{axis}`: {lost}",
                help=f"add entries for `{axis}`, or set its size to 1",
                scope=axis,
            )
