"""Module classes of one state, with what they inherit from classes of other files."""

from __future__ import annotations

import pytest

from shardlint.changes.key_renames import key_renames
from shardlint.changes.linked_classes import LinkedClasses
from shardlint.changes.memory import MemoryState, memory_change_set
from shardlint.facts.module_tree import ModuleClass
from shardlint.facts.state_keys import StateKeys

BASE = """
from torch import nn
class Base(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.{} = nn.Linear(n, n, bias=False)
"""
HEIR = """
{}
from torch import nn
class Heir({}):
    def __init__(self, n):
        super().__init__(n)
        self.out = nn.Linear(n, n, bias=False)
"""


def classes(path: str, **files: str) -> dict[str, ModuleClass]:
    """The classes of a file among files `pkg__x` (``pkg/x.py``)."""
    state = MemoryState({name.replace("__", "/") + ".py": text for name, text in files.items()})
    found = LinkedClasses(state).of(path)
    assert found is not None
    return found


def keys(path: str, name: str = "Heir", **files: str) -> list[str]:
    return sorted(key.path for key in StateKeys(classes(path, **files)).of_class(name))


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("from .base import Base", "Base"),
        ("from .base import Base as Parent", "Parent"),
        ("from . import base", "base.Base"),
        ("from ..models.base import Base", "Base"),
        ("from pkg.models.base import Base", "Base"),
        ("import pkg.models.base", "pkg.models.base.Base"),
        ("import pkg.models.base as b", "b.Base"),
        ("from pkg.models import Base", "Base"),
        ("from . import Base", "Base"),
    ],
)
def test_a_base_is_found_however_it_is_imported(line: str, written: str) -> None:
    files = {
        "src/pkg/models/base.py": BASE.format("wq"),
        "src/pkg/models/__init__.py": "from .base import Base\n",
        "src/pkg/models/heir.py": HEIR.format(line, written),
    }
    found = LinkedClasses(MemoryState(files)).of("src/pkg/models/heir.py")
    assert found is not None
    assert sorted(key.path for key in StateKeys(found).of_class("Heir")) == ["out.weight", "wq.weight"]


def test_a_base_that_is_not_found_or_not_the_only_one_leaves_the_keys_open() -> None:
    heir = HEIR.format("from zoo.base import Base", "Base, nn.Module")
    assert keys("a/heir.py", a__heir=heir) == ["*", "out.weight"]
    two = {"a__heir": heir, "x__zoo__base": BASE.format("wq"), "y__zoo__base": BASE.format("wk")}
    assert keys("a/heir.py", **two) == ["*", "out.weight"]


def test_a_class_is_a_module_if_its_base_in_another_file_is() -> None:
    heir = HEIR.format("from .base import Thing", "Thing").replace("from torch import nn\n", "import torch.nn as nn\n")
    base = BASE.replace("class Base", "class Thing").format("wq")
    assert not LinkedClasses(MemoryState({"heir.py": heir})).of("heir.py")
    assert keys("heir.py", heir=heir, base=base) == ["out.weight", "wq.weight"]


def test_an_heir_hides_what_it_registers_itself() -> None:
    heir = HEIR.format("from .base import Base", "Base").replace("self.out", "self.wq").replace("bias=False", "")
    assert keys("heir.py", heir=heir, base=BASE.format("wq")) == ["wq.bias", "wq.weight"]


def test_what_a_base_builds_of_its_own_files_classes_is_opaque() -> None:
    base = BASE.replace("nn.Linear(n, n, bias=False)", "Part(n)").format("part") + "class Part(nn.Module):\n    pass\n"
    assert keys("heir.py", heir=HEIR.format("from .base import Base", "Base"), base=base) == ["out.weight", "part.*"]


def test_files_that_extend_each_other_are_read() -> None:
    one = "from .b import B\nfrom torch import nn\nclass A(nn.Module):\n    pass\nclass C(B):\n    pass\n"
    other = "from .a import A\n" + BASE.replace("Base(", "B(A, ").format("p")
    assert keys("a.py", "C", a=one, b=other) == ["*", "p.weight"]


def renames(before: dict[str, str], after: dict[str, str]) -> list[str]:
    changes = memory_change_set(before, after)
    return [f"{one.old} -> {one.new}" for file in changes.changes for one in key_renames(file, changes)]


def test_a_key_that_moves_into_a_base_of_another_file_is_no_rename() -> None:
    heir = HEIR.format("from base import Base", "Base")
    moved = heir.replace("self.out", "self.extra")
    before = {"base.py": BASE.format("wq"), "heir.py": heir}
    assert renames(before, {"base.py": BASE.format("wq"), "heir.py": moved}) == ["out -> extra"]
    both = BASE.format("wq") + "        self.out = nn.Linear(n, n, bias=False)\n"
    assert renames(before, {"base.py": both, "heir.py": moved}) == []


def test_a_rename_in_a_base_is_reported_in_its_own_file_alone() -> None:
    heir = HEIR.format("from base import Base", "Base")
    before = {"base.py": BASE.format("wq"), "heir.py": heir}
    after = {"base.py": BASE.format("q_proj"), "heir.py": heir + "# more\n"}
    assert renames(before, after) == ["wq -> q_proj"]
