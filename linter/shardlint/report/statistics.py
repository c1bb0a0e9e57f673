"""The table of `--statistics`: how many findings each rule has."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardlint.finding import Finding


def render_statistics(findings: Iterable[Finding]) -> str:
    """One row a rule: count, severity, name and how many of them `--fix` can mend; the most frequent rule first."""
    counts: dict[tuple[str, str], list[int]] = {}
    for finding in findings:
        count = counts.setdefault((finding.rule, finding.severity), [0, 0])
        count[0] += 1
        count[1] += finding.fix is not None and finding.fix.safe
    ordered = sorted(counts.items(), key=lambda item: (-item[1][0], item[0]))
    digits = len(str(ordered[0][1][0])) if ordered else 0
    return "".join(
        [
            f"{count:>{digits}}  {severity:<7}  {rule}{_mark(count, fixable)}\n"
            for (rule, severity), (count, fixable) in ordered
        ]
    )


def _mark(count: int, fixable: int) -> str:
    if not fixable:
        return ""
    return "  (fixable)" if fixable == count else f"  ({fixable} fixable)"
