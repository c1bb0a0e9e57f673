from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from shardlint.changes import git as git_module
from shardlint.changes.git import INDEX, Git, blob_name
from shardlint.errors import GitFailed

from .conftest import Repository

Make = Callable[[str], Repository]


def test_there_is_no_git_outside_of_a_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()  # empty: git does not take it for a repository either
    assert Git.at(str(tmp_path)) is None


def test_there_is_no_git_without_the_program(repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Git.at(str(repo.root)) is None


def test_a_program_named_git_in_the_linted_tree_is_not_started(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("git", "#!/bin/sh\ntouch started\n").chmod(0o755)
    monkeypatch.chdir(repo.root)
    monkeypatch.setenv("PATH", os.pathsep.join(("", ".", os.environ["PATH"])))
    assert repo.git.tracked_and_untracked() == ["git"]
    assert not (repo.root / "started").exists()


def test_files_are_listed_relative_to_the_root_that_was_asked_for(repo: Repository) -> None:
    repo.write(".gitignore", "*.log\n")
    repo.commit(a__py="a = 1\n")
    repo.write("lib/b.py", "b = 1\n")
    repo.write("lib/ö \n.py", "c = 1\n")
    repo.write("lib/x.log", "noise\n")
    assert repo.git.tracked_and_untracked() == [".gitignore", "a.py", "lib/b.py", "lib/ö \n.py"]
    inner = Git.at(str(repo.root / "lib"))
    assert inner is not None
    assert inner.tracked_and_untracked() == ["b.py", "ö \n.py"]
    assert inner.top == str(repo.root)


def test_a_nested_repository_is_not_listed_as_a_file(repo: Repository, make: Make) -> None:
    make("repo/vendored").commit(v__py="v = 1\n")
    repo.write("a.py", "a = 1\n")
    assert repo.git.tracked_and_untracked() == ["a.py"]


def test_contents_of_the_index_and_of_a_revision(repo: Repository) -> None:
    first = repo.commit(a__py="a = 1\n", b__py="")
    repo.write("a.py", "a = 2\n")
    repo.write("odd\nname.py", "odd = 1\n")
    repo("add", "--all")
    repo.write("a.py", "a = 3\n")
    wanted = ["a.py", "b.py", "odd\nname.py", "gone.py"]
    assert repo.git.read(INDEX, wanted) == {
        "a.py": b"a = 2\n",
        "b.py": b"",
        "odd\nname.py": b"odd = 1\n",
        "gone.py": None,
    }
    assert repo.git.read(first, wanted)["a.py"] == b"a = 1\n"
    assert repo.git.on_disk("a.py") == b"a = 3\n"


def test_many_paths_are_read_as_correctly_as_few(repo: Repository) -> None:
    wanted = {f"many/{number}.py": f"n = {number}\n".encode() for number in range(300)}
    for path, content in wanted.items():
        repo.write(path, content)
    repo.commit()
    assert repo.git.read("HEAD", list(wanted)) == wanted
    assert repo.git.read(INDEX, list(wanted)) == wanted


def test_a_path_with_the_signs_of_a_pattern_is_taken_literally(repo: Repository) -> None:
    repo.write("a[1].py", "one\n")
    repo.write("a1.py", "other\n")
    repo.write(":(top)x.py", "magic\n")
    repo.commit()
    assert repo.git.read(INDEX, ["a[1].py", ":(top)x.py"]) == {"a[1].py": b"one\n", ":(top)x.py": b"magic\n"}


def test_links_named_pipes_and_large_files_have_no_content(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("a.py", "a = 1\n")
    repo.write("large.txt", "x" * 100)
    (repo.root / "link.py").symlink_to("a.py")
    os.mkfifo(repo.root / "pipe.py")
    repo("add", "a.py", "large.txt", "link.py")
    monkeypatch.setattr(git_module, "LARGEST", 50)
    assert repo.git.read(INDEX, ["a.py", "large.txt", "link.py"]) == {
        "a.py": b"a = 1\n",
        "large.txt": None,
        "link.py": None,
    }
    assert [repo.git.on_disk(name) for name in ("large.txt", "link.py", "pipe.py", "none.py")] == [None] * 4


def test_unstaged_compares_contents_but_for_line_ends(repo: Repository) -> None:
    repo.commit(a__py="a = 1\n", b__py="b = 1\n", c__py="c = 1\n", d__py="d = 1\n")
    repo.write("a.py", "a = 2\n")
    repo.write("b.py", "b = 1\r\n")
    os.utime(repo.root / "c.py", (1, 1))
    (repo.root / "d.py").unlink()
    repo.write("new.py", "n = 1\n")
    assert repo.git.unstaged(["a.py", "b.py", "c.py", "d.py", "new.py"]) == {"a.py", "d.py"}
    assert repo.git.unstaged([]) == set()


def test_head_is_none_before_the_first_commit(repo: Repository) -> None:
    assert repo.git.head() is None
    assert repo.git.head() != repo.commit(a__py="a = 1\n")
    assert repo.git.head() == repo("rev-parse", "HEAD")


def test_merge_base(repo: Repository) -> None:
    base = repo.commit(a__py="a = 1\n")
    repo("checkout", "--quiet", "-b", "work")
    repo.commit(b__py="b = 1\n")
    repo("checkout", "--quiet", "main")
    repo.commit(c__py="c = 1\n")
    assert repo.git.merge_base("work", "HEAD") == base


def test_unrelated_histories_have_no_merge_base(repo: Repository) -> None:
    repo.commit(a__py="a = 1\n")
    repo("checkout", "--quiet", "--orphan", "other")
    repo.commit(b__py="b = 1\n")
    with pytest.raises(GitFailed, match="`main` and `HEAD` have no common ancestor"):
        repo.git.merge_base("main", "HEAD")


@pytest.mark.parametrize("revision", ["--output=marker", "-h", "", "no-such", "a\0b"])
def test_what_names_no_revision_is_refused_by_name(repo: Repository, revision: str) -> None:
    repo.commit(a__py="a = 1\n")
    with pytest.raises(GitFailed, match=r"`.*` (names no commit|is no name of a revision)"):
        repo.git.commit(revision)
    assert not (repo.root / "marker").exists()


def test_a_shallow_clone_says_how_to_get_the_history(repo: Repository, tmp_path: Path) -> None:
    first = repo.commit(a__py="a = 1\n")
    repo.commit(a__py="a = 2\n")
    repo("clone", "--quiet", "--depth=1", repo.root.as_uri(), str(tmp_path / "shallow"))
    shallow = Git.at(str(tmp_path / "shallow"))
    assert shallow is not None
    with pytest.raises(GitFailed, match=r"the clone is shallow, so fetch the history first .*fetch-depth: 0"):
        shallow.merge_base(first, "HEAD")


def test_a_partial_clone_is_not_completed_on_the_way(repo: Repository, tmp_path: Path) -> None:
    repo("config", "uploadpack.allowFilter", "true")
    repo.commit(a__py="a = 1\n")
    repo("clone", "--quiet", "--filter=blob:none", "--no-checkout", repo.root.as_uri(), str(tmp_path / "partial"))
    partial = Git.at(str(tmp_path / "partial"))
    assert partial is not None
    with pytest.raises(GitFailed):
        partial.read("HEAD", ["a.py"])


def test_a_failure_names_the_command_and_gits_reason(repo: Repository) -> None:
    with pytest.raises(
        GitFailed, match=r"^`git cat-file -t nothing` failed in .*: fatal: Not a valid object name nothing$"
    ):
        repo.git.run("cat-file", "-t", "nothing")


def test_a_repository_of_another_user_is_refused_with_what_to_do(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(
        GitFailed, match=r"belongs to another user: if you trust it, run `git config --global --add safe"
    ):
        repo.git.tracked_and_untracked()


def test_the_index_of_a_hook_is_used(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(a__py="a = 1\n")
    repo.write("a.py", "a = 2\n")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/other-index")
    repo("read-tree", "HEAD")
    repo("add", "a.py")
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.chdir(repo.root)
    inner = repo.root / "inner"
    inner.mkdir()
    found = Git.at(str(inner))
    assert found is not None
    assert repo.git.read(INDEX, ["a.py"]) == {"a.py": b"a = 2\n"}
    assert found.tracked_and_untracked() == []
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert repo.git.read(INDEX, ["a.py"]) == {"a.py": b"a = 1\n"}


def test_the_index_of_another_repositorys_hook_is_not_used(
    repo: Repository, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(a__py="a = 1\n")
    other = make("other")
    other.commit(o__py="o = 1\n")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.root / ".git" / "index"))
    assert list(repo.git.index_blobs()) == ["a.py"]


def test_a_linked_working_tree_and_a_submodule_are_repositories(repo: Repository, make: Make, tmp_path: Path) -> None:
    library = make("library")
    library.commit(lib__py="lib = 1\n")
    repo.commit(a__py="a = 1\n")
    repo("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.root.as_uri(), "library")
    repo.commit()
    inner = Git.at(str(repo.root / "library"))
    assert inner is not None
    assert inner.tracked_and_untracked() == ["lib.py"]
    assert "library" in repo.git.tracked_and_untracked()
    assert sorted(repo.git.index_blobs()) == [".gitmodules", "a.py"]
    repo("worktree", "add", "--quiet", str(tmp_path / "linked"))
    linked = Git.at(str(tmp_path / "linked"))
    assert linked is not None
    assert linked.read(INDEX, ["a.py"]) == {"a.py": b"a = 1\n"}


def test_gitattributes_say_what_is_generated(repo: Repository) -> None:
    repo.write(
        ".gitattributes", "gen/* linguist-generated\nout/* linguist-generated=true\ngen/hand.py -linguist-generated\n"
    )
    paths = ["gen/a.py", "gen/hand.py", "out/b.py", "c.py"]
    assert repo.git.generated(paths) == {"gen/a.py": True, "gen/hand.py": False, "out/b.py": True}
    assert repo.git.attribute("linguist-generated", []) == {}


def test_the_wrapper_imports_nothing_that_a_warm_run_may_not() -> None:
    slow = {"re", "typing", "dataclasses", "collections", "enum", "pathlib", "json", "subprocess", "argparse"}
    slow |= {"contextlib", "functools", "hashlib", "tempfile", "threading"}
    code = (
        "import sys, shardlint.changes.git, shardlint.changes.generated, shardlint.changes.sources; print(*sys.modules)"
    )
    done = subprocess.run(
        (sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; " + code),
        check=True,
        capture_output=True,
        text=True,
    )
    assert slow & set(done.stdout.split()) == set()


def test_attributes_are_asked_for_only_where_a_file_of_them_says_generated(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(a__py="1\n")
    git, asked = repo.git, list[str]()

    def attribute(_git: Git, name: str, _paths: Collection[str]) -> dict[str, str]:
        asked.append(name)
        return {}

    monkeypatch.setattr(Git, "attribute", attribute)
    repo.write(".gitattributes", "*.png binary\n")
    assert git.generated(["deep/a.py"]) == {}
    assert asked == []
    for place in (".gitattributes", "deep/.gitattributes", ".git/info/attributes"):
        written = repo.write(place, "*.py linguist-generated\n")
        git.generated(["deep/a.py"])
        written.unlink()
    assert asked == ["linguist-generated"] * 3


def test_earlier_contents_of_a_file_are_known_by_name(repo: Repository) -> None:
    first = repo.commit(a__py="1\n")
    repo.commit(a__py="2\n")
    repo.commit(b__py="3\n")
    known = {blob_name(content, 40) for content in (b"1\n", b"2\n")}
    assert repo.git.earlier_blobs("HEAD", "a.py") == known
    assert repo.git.earlier_blobs(first, "a.py") == {blob_name(b"1\n", 40)}
    assert repo.git.earlier_blobs("HEAD", "absent.py") == set()
