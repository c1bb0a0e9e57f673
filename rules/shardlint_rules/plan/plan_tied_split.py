"""The rule plan-tied-split."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanEntries, PlanRule, PlanUnits, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_MODEL = """
    module model.layers.{0..3}             Block
    module model.embed                     Embedding
    module head                            Linear
    model.embed.weight                     [1000, 64]   bf16
    model.layers.{0..3}.attn.weight        [64, 64]     bf16
    model.norm.weight                      [64]         bf16
    tied head.weight = model.embed.weight
"""


class PlanTiedSplit(PlanRule):
    """Reports tied weights that a plan pulls apart: into two units of FSDP2, or by dividing only one of the names.

    Why is this bad?
    Tied weights are one tensor under two names. Two units would each shard it: torch 2.13 stops at the first forward
    with `is shared with a parameter already managed by another FSDP group`, and versions before it train two tensors
    that drift apart. A plan that divides one name puts a new tensor there and leaves the whole one under the other:
    nothing says so, the model trains two tensors, and the checkpoint holds whichever is saved.

    Use instead
    One unit for both: leave them to the root, or `fully_shard([embed, head])`. Where a plan divides, divide both names,
    and tie them again after it was applied.

    Known limits
    That weights are tied again later is not seen. Transformers ties them itself, so its plans are judged by their units
    only.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html")
    suspects = PlanEntries() | PlanUnits()
    symptoms = (r"is shared with a parameter already managed by another FSDP group",)
    proof = ("test_fsdp_units", "FSDP2 refuses the second unit; a plan for one name leaves two tensors")
    bad = (
        Bad(model=_MODEL, plan="matcher: torch\nunit Block\nunit model.embed  # error"),
        Bad(model=_MODEL, plan="matcher: hf\nunit head, Block, Embedding bottom-up  # error"),
        Bad(model=_MODEL, plan="matcher: torch\nunit Block\nunit model.norm + head  # error"),
        Bad(
            model=_MODEL,
            plan="matcher: torch\nhead: ColwiseParallel  # error\nmodel.norm: SequenceParallel",
            mesh="tp=2",
        ),
        Bad(model=_MODEL, plan="matcher: torch\nmodel.embed: RowwiseParallel  # error"),
        Bad(model=_MODEL, plan="matcher: veomni\n*.weight: Shard(0) on emb  # error", mesh="emb=4"),
    )
    good = (
        Good(model=_MODEL, plan="matcher: torch\nunit Block"),
        Good(model=_MODEL, plan="matcher: torch\nunit Block\nunit model.norm + model.embed + head"),
        Good(model=_MODEL, plan="matcher: torch\nmodel.embed: RowwiseParallel\nhead: ColwiseParallel", mesh="tp=2"),
        Good(model=_MODEL, plan="matcher: torch\nmodel.embed: RowwiseParallel", mesh="tp=1"),
        Good(model=_MODEL, plan="matcher: hf\nhead: colwise_gather_output", mesh="tp=2"),
        Good(model=_MODEL, plan="matcher: veomni\nmodel.layers.*: Shard(0)"),
    )

    def judge(self, plan: Plan) -> Findings:
        groups = [plan.model.tied_group(first) for first in plan.model.tied]
        yield from self._by_units(plan, groups)
        if plan.matcher.name != "hf":
            yield from self._by_entries(plan, groups)

    def _by_units(self, plan: Plan, groups: list[tuple[str, ...]]) -> Findings:
        reported: set[object] = set()
        for group in groups:
            calls = {name: call for name in group if (call := plan.wrapping.call_of(name)) is not None}
            first = group[0]
            other = next((name for name in calls if calls[name] != calls.get(first)), None)
            if other is None or first not in calls:
                continue
            taker = calls[first] if calls[other].is_root else calls[other]
            if taker.unit in reported:
                continue
            reported.add(taker.unit)
            yield plan.finding_at(
                taker.unit.place,
                f"`{first}` and `{other}` are one tensor, but two units take it: torch stops at the first forward, and "
                "versions before 2.13 train two tensors that drift apart",
                help="wrap the modules of both in one call, `fully_shard([...])`, or leave both to the root",
            )

    def _by_entries(self, plan: Plan, groups: list[tuple[str, ...]]) -> Findings:
        reported: set[object] = set()
        for first, *others in groups:
            for entry in plan.layout.dividing.get(first, {}).values():
                matched = set(plan.matches(entry))
                names = (first, *others)
                named = [name for name in names if name in matched or name.rpartition(".")[0] in matched]
                divided = {name for name in names if plan.divides_name(name, entry.axis)}
                left = [name for name in names if name not in divided]
                if not left or not named or plan.size(entry) == 1 or entry in reported:
                    continue
                reported.add(entry)
                yield plan.finding(
                    entry,
                    f"this divides `{named[0]}`, which is one tensor with `{left[0]}`; the shards take its place under "
                    "that name only, the other one keeps the whole tensor, and the two drift apart in training",
                    help=f"divide `{left[0]}` as well where that can be done, and tie them again afterwards",
                )
