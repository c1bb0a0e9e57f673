from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from shardlint.changes.git import Git, blob_name
from shardlint.changes.process import communicate
from shardlint.changes.states import ChangeSet, change_set
from shardlint.errors import GitFailed

from .conftest import Repository

Make = Callable[[str], Repository]
Answer = tuple[int, bytes, bytes]

BODY = "".join(f"line_{number} = {number}\n" for number in range(30))


def staged(repo: Repository, base: str | None = None) -> ChangeSet:
    return change_set(repo.git, staged=True, base=base, environ={})


def based(repo: Repository, base: str) -> ChangeSet:
    return change_set(repo.git, staged=False, base=base, environ={})


def words(changes: ChangeSet) -> list[str]:
    return [str(change) for change in changes.changes]


def test_the_default_is_what_the_next_commit_will_hold(repo: Repository) -> None:
    repo.commit(a__py="a = 1\n", b__py="b = 1\n", c__py="c = 1\n")
    repo.write("a.py", "a = 2\n")
    repo("add", "a.py")
    repo.write("a.py", "a = 3\n")
    repo.write("b.py", "b = 2\n")
    repo("rm", "--quiet", "--cached", "c.py")
    repo.write("new.py", "n = 1\n")
    found = change_set(repo.git, staged=False, base=None, environ={})
    assert words(found) == ["<modified a.py>", "<deleted c.py>"]
    assert (found.changes[0].before, found.changes[0].after) == (b"a = 1\n", b"a = 2\n")
    assert (found.changes[1].before, found.changes[1].after) == (b"c = 1\n", None)
    assert (found.before_name, found.after_name) == ("HEAD", "the index")
    assert found.read_after("b.py") == b"b = 1\n"
    assert found.read_before("c.py") == b"c = 1\n"
    assert found.read_after("c.py") is None
    assert (found.paths_before(), found.paths_after()) == (("a.py", "b.py", "c.py"), ("a.py", "b.py"))


def test_a_hunk_that_is_not_staged_is_no_part_of_the_change(repo: Repository) -> None:
    repo.commit(a__py=BODY)
    repo.write("a.py", "first = 1\n" + BODY)
    repo("add", "a.py")
    repo.write("a.py", "first = 1\n" + BODY + "last = 1\n")
    assert [change.after for change in staged(repo).changes] == [("first = 1\n" + BODY).encode()]
    assert repo.git.unstaged(["a.py"]) == {"a.py"}


def test_a_rename_keeps_both_paths_and_contents(repo: Repository) -> None:
    repo.commit(old__py=BODY)
    repo("mv", "old.py", "new.py")
    repo.write("new.py", BODY + "more = 1\n")
    repo("add", "new.py")
    (change,) = staged(repo).changes
    assert (change.status, change.path, change.old_path) == ("renamed", "new.py", "old.py")
    assert (change.before, change.after) == (BODY.encode(), (BODY + "more = 1\n").encode())


def test_a_rename_without_an_edit_is_a_change(repo: Repository) -> None:
    repo.commit(old__py=BODY)
    repo("mv", "old.py", "new.py")
    assert words(staged(repo)) == ["<renamed new.py from old.py>"]


def test_everything_is_added_before_the_first_commit(repo: Repository) -> None:
    repo.write("a.py", "a = 1\n")
    repo("add", "a.py")
    found = staged(repo)
    assert words(found) == ["<added a.py>"]
    assert found.before_name == "the empty repository"
    assert (found.paths_before(), found.read_before("a.py")) == ((), None)


def test_a_base_needs_a_commit(repo: Repository) -> None:
    with pytest.raises(GitFailed, match=r"no commit yet in .* leave `--base` out"):
        based(repo, "main")


