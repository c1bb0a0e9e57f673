"""One prefix explains dead patterns, or none does."""

from __future__ import annotations

import pytest

from shardlint.finding import Evidence
from shardlint.runtime.facts_text import parse_facts
from shardlint.runtime.plan import Plan
from shardlint.runtime.plan_text import parse_plan
from shardlint.voice import Voice

VOICE = Voice("some-rule", "plan", "error", Evidence("observation"), 0.9)
NAMES = ("layers.*.attn.q", "layers.*.attn.o", "layers.*.mlp.up")
MODEL = "".join(f"{{P}}layers.{{0..1}}.{name.partition('*.')[2]}.weight [8, 8] bf16\n" for name in NAMES)


def plan_of(prefix: str, *patterns: str, matcher: str = "torch") -> Plan:
    """A plan for a model whose names begin with a prefix."""
    text = "\n".join((f"matcher: {matcher}", *(f"{pattern}: colwise" for pattern in patterns)))
    return Plan(parse_plan(text, parse_facts(MODEL.replace("{P}", prefix)), {}, "plan"), VOICE)


@pytest.mark.parametrize(
    ("prefix", "written", "change"),
    [
        ("model.", "", ("", "model")),
        ("", "model.", ("model", "")),
        ("base_model.model.model.", "model.", ("", "base_model.model")),
        ("model.language_model.", "model.", ("model", "model.language_model")),
        ("_orig_mod.", "module.", ("module", "_orig_mod")),
    ],
)
def test_a_prefix_is_found(prefix: str, written: str, change: tuple[str, str]) -> None:
    cause = plan_of(prefix, *(written + name for name in NAMES)).prefix_cause
    assert cause is not None
    assert (cause.written, cause.meant) == change
    assert [pattern for _entry, pattern in cause.patterns] == [prefix + name for name in NAMES]


@pytest.mark.parametrize(
    "patterns",
    [
        NAMES[:1],
        ("model.layers.*.attn.q", "model.layers.*.attn.k", "model.layers.*.attn.v"),
        (*NAMES[:2], "module.layers.*.mlp.up"),
        (*NAMES[:2], *(f"model.{name}" for name in NAMES[:2])),
    ],
    ids=["a single pattern", "a living one beside it", "two reasons", "a plan that was merged twice"],
)
def test_no_prefix_is_claimed(patterns: tuple[str, ...]) -> None:
    assert plan_of("model.", *patterns).prefix_cause is None


def test_patterns_for_another_variant_do_not_hide_a_prefix() -> None:
    cause = plan_of("model.", *NAMES, *(f"layers.*.dense.{at}" for at in "abcd")).prefix_cause
    assert cause is not None
    assert [entry.pattern for entry in cause.entries] == list(NAMES)


def test_of_two_towers_that_fit_alike_none_is_claimed() -> None:
    model = MODEL.replace("{P}", "left.") + MODEL.replace("{P}", "right.")
    text = "\n".join(("matcher: hf", *(f"{name}: colwise" for name in NAMES)))
    assert Plan(parse_plan(text, parse_facts(model), {}, "plan"), VOICE).prefix_cause is None
