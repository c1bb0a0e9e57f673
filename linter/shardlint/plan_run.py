"""The plan rules over a plan."""

from __future__ import annotations

from collections.abc import Iterable

from shardlint.finding import Finding
from shardlint.rule import PlanRule, Rule
from shardlint.runtime.facts_text import parse_facts
from shardlint.runtime.plan import Plan, WrittenPlan
from shardlint.runtime.plan_text import parse_mesh, parse_plan

EXAMPLE_PATH = "plan"
"""How findings name the plan of an example."""


def judge_plan(rules: Iterable[PlanRule], written: WrittenPlan) -> list[Finding]:
    """The findings of rules on one plan, sorted."""
    return sorted(finding for rule in rules for finding in rule.judge(Plan(written, rule.voice)))


def judge_plan_text(rule: Rule, model: str, plan: str, mesh: str) -> list[Finding]:
    """The findings of one plan rule on an example, given in the text forms of `facts_text` and `plan_text`.

    Raises PlanError when one of the texts cannot be read.
    """
    assert isinstance(rule, PlanRule)
    return judge_plan([rule], parse_plan(plan, parse_facts(model), parse_mesh(mesh), EXAMPLE_PATH))
