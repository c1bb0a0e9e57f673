"""Proof of yaml-float-is-string: what PyYAML makes of the rule's own examples, and what an optimizer says to it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from .conftest import bad, good
from .ranks import Ranks

pytestmark = pytest.mark.proves("yaml-float-is-string")


def test_a_number_without_a_dot_or_a_sign_in_its_exponent_is_text() -> None:
    train: Any = yaml.safe_load(bad("yaml-float-is-string").files["configs/sft.yaml"])["train"]
    assert (train["optimizer"], train["max_steps"]) == ({"lr": "1e-5", "betas": [0.9, "95e-2"]}, "1e5")


def test_what_the_fix_writes_is_a_number() -> None:
    fixed: Any = yaml.safe_load(bad("yaml-float-is-string").fixed or "")
    assert fixed["train"]["optimizer"] == {"lr": 1e-5, "betas": [0.9, 0.95]}


def test_a_number_with_both_is_a_number() -> None:
    train: Any = yaml.safe_load(good("yaml-float-is-string").files["configs/sft.yaml"])["train"]
    assert train == {"lr": 1e-5, "eps": 1e-8, "warmup_ratio": 0.03, "min_lr": 1e-6}


def test_the_optimizer_cannot_compare_the_text_and_takes_the_number(ranks: Ranks) -> None:
    example = bad("yaml-float-is-string", 1)
    driver = "build(torch.nn.Linear(1, 1), {text!r}).defaults['lr']"
    config = example.files["sft.yaml"]
    answers = ranks.run(driver.format(text=config), example)
    error = "TypeError: '<=' not supported between instances of 'float' and 'str'"
    assert [answer.error for answer in answers] == [error] * 2
    assert ranks.values(driver.format(text=config.replace("2e-5", "2.0e-5")), example) == [2e-5] * 2
