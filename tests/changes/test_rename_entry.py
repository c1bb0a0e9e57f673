"""The entry that a renamed key gets in the table of renames that the model already has."""

from __future__ import annotations

import pytest

from shardlint.changes.key_renames import key_renames
from shardlint.changes.memory import memory_change_set
from shardlint.changes.rename_entry import RenameEntries
from shardlint.fixes import apply_edits

MODEL = """\
from torch import nn


class Attention(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.{key} = nn.Linear(n, n, bias=False)
        self.k_proj = nn.Linear(n, n, bias=False)


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.self_attn = Attention(n)
        self.mlp_norm = nn.LayerNorm(n)


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.ModuleList(Block(n) for _ in range(n))
        self.embed = nn.Embedding(n, n)
"""
CROSS = MODEL + "\n\nclass Cross(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        {}\n"
TABLE = 'RENAMES = {"wk": "k_proj"}\n'


def added(table: str, model: str = MODEL, path: str = "pkg/models/a/load.py", **others: str) -> str | None:
    """The table's file after the fix of `wq` -> `q_proj`; None where there is no fix, or in another file."""
    files = {name.replace("__", "/") + ".py": text for name, text in others.items()}
    files.setdefault(path, table)
    before = {"pkg/models/a/model.py": model.replace("{key}", "wq"), **files}
    after = {"pkg/models/a/model.py": model.replace("{key}", "q_proj"), **files}
    if path == "pkg/models/a/model.py":
        before[path], after[path] = (table + model.replace("{key}", key) for key in ("wq", "q_proj"))
    changes = memory_change_set(before, after)
    file = changes.changes[0]
    renamed = list(key_renames(file, changes))
    assert [f"{one.old} -> {one.new}" for one in renamed] == ["wq -> q_proj"]
    edit = RenameEntries(file, renamed, changes).edit(renamed[0])
    if edit is None or edit.path != path:
        return None
    return apply_edits(after[path], edit.edits)


@pytest.mark.parametrize(
    ("table", "fixed"),
    [
        (TABLE, 'RENAMES = {"wk": "k_proj", "wq": "q_proj"}\n'),
        ("RENAMES = {'wk': 'k_proj', }\n", "RENAMES = {'wk': 'k_proj', 'wq': 'q_proj', }\n"),
        ('key_mapping = [("wk", "k_proj")]\n', 'key_mapping = [("wk", "k_proj"), ("wq", "q_proj")]\n'),
        ('OLD_TO_NEW = (("wk", "k_proj"),)\n', 'OLD_TO_NEW = (("wk", "k_proj"), ("wq", "q_proj"),)\n'),
        ('load(key_mapping={"wk": "k_proj"})\n', 'load(key_mapping={"wk": "k_proj", "wq": "q_proj"})\n'),
        ('new2old_mapping = {"k_proj": "wk"}\n', 'new2old_mapping = {"k_proj": "wk", "q_proj": "wq"}\n'),
        (
            "RENAMES: dict[str, str] = {\n    'wk': 'k_proj',  # 模\n    # more\n}\n",
            "RENAMES: dict[str, str] = {\n    'wk': 'k_proj',  # 模\n    'wq': 'q_proj',\n    # more\n}\n",
        ),
        (
            'RENAMES = {\n\t"wk": "k_proj"  # no comma\n}\n',
            'RENAMES = {\n\t"wk": "k_proj",  # no comma\n\t"wq": "q_proj",\n}\n',
        ),
        (
            'RENAMES = {\n    "wk": "k_proj"}  # closed\n',
            'RENAMES = {\n    "wk": "k_proj",\n    "wq": "q_proj"}  # closed\n',
        ),
        (
            'mapping = {"x": None, "layers.{}.self_attn.wk.weight": "layers.{}.self_attn.k_proj.weight", "y": None}\n',
            'mapping = {"x": None, "layers.{}.self_attn.wk.weight": "layers.{}.self_attn.k_proj.weight", "y": None, '
            '"layers.{}.self_attn.wq.weight": "layers.{}.self_attn.q_proj.weight"}\n',
        ),
        (
            'RULES = [\n    WeightRenaming(r"\\.self_attn\\.wk\\.", ".self_attn.k_proj."),\n    Other(),\n]\n',
            'RULES = [\n    WeightRenaming(r"\\.self_attn\\.wk\\.", ".self_attn.k_proj."),\n    Other(),\n'
            '    WeightRenaming(r"\\.self_attn\\.wq\\.", ".self_attn.q_proj."),\n]\n',
        ),
        (
            'X = [\n    W.WeightRenaming(\n        source_patterns="wk", target_patterns="k_proj"\n    ),\n]\n',
            'X = [\n    W.WeightRenaming(\n        source_patterns="wk", target_patterns="k_proj"\n    ),\n'
            '    W.WeightRenaming(\n        source_patterns="wq", target_patterns="q_proj"\n    ),\n]\n',
        ),
        (
            '_checkpoint_conversion_mapping = {\n    "^layers\\\\.(\\\\d+)\\\\.self_attn\\\\.wk\\\\.": '
            'r"layers.\\1.self_attn.k_proj.",\n}\n',
            '_checkpoint_conversion_mapping = {\n    "^layers\\\\.(\\\\d+)\\\\.self_attn\\\\.wk\\\\.": '
            'r"layers.\\1.self_attn.k_proj.",\n    "^layers\\\\.(\\\\d+)\\\\.self_attn\\\\.wq\\\\.": '
            'r"layers.\\1.self_attn.q_proj.",\n}\n',
        ),
        ('RENAMES = {"ffn_norm": "mlp_norm"}\n', 'RENAMES = {"ffn_norm": "mlp_norm", "wq": "q_proj"}\n'),
    ],
)
def test_an_entry_looks_like_the_last_one_of_its_kind(table: str, fixed: str) -> None:
    assert added(table) == fixed


