"""`shardlint rules`: the list, and the run of all examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardlint.registry import load_rows
from shardlint.selection import ENGINE_RULES

from ..conftest import Lint


def test_the_list_holds_every_rule_under_its_family(lint: Lint) -> None:
    answer = lint("rules")
    names = [line.split()[0] for line in answer.out.splitlines() if line.startswith("  ")]

    assert (answer.code, answer.err) == (0, "")
    assert sorted(names) == sorted([*(row["name"] for row in load_rows()[0]), *ENGINE_RULES])
    checkpoint = answer.out.index("checkpoint\n")
    assert "  rank-guarded-checkpoint  " in answer.out[checkpoint : answer.out.index("\n\n", checkpoint)]


def test_the_list_says_what_can_be_fixed(lint: Lint) -> None:
    (line,) = [line for line in lint("rules").out.splitlines() if line.startswith("  yaml-float-is-string ")]

    assert line.split()[1:3] == ["error", "config"]
    assert line.endswith(" [safe fix]")


def test_the_list_as_json_has_every_field(lint: Lint) -> None:
    rules = {rule["name"]: rule for rule in json.loads(lint("rules", "--output-format", "json").out)}

    rule = rules["yaml-float-is-string"]
    assert (rule["family"], rule["severity"], rule["kind"], rule["fixable"]) == ("config", "error", "config", "safe")
    assert rule["summary"].startswith("Reports a number in scientific notation")
    assert rule["pack"] == "builtin"
    assert rules["syntax-error"]["pack"] is None
    assert rules["rank-guarded-checkpoint"]["fixable"] is None
    assert rule["proof"]["proved"] is True
    assert rule["proof"]["how"].endswith(" (test_yaml_float_is_string.py)")
    assert rules["global-rank-as-device"]["proof"] == {"proved": False, "how": "it needs a second machine with GPUs"}
    assert rules["syntax-error"]["proof"] is None


def test_broken_settings_do_not_stop_the_list(lint: Lint) -> None:
    lint.project.write("pyproject.toml", "[tool.shardlint]\nno-such-key = 1\n")

    assert lint("rules").code == 0


@pytest.mark.parametrize("folder", ["missing", "plain"])
def test_a_folder_that_is_no_pack_is_refused(lint: Lint, folder: str) -> None:
    (lint.project.root / "plain").mkdir()

    answer = lint("rules", "test", folder)

    assert (answer.code, answer.out) == (2, "")
    assert folder in answer.err


def test_a_folder_called_like_another_package_is_refused(lint: Lint) -> None:
    lint.project.write("json/__init__.py", "")

    answer = lint("rules", "test", "json")

    assert answer.code == 2
    assert "another package called `json` is installed" in answer.err


def test_a_rule_that_crashes_on_its_example_is_named(lint: Lint, pack: Path) -> None:
    (pack / "probe_rules" / "probe" / "probe_load.py").unlink()
    (pack / "probe_rules").rename(pack / "crash_rules")

    answer = lint("rules", "test", str(pack / "crash_rules"))

    assert answer.code == 1
    assert answer.out.splitlines() == [
        "probe-crash, bad example 1: `probe-crash` failed on example.py: ValueError: broken rule",
        "1 rule, 2 examples: 1 fails",
    ]
