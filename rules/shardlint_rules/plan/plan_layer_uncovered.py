"""The rule plan-layer-uncovered."""

from __future__ import annotations

import re

from shardlint.rule import Bad, Findings, Good, PlanEntries, PlanRule, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Entry, Plan

_MOE = """
    model.layers.{0..2}.mlp.up_proj.weight    [512, 64]     bf16
    model.layers.{3..15}.mlp.experts.up_proj  [8, 64, 64]   bf16
    model.layers.{0..15}.attn.wq.weight       [64, 64]      bf16
"""
_MIXED = """
    layers.{0..15}.attn.wq.weight  [64, 64]  bf16
    module layers.{0,2,4,6}.attn   LinearAttention
    module layers.{1,3,5}.attn     FullAttention
    module layers.{7..15}.attn     FullAttention
"""
_TEENS = """
    matcher: veomni
    model.layers.1*.mlp.experts.up_proj: Shard(0)  # error
"""
_LOOP = "matcher: torch\n" + "".join(f"model.layers.{at}.attn.wq: ColwiseParallel\n" for at in range(1, 15))
_DIGIT = "matcher: torch\nmodel.layers.?.attn.wq: ColwiseParallel  # error\n"
_FULL = "matcher: torch\n" + "".join(f"layers.{at}.attn.wq: ColwiseParallel\n" for at in (1, 3, 5, *range(7, 16)))
_FEW = "matcher: torch\nmodel.layers.0.attn.wq: ColwiseParallel\nmodel.layers.1.attn.wq: ColwiseParallel"
_PARTIAL = re.compile(r"(?:^|\.)(?:\d+[*?]|[*?]\d+|\?|\d*\[[^\].]*\])(?=\.|$)")


class PlanLayerUncovered(PlanRule):
    """Reports a pattern that reaches some layers and not others of the same kind.

    Why is this bad?
    `layers.1*` means layers 1 and 10 to 19; `range(1, n)` forgets the first one. The layers that are left out stay
    whole on every rank, so the memory is not what was computed, and where the parallel region begins or ends between
    two layers, activations have the wrong layout.

    Use instead
    `*` for the number of the layer, or a loop over all layers.

    Known limits
    Layers whose module or shape differs under the same name are another kind. Numbers written out count once they
    reach more than half of the layers: few are taken for a choice.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html")
    suspects = PlanEntries()
    symptoms = (r"CUDA out of memory", r"got mixed torch\.Tensor and DTensor")
    proof = ("test_plan_in_torch", "`layers.1*` divides three of twelve layers")
    bad = (
        Bad(model=_MOE, mesh="ep=8", plan=_TEENS),
        Bad(model=_MOE, plan=_LOOP.replace("14.attn.wq: ColwiseParallel", "14.attn.wq: ColwiseParallel  # error")),
        Bad(model=_MOE, mesh="tp=4", plan=_DIGIT),
    )
    good = (
        Good(model=_MOE, mesh="ep=8", plan="matcher: veomni\nmodel.layers.*.experts.up_proj: Shard(0)"),
        Good(model=_MIXED, plan=_FULL),
        Good(model=_MOE, plan=_FEW),
        Good(model=_MOE, plan=_DIGIT.replace("  # error", "") + "model.layers.1?.attn.wq: ColwiseParallel"),
        Good(model=_MOE, mesh="ep=1", plan=_TEENS.replace("  # error", "")),
    )

    def judge(self, plan: Plan) -> Findings:
        told: set[Entry] = set()
        for (axis, before, after), hits in _stacks(plan).items():
            entry = hits[max(hits)]
            named = plan.axis_matches(axis)
            kind = _kind(plan, before, max(hits), after)
            alike = [at for at in _numbers(plan, before) if _kind(plan, before, at, after) == kind]
            bare = [at for at in alike if _join(before, at, after) not in named]
            missing = [at for at in bare if not plan.is_excused(_join(before, at, after))]
            most = 2 * len(hits) > len(alike) or _PARTIAL.search(entry.pattern)
            if not missing or not most or entry in told:
                continue
            told.add(entry)
            lost = plan.parameters([_join(before, at, after) for at in missing])
            cost = plan.extra(lost, axis) if entry.shards else ""
            shown = ", ".join(map(str, missing[:6])) + (f" and {len(missing) - 6} more" if len(missing) > 6 else "")
            yield plan.finding(
                entry,
                f"the plan places `{_join(before, max(hits), after)}` and its like in {len(hits)} of {len(alike)} "
                f"layers of this kind; those of `{before}` {shown} stay whole{cost}",
                help="write `*` for the number of the layer, or add the layers that are missing",
            )


def _stacks(plan: Plan) -> dict[tuple[str, str, str], dict[int, Entry]]:
    """By axis, the path before a layer's number and the path after it: which layers are reached, and by which entry."""
    stacks: dict[tuple[str, str, str], dict[int, Entry]] = {}
    for entry in plan.entries:
        if plan.size(entry) == 1 or plan.matcher.name == "hf":
            continue
        for name in plan.matches(entry):
            segments = name.split(".")
            for at, segment in enumerate(segments):
                if segment.isdecimal():
                    stack = (entry.axis, ".".join(segments[:at]), ".".join(segments[at + 1 :]))
                    stacks.setdefault(stack, {})[int(segment)] = entry
    return stacks


def _numbers(plan: Plan, before: str) -> list[int]:
    names = (child.rpartition(".")[2] for child in plan.model.children(before))
    return sorted(int(name) for name in names if name.isdecimal())


def _join(before: str, number: int, after: str) -> str:
    return ".".join(part for part in (before, str(number), after) if part)


def _kind(plan: Plan, before: str, number: int, after: str) -> object:
    """What makes layers alike: the classes on the way to a name, and the shapes that it holds; None without it."""
    name, model = _join(before, number, after), plan.model
    if name not in model.parameters and name not in model.modules:
        return None
    steps = after.split(".") if after else []
    path = [_join(before, number, ".".join(steps[:depth])) for depth in range(len(steps) + 1)]
    classes = tuple(model.modules[step].class_name for step in path if step in model.modules)
    return classes, tuple((p.name.rpartition(".")[2], p.shape) for p in plan.parameters([name]))
