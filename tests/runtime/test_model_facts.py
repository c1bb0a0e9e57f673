"""Model facts keep what they are given, through text and through JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from shardlint.errors import PlanError
from shardlint.runtime.model_facts import BYTES, Buffer, ModelFacts, Module, Parameter, Setting, schema

NAMES = st.lists(st.sampled_from(["a", "b", "layers", "0", "1", "weight"]), min_size=1, max_size=4).map(".".join)
SHAPES = st.lists(st.integers(0, 2**40), max_size=3).map(tuple)
SETTINGS: list[Setting] = [None, True, 3, 0.5, "silu", [8, 4]]
DTYPES = st.sampled_from([*BYTES, "float4_e2m1fn_x2"])


@st.composite
def facts(draw: st.DrawFn) -> ModelFacts:
    """Any facts, with ties between parameters and modules that are shared."""
    names = draw(st.lists(NAMES, unique=True, max_size=6))
    parameters: list[Parameter] = []
    for name in names:
        firsts = [p.name for p in parameters if p.tied_to is None]
        tied = draw(st.sampled_from([None, *firsts]))
        parameters.append(Parameter(name, draw(SHAPES), draw(DTYPES), draw(st.booleans()), tied))
    modules: list[Module] = []
    for name in draw(st.lists(NAMES, unique=True, max_size=4)):
        first = draw(st.sampled_from([None, *(m.name for m in modules)]))
        modules.append(Module(name, draw(st.sampled_from(["", "Block"])), first, draw(st.booleans())))
    buffers = [
        Buffer(name, draw(SHAPES), draw(DTYPES), draw(st.booleans()))
        for name in draw(st.lists(NAMES, unique=True, max_size=2))
    ]
    words = st.lists(st.sampled_from(["Block", "Layer", "llama"]), unique=True)
    config = {name: draw(st.sampled_from(SETTINGS)) for name in draw(st.lists(NAMES, unique=True, max_size=3))}
    return ModelFacts(
        parameters,
        modules,
        buffers,
        config=config,
        styles=draw(st.lists(NAMES, max_size=2)),
        no_split=draw(words),
        model_types=draw(words),
    )


@given(facts())
def test_json_keeps_everything_and_its_order(model: ModelFacts) -> None:
    back = ModelFacts.from_json(json.loads(json.dumps(model.to_json())))
    assert back == model
    for kind in ("parameters", "modules", "buffers", "config"):
        assert list(getattr(back, kind).items()) == list(getattr(model, kind).items())


@given(facts())
def test_json_form_keeps_its_schema(model: ModelFacts) -> None:
    validator: Any = Draft202012Validator(schema())
    assert list(validator.iter_errors(model.to_json())) == []


@given(facts())
def test_every_name_has_its_holders_up_to_the_root(model: ModelFacts) -> None:
    for name in (*model.parameters, *model.buffers, *model.modules):
        assert name.rpartition(".")[0] in model.modules


def test_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema())


REFUSED: list[tuple[Any, str]] = [
    ([], "is not of type 'object'"),
    ({"version": 1}, "'parameters' is a required property"),
    ({"version": 2, "parameters": []}, "$.version"),
    ({"version": 1, "parameters": "w" * 999}, "$.parameters"),
    ({"version": 1, "parameters": [], "weights": []}, "'weights'"),
    ({"version": 1, "parameters": [{"name": "w", "shape": [-1], "dtype": "int8"}]}, "$.parameters[0].shape[0]"),
    ({"version": 1, "parameters": [{"name": "", "shape": [], "dtype": "int8"}]}, "$.parameters[0].name"),
    ({"version": 1, "parameters": [{"name": "w", "shape": [], "dtype": "int8"}] * 2}, "`w` is given twice"),
    (
        {"version": 1, "parameters": [{"name": "w", "shape": [], "dtype": "int8", "tied_to": "v"}]},
        "shares with `v`, which is no other parameter",
    ),
]


@pytest.mark.parametrize(("data", "reason"), REFUSED)
def test_json_that_is_none_of_facts_is_refused_with_its_place(data: object, reason: str) -> None:
    with pytest.raises(PlanError) as caught:
        ModelFacts.from_json(data)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_tie_leads_to_the_first_name_at_once() -> None:
    with pytest.raises(PlanError, match="`c` is tied to `b`, itself tied to `a`"):
        ModelFacts(
            [Parameter("a", (), "int8"), Parameter("b", (), "int8", True, "a"), Parameter("c", (), "int8", True, "b")]
        )


def test_tied_group_begins_with_the_first_name() -> None:
    model = ModelFacts([Parameter("a", (), "int8"), Parameter("b", (), "int8", True, "a"), Parameter("c", (), "int8")])
    assert model.tied_group("b") == model.tied_group("a") == ("a", "b")
    assert model.tied_group("c") == ("c",)
    assert model.tied_group("d") == ()


@pytest.mark.parametrize(("dtype", "size"), [("bfloat16", 24), ("float32", 48), ("int8", 12), ("float4", None)])
def test_bytes_are_extents_times_the_size_of_the_dtype(dtype: str, size: int | None) -> None:
    assert Parameter("w", (3, 4), dtype).bytes == size


def test_what_is_derived_is_derived_once() -> None:
    model, made = ModelFacts([Parameter("a", (), "int8")]), list[str]()

    def derive(facts: ModelFacts) -> int:
        made.extend(facts.parameters)
        return len(made)

    assert [model.remembered("size", derive), model.remembered("size", derive)] == [1, 1]
    assert made == ["a"]


def test_a_child_with_two_names_under_one_module_comes_once() -> None:
    model = ModelFacts((), [Module("a"), Module("b", "", "a"), Module("c.a", "", "a")])
    assert model.children("") == ("a", "c")
    assert model.children("c") == ("c.a",)


def test_modules_are_found_by_class_under_their_first_names() -> None:
    model = ModelFacts((), [Module("a", "Block"), Module("b", "Block", "a"), Module("c", "Block"), Module("d")])
    assert model.of_class("Block") == ("a", "c")
    assert model.of_class("") == model.of_class("Layer") == ()
    assert [model.first_name(name) for name in ("a", "b", "c")] == ["a", "a", "c"]


def test_tied_tensors_and_own_buffers_are_known() -> None:
    parameters = [Parameter("a", (), "int8"), Parameter("b", (), "int8", True, "a"), Parameter("c", (), "int8")]
    model = ModelFacts(parameters, (), [Buffer("m.x", (2,), "int8"), Buffer("m.n.y", (), "int8")])
    assert model.tied == ("a",)
    assert [buffer.name for buffer in model.own_buffers("m")] == ["m.x"]
    assert model.own_buffers("") == ()
