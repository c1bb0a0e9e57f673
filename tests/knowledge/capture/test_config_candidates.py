"""What is proposed for a changed config: the relation that the fix put right, before the bare value."""

from __future__ import annotations

from typing import Any

import pytest

from shardlint.knowledge.capture.config_candidates import config_candidates

FIXES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (
        {"train": {"batch": 12, "micro": 5}},
        {"train": {"batch": 10, "micro": 5}},
        {"require": "train.batch % train.micro == 0", "at": "train.batch"},
    ),
    (
        {"heads": 14, "tp": 4},
        {"heads": 14, "tp": 2},
        {"require": "heads % tp == 0", "at": "tp"},
    ),
    (
        {"batch": 8, "micro": 2, "dp": 8},
        {"batch": 32, "micro": 2, "dp": 8},
        {"require": "batch % (micro * dp) == 0", "at": "batch"},
    ),
    (
        {"max_length": 8192, "limit": 4096},
        {"max_length": 4000, "limit": 4096},
        {"require": "max_length <= limit", "at": "max_length"},
    ),
    (
        {"init_device": "cpu", "fsdp": {"mode": "fsdp2"}},
        {"init_device": "meta", "fsdp": {"mode": "fsdp2"}},
        {"when": "fsdp.mode == 'fsdp2'", "require": "init_device != 'cpu'", "at": "init_device"},
    ),
    ({"fp16": True, "bf16": True}, {"bf16": True}, {"kind": "exclusive", "keys": ["bf16", "fp16"]}),
    (
        {"a": {"offload": True}},
        {"a": {"offload_all": True}},
        {"kind": "renamed", "from": "a.offload", "to": "a.offload_all"},
    ),
    (
        {"packing": True},
        {"packing": True, "position_ids": True},
        {
            "when": "default('packing', false)",
            "require": "exists(position_ids) and position_ids == True",
            "at": "packing",
        },
    ),
    ({"lr": "1e-5"}, {"lr": 1e-05}, {"require": "lr != '1e-5'", "at": "lr"}),
]


@pytest.mark.parametrize(("bad", "good", "check"), FIXES)
def test_the_first_candidate(bad: dict[str, Any], good: dict[str, Any], check: dict[str, Any]) -> None:
    found = config_candidates(bad, good, ("*.yaml",))

    assert found[0].kind == "config"
    assert found[0].check == {"files": ["*.yaml"], **check}


def test_configs_that_say_the_same_give_nothing() -> None:
    assert config_candidates({"a": [1]}, {"a": [1]}, ("*.yaml",)) == []
