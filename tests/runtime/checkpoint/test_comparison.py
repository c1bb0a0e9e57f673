"""A checkpoint beside a model: each defect has one cause."""

from __future__ import annotations

import re

import pytest

from shardlint.errors import PlanError
from shardlint.runtime.checkpoint.checkpoint_text import parse_checkpoint
from shardlint.runtime.checkpoint.comparison import Comparison
from shardlint.runtime.checkpoint.mapping import mapping_lines, mapping_text
from shardlint.runtime.checkpoint.patterns import collapsed, ranges
from shardlint.runtime.conversion import Conversion, Step
from shardlint.runtime.facts_text import parse_facts
from shardlint.runtime.model_facts import ModelFacts

NET = """
    embed.weight                        [100, 16]  bf16
    layers.{0..3}.attn.{q,k}.weight     [16, 16]   bf16
    layers.{0..3}.mlp.{gate,up}.weight  [32, 16]   bf16
    layers.{0..3}.norm.weight           [16]       bf16
"""


def compare(checkpoint: str, model: str = NET, conversion: Conversion | None = None) -> Comparison:
    facts = parse_facts(model)
    whole = ModelFacts(facts.parameters.values(), facts.modules.values(), facts.buffers.values(), conversion=conversion)
    return Comparison(parse_checkpoint(checkpoint, "saved"), whole)


def clean(compared: Comparison) -> bool:
    found = (compared.missing, compared.unexpected, compared.renames, compared.missing_layers, compared.shapes)
    return compared.prefix is None and not any(found) and not compared.unexpected_layers


def test_numbers_between_dots_are_collapsed_even_side_by_side() -> None:
    assert collapsed("a.0.1.w2.b.13") == "a.*.*.w2.b.*"
    assert ranges([3, 1, 2, 7]) == "1 to 3, 7"


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "model.", "net.module."])
def test_a_prefix_is_one_cause_and_its_rename_restores_every_key(prefix: str) -> None:
    compared = compare("format: safetensors\n" + re.sub(r"(?m)^    (?=\w)", "    " + prefix, NET))

    assert compared.prefix is not None
    assert (compared.prefix.old + ".", compared.prefix.count) == (prefix, 21)
    assert not compared.missing
    assert not compared.unexpected
    (line,) = mapping_lines(compared)
    assert re.sub(line.pattern, line.target, prefix + "embed.weight", count=1) == "embed.weight"


def test_a_prefix_that_the_model_has_more_is_one_cause() -> None:
    compared = compare("format: dcp\n" + NET, re.sub(r"(?m)^    (?=\w)", "    model.", NET))
    assert compared.prefix is not None
    assert (compared.prefix.old, compared.prefix.new) == ("", "model")
    (line,) = mapping_lines(compared)
    assert re.sub(line.pattern, line.target, "embed.weight", count=1) == "model.embed.weight"
    assert re.sub(line.pattern, line.target, "model.embed.weight", count=1) == "model.embed.weight"


def test_a_wrapper_within_each_layer_is_one_cause() -> None:
    compared = compare("format: dcp\n" + NET.replace("}.attn", "}._orig_mod.attn").replace("}.mlp", "}._orig_mod.mlp"))
    assert compared.prefix is not None
    assert (compared.prefix.anywhere, compared.prefix.count) == (True, 16)
    (line,) = mapping_lines(compared)
    assert re.sub(line.pattern, line.target, "layers.0._orig_mod.attn.q", count=1) == "layers.0.attn.q"


def test_a_renamed_module_is_one_rename_and_its_line_restores_the_keys() -> None:
    compared = compare("format: dcp\n" + NET.replace(".attn.", ".self_attention."))
    (rename,) = compared.renames
    assert (rename.before, rename.old, rename.new, rename.keys) == ("layers.*", "self_attention", "attn", 8)
    assert rename.rivals == ()
    (line,) = mapping_lines(compared)
    assert re.sub(line.pattern, line.target, "layers.12.self_attention.q.weight", count=1) == "layers.12.attn.q.weight"
    assert re.sub(line.pattern, line.target, "layers.1.self_attention_2.q", count=1) == "layers.1.self_attention_2.q"


def test_renames_that_could_be_swapped_are_candidates() -> None:
    compared = compare("format: dcp\n" + NET.replace("{gate,up}", "w{1,3}"))
    assert len(compared.renames) == 2
    assert all(rename.rivals for rename in compared.renames)
    text = mapping_text(compared)
    assert text.count("candidate, or `layers.*.mlp.w") == 4
    compile(text, "table", "exec", flags=0, dont_inherit=True)


def test_another_shape_or_other_layers_is_no_rename() -> None:
    compared = compare("format: dcp\n" + NET.replace("norm.weight           [16]", "ln.weight  [8]"))
    assert compared.renames == ()
    assert list(compared.missing) == ["layers.*.norm.weight"]
    assert list(compared.unexpected) == ["layers.*.ln.weight"]


