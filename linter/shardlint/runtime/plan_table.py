"""The table of a plan: what each axis divides, what a rank holds, and what the units take. From facts alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardlint.runtime.matchers import starred
from shardlint.runtime.plan import WrittenPlan
from shardlint.runtime.shares import Share, gib, total
from shardlint.runtime.units import Call

_ROWS = 6
"""The units and the whole tensors that are shown, the largest first."""

FORMULA = "bfloat16 2+2+12 bytes (weight + gradient + two moments and a master copy in 32 bits), float32 4+4+8"


def plan_table(plan: WrittenPlan) -> str:
    """The table as text, a few lines for a model of any size.

    Bytes are those of the fullest rank: chunks are rounded up, as torch makes them, and activations are left out.
    """
    shares = plan.layout.shares
    parts = [_head(plan, shares), _axes(plan, shares), _rank(plan, shares), _units(plan)]
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(plan: WrittenPlan, shares: Sequence[Share]) -> list[str]:
    mesh = plan.layout.mesh
    world = f", {mesh.world} ranks" if mesh.world is not None else ""
    count = sum(share.count for share in shares)
    return [f"model  {_number(count)} parameters in {len(shares)} tensors; mesh {mesh.written() or 'not known'}{world}"]


def _axes(plan: WrittenPlan, shares: Sequence[Share]) -> list[str]:
    """A line for each axis that entries name, and one for FSDP: tensors and bytes that it divides, and the rest."""
    axes = dict.fromkeys((*(entry.axis for entry in plan.entries), *plan.layout.mesh.planned))
    rows = [
        _coverage(
            f"{axis}={plan.layout.mesh.get(axis, '?')}", [share for share in shares if axis in share.axes], shares
        )
        for axis in axes
    ]
    taken = [share for share in shares if share.fsdp is not None]
    if plan.units:
        ranks = sorted({share.fsdp for share in taken if share.fsdp is not None}, reverse=True)
        rows.append(_coverage(f"fsdp={'|'.join(map(str, ranks))}", taken, shares))
    whole = [share for share in shares if not share.axes and share.fsdp is None]
    rows += _largest(whole, plan.uncovered_ok, plan)
    return _columns([("axis", "divided", "", "left whole", ""), *rows])


def _coverage(name: str, divided: Sequence[Share], shares: Sequence[Share]) -> tuple[str, ...]:
    names = {share.parameter.name for share in divided}
    left = [share for share in shares if share.parameter.name not in names]
    return (name, f"{len(divided)} tensors", _bytes(divided), f"{len(left)} tensors", _bytes(left))


def _largest(whole: Iterable[Share], meant: Sequence[str], plan: WrittenPlan) -> list[tuple[str, ...]]:
    """The largest tensors that are whole on every rank; those that are so on purpose are left out."""
    found: dict[str, list[Share]] = {}
    for share in whole:
        if not any(plan.matcher.covers(pattern, share.parameter.name) for pattern in meant):
            found.setdefault(starred(share.parameter.name), []).append(share)
    if not plan.units:
        return []
    largest = sorted(found.items(), key=lambda item: -sum(share.whole for share in item[1]))[:_ROWS]
    return [
        ("  whole everywhere: " + name, "", "", f"{len(shares)} tensors", _bytes(shares)) for name, shares in largest
    ]


def _rank(plan: WrittenPlan, shares: Sequence[Share]) -> list[str]:
    mesh, stages = plan.layout.mesh, plan.layout.mesh.get("pp", 1)
    kinds = (
        ("parameters", sum(share.weights for share in shares)),
        ("gradients", sum(share.gradients for share in shares)),
        ("optimizer", sum(share.optimizer for share in shares)),
    )
    held = " + ".join(f"{name} {gib(size / stages)}" for name, size in kinds)
    needed = total(shares) / stages
    lines = [f"rank   {held} = {gib(needed)}", f"       {FORMULA}"]
    if stages > 1:
        lines.append(f"       an even split over {stages} pipeline stages is taken")
    if mesh.budget is not None:
        lines.append(f"       {needed / (mesh.budget * 2**30):.0%} of {mesh.budget:g} GiB, before activations")
    idle = [share for share in shares if share.idle]
    if idle:
        most = max(idle, key=lambda share: share.idle)
        name = most.parameter.name
        lines.append(f"       {len(idle)} tensors leave ranks empty: {most.idle} of {most.fsdp} hold none of `{name}`")
    unknown = {share.parameter.dtype for share in shares if not share.size}
    if unknown:
        lines.append(f"       not counted: tensors of {', '.join(sorted(unknown))}, whose size is not known")
    if plan.layout.units_missing:
        lines.append("       FSDP is not counted, for no units are given")
    return lines


def _units(plan: WrittenPlan) -> list[str]:
    if not plan.units:
        return ["units  none given"]
    shares = {share.parameter.name: share for share in plan.layout.shares}
    whole = sum(share.whole for share in shares.values()) or 1
    kinds: dict[str, list[list[Share]]] = {}
    for call, names in plan.layout.wrapping.taken.items():
        kinds.setdefault(_kind(call, plan), []).append([shares[name] for name in names])
    own = [share for name, share in shares.items() if plan.layout.has_own_fsdp(name)]
    if own:
        kinds["kept apart, sharded on their own"] = [own]
    ranked = sorted(kinds.items(), key=lambda item: -sum(share.whole for unit in item[1] for share in unit))
    rows: list[tuple[str, ...]] = [("units", "", "gathered at once", "of the model")]
    for kind, units in ranked[:_ROWS] + [item for item in ranked[_ROWS:] if item[0] == "root"]:
        size = sum(share.whole for unit in units for share in unit)
        largest = max(sum(share.gathered(plan.layout.mesh) for share in unit) for unit in units)
        gathered = "" if own and units == [own] else gib(largest)
        rows.append((f"  {kind}", str(len(units)) if kind != "root" else "1", gathered, f"{size / whole:.1%}"))
    return _columns(rows)


def _kind(call: Call, plan: WrittenPlan) -> str:
    if call.is_root:
        return "root"
    first = plan.model.modules[call.modules[0]]
    return first.class_name or starred(first.name)


def _bytes(shares: Iterable[Share]) -> str:
    return gib(sum(share.whole for share in shares))


def _number(count: int) -> str:
    for size, unit in ((10**9, "B"), (10**6, "M")):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return str(count)


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    first, *others = widths
    return [
        "  ".join(
            (row[0].ljust(first), *(cell.rjust(width) for cell, width in zip(row[1:], others, strict=True)))
        ).rstrip()
        for row in rows
    ]