def test_a_module_with_two_tensors_gets_two_entries_where_tensors_are_named() -> None:
    biased = MODEL.replace(", bias=False", "")
    line = '    "self_attn.{}.{}": "self_attn.{}.{}",\n'
    given = line.format("wk", "weight", "k_proj", "weight")
    wanted = "".join(line.format("wq", tensor, "q_proj", tensor) for tensor in ("weight", "bias"))
    assert added(f"RENAMES = {{\n{given}}}\n", biased) == f"RENAMES = {{\n{given}{wanted}}}\n"
    chosen = MODEL.replace("bias=False", "bias=n > 1")
    assert added(f"RENAMES = {{\n{given}}}\n", chosen) is None


def test_the_table_may_stand_in_the_model_file_or_in_one_for_many_models_under_its_name() -> None:
    own = added(TABLE, path="pkg/models/a/model.py")
    assert own is not None
    assert own.startswith('RENAMES = {"wk": "k_proj", "wq": "q_proj"}\n')
    shared = 'def build():\n    return {"a": [WeightRenaming("wk", "k_proj")], "b": [WeightRenaming("wk", "k_proj")]}\n'
    fixed = shared.replace('"k_proj")],', '"k_proj"), WeightRenaming("wq", "q_proj")],', 1)
    assert added(shared, path="pkg/conversion_mapping.py") == fixed
    assert added(shared + 'SAME = {"c": "a"}\n', path="pkg/conversion_mapping.py") is None
    assert added(shared, path="pkg/helpers.py") is None
    assert added(TABLE, path="pkg/conversion_mapping.py") is None


def test_a_file_with_models_of_its_own_must_import_the_class() -> None:
    other = (
        "from torch import nn\n{}class Root(nn.Module):\n    def __init__(self):\n        self.a = nn.Linear(1, 1)\n"
    )
    assert added(TABLE + other.format("")) is None
    assert added(TABLE + other.format("from .model import Attention\n")) is not None


