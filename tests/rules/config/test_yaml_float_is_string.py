"""More cases of yaml-float-is-string."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example
from shardlint.finding import Finding

RULE = "yaml-float-is-string"
CONVERTED = {
    "torchtune": "optimizer:\n  _component_: torch.optim.AdamW\n  lr: 2e-5",
    "lightning": "optimizer:\n  class_path: torch.optim.AdamW\n  init_args: {lr: 1e-4}",
    "axolotl": "base_model: some/model\nlearning_rate: 2e-5",
    "yacs": "SOLVER:\n  BASE_LR: 1e-4",
    "yaml-1.2": "%YAML 1.2\n---\nlr: 1e-4",
    "hyperpyyaml": "model: !new:torch.nn.Linear\nlr: 1e-4",
    "hyperpyyaml-reference": "rate: !ref <lr>\nlr: 1e-4",
    "template": "name: '{{ name }}'\nlr: 1e-4",
    "mandatory-value-of-omegaconf": "name: ???\nlr: 1e-4",
}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("rope_theta: 1.0e6  # error", "rope_theta: 1.0e+6  # error"),
        ("min_lr: 3.E4  # error", "min_lr: 3.0E+4  # error"),
        ("clip-grad-norm: -.5e-1  # error", "clip-grad-norm: -0.5e-1  # error"),
        ("max_steps: 1e5  # error", "max_steps: 1e5  # error"),
        ("max_tokens: 1e999  # error", "max_tokens: 1.0e+999  # error"),
    ],
)
def test_the_fix_writes_dot_and_sign_and_leaves_counts(
    problems: Callable[[str, Example], list[str]], before: str, after: str
) -> None:
    assert problems(RULE, Example(before, path="model.yml", fixed=after)) == []


@pytest.mark.parametrize("text", CONVERTED.values(), ids=CONVERTED.keys())
def test_a_file_of_a_reader_that_converts_is_not_judged(
    problems: Callable[[str, Example], list[str]], text: str
) -> None:
    assert problems(RULE, Example(text, path="run.yaml")) == []


def test_where_the_reader_is_unknown_nothing_is_shown_by_default(
    findings: Callable[[str, Example], list[Finding]],
) -> None:
    (found,) = findings(RULE, Example("lr: 1e-5", path="run.yaml"))
    assert found.confidence < 0.5
