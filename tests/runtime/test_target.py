"""Targets of `shardlint plan`, from the settings and the command line."""

from __future__ import annotations

from typing import Any

import pytest

from shardlint.errors import PlanError, UsageError
from shardlint.runtime.target import Target, from_settings, is_object, named_target, parse_mesh


def target(**table: Any) -> Target:
    return from_settings({"name": "moe", "model": "train.model:build", **table})


@pytest.mark.parametrize(
    ("model", "request_"),
    [
        ("train.model:build", {"factory": "train.model:build"}),
        ("configs/moe", {"hf": "configs/moe"}),
        ({"factory": "m:f", "kwargs": {"n": 2}}, {"factory": "m:f", "kwargs": {"n": 2}}),
        ({"hf-config": "c.json"}, {"hf": "c.json", "overrides": {}}),
        ({"model-type": "llama", "overrides": {"a": 1}}, {"hf": {"model_type": "llama", "a": 1}}),
        ({"veomni": "c", "overrides": {"a": 1}}, {"veomni": "c", "overrides": {"a": 1}}),
    ],
)
def test_every_form_of_a_model(model: object, request_: dict[str, Any]) -> None:
    assert target(model=model).model == request_


@pytest.mark.parametrize(
    ("plan", "request_"),
    [
        (None, None),
        ("veomni", {"kind": "veomni"}),
        ("hf-tp", {"kind": "hf", "axis": "tp"}),
        ("hf-ep", {"kind": "hf", "axis": "ep"}),
        ("train.plan:PLAN", {"kind": "torch", "target": "train.plan:PLAN", "axis": "tp"}),
        ({"from": "train.plan:PLAN", "axis": "ep"}, {"kind": "torch", "target": "train.plan:PLAN", "axis": "ep"}),
        ({"apply": "train.plan:apply"}, {"kind": "apply", "target": "train.plan:apply", "mesh": {"ep": 4}}),
    ],
)
def test_every_form_of_a_plan(plan: object, request_: dict[str, Any] | None) -> None:
    assert target(plan=plan, mesh={"ep": 4}).plan == request_


def test_the_rest_is_kept() -> None:
    fsdp = {"wrap": ["Block"], "dim": {"experts": 1}, "ignore": ["*.experts"]}
    made = target(mesh={"ep": 4}, world=8, fsdp=fsdp, wrappers=["p."], expect={"uncovered-ok": ["*.w"]}, python="py")
    assert (made.mesh, made.world, made.wrap, made.dims) == ({"ep": 4}, 8, ("Block",), {"experts": 1})
    assert (made.ignored, made.wrappers, made.uncovered_ok, made.python) == (("*.experts",), ("p.",), ("*.w",), "py")


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"model": {"kwargs": {}}}, "the model of the plan target `moe` needs one of .*; it has none"),
        ({"model": {"veomni": "a", "hf-config": "b"}}, "it has `hf-config` and `veomni`"),
        ({"model": {"factory": "build"}}, "the factory of the plan target `moe` is `build`: write it as"),
        ({"plan": "plan.py"}, "the plan of the target `moe` is `plan.py`: write `package.module:PLAN`, or one of"),
        ({"plan": {"axis": "tp"}}, "needs `from` or `apply`"),
        ({"plan": {"from": "a", "apply": "b:c"}}, "needs `from` or `apply`"),
    ],
)
def test_what_makes_no_sense_is_said(table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError, match=sentence):
        target(**table)


def test_a_target_is_found_by_its_name() -> None:
    assert named_target([target()], "moe").name == "moe"
    with pytest.raises(PlanError, match="no plan target `dense`; those that they have: `moe`"):
        named_target([target()], "dense")


def test_a_mesh_on_the_command_line() -> None:
    assert parse_mesh("ep=16, fsdp=8") == {"ep": 16, "fsdp": 8}
    for wrong in ("tp", "tp=0", "tp=x", "tp=2,tp=4"):
        with pytest.raises(UsageError):
            parse_mesh(wrong)


def test_an_object_of_a_module_is_told_from_a_path() -> None:
    assert is_object("a.b:C.d")
    assert not any(map(is_object, ("a.b", "C:\\models", "configs/a.json", "a:b/c", "1:2")))