@pytest.mark.parametrize(
    "table",
    [
        'RENAMES = {"a": "b"}\n',
        'RENAMES = {"wk": "k_proj"}\nOTHER_RENAMES = {"wk": "k_proj"}\n',
        'RENAMES = {"wk": "k_proj", "mlp_norm": "ffn_norm"}\n',
        'RENAMES = {"k_proj": "mlp_norm"}\n',
        'RENAMES = {"wk": "k_proj", **MORE}\n',
        'RENAMES = [*MORE, ("wk", "k_proj")]\n',
        'RENAMES = {"wk": "k_proj", "attn.q": "wq"}\n',
        'RENAMES = {"wk": "k_proj", "x": "q_proj"}\n',
        'SIZES = {"wk": "k_proj"}\n',
        'from_hf_map = {"wk": "k_proj"}\n',
        'def to_hf(state):\n    mapping = {"k_proj": "wk"}\n',
        'RULES = [WeightRenaming("k_proj", "wk")]\n',
        'RULES = [WeightRenaming("wk", "k_proj", 3)]\n',
        'RENAMES = {"layers.0.self_attn.wk": "layers.0.self_attn.k_proj"}\n',
        'RENAMES = {"attn.wk": "self_attn.k_proj"}\n',
        'RENAMES = {"other.wk": "other.k_proj"}\n',
        'RENAMES = {"(a|b).wk": "k_proj"}\n',
        'RENAMES = {"^emb": "embed"}\n',
        'RENAMES = {"emb": "embed"}\n',
        'RENAMES = {"emb.weight": "embed.weight"}\n',
        'RENAMES = {"self_attn.wk": "self_attn.k_proj", "layers.{}.self_attn.wv": "layers.{}.self_attn.k_proj"}\n',
        'RENAMES = {"w" "k": "k_proj"}\n',
        'RENAMES = {f"{p}wk": "k_proj"}\n',
        'RENAMES = ("wk", "k_proj"), ("wv", "k_proj")\n',
        'RENAMES = {"wk": ("k_proj")}\n',
        'RENAMES = {"wk": "k_proj"\n    , }\n',
        "RENAMES = {\n    'wk':  # a note\n    'k_proj',\n}\n",
        "# AUTO-GENERATED FILE - DO NOT EDIT\n" + TABLE,
        TABLE + "\r",
        TABLE + "def (:\n",
    ],
)
def test_what_is_not_certain_gets_no_entry(table: str) -> None:
    assert added(table) is None


@pytest.mark.parametrize(
    "member",
    ["self.wq = nn.Linear(n, n)", "self.wq_norm = nn.LayerNorm(n)", "self.cross_attn = Attention(n)"],
    ids=["has the old name", "holds the old name in another", "holds the class once more"],
)
def test_an_entry_that_would_touch_or_miss_keys_of_another_class_is_not_offered(member: str) -> None:
    prefixed = 'RENAMES = {"self_attn.wk.": "self_attn.k_proj."}\n'
    model = CROSS.replace("{}", member)
    assert (added(TABLE, model) is None) == ("wq" in member)
    assert (added(prefixed, model) is None) == ("Attention" in member)


def test_a_border_that_a_parameter_does_not_have_is_not_copied() -> None:
    model = MODEL.replace("self.{key} = nn.Linear(n, n, bias=False)", "self.{key} = nn.Parameter(n)")
    assert added('RENAMES = {"self_attn.wk.": "self_attn.k_proj."}\n', model) is None
    assert added('RENAMES = {"self_attn.wk": "self_attn.k_proj"}\n', model) is not None


def test_a_parameter_does_not_show_how_a_module_is_spelt() -> None:
    model = MODEL.replace("self.k_proj = nn.Linear(n, n, bias=False)", "self.k_proj = nn.Parameter(n)")
    assert added(TABLE, model) is None


def test_two_renames_of_one_name_to_different_ones_get_no_bare_entry() -> None:
    second = (
        "\n\nclass Cross(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        self.{} = X()\n"
    )
    body = MODEL + second.replace("X()", "nn.Linear(n, 2, bias=False)")
    states = [
        {"a/m.py": body.replace("{key}", one).replace("self.{}", f"self.{two}"), "a/load.py": TABLE}
        for one, two in (("wq", "wq"), ("q_proj", "query"))
    ]
    changes = memory_change_set(*states)
    file = changes.changes[0]
    renamed = list(key_renames(file, changes))
    assert [one.new for one in renamed] == ["q_proj", "query"]
    entries = RenameEntries(file, renamed, changes)
    assert [entries.edit(one) for one in renamed] == [None, None]


def test_a_folder_of_many_models_is_not_searched() -> None:
    many = {f"pkg__models__a__x{number}": "" for number in range(60)}
    assert added(TABLE, **many) is None
    assert added(TABLE, path="pkg/models/a/model.py", **many) is not None
