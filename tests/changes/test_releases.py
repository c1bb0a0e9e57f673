"""Renamed keys in a project with tags: a class that came after the last release has no checkpoint to keep."""

from __future__ import annotations

import pytest

from shardlint.changes.key_renames import key_renames, key_reshapes
from shardlint.changes.states import change_set

from .conftest import Repository

MODEL = "from torch import nn\nclass {}(nn.Module):\n    def __init__(self, n):\n        self.{} = nn.Linear(n, {})\n"


def changed_keys(repo: Repository, **files: str) -> list[str]:
    """Renames and reshapes that staged files bring (`a__py` stands for `a.py`)."""
    for name, content in files.items():
        repo.write(name.replace("__", "."), content)
    repo("add", "--all")
    changes = change_set(repo.git, staged=True, base=None, environ={})
    found: list[str] = []
    for file in changes.changes:
        found += [f"{one.old} -> {one.new}" for one in key_renames(file, changes)]
        found += [f"{one.old} reshaped" for one in key_reshapes(file, changes)]
    return found


@pytest.mark.parametrize("tag", ["v1.0", "release-0.3.1", "2026.1"])
def test_a_class_of_the_last_release_counts(repo: Repository, tag: str) -> None:
    repo.commit(m__py=MODEL.format("M", "wq", "n"))
    repo("tag", tag)
    repo.commit(other__py="")
    assert changed_keys(repo, m__py=MODEL.format("M", "q_proj", "n")) == ["wq -> q_proj"]
    assert changed_keys(repo, m__py=MODEL.format("M", "wq", "4 * n")) == ["wq reshaped"]


def test_a_class_that_came_after_the_last_release_is_silent(repo: Repository) -> None:
    repo.commit(m__py="")
    repo("tag", "v1.0")
    repo.commit(m__py=MODEL.format("M", "wq", "n"))
    assert changed_keys(repo, m__py=MODEL.format("M", "q_proj", "n")) == []
    assert changed_keys(repo, m__py=MODEL.format("M", "wq", "4 * n")) == []


def test_a_class_that_moved_or_was_renamed_since_the_release_counts(repo: Repository) -> None:
    repo.commit(old__py=MODEL.format("M", "wq", "n"), m__py=MODEL.format("Old", "wk", "n"))
    repo("tag", "v1.0")
    repo("rm", "--quiet", "old.py")
    repo.commit(new__py=MODEL.format("M", "wq", "n") * 2, m__py=MODEL.format("New", "wk", "n"))
    moved = {"new__py": MODEL.format("M", "q_proj", "n") * 2, "m__py": MODEL.format("New", "k_proj", "n")}
    assert changed_keys(repo, **moved) == ["wk -> k_proj", "wq -> q_proj"]


def test_a_tag_without_a_version_is_no_release(repo: Repository) -> None:
    repo.commit(m__py="")
    repo("tag", "nightly")
    repo.commit(m__py=MODEL.format("M", "wq", "n"))
    assert changed_keys(repo, m__py=MODEL.format("M", "q_proj", "n")) == ["wq -> q_proj"]


def test_a_release_whose_contents_are_not_in_the_clone_counts_for_nothing(repo: Repository) -> None:
    repo.commit(m__py="x = 1\n")
    repo("tag", "v1.0")
    repo.commit(m__py=MODEL.format("M", "wq", "n"))
    blob = repo("rev-parse", "v1.0:m.py")
    (repo.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert changed_keys(repo, m__py=MODEL.format("M", "q_proj", "n")) == ["wq -> q_proj"]
