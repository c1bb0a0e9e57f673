"""What `shardlint init` would write, into empty and into lived-in projects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from shardlint.commands.initialise import HOOKS_FILE, Edit, plan_init
from shardlint.errors import SettingsError
from shardlint.settings import find_settings, load_settings


def apply(root: Path, edits: list[Edit]) -> None:
    for edit in edits:
        with (root / edit.path).open("w", encoding="utf-8", newline="") as file:
            file.write(edit.new)


def only(edits: list[Edit], path: str) -> Edit:
    (edit,) = (edit for edit in edits if edit.path == path)
    return edit


def write(root: Path, name: str, text: str) -> None:
    with (root / name).open("w", encoding="utf-8", newline="") as file:
        file.write(text)


def hooks(text: str) -> list[str]:
    document: Any = yaml.safe_load(text)
    return [hook["id"] for repo in document["repos"] for hook in repo["hooks"]]


def test_an_empty_project_gets_a_hook_and_settings_but_no_makefile(tmp_path: Path) -> None:
    edits = plan_init(str(tmp_path))
    assert [(edit.path, edit.old) for edit in edits] == [(HOOKS_FILE, None), ("shardlint.toml", None)]
    assert hooks(edits[0].new) == ["shardlint"]
    assert not list(tmp_path.iterdir())


PROJECTS = {
    "empty files": {HOOKS_FILE: "", "pyproject.toml": "", "Makefile": ""},
    "no newline at the end": {
        HOOKS_FILE: "repos:\n- repo: local\n  hooks:\n  - id: a",
        "pyproject.toml": "[project]\nname = 'x'",
        "Makefile": "all:\n\techo",
    },
    "crlf": {
        HOOKS_FILE: "repos:\r\n  - repo: local\r\n    hooks:\r\n      - id: a\r\n",
        "pyproject.toml": "[project]\r\n",
        "Makefile": "all:\r\n\techo\r\n",
    },
    "own settings": {"shardlint.toml": "fail-on = 'note'\n", "GNUmakefile": "x := 1\n"},
}


@pytest.mark.parametrize("files", PROJECTS.values(), ids=PROJECTS.keys())
def test_text_is_only_added_and_a_second_run_changes_nothing(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        write(tmp_path, name, text)
    edits = plan_init(str(tmp_path))
    assert edits
    for edit in edits:
        if edit.old is not None:
            assert edit.old == files[edit.path]
            added = edit.new.replace("\r\n", "\n").split("\n")
            assert [line for line in edit.old.replace("\r\n", "\n").split("\n") if line and line not in added] == []
            assert ("\r\n" in edit.old) == ("\r\n" in edit.new)
            assert edit.new.count("\r\n") in (0, edit.new.count("\n"))
    apply(tmp_path, edits)
    assert plan_init(str(tmp_path)) == []
    load_settings(find_settings(str(tmp_path)))
    assert "shardlint" in hooks((tmp_path / HOOKS_FILE).read_text(encoding="utf-8"))


HOOK_FILES = {
    "comment and keys after": (
        "# top\nrepos:\n  - repo: local  # mine\n    hooks:\n      - id: a\n        args: [x,\n"
        "          y]\n  # end\n\n"
        "ci:\n  skip: [a]\n",
        ["a", "shardlint"],
    ),
    "block scalar last": (
        "repos:\n- repo: local\n  hooks:\n  - id: a\n    files: |\n      (?x)^(\n        a|b\n      )$\n\nexclude: x\n",
        ["a", "shardlint"],
    ),
    "flow": ("repos: [{repo: local, hooks: [{id: a}]}]\n", ["a", "shardlint"]),
    "flow with a comma at the end": ("repos: [\n  {repo: local, hooks: [{id: a}]},\n]\nci: {}\n", ["a", "shardlint"]),
    "empty flow": ("repos: []\n", ["shardlint"]),
    "empty value": ("repos:\nci: {}\n", ["shardlint"]),
    "null": ("repos:\n", ["shardlint"]),
    "no repos": ("ci:\n  skip: [a]\n", ["shardlint"]),
    "end of document": ("---\nrepos:\n- repo: local\n  hooks:\n  - id: a\n...\n", ["a", "shardlint"]),
    "unicode before": ("# é 変\nrepos:\n- repo: local\n  hooks:\n  - id: a  # ü\nci: {}\n", ["a", "shardlint"]),
}


@pytest.mark.parametrize(("text", "ids"), HOOK_FILES.values(), ids=HOOK_FILES.keys())
def test_the_hook_is_added_to_any_form(tmp_path: Path, text: str, ids: list[str]) -> None:
    write(tmp_path, HOOKS_FILE, text)
    new = only(plan_init(str(tmp_path)), HOOKS_FILE).new
    assert hooks(new) == ids
    before: Any = yaml.safe_load(text)
    after: Any = yaml.safe_load(new)
    assert {key: value for key, value in after.items() if key != "repos"} == {
        key: value for key, value in before.items() if key != "repos"
    }
    assert after["repos"][:-1] == (before.get("repos") or [])
    position = 0
    for line in (line for line in text.split("\n") if not line.startswith("repos: [")):
        position = new.index(line, position)


def test_comments_between_repos_and_the_next_key_stay_with_that_key(tmp_path: Path) -> None:
    write(tmp_path, HOOKS_FILE, "repos:\n- repo: local\n  hooks:\n  - id: a\n\n# for the service\nci: {}\n")
    new = only(plan_init(str(tmp_path)), HOOKS_FILE).new
    assert new.endswith("\n\n# for the service\nci: {}\n")


def test_an_existing_hook_is_kept(tmp_path: Path) -> None:
    write(tmp_path, HOOKS_FILE, "repos:\n- repo: https://example.org/x\n  rev: v1\n  hooks:\n  - id: shardlint\n")
    assert HOOKS_FILE not in [edit.path for edit in plan_init(str(tmp_path))]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (HOOKS_FILE, "repos: [\n", ":2: the file is not valid YAML"),
        (HOOKS_FILE, "- a\n", "must hold a mapping"),
        (HOOKS_FILE, "repos: 3\n", "lines cannot be added to"),
        (HOOKS_FILE, "{repos: null}\n", "lines cannot be added to"),
        ("pyproject.toml", "[project\n", "not valid TOML"),
        ("pyproject.toml", "tool = {x = 1}\n", "lines cannot extend"),
        ("Makefile", "\udcff", "it is not UTF-8"),
    ],
)
def test_what_cannot_be_extended_is_told(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(SettingsError, match=name) as caught:
        plan_init(str(tmp_path))
    assert words in str(caught.value)


def test_an_existing_table_or_target_is_kept(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", "[tool]\nshardlint.fail-on = 'note'\n")
    write(tmp_path, "Makefile", "shardlint: deps\n\techo\n")
    assert [edit.path for edit in plan_init(str(tmp_path))] == [HOOKS_FILE]


def test_the_target_uses_the_makefiles_own_recipe_prefix(tmp_path: Path) -> None:
    write(tmp_path, "Makefile", ".RECIPEPREFIX := >\nshardlint_x := 1\nall:\n> echo\n")
    assert "\nshardlint:\n>shardlint check\n" in only(plan_init(str(tmp_path)), "Makefile").new


def test_only_the_makefile_that_make_reads_is_extended(tmp_path: Path) -> None:
    write(tmp_path, "GNUmakefile", "a:\n")
    write(tmp_path, "Makefile", "a:\n")
    assert [edit.path for edit in plan_init(str(tmp_path))][2:] == ["GNUmakefile"]


def test_nothing_is_planned_through_a_link_out_of_the_project(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    write(tmp_path, "Makefile", "a:\n")
    (root / "Makefile").symlink_to("../Makefile")
    with pytest.raises(SettingsError, match="link out of the project"):
        plan_init(str(root))
