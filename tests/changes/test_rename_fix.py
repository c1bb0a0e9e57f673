"""`check --fix --unsafe-fixes` on a renamed key: the table of renames gets an entry, and the next run is silent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from shardlint.cli import main

from .conftest import Repository

MODEL = """\
from torch import nn


class Attention(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.{} = nn.Linear(n, n, bias=False)
        self.k_proj = nn.Linear(n, n, bias=False)


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.self_attn = Attention(n)
"""
TABLE = 'RENAMES = {"wk": "k_proj"}\n'
FIXED = 'RENAMES = {"wk": "k_proj", "wq": "q_proj"}\n'
LOAD = "pkg/a/load.py"


class Answer(NamedTuple):
    code: int
    out: str
    err: str


Lint = Callable[..., Answer]


@pytest.fixture
def lint(repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lint:
    """Run `shardlint check` in the repository."""
    monkeypatch.setenv("SHARDLINT_CACHE_DIR", str(tmp_path / "cache"))

    def run(*args: str) -> Answer:
        monkeypatch.chdir(repo.root)
        capsys.readouterr()
        code = main(["check", "--output-format", "concise", *args])
        out, err = capsys.readouterr()
        return Answer(code, out, err)

    return run


def renamed(repo: Repository, table: str = TABLE, path: str = LOAD) -> Path:
    """A repository in which `wq` is renamed to `q_proj`, staged, beside a file with a table; the file."""
    repo.write("pkg/a/model.py", MODEL.format("wq"))
    file = repo.write(path, table)
    repo.commit()
    repo.write("pkg/a/model.py", MODEL.format("q_proj"))
    repo("add", "--all")
    return file


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        'class Model:\n    _checkpoint_conversion_mapping = {\n        r"\\.wk\\.": ".k_proj.",\n    }\n',
        'load("path", key_mapping={"self_attn.wk.weight": "self_attn.k_proj.weight"})\n',
        "OLD_TO_NEW = [('wk', 'k_proj')]\n",
        'X = [\n    WeightRenaming(r"\\.self_attn\\.wk\\.", ".self_attn.k_proj."),\n]\n',
        'X = [WeightRenaming(source_patterns="self_attn.wk", target_patterns="self_attn.k_proj")]\n',
        'mapping = {\n    "layers.{}.self_attn.k_proj.weight": "layers.{}.self_attn.wk.weight"\n}\n',
    ],
)
def test_after_the_fix_a_run_is_silent(repo: Repository, lint: Lint, table: str) -> None:
    file = renamed(repo, table)
    assert lint("--base", "HEAD").code == 1

    answer = lint("--base", "HEAD", "--fix", "--unsafe-fixes")

    assert (answer.code, answer.err) == (0, "fixed 1 finding in 1 file\n")
    assert file.read_text() != table
    assert lint("--base", "HEAD").code == 0
    repo("add", "--all")
    assert lint("--staged").code == 0


def test_the_fix_is_unsafe_and_says_where_it_writes(repo: Repository, lint: Lint) -> None:
    renamed(repo)
    found = json.loads(lint("--output-format", "json").out)[0]
    assert (found["path"], found["fix"]["path"], found["fix"]["safe"]) == ("pkg/a/model.py", LOAD, False)
    assert found["fix"]["edits"] == [
        {"line": 1, "column": 26, "end_line": 1, "end_column": 26, "text": ', "wq": "q_proj"'}
    ]
    assert lint("--fix").err == ""
    assert "1 fixable with --unsafe-fixes" in lint().out


def test_diff_shows_the_file_of_the_table_and_writes_nothing(repo: Repository, lint: Lint) -> None:
    file = renamed(repo)
    answer = lint("--diff", "--unsafe-fixes")
    assert answer.code == 1
    assert answer.out == f"--- a/{LOAD}\n+++ b/{LOAD}\n@@ -1 +1 @@\n-{TABLE}+{FIXED}"
    assert file.read_text() == TABLE


def test_the_table_may_lie_in_the_file_of_the_finding(repo: Repository, lint: Lint) -> None:
    file = repo.write("model.py", TABLE + MODEL.format("wq"))
    repo.commit()
    file.write_text(TABLE + MODEL.format("q_proj"))
    assert lint("--base", "HEAD", "--fix", "--unsafe-fixes").code == 0
    assert file.read_text() == FIXED + MODEL.format("q_proj")


def test_what_the_index_holds_is_fixed_once_and_has_to_be_staged(repo: Repository, lint: Lint) -> None:
    file = renamed(repo)
    answer = lint("--fix", "--unsafe-fixes")
    assert answer.code == 1
    assert answer.err.endswith(f"what follows is still so in the commit: git add {LOAD}\n")
    assert lint("--fix", "--unsafe-fixes").err == ""
    assert file.read_text() == FIXED


def test_renames_of_one_change_share_the_table(repo: Repository, lint: Lint) -> None:
    more = MODEL.replace("        self.k_proj", "        self.{}_out = nn.Embedding(n, n)\n        self.k_proj")
    repo.write("pkg/a/model.py", more.format("wq", "wo"))
    file = repo.write(LOAD, TABLE)
    repo.commit()
    repo.write("pkg/a/model.py", more.format("q_proj", "o"))
    assert lint("--base", "HEAD", "--fix", "--unsafe-fixes").err == "fixed 2 findings in 1 file\n"
    assert file.read_text() == FIXED.replace("}", ', "wo_out": "o_out"}')
    assert lint("--base", "HEAD").code == 0


def test_line_ends_of_the_table_are_kept(repo: Repository, lint: Lint) -> None:
    file = renamed(repo, "RENAMES = {\r\n    'wk': 'k_proj',  # k\r\n}\r\n")
    assert lint("--base", "HEAD", "--fix", "--unsafe-fixes").code == 0
    assert file.read_bytes() == b"RENAMES = {\r\n    'wk': 'k_proj',  # k\r\n    'wq': 'q_proj',\r\n}\r\n"


def test_a_table_with_unstaged_hunks_is_not_written(repo: Repository, lint: Lint) -> None:
    file = renamed(repo)
    file.write_text(TABLE + "\nMORE = 1\n")
    answer = lint("--staged", "--fix", "--unsafe-fixes")
    assert answer.code == 1
    assert answer.err == f"{LOAD} was not fixed: it has changes that are not staged: stage or stash them first\n"
    # Edits are made for the text of the index, which is not what lies there.
    assert "fixable" not in lint().out
    assert "fixable" not in lint("--staged", "pkg/a/model.py").out
    assert file.read_text() == TABLE + "\nMORE = 1\n"


@pytest.mark.parametrize("said_by", ["header", "settings", "attributes"])
def test_a_generated_table_is_not_written(repo: Repository, lint: Lint, said_by: str) -> None:
    table = "# AUTO-GENERATED FILE - DO NOT EDIT\n" + TABLE if said_by == "header" else TABLE
    if said_by == "settings":
        repo.write("shardlint.toml", f'[[generated]]\npaths = ["{LOAD}"]\nsources = ["ops.yaml"]\n')
    if said_by == "attributes":
        repo.write(".gitattributes", "load.py linguist-generated\n")
    file = renamed(repo, table)
    answer = lint("--base", "HEAD", "--fix", "--unsafe-fixes")
    assert (answer.code, answer.err) == (1, "")
    assert "state-key-rename" in answer.out
    assert "fixable" not in answer.out
    assert file.read_text() == table


def test_an_excluded_table_is_not_written(repo: Repository, lint: Lint) -> None:
    repo.write("shardlint.toml", f'exclude = ["{LOAD}"]\n')
    file = renamed(repo)
    assert lint("--base", "HEAD", "--fix", "--unsafe-fixes").err == ""
    assert file.read_text() == TABLE
