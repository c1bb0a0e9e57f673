"""The rule fsdp-no-shard-set."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanEntries, PlanRule, PlanUnits, observation, starred

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_MODEL = """
    module layers.{0..3}                       Block
    module layers.{0..3}.mlp                   Sparse
    module layers.{0..3}.mlp.experts           Experts
    module layers.{0..3}.mlp.more              Experts
    module mtp.mlp.experts                     Experts
    embed.weight                               [1000, 64]    bf16
    layers.{0..3}.attn.weight                  [64, 64]      bf16
    layers.{0..3}.mlp.gate.weight              [8, 64]       bf16
    layers.{0..3}.mlp.experts.up               [8, 64, 64]   bf16
    layers.{0..3}.mlp.experts.down             [8, 64, 64]   bf16
    layers.{0..3}.mlp.more.up                  [8, 64, 64]   bf16
    mtp.mlp.experts.up                         [8, 64, 64]   bf16
"""
_TWO = """
    matcher: veomni
    layers.*.mlp.experts.up: Shard(0)
    layers.*.mlp.experts.down: Shard(0)
    layers.*.mlp.more.up: Shard(0)  # error
    unit Block
"""
_OUTSIDE = """
    matcher: veomni
    *.mlp.experts.up: Shard(0)  # error
    *.mlp.experts.down: Shard(0)
    unit Block
"""


_CLEAN = _TWO.replace("  # error", "")
_EXPERTS = "matcher: veomni\nlayers.*.mlp.experts.up: Shard(0)\n"


class FsdpNoShardSet(PlanRule):
    """Reports parameters that a plan divides and that FSDP2 then divides again as if all ranks held the same.

    Why is this bad?
    After expert parallelism each rank holds other experts under the same name. VeOmni keeps the modules in a set apart
    and shards them over an FSDP axis of their own. The set is made from the parent of the first pattern for an axis,
    and is looked for below the units only. What a later pattern divides elsewhere is sharded by the ordinary unit:
    each rank contributes a piece of other experts, and the gathered tensor is a mixture. Nothing fails.

    Use instead
    Begin with a pattern whose parent names all of the modules, or set `extra_parallel_fsdp_no_shard_module`; and make
    sure that a unit holds each of them.

    Known limits
    Only VeOmni's plans are judged, and only where the units are known.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://github.com/ByteDance-Seed/VeOmni")
    suspects = PlanEntries() | PlanUnits()
    symptoms = (r"no module in model match `extra_parallel_fsdp_no_shard_module`",)
    proof = ("test_fsdp_units", "the weight that is gathered holds rows of both ranks' experts")
    bad = (
        Bad(model=_MODEL, plan=_TWO, mesh="ep=4"),
        Bad(model=_MODEL, plan=_OUTSIDE),
        Bad(model=_MODEL, plan=_TWO.replace("unit", "no_shard layers.*.mlp.experts\n    unit")),
        Bad(
            model=_MODEL,
            plan=_EXPERTS + "embed.*: Shard(0)  # error\nunit Block",
        ),
    )
    good = (
        Good(model=_MODEL, plan=_CLEAN.replace("unit", "no_shard layers.*.mlp.*\n    unit")),
        Good(model=_MODEL, plan=_CLEAN, mesh="ep=1"),
        Good(model=_MODEL, plan=_CLEAN.replace("unit Block", "")),
        Good(model=_MODEL, plan=_OUTSIDE.replace("  # error", "") + "    unit mtp.mlp.experts\n"),
        Good(model=_MODEL, plan=_CLEAN.replace("veomni", "hf").replace("Shard(0)", "grouped_gemm")),
    )

    def judge(self, plan: Plan) -> Findings:
        if not plan.layout.is_veomni or not plan.units:
            return
        reported: set[tuple[str, str]] = set()
        for name, entries in plan.layout.dividing.items():
            for entry in entries.values():
                holder = name.rpartition(".")[0]
                like = (entry.axis, starred(holder))
                if plan.size(entry) == 1 or like in reported:
                    continue
                if not plan.layout.apart(name):
                    kept = " and ".join(f"`{pattern}`" for pattern in plan.layout.patterns)
                    why = f"is not among the modules that are kept apart, {kept}"
                    help = f"begin with a pattern whose parent covers `{holder}`, or add it to the no-shard modules"
                elif not plan.layout.below_unit(name):
                    why = "lies in no unit, below which alone VeOmni looks for the modules that are kept apart"
                    help = f"add a unit that holds `{holder}`, by its class"
                else:
                    continue
                reported.add(like)
                yield plan.finding(
                    entry,
                    f"`{holder}` {why}: FSDP2 shards `{name}` over all ranks as if they held the same, though each "
                    f"rank of `{entry.axis}` holds another part of it, and gathers a mixture",
                    help=help,
                )
