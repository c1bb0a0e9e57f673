"""`shardlint keys lock` and `keys diff` in small histories."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest

from ..conftest import Lint

MODEL = """\
from torch import nn

class Attention(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.wq = nn.Linear(n, n)
        self.norm = nn.LayerNorm(n)

class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.ModuleList([Attention(n) for _ in range(n)])
"""
RENAMED = MODEL.replace("wq", "q_proj")
KEYS = {
    "layers.{}.norm.bias": "LayerNorm",
    "layers.{}.norm.weight": "LayerNorm",
    "layers.{}.wq.bias": "Linear",
    "layers.{}.wq.weight": "Linear",
}
RENAME = "layers.{}.wq -> layers.{}.q_proj"


def git(lint: Lint, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=lint.project.root, check=True, capture_output=True)


def commit(lint: Lint, **files: str) -> None:
    for name, text in files.items():
        lint.project.write(f"net/{name}.py", text)
    git(lint, "add", "--all")
    git(lint, "commit", "--quiet", "--allow-empty", "--message", "a commit")


@pytest.fixture
def history(lint: Lint) -> Lint:
    """A repository with one model, and a lock of it that is committed."""
    git(lint, "init", "--quiet", "--initial-branch=main")
    commit(lint, model=MODEL)
    assert lint("keys", "lock").code == 0
    commit(lint)
    return lint


def manifest(lint: Lint) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((lint.project.root / "state-keys.json").read_text())
    return loaded


def test_a_lock_holds_the_keys_of_each_root_module(history: Lint) -> None:
    assert manifest(history) == {"version": 1, "accepted": [], "roots": {"net/model.py": {"Net": KEYS}}}


def test_a_lock_says_what_it_holds_and_is_the_same_when_nothing_changed(history: Lint) -> None:
    before = (history.project.root / "state-keys.json").read_bytes()

    answer = history("keys", "lock")

    assert (answer.code, answer.out, answer.err) == (0, "wrote state-keys.json: 1 root module, 4 keys\n", "")
    assert (history.project.root / "state-keys.json").read_bytes() == before


def test_a_lock_is_refused_while_a_rename_is_mapped_nowhere(history: Lint) -> None:
    before = (history.project.root / "state-keys.json").read_bytes()
    history.project.write("net/model.py", RENAMED)

    answer = history("keys", "lock")

    assert (answer.code, answer.out) == (2, "")
    assert "`Net.layers.{}.wq` is now `layers.{}.q_proj` (line 6 of net/model.py)" in answer.err
    assert "shardlint keys lock --accept REASON" in answer.err
    assert (history.project.root / "state-keys.json").read_bytes() == before


def test_a_refusal_names_five_keys_and_counts_the_rest(lint: Lint) -> None:
    body = "from torch import nn\nclass Net(nn.Module):\n    def __init__(self, n):\n"
    old = body + "".join(f"        self.layer_{n}x = nn.Linear({n}, {n})\n" for n in range(1, 8))
    git(lint, "init", "--quiet")
    lint.project.write("model.py", old)
    assert lint("keys", "lock").code == 0
    lint.project.write("model.py", old.replace("x =", "y ="))

    assert " and 2 more; " in lint("keys", "lock").err


def test_a_mapping_lets_the_lock_pass(history: Lint) -> None:
    history.project.write("net/model.py", RENAMED)
    history.project.write("net/load.py", 'RENAMES = {"wq": "q_proj"}\n')

    assert history("keys", "lock").code == 0
    assert "layers.{}.q_proj.weight" in manifest(history)["roots"]["net/model.py"]["Net"]
    assert manifest(history)["accepted"] == []


def test_an_accepted_rename_is_recorded_with_its_reason_and_kept(history: Lint) -> None:
    history.project.write("net/model.py", RENAMED)

    assert history("keys", "lock", "--accept", "never trained").code == 0
    assert history("keys", "lock").code == 0

    assert manifest(history)["accepted"] == [
        {
            "path": "net/model.py",
            "class": "Net",
            "old": "layers.{}.wq",
            "new": "layers.{}.q_proj",
            "reason": "never trained",
        }
    ]


def test_diff_shows_renamed_removed_and_added_keys(history: Lint) -> None:
    history.project.write("net/model.py", RENAMED.replace("self.norm = nn.LayerNorm(n)", "self.out = nn.Parameter(n)"))

    answer = history("keys", "diff")

    assert answer.code == 1
    assert answer.out.splitlines() == [
        "net/model.py Net",
        f"  {RENAME}  (nothing maps the old key)",
        "  - layers.{}.norm.bias",
        "  - layers.{}.norm.weight",
        "  + layers.{}.out",
    ]


def test_diff_of_a_mapped_rename_and_of_a_new_model_is_exit_code_0(history: Lint) -> None:
    history.project.write("net/model.py", RENAMED)
    history.project.write("net/load.py", 'RENAMES = {"wq": "q_proj"}\n')
    history.project.write(
        "net/more.py",
        "from torch import nn\nclass M(nn.Module):\n    def __init__(self):\n        self.a = nn.Linear(2, 2, False)\n",
    )

    answer = history("keys", "diff")

    assert answer.code == 0
    assert answer.out == f"net/model.py Net\n  {RENAME}\nnet/more.py M\n  + a.weight\n"


def test_diff_compares_with_a_revision(history: Lint) -> None:
    commit(history, model=RENAMED)
    os.unlink(history.project.root / "state-keys.json")

    assert RENAME in history("keys", "diff", "--base", "HEAD~1").out
    assert history("keys", "diff", "--base", "HEAD").out == "no key has changed\n"
    assert history("keys", "diff").err.startswith("shardlint: there is no state-keys.json")


def test_tests_and_excluded_files_are_in_no_lock(history: Lint) -> None:
    history.project.write("pyproject.toml", "[tool.shardlint]\nexclude = ['old/']\n")
    history.project.write("old/model.py", MODEL)
    history.project.write("tests/test_model.py", MODEL)

    answer = history("keys", "lock")

    assert answer.code == 0, answer.err
    assert list(manifest(history)["roots"]) == ["net/model.py"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("keys",), "say what to do: `shardlint keys lock`"),
        (("keys", "show"), "`shardlint keys show` is no action: use `lock` or `diff`"),
        (("keys", "lock", "--base", "HEAD"), "`--base` belongs to `shardlint keys diff`"),
        (("keys", "diff", "--accept", "x"), "`--accept` belongs to `shardlint keys lock`"),
        (("keys", "lock", "--accept", " "), "`--accept` needs a value, and it is empty"),
        (("keys", "diff", "--base", "nowhere"), "nowhere"),
    ],
)
def test_what_cannot_be_understood_is_exit_code_2(history: Lint, arguments: tuple[str, ...], said: str) -> None:
    answer = history(*arguments)

    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"version": 2}', '{"version": 1, "accepted": []}', '{"version": 1, "roots": {}}',
     '{"version": 1, "accepted": {}, "roots": {}}', '{"version": 1, "accepted": [], "roots": {"a": {"b": {"c": 1}}}}'],
)  # fmt: skip
def test_a_broken_manifest_is_said_to_be_broken(history: Lint, text: str) -> None:
    history.project.write("state-keys.json", text)

    for action in ("lock", "diff"):
        answer = history("keys", action)
        assert answer.code == 2
        assert "state-keys.json cannot be read" in answer.err


def test_a_folder_without_a_repository_is_told_so(lint: Lint) -> None:
    assert "needs a git repository" in lint("keys", "lock").err


def test_the_rule_counts_renames_from_the_lock(history: Lint) -> None:
    rule = ("check", "--select", "state-key-rename", "--output-format", "concise")
    commit(history, model=RENAMED)
    history.project.write("net/model.py", RENAMED + "\nx = 1\n")
    git(history, "add", "--all")
    assert "`Net.layers.{}.wq` is now `layers.{}.q_proj`" in history(*rule).out

    assert history("keys", "lock", "--accept", "never trained").code == 0
    git(history, "add", "--all")
    assert history(*rule).code == 0


def test_the_rule_leaves_out_what_came_after_the_lock(history: Lint) -> None:
    rule = ("check", "--select", "state-key-rename", "--output-format", "concise")
    commit(history, young=MODEL)
    history.project.write("net/young.py", RENAMED)
    git(history, "add", "--all")
    assert history(*rule).code == 0

    history.project.write("state-keys.json", "{")
    git(history, "add", "--all")
    assert "net/young.py:6" in history(*rule).out
