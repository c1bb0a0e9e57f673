"""Everything that a repository can configure to run writes a marker; nothing may be written."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from shardlint.changes.git import INDEX, Git
from shardlint.changes.states import change_set
from shardlint.errors import GitFailed

from .conftest import Repository

HOOKS = (
    "pre-commit",
    "post-index-change",
    "reference-transaction",
    "post-checkout",
    "pre-auto-gc",
    "fsmonitor-watchman",
)

SETTINGS = (
    "core.fsmonitor",
    "core.sshCommand",
    "core.gitProxy",
    "core.askPass",
    "core.pager",
    "core.editor",
    "core.alternateRefsCommand",
    "credential.helper",
    "diff.external",
    "diff.evil.command",
    "diff.evil.textconv",
    "filter.evil.clean",
    "filter.evil.smudge",
    "gpg.program",
    "gpg.ssh.program",
    "interactive.diffFilter",
    "merge.evil.driver",
    "pager.cat-file",
    "pager.check-attr",
    "pager.diff-index",
    "pager.diff-tree",
    "pager.ls-files",
    "pager.ls-tree",
    "pager.rev-list",
    "remote.origin.uploadpack",
    "sequence.editor",
    "trace2.eventTarget",
    "uploadpack.packObjectsHook",
    "hook.evil.command",
)

COMMANDS = (
    "cat-file",
    "check-attr",
    "diff-index",
    "diff-tree",
    "hash-object",
    "ls-files",
    "ls-tree",
    "merge-base",
    "rev-list",
    "rev-parse",
)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "marker"


@pytest.fixture
def hostile(repo: Repository, marker: Path, tmp_path: Path) -> Repository:
    """History, staged, unstaged and untracked changes, all under attributes and settings that run something."""
    repo.commit(a__py="a = 1\n" * 20, moved__py="m = 1\n" * 20, deleted__py="d = 1\n")
    repo("checkout", "--quiet", "-b", "work")
    repo("mv", "moved.py", "elsewhere.py")
    repo("rm", "--quiet", "deleted.py")
    repo.commit(b__py="b = 1\n")
    repo.write("a.py", "a = 1\n" * 20 + "staged = 1\n")
    repo("add", "a.py")
    repo.write("a.py", "a = 1\n" * 20 + "unstaged = 1\n")
    repo.write("b.py", "b = 1\n")  # equal to the index but for its time, where git would compare contents
    os.utime(repo.root / "b.py", (1, 1))
    repo.write("untracked.py", "u = 1\n")
    repo.write(".gitattributes", "* filter=evil diff=evil merge=evil linguist-generated\n")
    program = tmp_path / "evil.sh"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {marker}\ncat\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    for setting in SETTINGS:
        repo("config", setting, str(program))
    repo("config", "filter.evil.process", str(program))
    repo("config", "filter.evil.required", "true")
    repo("config", "hook.evil.event", "post-index-change")
    for command in COMMANDS:
        repo("config", f"alias.{command}", f"!{program}")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for folder in (hooks, repo.root / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in HOOKS:
            (folder / hook).write_bytes(program.read_bytes())
            (folder / hook).chmod(0o755)
    repo("config", "core.hooksPath", str(hooks))
    repo("config", "core.untrackedCache", "true")
    repo("config", "log.showSignature", "true")
    repo("config", "submodule.recurse", "true")
    repo("config", "core.worktree", str(tmp_path))
    marker.unlink(missing_ok=True)
    return repo


@pytest.mark.parametrize("command", ["status", "ls-files --modified", "diff-index HEAD", "diff"])
def test_the_trap_works(hostile: Repository, marker: Path, command: str) -> None:
    subprocess.run(("git", "--work-tree=.", *command.split()), cwd=hostile.root, check=False, capture_output=True)
    assert marker.exists()


def use_everything(git: Git) -> None:
    """Every question that can be asked of git."""
    files = git.tracked_and_untracked()
    assert files == [".gitattributes", "a.py", "b.py", "elsewhere.py", "untracked.py"]
    assert git.untracked() == [".gitattributes", "untracked.py"]
    assert list(git.index_blobs(["a.py"])) == ["a.py"]
    assert git.left_out() == set()
    assert git.read(INDEX, files)["b.py"] == b"b = 1\n"
    assert git.read("HEAD", files)["elsewhere.py"] == b"m = 1\n" * 20
    assert git.unstaged(files) == {"a.py"}
    assert git.head() == git.commit("work")
    assert git.merge_base("main", "work") == git.commit("main")
    assert git.merged_commits() == []
    assert len(git.empty_tree()) == 40
    assert git.generated(["a.py"]) == {"a.py": True}
    assert len(git.earlier_blobs("HEAD", "a.py")) == 1


def test_nothing_that_a_repository_configures_is_run(hostile: Repository, marker: Path) -> None:
    index = (hostile.root / ".git" / "index").read_bytes()
    git = hostile.git
    use_everything(git)
    staged = change_set(git, staged=True, base=None, environ={})
    assert [str(change) for change in staged.changes] == ["<modified a.py>"]
    based = change_set(git, staged=False, base="main", environ={})
    assert "<renamed elsewhere.py from moved.py>" in [str(change) for change in based.changes]
    assert based.paths_after() == (".gitattributes", "a.py", "b.py", "elsewhere.py", "untracked.py")
    assert based.paths_before() == ("a.py", "deleted.py", "moved.py")
    assert not change_set(git, staged=True, base="main", environ={}).restores("a.py")
    change_set(git, staged=False, base=None, environ={"PRE_COMMIT_FROM_REF": "main", "PRE_COMMIT_TO_REF": "work"})
    assert not marker.exists(), marker.read_text()
    assert (hostile.root / ".git" / "index").read_bytes() == index


def test_a_hostile_submodule_is_left_alone(
    hostile: Repository, make: Callable[[str], Repository], marker: Path
) -> None:
    outer = make("outer")
    outer.commit(a__py="a = 1\n")
    hostile.root.rename(outer.root / "inner")
    head = outer("-C", "inner", "--work-tree=.", "rev-parse", "HEAD")
    outer("update-index", "--add", "--cacheinfo", f"160000,{head},inner")
    marker.unlink(missing_ok=True)
    git = outer.git
    assert git.tracked_and_untracked() == ["a.py", "inner"]
    assert change_set(git, staged=True, base=None, environ={}).changes == ()
    assert change_set(git, staged=False, base="HEAD", environ={}).changes == ()
    assert not marker.exists(), marker.read_text()


@pytest.mark.parametrize("transport", ["local", "ssh://evil.invalid/x", "ext::{program}", "evil::x"])
def test_a_missing_object_is_not_fetched(hostile: Repository, marker: Path, tmp_path: Path, transport: str) -> None:
    url = str(tmp_path / "elsewhere") if transport == "local" else transport.format(program=tmp_path / "evil.sh")
    hostile("config", "core.repositoryFormatVersion", "1")
    hostile("config", "extensions.partialClone", "origin")
    hostile("config", "remote.origin.url", url)
    hostile("config", "remote.origin.promisor", "true")
    hostile("config", "protocol.allow", "always")
    hostile("config", "protocol.ext.allow", "always")
    blob = hostile("--work-tree=.", "rev-parse", "HEAD:b.py")
    (hostile.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(GitFailed):
        hostile.git.read("HEAD", ["b.py"])
    assert not marker.exists(), marker.read_text()


def test_a_bare_repository_that_was_checked_in_is_not_entered(
    repo: Repository, make: Callable[[str], Repository], marker: Path, tmp_path: Path
) -> None:
    program = tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    repo.commit(a__py="a = 1\n")
    trap = repo.root / "trap"
    make("other")("clone", "--quiet", "--bare", str(repo.root), str(trap))
    repo("-C", "trap", "config", "core.fsmonitor", str(program))
    found = Git.at(str(trap))
    assert found is not None
    with pytest.raises(GitFailed, match="bare repository"):
        found.tracked_and_untracked()
    assert not marker.exists()