def test_a_new_level_and_a_renamed_leaf_are_renames() -> None:
    compared = compare("format: dcp\n" + NET.replace("layers.{0..3}.norm.weight", "layers.{0..3}.norm.scale"))
    assert [(one.old, one.new) for one in compared.renames] == [("scale", "weight")]
    (line,) = mapping_lines(compared)
    assert re.sub(line.pattern, line.target, "layers.2.norm.scale", count=1) == "layers.2.norm.weight"
    compared = compare("format: dcp\n" + NET.replace("}.norm", "}.block.norm"))
    (line,) = mapping_lines(compared)
    assert re.sub(line.pattern, line.target, "layers.2.block.norm.weight", count=1) == "layers.2.norm.weight"
    compared = compare("format: dcp\n" + NET, NET.replace("}.norm", "}.block.norm"))
    (line,) = mapping_lines(compared)
    assert re.sub(line.pattern, line.target, "layers.2.norm.weight", count=1) == "layers.2.block.norm.weight"


def test_layers_are_counted_on_both_sides() -> None:
    fewer, more = (
        compare("format: dcp\n" + NET.replace("0..3", "0..1")),
        compare("format: dcp\n" + NET.replace("0..3", "0..5")),
    )
    (gap,) = fewer.missing_layers
    assert (gap.holder, gap.lacking, len(gap.keys)) == ("layers", frozenset((2, 3)), 10)
    (gap,) = more.unexpected_layers
    assert (gap.lacking, len(gap.here), len(gap.there)) == (frozenset((4, 5)), 6, 4)
    assert not fewer.missing
    assert not more.unexpected


def test_tied_weights_need_one_name_and_may_have_both() -> None:
    model = NET + "tied head.weight = embed.weight"
    assert clean(compare("format: dcp\n" + NET, model))
    assert clean(compare("format: dcp\n" + NET + "head.weight [100, 16] bf16", model))
    assert clean(compare("format: dcp\n" + NET.replace("    embed", "    head"), model))


MOE = """
    model.embed.weight                  [10, 4]    bf16
    model.layers.{0,1}.experts.gate_up  [8, 6, 4]  bf16
    model.layers.{0,1}.experts.down     [8, 4, 3]  bf16
    model.layers.{0,1}.attn.q           [4, 4]     bf16
    model.layers.{0,1}.attn.k           [4, 4]     bf16
"""
HUB = """
    format: safetensors
    embed.weight                              [10, 4]  bf16
    layers.{0,1}.experts.{0..7}.{w1,w3}.weight  [3, 4]   bf16
    layers.{0,1}.experts.{0..7}.w2.weight     [4, 3]   bf16
    layers.{0,1}.attention.qk                 [8, 4]   bf16
    layers.2.mtp                              [1]      bf16
"""
CONVERSION = Conversion(
    (
        Step((r"\.attention\.",), (r".attn.",)),
        Step(("experts.*.w1.weight", "experts.*.w3.weight"), ("experts.gate_up",), ("MergeModulelist", "Concatenate")),
        Step(("experts.*.w2.weight",), ("experts.down",), ("MergeModulelist",)),
        Step(("attn.qk",), ("attn.q", "attn.k"), ("Chunk",)),
    ),
    "model",
    (),
    (r"layers\.2\.",),
)


def test_the_framework_s_conversion_is_applied_before_keys_are_compared() -> None:
    assert clean(compare(HUB, MOE, CONVERSION))


def test_an_expert_that_is_lost_is_seen_through_the_merge() -> None:
    compared = compare(HUB.replace("{0..7}.w2", "{0..6}.w2"), MOE, CONVERSION)
    assert list(compared.shapes) == ["model.layers.*.experts.down"]
    assert not compared.missing


def test_a_distributed_checkpoint_is_not_converted() -> None:
    assert compare(HUB.replace("safetensors", "dcp"), MOE, CONVERSION).missing


def test_a_conversion_that_names_a_layer_converts_that_layer_only() -> None:
    step = Conversion((Step((r"^(layers\.0\.)old",), (r"\1new",)),))
    compared = compare(
        "format: safetensors\nlayers.{0,1}.old [2] bf16", "layers.0.new [2] bf16\nlayers.1.old [2] bf16", step
    )
    assert clean(compared)


@pytest.mark.parametrize("pattern", ["(a+)+b", "(", "a" * 1000])
def test_a_pattern_that_may_take_without_end_is_refused(pattern: str) -> None:
    with pytest.raises(PlanError, match="conversion pattern"):
        Conversion((Step((pattern,), ("b",)),))


def test_a_conversion_survives_json() -> None:
    facts = ModelFacts(conversion=CONVERSION)
    assert ModelFacts.from_json(facts.to_json()).conversion == CONVERSION


def test_the_state_of_an_optimizer_is_found_nested_and_flat() -> None:
    nested = compare("format: dcp\nmodel/embed.weight [2] bf16\noptimizer/state/embed.weight/exp_avg [2] fp32")
    flat = compare(
        "format: dcp\nembed.weight [2] bf16\nstate.embed.weight.exp_avg [2] fp32\nobject param_groups.embed.weight.lr"
    )
    for compared in (nested, flat):
        assert compared.parts.states == {"embed.weight": {"exp_avg"}}
        assert [one.key for one in compared.parts.model] == ["embed.weight"]
