"""`shardlint plan`: targets, what is judged, what is printed, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from shardlint.errors import ModelRaised
from shardlint.runtime.collected import AppliedParameter, AppliedUnit, Collected, ReadPlan, Wrap
from shardlint.runtime.facts_file import write_facts
from shardlint.runtime.facts_text import parse_facts
from shardlint.runtime.plan import Entry
from shardlint.runtime.target import Target

from ..conftest import Lint

MODEL = """
    layers.{0..3}.wq.weight  [512, 512]  fp32
    layers.{0..3}.w2.weight  [512, 2048]  fp32
    module layers.{0..3} Block
    module layers.{0..3}.wq Linear
    module layers.{0..3}.w2 Linear
"""
PLAN = 'PLAN = {\n    "layers.*.wq": ColwiseParallel(),\n    "layers.*.w22": RowwiseParallel(),\n}\n'
SETTINGS = """
[tool.shardlint]
[[tool.shardlint.plan]]
name = "dense"
model = "train.model:build"
plan = "plan:PLAN"
mesh = {tp = 4}
"""


def collected(*patterns: str, **more: Any) -> Collected:
    entries = tuple(Entry(one, how, "tp", 2 + at, 6, "plan.py") for at, (one, how) in enumerate(_styled(patterns)))
    return Collected(parse_facts(MODEL), ReadPlan("torch", entries, **more))


def _styled(patterns: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(one, "RowwiseParallel" if "w2" in one else "ColwiseParallel") for one in patterns]


@pytest.fixture
def learnt(monkeypatch: pytest.MonkeyPatch) -> dict[str, Collected | Exception]:
    """What the child tells of each target, by name: no process is started."""
    known: dict[str, Collected | Exception] = {}

    def learn(target: Target, root: str, environ: Mapping[str, str], **options: object) -> Collected:
        del root, environ, options
        found = known[target.name]
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr("shardlint.commands.plan.learn", learn)
    return known


def test_a_project_without_targets_gets_a_table_to_paste(lint: Lint) -> None:
    lint.project.write("pkg/__init__.py", "")
    lint.project.write("pkg/model.py", "def build_model(layers=2):\n    return Net(layers)\n")
    lint.project.write("pkg/other.py", "def build_model(config):\n    return Net(config)\n")
    lint.project.write("pkg/plan.py", "TP_PLAN = {}\n")
    lint.project.write("configs/moe/config.json", '{"model_type": "qwen3_moe"}')
    answer = lint("plan")
    assert answer.code == 0
    assert 'model = "pkg.model:build_model"\nplan = "pkg.plan:TP_PLAN"\n' in answer.out
    assert 'model = {hf-config = "configs/moe/config.json"}' in answer.out
    assert "pkg.other" not in answer.out


def test_a_dead_pattern_is_reported_at_its_line(lint: Lint, learnt: dict[str, Collected | Exception]) -> None:
    lint.project.write("pyproject.toml", SETTINGS)
    lint.project.write("plan.py", PLAN)
    learnt["dense"] = collected("layers.*.wq", "layers.*.w22")
    answer = lint("plan")
    assert answer.code == 1
    assert "plan.py:3:6  error  plan-rule-dead" in answer.out
    assert "mesh tp=4" in answer.out
    assert answer.out.endswith("1 target checked\n")
    assert answer.err.startswith("dense: running your code with ")


def test_a_comment_at_the_pattern_and_the_settings_hide_a_finding(
    lint: Lint, learnt: dict[str, Collected | Exception]
) -> None:
    lint.project.write("pyproject.toml", SETTINGS)
    lint.project.write("plan.py", PLAN.replace("RowwiseParallel(),", "0,  # shardlint: ignore[plan-rule-dead] later"))
    learnt["dense"] = collected("layers.*.wq", "layers.*.w22")
    assert lint("plan").code == 0
    lint.project.write("plan.py", PLAN)
    lint.project.write("pyproject.toml", SETTINGS + '[tool.shardlint.severity]\nplan-rule-dead = "note"\n')
    assert lint("plan").code == 0
    assert lint("plan", "--fail-on", "note").code == 1


def test_facts_from_a_file_run_nothing(lint: Lint, learnt: dict[str, Collected | Exception]) -> None:
    lint.project.write("pyproject.toml", SETTINGS)
    lint.project.write("plan.py", PLAN)
    learnt["dense"] = collected("layers.*.wq", "layers.*.w22")
    assert lint("plan", "dense", "--facts-out", "facts.json").code == 1
    learnt.clear()
    answer = lint("plan", "dense", "--facts-in", "facts.json", "--output-format", "json")
    assert (answer.code, answer.err) == (1, "")
    assert [(one["rule"], one["path"], one["line"]) for one in json.loads(answer.out)] == [
        ("plan-rule-dead", "plan.py", 3)
    ]


def test_a_target_that_fails_is_one_sentence_and_the_others_are_judged(
    lint: Lint, learnt: dict[str, Collected | Exception]
) -> None:
    second = SETTINGS.replace("[tool.shardlint]\n", "").replace('"dense"', '"broken"')
    lint.project.write("pyproject.toml", SETTINGS + second)
    learnt["dense"] = collected("layers.*.wq", "layers.*.w2")
    learnt["broken"] = ModelRaised("`train.model:build` raised while building it: KeyError: 'x'", "build", ("m.py:3",))
    answer = lint("plan")
    assert answer.code == 2
    assert "shardlint: `train.model:build` raised while building it: KeyError: 'x'\n  m.py:3\n" in answer.err
    assert "no findings. 1 target checked" in answer.out


def test_a_wrapper_of_the_settings_is_judged_too(lint: Lint, learnt: dict[str, Collected | Exception]) -> None:
    lint.project.write("pyproject.toml", SETTINGS + 'wrappers = ["base_model.model."]\n')
    lint.project.write("plan.py", PLAN.replace("w22", "w2"))
    learnt["dense"] = collected("layers.*.wq", "layers.*.w2")
    answer = lint("plan", "--output-format", "concise")
    assert answer.code == 1
    assert "plan-rule-prefix" in answer.out


def test_what_a_function_applied_is_counted_and_not_judged_by_patterns(
    lint: Lint, learnt: dict[str, Collected | Exception]
) -> None:
    lint.project.write("pyproject.toml", SETTINGS.replace("{tp = 4}", "{tp = 4, ep = 2}"))
    applied = (AppliedParameter("layers.0.wq.weight", (512, 512), {"tp": "Shard(0)"}, (128, 512)),)
    units = (AppliedUnit("layers.0", "Block", ("layers.0.wq.weight",)),)
    learnt["dense"] = Collected(parse_facts(MODEL), ReadPlan(applied=applied, units=units))
    answer = lint("plan")
    assert "tp=4    1 tensors" in answer.out
    assert [line.split()[-1] for line in answer.out.splitlines() if line.startswith("pyproject.toml:")] == [
        "plan-mesh-unused"
    ]
    assert "pyproject.toml:4:1" in answer.out


def test_units_that_were_read_are_in_the_table(lint: Lint, learnt: dict[str, Collected | Exception]) -> None:
    lint.project.write("pyproject.toml", SETTINGS)
    learnt["dense"] = collected("layers.*.wq", "layers.*.w2", wraps=(Wrap("Block", "plan.py", 1, 1, True),))
    assert "  Block  4 " in lint("plan").out


def test_only_targets_of_changed_files_are_judged(
    lint: Lint, learnt: dict[str, Collected | Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    lint.project.write("pyproject.toml", SETTINGS)
    learnt["dense"] = collected("layers.*.wq", "layers.*.w2")
    known: list[frozenset[str] | None] = [None]

    def known_files(request: object, **more: object) -> frozenset[str] | None:
        del request, more
        return known[0]

    monkeypatch.setattr("shardlint.runtime.learning.known_files", known_files)
    assert "1 target checked" in lint("plan", "--changed", "other.py").out
    known[0] = frozenset((str(lint.project.root / "train.py"),))
    assert "0 targets checked" in lint("plan", "--changed", "other.py").out
    assert "1 target checked" in lint("plan", "--changed", "other.py", "train.py").out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nothing",), "the settings have no plan target `nothing`; those that they have: `dense`"),
        (("--plan", "a:B"), "`--plan` goes with a `package.module:factory`"),
        (("a:b", "c:d"), "name one `package.module:factory`"),
        (("dense", "--mesh", "tp"), "`tp` is no axis with a size"),
        (("dense", "--world", "0"), "`--world` takes a number above 0"),
        (("dense", "--facts-in", "none.json"), "none.json is no file"),
    ],
)
def test_what_cannot_be_asked_is_said(lint: Lint, arguments: tuple[str, ...], sentence: str) -> None:
    lint.project.write("pyproject.toml", SETTINGS)
    answer = lint("plan", *arguments)
    assert answer.code == 2
    assert sentence in answer.err


def test_nothing_is_called_healthy_when_no_rule_is_on(lint: Lint, learnt: dict[str, Collected | Exception]) -> None:
    lint.project.write(
        "pyproject.toml", SETTINGS.replace("[tool.shardlint]\n", '[tool.shardlint]\nselect = ["data"]\n')
    )
    learnt["dense"] = collected("layers.*.wq")
    answer = lint("plan")
    assert answer.code == 2
    assert "no plan rule is on" in answer.err


def test_a_checkpoint_is_compared_with_the_model_of_a_target(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    lint.project.write("pyproject.toml", SETTINGS)
    asked: list[str] = []

    def learn(target: Target, root: str, environ: Mapping[str, str]) -> Collected:
        del root, environ
        asked.append(target.name)
        return collected()

    monkeypatch.setattr("shardlint.commands.checkpoint.learn", learn)
    (lint.project.root / "saved").mkdir()
    assert "saved" in lint("checkpoint", "saved", "--target", "dense").err
    assert asked == ["dense"]


def test_facts_alone_need_no_target(lint: Lint) -> None:
    write_facts(collected("layers.*.wq", "layers.*.w22"), str(lint.project.root / "facts.json"))
    lint.project.write("plan.py", PLAN)
    answer = lint("plan", "--facts-in", "facts.json", "--mesh", "tp=4", "--output-format", "concise")
    assert answer.code == 1
    assert "plan.py:3:6: error plan-rule-dead" in answer.out
