"""The rule plan-mesh-product."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanMesh, PlanRule, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_MODEL = "layers.{0..3}.mlp.experts.up  [8, 64, 64]  bf16"
_PLAN = "matcher: veomni  # error\nlayers.*.mlp.experts.up: Shard(0)"
_CLEAN = _PLAN.replace("  # error", "")


class PlanMeshProduct(PlanRule):
    """Reports a mesh whose axes do not make up the ranks of the job.

    Why is this bad?
    With more ranks in the mesh than in the job, torch stops at the start. With fewer, those outside are left without a
    place (`get_coordinate()` is None) and without a word. An expert axis is cut out of the axes of data: if it does not
    divide them, or its FSDP axis does not fill the rest, the groups cannot be formed.

    Use instead
    Sizes whose product is the number of ranks. For the expert axis, a divisor of data times sequence ranks.

    Known limits
    An axis is taken to be cut out of the others if it is `ep`, or has an `X_fsdp` beside it; a mesh whose axes multiply
    to the world with them is accepted too.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation(
        "https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.device_mesh.DeviceMesh"
    )
    suspects = PlanMesh()
    symptoms = (
        r"Mesh should not be bigger than default world size",
        r"\w+_size\(\d+\) must be a factor of dp_shard_sp_size",
    )
    proof = ("test_plan_in_torch", "torch refuses the larger mesh; in the smaller a rank has no place")
    bad = (
        Bad(model=_MODEL, plan=_PLAN, mesh="dp=8 tp=4 ep=4 world=48"),
        Bad(model=_MODEL, plan=_PLAN, mesh="tp=6 world=64"),
        Bad(model=_MODEL, plan=_PLAN, mesh="dp_shard=16 ep=3"),
        Bad(model=_MODEL, plan=_PLAN, mesh="dp=16 ep=8 ep_fsdp=4 world=16"),
        Bad(model=_MODEL, plan=_PLAN, mesh="ep=24 world=64"),
    )
    good = (
        Good(model=_MODEL, plan=_CLEAN, mesh="dp=8 ep=4 world=32"),
        Good(model=_MODEL, plan=_CLEAN, mesh="dp=32 ep=4 world=32"),
        Good(model=_MODEL, plan=_CLEAN, mesh="dp_replicate=2 dp_shard=8 ulysses=2 tp=2 ep=16 ep_fsdp=1 world=64"),
        Good(model=_MODEL, plan=_CLEAN, mesh="tp=4 ep=8 world=64"),
        Good(model=_MODEL, plan=_CLEAN, mesh="pp=4 dp=2 ep=2"),
        Good(model=_MODEL, plan=_CLEAN, mesh="ep=8 ep_fsdp=4 world=32"),
        Good(model=_MODEL, plan=_CLEAN, mesh="dp_shard=4 tp=4 ep=8 world=16".replace("ep=8", "ep=4")),
        Good(model=_MODEL, plan=_CLEAN),
    )

    def judge(self, plan: Plan) -> Findings:
        mesh = plan.ranks
        made = mesh.product(mesh.ordinary)
        short = not mesh.has_data and mesh.world is not None and mesh.world % made == 0
        if mesh.lies_flat:
            return
        if mesh.world is not None and made != mesh.world and not short:
            yield plan.finding_at(
                plan.head,
                f"the mesh {mesh.written(mesh.ordinary)} has {made} ranks, the job has {mesh.world}: "
                + (
                    "torch stops at the start"
                    if made > mesh.world
                    else "the others have no place in it, and torch does not say so"
                ),
                help="choose sizes whose product is the number of ranks",
            )
            return
        for axis in mesh.roots:
            rest = mesh.get(f"{axis}_fsdp")
            part = mesh[axis] * (1 if rest is None else rest)
            hosts = mesh.hosts
            if not hosts or any(host == part if rest is not None else host % part == 0 for host in hosts):
                continue
            asked = f"{axis}={mesh[axis]}" + ("" if rest is None else f" x {axis}_fsdp={rest}")
            yield plan.finding_at(
                plan.head,
                f"`{asked}` is cut out of the {hosts[0]} ranks that share the data, and does not "
                + ("divide" if rest is None else "fill")
                + " them: its groups cannot be formed",
                help=f"set `{axis}_fsdp` to {hosts[0] // mesh[axis]}"
                if rest is not None and hosts[0] % mesh[axis] == 0
                else f"choose a size of `{axis}` that divides {hosts[0]}",
                scope=axis,
            )
