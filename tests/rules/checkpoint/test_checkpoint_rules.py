"""More cases for the rules about a checkpoint and a model than their pages have room for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Bad, Example, Good
from shardlint.finding import Finding

Findings = Callable[[str, Example], list[Finding]]

NET = "embed.weight [100, 16] bf16\nlayers.{0..3}.up.weight [32, 16] bf16"
RULES = [f"checkpoint-{name}" for name in ("dtype", "key-missing", "key-unexpected", "optimizer-missing", "shape")]


def saved(text: str, form: str = "dcp") -> str:
    return f"format: {form}\n{text}"


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", ["dcp", "safetensors"])
def test_the_state_of_the_model_itself_is_healthy(findings: Findings, rule: str, form: str) -> None:
    assert findings(rule, Good(model=NET, checkpoint=saved(NET, form))) == []


def test_another_model_is_one_finding_of_one_rule(findings: Findings) -> None:
    example = Bad(model=NET, checkpoint=saved("other.weight [3] bf16\nobject step"))
    assert {rule: len(findings(rule, example)) for rule in RULES if findings(rule, example)} == {
        "checkpoint-key-missing": 1
    }


def test_a_prefix_and_a_missing_layer_are_two_findings(findings: Findings) -> None:
    text = "module.embed.weight [100, 16] bf16\nmodule.layers.{0..2}.up.weight [32, 16] bf16"
    first, second = findings("checkpoint-key-missing", Bad(model=NET, checkpoint=saved(text)))
    assert "4 keys of the checkpoint have `module.` before them" in first.message
    assert "`layers` has 4 entries in the model and 3 in the checkpoint: 1 tensor of 3" in second.message
    assert findings("checkpoint-key-unexpected", Bad(model=NET, checkpoint=saved(text))) == []


def test_a_transposed_weight_is_called_transposed(findings: Findings) -> None:
    (found,) = findings("checkpoint-shape", Bad(model=NET, checkpoint=saved(NET.replace("[32, 16]", "[16, 32]"))))
    assert "[16, 32], transposed in the checkpoint, and [32, 16] in the model (4 keys" in found.message


def test_master_weights_in_16_bits_are_one_finding_for_all_patterns(findings: Findings) -> None:
    example = Bad(model=NET.replace("bf16", "fp32"), checkpoint=saved(NET + "\nobject lr_scheduler/last_epoch"))
    (found,) = findings("checkpoint-dtype", example)
    assert "`embed.weight` and 1 other pattern in bfloat16 in the checkpoint, float32 in the model" in found.message


def test_the_state_of_an_optimizer_under_the_prefix_of_the_model_counts(findings: Findings) -> None:
    text = "module.embed.weight [100, 16] bf16\nmodule.layers.{0..3}.up.weight [32, 16] bf16\n"
    text += (
        "optim/state/module.embed.weight/exp_avg [1] fp32\noptim/state/module.layers.{0..3}.up.weight/exp_avg [1] fp32"
    )
    text = text.replace("module.embed.weight [", "model/module.embed.weight [").replace(
        "\nmodule.l", "\nmodel/module.l"
    )
    assert findings("checkpoint-optimizer-missing", Good(model=NET, checkpoint=saved(text))) == []
    assert len(findings("checkpoint-key-missing", Bad(model=NET, checkpoint=saved(text)))) == 1
