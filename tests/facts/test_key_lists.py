"""Lists that name parameters, in Python files and in documents."""

from __future__ import annotations

import ast

import pytest

from shardlint.configs.document import read_document
from shardlint.facts.key_lists import KeyList, document_lists, python_lists


def found(source: str) -> list[KeyList]:
    return list(python_lists(ast.parse(source)))


def brief(lists: list[KeyList]) -> list[tuple[str, str, list[str]]]:
    return [(one.holder, one.use, [string.text for string in one.strings]) for one in lists]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("target_modules = ['wq', 'wv']", ("target_modules", "target", ["wq", "wv"])),
        ("self.lora_target_modules: list[str] = ['wq']", ("lora_target_modules", "target", ["wq"])),
        ("LoraConfig(r=8, modules_to_save=('wq',))", ("modules_to_save", "target", ["wq"])),
        ("CONFIG = {'target_modules': ['wq']}", ("target_modules", "target", ["wq"])),
        ("config['target_modules'] = ['wq']", ("target_modules", "target", ["wq"])),
        ("target_modules = field(default_factory=lambda: ['wq'])", ("target_modules", "target", ["wq"])),
        ("def f(n, no_decay=('bias',)): pass", ("no_decay", "part", ["bias"])),
        ("def f(*, freeze=('tower',)): pass", ("freeze", "part", ["tower"])),
        ("no_weight_decay_names = {'a'} | b\nfrozen_parts = set(['a']) ", ("frozen_parts", "part", ["a"])),
        (
            "_tied_weights_keys = {'head.weight': 'emb.weight'}",
            ("_tied_weights_keys", "part", ["head.weight", "emb.weight"]),
        ),
        ("no_decay = ['a'] + ['b']", ("no_decay", "part", ["a", "b"])),
        ("_no_split_modules = ['Block']", ("_no_split_modules", "class", ["Block"])),
        ("tp_plan = {'layers.*.wq': 'colwise'}", ("tp_plan", "plan", ["layers.*.wq"])),
        ("parallel_plan['wq'] = Shard(0)", ("parallel_plan", "plan", ["wq"])),
        ("parallelize_module(m, mesh, {f'layers.{i}.wq': ColwiseParallel()})", ("", "plan", ["layers.*.wq"])),
        ("shard(m, {'wq': 'rowwise'})", ("", "plan", ["wq"])),
    ],
)
def test_a_list_is_known_by_its_holder_or_by_what_it_places(source: str, expected: tuple[str, str, list[str]]) -> None:
    assert brief(found(source)) == [expected]


@pytest.mark.parametrize(
    "source",
    [
        "names = ['wq']",
        "RENAMES = {'wq': 'q_proj'}",
        "plan = make()",
        "lr = {'wq': 0.1}",
        "tp_plan = 'colwise'",
        "f(*a, **b)",
    ],
)
def test_other_values_are_no_list(source: str) -> None:
    assert found(source) == []


def test_a_plan_is_found_once_and_each_string_has_its_place() -> None:
    lists = found("tp_plan = {\n    'a.wq': ColwiseParallel(),\n    'a.wo': RowwiseParallel(),\n}\n")

    assert [(string.text, string.line, string.column) for one in lists for string in one.strings] == [
        ("a.wq", 2, 5),
        ("a.wo", 3, 5),
    ]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.yaml", "lora:\n  target_modules:\n  - wq\n  - 3\n", [("target_modules", "target", ["wq"])]),
        ("a.json", '{"modules_to_save": "wq"}', [("modules_to_save", "target", ["wq"])]),
        (
            "a.toml",
            "[base_model_tp_plan]\n'layers.*.wq' = 'colwise'\n",
            [("base_model_tp_plan", "plan", ["layers.*.wq"])],
        ),
        ("a.yaml", "tp_plan: auto\nnames: [wq]\n", []),
        ("a.yaml", "a: &a {no_decay: [b]}\nc: *a\n", [("no_decay", "part", ["b"])]),
    ],
)
def test_documents_hold_lists_too(path: str, text: str, expected: list[tuple[str, str, list[str]]]) -> None:
    assert brief(list(document_lists(read_document(path, text.encode())))) == expected
