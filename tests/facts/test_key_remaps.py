"""Evidence that old keys are mapped when a checkpoint is loaded."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.key_remaps import handles_rename, remaps


def handled(source: str, old: str = "w1", new: str = "gate_proj") -> bool:
    return handles_rename(ast.parse(dedent(source)), old, new)


@pytest.mark.parametrize(
    "source",
    [
        'RENAMES = {"w1.": "gate_proj."}',
        'key_mapping = {"w1": "gate_proj"}',
        'OLD_TO_NEW = [("w1", "gate_proj")]',
        'class M:\n    _checkpoint_conversion_mapping = {"^layers.w1": "layers.gate_proj"}',
        'x = {"layers.w1.weight": "layers.gate_proj.weight"}',
        'key = key.replace("w1", "gate_proj")',
        'key = key.replace(".w1.", ".gate_proj.")',
        'import re\nkey = re.sub(r"\\.w1\\.", ".gate_proj.", key)',
        'WeightRenaming("w1", "gate_proj")',
        'load(model, key_mapping={"w1": "gate_proj"})',
        """
        def _load_from_state_dict(self, state_dict, prefix, *args):
            if prefix + "w1.weight" in state_dict:
                state_dict[prefix + "gate_proj.weight"] = state_dict.pop(prefix + "w1.weight")
        """,
        """
        def hook(module, state_dict, prefix, *args):
            for end in ("weight", "bias"):
                state_dict[f"{prefix}gate_proj.{end}"] = state_dict.pop(f"{prefix}w1.{end}")
        """,
        """
        def convert_weights(state):
            for old, new in (("w1", "gate_proj"),):
                pass
        """,
    ],
)
def test_remap_code_handles_a_rename(source: str) -> None:
    assert handled(source)


@pytest.mark.parametrize(
    "source",
    [
        "",
        'RENAMES = {"linear1": "w1"}',
        'RENAMES = {"w10.": "gate_proj."}',
        'RENAMES = {"w2.": "up_proj."}',
        'names = ["w1", "gate_proj"]',
        'print("w1 is now gate_proj")',
        '"""w1 is now gate_proj"""',
        'def load_state_dict(self, state):\n    """Renames w1 to gate_proj."""\n    return state',
        'def load_state_dict(self, state):\n    logger.warning("w1 is now gate_proj")',
        'def load_state_dict(self, state):\n    raise ValueError("w1 is now gate_proj")',
        'text = text.replace("a", "w1")\nother = other.replace("b", "gate_proj")',
        "self.w1 = nn.Linear(1, 1)\nself.gate_proj = self.w1",
        '# RENAMES = {"w1": "gate_proj"}',
    ],
)
def test_other_mentions_do_not_handle_a_rename(source: str) -> None:
    assert not handled(source)


def test_patterns_match_what_they_stand_for() -> None:
    assert handled('RENAMES = {"block_3.": "layer_3."}', "block_{}", "layer_{}")
    assert not handled('RENAMES = {"blocks.": "layers."}', "block_{}", "layer_{}")


def test_a_dotted_key_is_handled_by_its_last_part_but_not_by_an_index_alone() -> None:
    assert handled('RENAMES = {"query": "q_proj"}', "attn.query", "attn.q_proj")
    assert not handled('RENAMES = {"2": "3"}', "mlp.2", "mlp.3")
    assert handled('RENAMES = {"mlp.2": "mlp.3"}', "mlp.2", "mlp.3")


def test_a_removal_is_handled_where_the_old_name_is_mentioned() -> None:
    source = 'def _load_from_state_dict(self, state_dict, prefix):\n    state_dict.pop(prefix + "w1.weight", None)'
    assert handled(source, "w1", "")
    assert not handled("x = 1", "w1", "")


def test_remaps_gives_the_strings_of_remap_code_only() -> None:
    source = 'RENAMES = {"w1.": "gate_proj."}\nname = "other"\nkey = key.replace("a.", "b.")'
    assert remaps(ast.parse(source)) == {"w1.", "gate_proj.", "a.", "b."}
