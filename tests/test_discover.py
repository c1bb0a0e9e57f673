"""Paths -> files: from git, from a walk, and from the command line, in friendly and in hostile trees."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from shardlint import discover as module
from shardlint.discover import Discovery, compile_patterns, discover, kind_of, matcher
from shardlint.errors import GitFailed, UnreadableFile, UsageError

LINTER = str(Path(module.__file__).parent.parent)


class FakeGit:
    """Lists what it is told to."""

    def __init__(self, *paths: str) -> None:
        self.paths = paths

    def tracked_and_untracked(self) -> Iterable[str]:
        return self.paths


class BrokenGit:
    def tracked_and_untracked(self) -> Iterable[str]:
        raise GitFailed("git is not installed")


def put(root: Path, *paths: str, text: str = "x = 1\n") -> None:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def found(discovery: Discovery) -> list[str]:
    return [file[0] for file in discovery.files]


def test_files_come_sorted_with_kind_and_stat(tmp_path: Path) -> None:
    put(
        tmp_path,
        "b.py",
        "a/z.yaml",
        "a/b.yml",
        "c.json",
        "d.toml",
        "run.sh",
        "job.slurm",
        "notes.md",
        "n.ipynb",
        "s.pyi",
    )
    discovery = discover(str(tmp_path))
    assert [(path, kind) for path, kind, *_ in discovery.files] == [
        ("a/b.yml", "yaml"),
        ("a/z.yaml", "yaml"),
        ("b.py", "python"),
        ("c.json", "json"),
        ("d.toml", "toml"),
        ("job.slurm", "shell"),
        ("run.sh", "shell"),
    ]
    status = (tmp_path / "b.py").stat()
    assert discovery.files[2] == ("b.py", "python", status.st_size, status.st_mtime_ns, status.st_ino)


@pytest.mark.parametrize(
    "name", ["package-lock.json", "a/pnpm-lock.yaml", "pylock.toml", "pylock.gpu.toml", "toml", "uv.lock"]
)
def test_lock_files_and_bare_endings_are_no_sources(name: str) -> None:
    assert kind_of(name) is None


def test_walk_leaves_out_environments_caches_and_builds(tmp_path: Path) -> None:
    put(
        tmp_path,
        "keep.py",
        "pkg/__pycache__/x.py",
        ".venv/lib/x.py",
        "node_modules/x.json",
        "build/x.py",
        "dist/x.py",
        "pkg.egg-info/x.py",
        "env/lib/x.py",
        "env/pyvenv.cfg",
        "conda/lib/x.py",
        "conda/conda-meta/history",
        "environment/env/keep.py",
    )
    assert found(discover(str(tmp_path))) == ["environment/env/keep.py", "keep.py"]


def test_git_decides_about_build_but_not_about_environments(tmp_path: Path) -> None:
    paths = ("build/x.py", ".venv/x.py", "mine/pyvenv.cfg", "mine/x.py", "x.py", "site-packages/x.py")
    put(tmp_path, *paths)
    assert found(discover(str(tmp_path), git=FakeGit(*paths))) == ["build/x.py", "x.py"]


def test_files_that_git_lists_but_are_deleted_are_left_out(tmp_path: Path) -> None:
    put(tmp_path, "here.py", "folder")
    discovery = discover(str(tmp_path), git=FakeGit("gone.py", "here.py", "folder/below.py"))
    assert found(discovery) == ["here.py"]
    assert discovery.problems == []


def test_without_a_working_git_the_folders_are_walked_and_the_user_is_told(tmp_path: Path) -> None:
    put(tmp_path, "a.py", "build/b.py")
    discovery = discover(str(tmp_path), git=BrokenGit())
    assert found(discovery) == ["a.py"]
    assert "git is not installed" in discovery.problems[0][1]


def test_walk_honours_gitignore_files_and_the_nearest_wins(tmp_path: Path) -> None:
    put(tmp_path, "a.py", "out/b.py", "deep/out/c.py", "deep/d.py", "deep/keep/e.py", "deep/f.py")
    put(tmp_path, ".gitignore", text="out/\nf.py\na[\n\\\n")
    put(tmp_path, "deep/.gitignore", text="d.py\n!f.py\n")
    assert found(discover(str(tmp_path))) == ["a.py", "deep/f.py", "deep/keep/e.py"]


def test_walk_agrees_with_git(tmp_path: Path) -> None:
    put(
        tmp_path,
        "a.py",
        "logs/b.py",
        "x/logs/c.py",
        "x/y/d.py",
        "x/y/e.yaml",
        "x/y/keep.yaml",
        "top/z.py",
        "x/top/z.py",
    )
    put(tmp_path, ".gitignore", text="# comment\nlogs\n*.yaml\n!keep.yaml\n/top/\n")
    put(tmp_path, "x/.gitignore", text="y/d.py\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    listing = ["git", "-C", str(tmp_path), "ls-files", "-coz", "--exclude-standard"]
    listed = subprocess.run(listing, check=True, capture_output=True).stdout.decode().split("\0")
    assert found(discover(str(tmp_path))) == sorted(path for path in listed if kind_of(path))


@pytest.mark.parametrize("from_git", [True, False])
def test_exclude_and_include_patterns_hold_in_both_ways(tmp_path: Path, from_git: bool) -> None:
    paths = ("a.py", "old/b.py", "old/keep.py", "x/old/c.py", "c.yaml")
    put(tmp_path, *paths)
    git = FakeGit(*paths) if from_git else None
    exclude = compile_patterns(["old/*", "!old/keep.py"])
    include = compile_patterns(["*.py"])
    assert found(discover(str(tmp_path), git=git, exclude=exclude, include=include)) == [
        "a.py",
        "old/keep.py",
        "x/old/c.py",
    ]
    assert found(discover(str(tmp_path), git=git, exclude=compile_patterns(["old/"]))) == ["a.py", "c.yaml"]


def test_a_named_file_that_is_excluded_is_recorded(tmp_path: Path) -> None:
    put(tmp_path, "old/a.py", "b.py", ".venv/c.py")
    named = [str(tmp_path / path) for path in ("old/a.py", "b.py", ".venv/c.py", "old")]
    discovery = discover(str(tmp_path), named, exclude=compile_patterns(["old"]))
    assert found(discovery) == ["b.py"]
    assert discovery.excluded == [".venv/c.py", "old", "old/a.py"]


def test_named_paths_are_relative_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "pkg/a.py", "pkg/sub/b.py", "c.py")
    monkeypatch.chdir(tmp_path / "pkg")
    assert found(discover(str(tmp_path), ["a.py", "./sub/../a.py", "sub"])) == ["pkg/a.py", "pkg/sub/b.py"]
    assert found(discover(str(tmp_path), [".."])) == ["c.py", "pkg/a.py", "pkg/sub/b.py"]


def test_a_named_folder_takes_only_its_part_of_what_git_lists(tmp_path: Path) -> None:
    paths = ("pkg/a.py", "pkg2/b.py")
    put(tmp_path, *paths)
    assert found(discover(str(tmp_path), [str(tmp_path / "pkg")], git=FakeGit(*paths))) == ["pkg/a.py"]


def test_a_named_folder_that_gitignore_ignores_is_recorded(tmp_path: Path) -> None:
    put(tmp_path, "out/deep/a.py", "out/.gitignore", "in/a.py", "in/b.py")
    put(tmp_path, ".gitignore", text="out\nb.py\n")
    discovery = discover(str(tmp_path), [str(tmp_path / "out/deep"), str(tmp_path / "in")])
    assert found(discovery) == ["in/a.py"]
    assert discovery.excluded == ["out/deep"]


def test_a_missing_named_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"gone\.py cannot be read: no such file or directory"):
        discover(str(tmp_path), [str(tmp_path / "gone.py")])


def test_a_named_file_that_may_not_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "secret.py")

    def refuse(path: str, mode: int) -> bool:
        return mode != os.R_OK or not path.endswith("secret.py")

    monkeypatch.setattr(os, "access", refuse)
    with pytest.raises(UnreadableFile, match="permission denied"):
        discover(str(tmp_path), [str(tmp_path / "secret.py")])


def test_a_path_outside_of_the_root_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, "root/a.py", "rootless/b.py")
    (tmp_path / "root/link").symlink_to(tmp_path / "rootless")
    for outside in ("rootless/b.py", "rootless", "root/link", "root/link/b.py"):
        with pytest.raises(UsageError, match="lies outside of the project"):
            discover(str(tmp_path / "root"), [str(tmp_path / outside)])


def test_a_root_behind_a_link_is_the_same_root(tmp_path: Path) -> None:
    put(tmp_path, "real/a.py")
    (tmp_path / "link").symlink_to("real")
    assert found(discover(str(tmp_path / "link"), [str(tmp_path / "real/a.py")])) == ["a.py"]
    assert found(discover(str(tmp_path / "real"), [str(tmp_path / "link/a.py")])) == ["a.py"]


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        ("#!/usr/bin/env python3", "python"),
        ("#!/bin/bash -l", "shell"),
        ("#!/usr/bin/env bash", "shell"),
        ("#!/bin/perl", None),
    ],
)
def test_a_named_script_without_ending_is_told_by_its_first_line(tmp_path: Path, first: str, kind: str | None) -> None:
    put(tmp_path, "train", text=f"{first}\n")
    discovery = discover(str(tmp_path), [str(tmp_path / "train")])
    assert [file[1] for file in discovery.files] == ([kind] if kind else [])
    assert [path for path, _ in discovery.skipped] == ([] if kind else ["train"])


def test_links_are_followed_once_and_never_out_of_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(tmp_path, "outside.py", "root/real.py", "root/build/hidden.py")
    (root / "again.py").symlink_to("real.py")
    (root / "hidden.py").symlink_to("build/hidden.py")
    (root / "hidden2.py").symlink_to("build/hidden.py")
    (root / "out.py").symlink_to("../outside.py")
    (root / "lost.py").symlink_to("nowhere.py")
    (root / "self.py").symlink_to("self.py")
    discovery = discover(str(root))
    assert found(discovery) == ["hidden.py", "real.py"]
    assert [path for path, _ in discovery.skipped] == ["lost.py", "out.py", "self.py"]
    assert found(discover(str(root), [str(root / "again.py")])) == ["again.py"]


def test_loops_of_links_end(tmp_path: Path) -> None:
    put(tmp_path, "a/b/c.py")
    (tmp_path / "a/b/up").symlink_to(tmp_path)
    (tmp_path / "a/self").symlink_to("self")
    (tmp_path / "a/folder.py").symlink_to("b")
    assert found(discover(str(tmp_path))) == ["a/b/c.py"]


def test_a_fifo_is_skipped_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    os.mkfifo(tmp_path / "pipe")
    put(tmp_path, "a.py")
    discovery = discover(str(tmp_path))
    assert found(discovery) == ["a.py"]
    assert discovery.skipped == [("pipe.py", "not a regular file")]
    assert [path for path, _ in discover(str(tmp_path), [str(tmp_path / "pipe")]).skipped] == ["pipe"]


def test_large_files_are_skipped_with_a_reason(tmp_path: Path) -> None:
    for name, size in (("big.py", 10_000_001), ("data.json", 1_000_001), ("long.yaml", 1_000_001)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    discovery = discover(str(tmp_path))
    assert found(discovery) == ["long.yaml"]
    assert discovery.skipped == [("big.py", "too large: 10 MB"), ("data.json", "data: 1 MB")]


def test_a_folder_that_may_not_be_read_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a.py", "closed/b.py")
    real = os.scandir

    def guarded(path: str) -> object:
        if path.rstrip("/").endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", guarded)
    discovery = discover(str(tmp_path))
    assert found(discovery) == ["a.py"]
    assert discovery.problems == [("closed", "the folder closed cannot be read: permission denied")]


def test_odd_names_are_kept_as_they_are(tmp_path: Path) -> None:
    names = [b"new\nline.py", b"latin-\xe9.py", b" space .py", "\u2028.py".encode()]
    for name in names:
        with open(os.path.join(os.fsencode(tmp_path), name), "wb"):
            pass
    expected = sorted(os.fsdecode(name) for name in names)
    assert found(discover(str(tmp_path))) == expected
    assert found(discover(str(tmp_path), git=FakeGit(*expected))) == expected


def test_deep_trees_need_no_recursion(tmp_path: Path) -> None:
    deep = "/".join(["d"] * 300) + "/a.py"
    put(tmp_path, deep)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 150)
    try:
        discovery = discover(str(tmp_path))
    finally:
        sys.setrecursionlimit(limit)
    assert found(discovery) == [deep]


@pytest.mark.parametrize(
    ("patterns", "path", "expected"),
    [
        (["*.py"], "a/b.py", True),
        (["/a.py"], "b/a.py", False),
        (["a/**/b"], "a/x/y/b", True),
        (["a/*"], "a/b/c", True),
        (["*", "!keep"], "keep", False),
        (["!keep", "*"], "keep", True),
        (["x/"], "x", False),
        (["x/"], "x/", True),
        (["# comment", ""], "# comment", False),
        ([], "a", False),
    ],
)
def test_patterns_mean_what_git_means(patterns: list[str], path: str, expected: bool) -> None:
    assert matcher(compile_patterns(patterns))(path) is expected


@pytest.mark.parametrize("pattern", ["\\", "[z-a]"])
def test_a_malformed_pattern_is_named(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not a pattern that git understands"):
        compile_patterns(["fine", pattern])


@pytest.mark.parametrize("name", ["discover", "source"])
def test_start_up_imports_nothing_that_costs_time(name: str) -> None:
    costly = (
        "re typing dataclasses collections enum pathlib json subprocess contextlib functools pathspec hashlib tokenize"
    )
    script = (
        f"import sys; sys.path.insert(0, {LINTER!r}); before = set(sys.modules); import shardlint.{name};"
        f"print(*sorted(set({costly.split()!r}) & (set(sys.modules) - before)))"
    )
    run = subprocess.run([sys.executable, "-I", "-S", "-c", script], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == ""


def test_a_cache_that_ignores_itself_needs_no_pattern_library(tmp_path: Path) -> None:
    (tmp_path / "cache" / "deep").mkdir(parents=True)
    (tmp_path / "cache" / ".gitignore").write_text("# written by a tool\n*\n")
    (tmp_path / "cache" / "deep" / "a.py").touch()
    (tmp_path / "b.py").touch()
    code = (
        "import sys; from shardlint.discover import discover; "
        f"print([f[0] for f in discover({str(tmp_path)!r}).files], 'pathspec' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['b.py'] False"


@pytest.mark.parametrize("from_git", [True, False])
def test_documents_and_makefiles_are_kept_apart(tmp_path: Path, from_git: bool) -> None:
    paths = ("a.py", "docs/how.md", "Makefile", "rules.mk", "old/no.md", "notes.txt")
    put(tmp_path, *paths)
    os.symlink("docs/how.md", tmp_path / "README.md")
    git = FakeGit(*paths, "README.md") if from_git else None
    discovery = discover(str(tmp_path), git=git, exclude=compile_patterns(["old/"]))
    assert found(discovery) == ["a.py"]
    assert sorted(file[0] for file in discovery.launchers) == ["Makefile", "docs/how.md", "rules.mk"]
    named = discover(str(tmp_path), [str(tmp_path / "docs/how.md")])
    assert (named.files, [path for path, _ in named.skipped]) == ([], ["docs/how.md"])


def test_a_pattern_with_too_many_stars_is_refused() -> None:
    """A hostile settings file could otherwise hold a run up for hours on one long name."""
    with pytest.raises(ValueError, match="more than 4"):
        compile_patterns(["src/*a*a*a*a*b"])
    assert compile_patterns(["**/a/**/b/**/c/**/*-*-*-*.py"])
