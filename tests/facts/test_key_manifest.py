"""Locked keys beside the classes of a file."""

from __future__ import annotations

import ast
from textwrap import indent

from shardlint.facts.key_manifest import Accepted, Manifest, changed_since, manifest_text, read_manifest, root_keys
from shardlint.facts.module_tree import ModuleClass, module_classes


def classes(**bodies: str) -> dict[str, ModuleClass]:
    """Module classes by name, with the body of each constructor."""
    source = "import torch\nfrom torch import nn\n"
    for name, body in bodies.items():
        source += f"class {name}(nn.Module):\n    def __init__(self, n, x):\n{indent(body, '        ')}\n"
    return module_classes(ast.parse(source))


def changes(before: dict[str, ModuleClass], after: dict[str, ModuleClass]) -> list[tuple[str, str, str, int]]:
    return [(one.kind, one.old, one.new, one.line) for one in changed_since(root_keys(before), after)]


def test_a_root_is_held_by_no_other_class_and_extended_by_none() -> None:
    tree = module_classes(
        ast.parse(
            "from torch import nn\n"
            "class Part(nn.Module):\n    def __init__(self):\n        self.a = nn.Linear(2, 2, False)\n"
            "class Base(nn.Module):\n    def __init__(self):\n        self.part = nn.ModuleList([Part()])\n"
            "class Net(Base):\n    pass\n"
            "class Empty(nn.Module):\n    pass\n"
        )
    )

    assert root_keys(tree) == {"Net": {"part.0.a.weight": "Linear"}}


def test_what_makes_a_key_tells_a_rename_from_another_key() -> None:
    before = classes(M="self.a = nn.Linear(n, n, False)")
    assert changes(before, classes(M="self.b = nn.Linear(n, n, False)")) == [("renamed", "a", "b", 5)]
    assert [one[0] for one in changes(before, classes(M="self.b = nn.RMSNorm(n)"))] == ["removed"]


def test_a_key_of_two_roots_changes_once() -> None:
    body = "self.part = Part(n, x)"
    before = classes(Part="self.a = nn.Linear(n, n)", One=body, Two=body)
    after = classes(Part="self.b = nn.Linear(n, n)", One=body, Two=body)
    assert changes(before, after) == [("renamed", "part.a", "part.b", 5)]


def test_a_module_whose_keys_are_unknown_proves_nothing() -> None:
    before = classes(M="self.a = nn.Linear(n, n)\nself.b = Encoder(n)")
    assert changes(before, classes(M="self.a = nn.Linear(n, n)\nself.b = Encoder(x)")) == []


def test_a_class_that_is_gone_is_left_out() -> None:
    assert changes(classes(M="self.a = nn.Linear(n, n)"), classes(N="self.b = nn.Linear(n, n)")) == []


def test_a_manifest_is_read_as_it_was_written() -> None:
    manifest = Manifest(
        {"b.py": {"M": {"z": "Parameter", "a": ""}}, "a.py": {}}, (Accepted("b.py", "M", "y", "z", "“new”"),)
    )

    text = manifest_text(manifest)

    assert read_manifest(text.encode()) == manifest
    assert text.index('"a.py"') < text.index('"b.py": {')
    assert text.index('"a": ""') < text.index('"z": "Parameter"')
