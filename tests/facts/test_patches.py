"""Patches of installed packages: what is seen, what is dead, and when a verdict is asked for again."""

from __future__ import annotations

import pytest

from shardlint.environment import Environment
from shardlint.example import Good
from shardlint.prefilter import Words, passes
from shardlint.query import Assigned
from shardlint.registry import load_rows
from shardlint.trial import findings_of

from ..conftest import Project

ZOO = {
    "torch/__init__.py": "",
    "torch/nn.py": "class Net:\n    def forward(self): ...\ndef relu(x): ...\n",
    "torch/other.py": "def relu6(x): ...\n",
}
QUERY = Assigned("torch")


def dead(source: str, **others: str) -> list[int]:
    row = next(row for row in load_rows()[0] if row["name"] == "monkeypatch-dead-target")
    files = {"example.py": source, **{f"{name}.py": text for name, text in others.items()}}
    return [finding.span.line for finding in findings_of(row, Good(files, installed=ZOO))]


@pytest.mark.parametrize(
    "line",
    [
        "nn.gelu = f",
        "torch.nn.gelu = f",
        "nn.Net.backward = f",
        "setattr(nn, 'gelu', f)",
        "original = nn.gelu; nn.gelu2 = f\n\nnn.gelu3 = f",
        "if flag:\n    nn.gelu = f",
    ],
)
def test_a_patch_of_a_missing_name_is_dead(line: str) -> None:
    assert dead(f"import torch.nn\nfrom torch import nn\n{line}\n") != []


@pytest.mark.parametrize(
    "line",
    [
        "nn.relu = f",
        "nn.Net.forward = f",
        "nn.patched = True",
        "nn.gelu = f\nnn.gelu(1)",
        "nn.original_relu = nn.relu",
        "nn.old_relu = f",
        "nn.Net.relu6 = f",
        "if torch.__version__ > '2':\n    nn.gelu = f",
        "if hasattr(nn, 'gelu'):\n    nn.gelu = f",
        "NEW = torch.__version__ > '2'\nif NEW:\n    nn.gelu = f",
        "assert hasattr(nn, 'gelu')\nnn.gelu = f",
        "def patch():\n    if not is_torch_available():\n        return\n    nn.gelu = f",
        "def patch():\n    nn.gelu = f\nif torch.__version__ > '2':\n    patch()",
        "nn = mine()\nnn.gelu = f",
        "setattr(nn, name, f)",
    ],
)
def test_a_patch_that_may_have_an_effect_is_silent(line: str) -> None:
    assert dead(f"import torch\nfrom torch import nn\n{line}\n") == []


def test_a_read_in_another_file_shows_that_the_name_is_added_on_purpose() -> None:
    source = "from torch import nn\nnn.gelu = f\n"
    assert dead(source) == [2]
    assert dead(source, other="import torch\ntorch.nn.gelu(1)\n") == []
    assert dead(source, other="getattr(x, 'gelu')\n") == []


def test_a_caller_elsewhere_that_asks_for_the_version_guards_the_patch() -> None:
    source = "from torch import nn\ndef patch_gelu():\n    nn.gelu = f\n"
    assert dead(source, other="from example import patch_gelu\npatch_gelu()\n") == [3]
    assert dead(source, other="from example import patch_gelu\nif version < 2:\n    patch_gelu()\n") == []


@pytest.mark.parametrize("line", ["torch.nn.x = 1", "setattr(torch, 'x', 1)", "F.x = 1"])
def test_only_files_that_give_an_attribute_of_an_installed_package_are_looked_at(line: str) -> None:
    data = f"import torch\nimport torch.nn.functional as F\n{line}\n".encode()
    assert passes(QUERY.needs(), Words(data, lambda: Environment({}, files=ZOO)))
    assert not passes(QUERY.needs(), Words(data, lambda: Environment({})))
    others = data.replace(b"torch", b"numpy")
    assert not passes(QUERY.needs(), Words(others, lambda: Environment({}, files=ZOO)))


@pytest.mark.parametrize(
    "line", ["torch.x == 1", "y = torch.x", "def f(x: torch.y = 1): ...", "self.torch = 1", "torch = 1"]
)
def test_a_file_that_only_reads_an_attribute_is_passed_over(line: str) -> None:
    assert not passes(QUERY.needs(), Words(f"import torch\n{line}\n".encode(), lambda: Environment({}, files=ZOO)))


def test_a_kept_verdict_is_asked_for_again_when_the_project_or_the_package_changes(project: Project) -> None:
    packages = "../venv/lib/python3.11/site-packages"
    project.environ["VIRTUAL_ENV"] = str(project.root / "../venv")
    for path, text in ZOO.items():
        project.write(f"{packages}/{path}", text)
    project.write(f"{packages}/torch-2.6.0.dist-info/METADATA", "Version: 2.6.0\n")
    project.write("patch.py", "from torch import nn\nnn.gelu = f\n")
    project.write("use.py", "x = 1\n")
    select = ("monkeypatch-dead-target",)
    first = [project.outcome(select=select).findings for _ in range(2)]
    assert [finding.path for finding in first[0]] == ["patch.py"]
    assert first[0] == first[1]
    project.write("use.py", "import torch.nn\ntorch.nn.gelu(1)\n")
    assert project.outcome(select=select).findings == []
    project.write("use.py", "x = 1\n")
    assert project.outcome(select=select).findings == first[0]
    project.write(f"{packages}/torch/nn.py", "def gelu(x): ...\n")
    (project.root / packages / "torch-2.6.0.dist-info").rename(project.root / packages / "torch-2.7.0.dist-info")
    assert project.outcome(select=select).findings == []
