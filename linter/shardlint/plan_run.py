"""The plan rules over a plan, the checkpoint rules over a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable

from shardlint.finding import Finding
from shardlint.rule import CheckpointRule, PlanRule, Rule
from shardlint.runtime.checkpoint.checkpoint_text import parse_checkpoint
from shardlint.runtime.checkpoint.comparison import Comparison
from shardlint.runtime.checkpoint.subject import Checkpoint
from shardlint.runtime.facts_text import parse_facts
from shardlint.runtime.plan import Plan, WrittenPlan
from shardlint.runtime.plan_text import parse_mesh, parse_plan

EXAMPLE_PATH = "plan"
"""How findings name the plan of an example."""

EXAMPLE_CHECKPOINT = "checkpoint"
"""How findings name the checkpoint of an example."""


def judge_plan(rules: Iterable[PlanRule], written: WrittenPlan) -> list[Finding]:
    """The findings of rules on one plan, sorted."""
    return sorted(finding for rule in rules for finding in rule.judge(Plan(written, rule.voice)))


def judge_plan_text(rule: Rule, model: str, plan: str, mesh: str) -> list[Finding]:
    """The findings of one plan rule on an example, given in the text forms of `facts_text` and `plan_text`.

    Raises PlanError when one of the texts cannot be read.
    """
    assert isinstance(rule, PlanRule)
    return judge_plan([rule], parse_plan(plan, parse_facts(model), parse_mesh(mesh), EXAMPLE_PATH))


def judge_checkpoint(rules: Iterable[CheckpointRule], compared: Comparison, *, resumes: bool = False) -> list[Finding]:
    """The findings of rules on one checkpoint, sorted."""
    return sorted(
        finding for rule in rules for finding in rule.judge(Checkpoint(compared, rule.voice, resumes=resumes))
    )


def judge_checkpoint_text(rule: Rule, model: str, checkpoint: str) -> list[Finding]:
    """The findings of one checkpoint rule on an example, given in text forms.

    Raises PlanError or CheckpointError when one of the texts cannot be read.
    """
    assert isinstance(rule, CheckpointRule)
    return judge_checkpoint([rule], Comparison(parse_checkpoint(checkpoint, EXAMPLE_CHECKPOINT), parse_facts(model)))