def test_links_submodules_binary_and_large_files_are_no_part_of_a_change(
    repo: Repository, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = make("library")
    library.commit(lib__py="lib = 1\n")
    repo.commit(a__py="a = 1\n")
    repo("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.root.as_uri(), "library")
    (repo.root / "link.py").symlink_to("a.py")
    repo.write("picture.png", b"\x89PNG\0\0")
    repo.write("large.txt", "x" * 200)
    repo("add", "--all")
    monkeypatch.setattr("shardlint.changes.git.LARGEST", 150)
    assert words(staged(repo)) == ["<added .gitmodules>"]
    assert words(based(repo, "HEAD")) == ["<added .gitmodules>"]
    assert "library" not in based(repo, "HEAD").paths_after()


def test_a_file_that_becomes_a_link_is_deleted(repo: Repository) -> None:
    repo.commit(a__py="a = 1\n", b__py="b = 1\n")
    (repo.root / "b.py").unlink()
    (repo.root / "b.py").symlink_to("a.py")
    assert words(based(repo, "HEAD")) == ["<deleted b.py>"]
    repo("add", "--all")
    assert words(staged(repo)) == ["<deleted b.py>"]


def test_modes_and_line_ends_alone_are_no_change(repo: Repository) -> None:
    repo("config", "core.autocrlf", "false")
    repo.commit(a__py="a = 1\nb = 1\n", b__py="b = 1\n")
    repo.write("a.py", "a = 1\r\nb = 1\r\n")
    (repo.root / "b.py").chmod(0o755)
    assert words(based(repo, "HEAD")) == []
    repo("add", "--all")
    assert words(staged(repo)) == []


def test_a_base_compares_its_merge_base_with_the_working_tree(repo: Repository) -> None:
    repo.commit(a__py="a = 1\n", b__py="b = 1\n", c__py="c = 1\n", moved__py=BODY)
    repo("checkout", "--quiet", "-b", "work")
    repo("mv", "moved.py", "new.py")
    repo.commit(a__py="a = 2\n")
    repo("checkout", "--quiet", "main")
    repo.commit(b__py="b = 'main went on'\n")
    repo("checkout", "--quiet", "work")
    repo.write("a.py", "a = 3\n")
    repo.write("new.py", BODY + "more = 1\n")
    repo.write("untracked.py", "u = 1\n")
    (repo.root / "c.py").unlink()
    found = based(repo, "main")
    assert words(found) == [
        "<modified a.py>",
        "<deleted c.py>",
        "<renamed new.py from moved.py>",
        "<added untracked.py>",
    ]
    assert [change.after for change in found.changes] == [b"a = 3\n", None, (BODY + "more = 1\n").encode(), b"u = 1\n"]
    assert found.before_name.startswith("the merge base of main and HEAD (")
    assert found.paths_after() == ("a.py", "b.py", "new.py", "untracked.py")
    assert words(staged(repo, "main")) == ["<modified a.py>", "<renamed new.py from moved.py>"]


def test_a_file_that_came_and_went_is_no_change(repo: Repository) -> None:
    repo.commit(a__py=BODY)
    repo.write("fresh.py", "f = 1\n")
    repo("mv", "a.py", "b.py")
    repo("add", "--all")
    (repo.root / "fresh.py").unlink()
    (repo.root / "b.py").unlink()
    assert words(based(repo, "HEAD")) == ["<deleted a.py>"]


def test_a_file_that_only_the_index_lost_is_unchanged_on_disk(repo: Repository) -> None:
    repo.commit(a__py="a = 1\n", b__py="b = 1\n")
    repo("rm", "--quiet", "--cached", "a.py", "b.py")
    repo.write("b.py", "b = 2\n")
    assert words(based(repo, "HEAD")) == ["<modified b.py>"]


def test_a_move_that_git_was_not_told_of_is_a_rename(repo: Repository) -> None:
    repo.commit(a__py=BODY)
    (repo.root / "a.py").rename(repo.root / "b.py")
    (change,) = based(repo, "HEAD").changes
    assert str(change) == "<renamed b.py from a.py>"
    assert change.before == change.after == BODY.encode()


def test_a_file_that_is_only_announced_to_the_index_is_added(repo: Repository) -> None:
    repo.commit(a__py="a = 1\n")
    repo.write("b.py", "b = 1\n")
    repo("add", "--intent-to-add", "b.py")
    assert words(based(repo, "HEAD")) == ["<added b.py>"]


def test_files_under_a_filter_are_not_compared_with_the_working_tree(repo: Repository) -> None:
    repo("config", "filter.swap.clean", "tr a b")
    repo.write(".gitattributes", "*.swap filter=swap\n")
    repo.write("x.swap", "aaa\n")
    repo.commit()
    repo.write("x.swap", "ccc\n")
    assert words(based(repo, "HEAD")) == []


def test_a_sparse_checkout_deletes_nothing(repo: Repository) -> None:
    repo.write("in/a.py", "a = 1\n")
    repo.write("out/b.py", "b = 1\n")
    repo.commit()
    repo("sparse-checkout", "set", "in")
    assert not (repo.root / "out").exists()
    found = based(repo, "HEAD")
    assert words(found) == []
    assert found.paths_after() == ("in/a.py", "out/b.py")
    assert found.read_after("out/b.py") == b"b = 1\n"


def test_pre_commit_names_both_revisions(repo: Repository) -> None:
    first = repo.commit(a__py="a = 1\n")
    second = repo.commit(a__py="a = 2\n")
    repo.commit(a__py="a = 3\n")
    repo.write("a.py", "a = 4\n")
    repo("add", "a.py")
    environ = {"PRE_COMMIT_FROM_REF": first, "PRE_COMMIT_TO_REF": second}
    found = change_set(repo.git, staged=False, base=None, environ=environ)
    assert [(change.before, change.after) for change in found.changes] == [(b"a = 1\n", b"a = 2\n")]
    assert found.after_name == second
    assert found.read_after("a.py") == b"a = 2\n"
    asked = change_set(repo.git, staged=True, base=None, environ=environ)
    assert [(change.before, change.after) for change in asked.changes] == [(b"a = 3\n", b"a = 4\n")]


def test_a_base_that_was_asked_for_overrules_pre_commit(repo: Repository) -> None:
    first = repo.commit(a__py="a = 1\n")
    second = repo.commit(a__py="a = 2\n")
    repo.commit(a__py="a = 3\n")
    environ = {"PRE_COMMIT_FROM_REF": first, "PRE_COMMIT_TO_REF": second}
    (change,) = change_set(repo.git, staged=False, base=second, environ=environ).changes
    assert (change.before, change.after) == (b"a = 2\n", b"a = 3\n")


def test_a_merge_marks_what_it_takes_over(repo: Repository) -> None:
    repo.commit(theirs__py="t = 1\n", both__py=BODY, gone__py="g = 1\n")
    repo("checkout", "--quiet", "-b", "other")
    repo("rm", "--quiet", "gone.py")
    repo.commit(theirs__py="t = 2\n", both__py="first = 1\n" + BODY)
    repo("checkout", "--quiet", "main")
    repo.commit(both__py=BODY + "last = 1\n")
    repo("merge", "--quiet", "--no-commit", "other")
    assert words(staged(repo)) == ["<modified both.py>", "<deleted gone.py (merged)>", "<modified theirs.py (merged)>"]


def test_a_conflict_is_compared_as_it_lies_on_disk(repo: Repository) -> None:
    repo.commit(a__py="a = 1\n")
    repo("checkout", "--quiet", "-b", "other")
    repo.commit(a__py="a = 2\n")
    repo("checkout", "--quiet", "main")
    repo.commit(a__py="a = 3\n")
    subprocess.run(("git", "merge", "other"), cwd=repo.root, check=False, capture_output=True)
    assert words(staged(repo)) == []
    assert words(based(repo, "HEAD")) == ["<modified a.py>"]


def test_a_root_inside_the_repository_sees_its_own_files_only(repo: Repository) -> None:
    repo.write("lib/a.py", "a = 1\n")
    repo.write("lib/gone.py", "g = 1\n")
    repo.commit(b__py="b = 1\n")
    repo.write("lib/a.py", "a = 2\n")
    repo.write("b.py", "b = 2\n")
    (repo.root / "lib/gone.py").unlink()
    repo("add", "--all")
    repo.write("lib/new.py", "n = 1\n")
    inner = Git.at(str(repo.root / "lib"))
    assert inner is not None
    found = change_set(inner, staged=True, base=None, environ={})
    assert words(found) == ["<modified a.py>", "<deleted gone.py>"]
    assert found.read_before("gone.py") == b"g = 1\n"
    assert found.paths_before() == ("a.py", "gone.py")
    onto_disk = change_set(inner, staged=False, base="HEAD", environ={})
    assert words(onto_disk) == ["<modified a.py>", "<deleted gone.py>", "<added new.py>"]


def test_a_shallow_clone_without_the_base_says_what_to_do(repo: Repository, tmp_path: Path) -> None:
    repo.commit(a__py="a = 1\n")
    repo("branch", "old")
    repo.commit(a__py="a = 2\n")
    repo("clone", "--quiet", "--depth=1", repo.root.as_uri(), str(tmp_path / "shallow"))
    shallow = Git.at(str(tmp_path / "shallow"))
    assert shallow is not None
    with pytest.raises(GitFailed, match=r"`origin/old` names no commit .* the clone is shallow, so fetch the history"):
        change_set(shallow, staged=False, base="origin/old", environ={})


def test_many_files_are_read_at_once(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        repo.write(f"{number}.py", f"n = {number}\n")
    repo.commit()
    found = staged(repo)
    commands: list[str] = []
    run = Git.run

    def counted(self: Git, *args: str, input: bytes = b"") -> bytes:
        commands.append(args[0])
        return run(self, *args, input=input)

    monkeypatch.setattr(Git, "run", counted)
    found.before.load(found.paths_before())
    assert {found.read_before(path) for path in found.paths_before()} == {b"n = %d\n" % n for n in range(50)}
    assert commands == ["ls-tree", "ls-tree", "cat-file", "cat-file"]


@pytest.mark.parametrize(("kind", "length"), [("sha1", 40), ("sha256", 64)])
def test_contents_are_named_as_git_names_them(tmp_path: Path, kind: str, length: int) -> None:
    subprocess.run(("git", "init", "--quiet", f"--object-format={kind}", "."), cwd=tmp_path, check=True)
    (tmp_path / "a.py").write_bytes(b"a = 1\n")
    named = subprocess.run(("git", "hash-object", "a.py"), cwd=tmp_path, check=True, capture_output=True, text=True)
    assert blob_name(b"a = 1\n", length) == named.stdout.strip()
    found = Git.at(str(tmp_path))
    assert found is not None
    assert len(found.empty_tree()) == length


def test_a_run_without_a_change_costs_one_process(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(a__py="a = 1\n")
    git, commands = repo.git, list[str]()

    def counted(program: str, arguments: Sequence[str], environ: Mapping[str, str], data: bytes) -> Answer:
        commands.append(next(word for word in arguments if word in ("diff-index", "cat-file", "rev-parse", "ls-files")))
        return communicate(program, arguments, environ, data)

    monkeypatch.setattr("shardlint.changes.git.communicate", counted)
    assert change_set(git, staged=False, base=None, environ={}).changes == ()
    assert commands == ["diff-index"]
    repo.write("a.py", "a = 2\n")
    repo("add", "a.py")
    commands.clear()
    assert len(change_set(git, staged=True, base=None, environ={}).changes) == 1
    assert commands == ["diff-index", "cat-file", "cat-file"]


def test_a_conflict_outside_of_the_folder_does_not_stop_a_run_in_it(repo: Repository) -> None:
    repo.commit(a__py="a = 1\n")
    (repo.root / "sub").mkdir()
    repo.write("sub/b.py", "b = 1\n")
    repo.commit()
    repo("checkout", "--quiet", "-b", "other")
    repo.commit(a__py="a = 2\n")
    repo("checkout", "--quiet", "main")
    repo.commit(a__py="a = 3\n")
    subprocess.run(("git", "merge", "other"), cwd=repo.root, capture_output=True, check=False)
    repo.write("sub/b.py", "b = 2\n")
    repo("add", "sub")
    git = Git.at(str(repo.root / "sub"))
    assert git is not None
    assert words(change_set(git, staged=True, base=None, environ={})) == ["<modified b.py>"]
