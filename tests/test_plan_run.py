"""Plan rules over a plan in the text forms."""

from __future__ import annotations

import pytest

from shardlint.errors import PlanError
from shardlint.finding import Evidence
from shardlint.plan_run import judge_plan_text
from shardlint.rule import Findings, PlanRule
from shardlint.runtime.plan import Plan
from shardlint.voice import Voice


class Names(PlanRule):
    """A rule that reports every entry, the last one first."""

    def judge(self, plan: Plan) -> Findings:
        for entry in reversed(plan.entries):
            yield plan.finding(entry, f"{entry.pattern} x {len(plan.matches(entry))}", help="")


RULE = Names(Voice("names", "plan", "note", Evidence("observation"), 0.9))


def test_findings_are_sorted_and_lie_in_the_plan() -> None:
    findings = judge_plan_text(
        RULE, "layers.{0..3}.w [8] bf16", "matcher: veomni\nlayers.*: Shard(0)\n*.b: Shard(0)", ""
    )
    assert [(f.path, f.span.line, f.message) for f in findings] == [("plan", 2, "layers.* x 4"), ("plan", 3, "*.b x 0")]


@pytest.mark.parametrize(
    ("model", "plan", "mesh"), [("w", "matcher: hf", ""), ("", "w: x", ""), ("", "matcher: hf", "tp")]
)
def test_a_text_that_cannot_be_read_is_refused(model: str, plan: str, mesh: str) -> None:
    with pytest.raises(PlanError, match=r"^line 1: "):
        judge_plan_text(RULE, model, plan, mesh)
