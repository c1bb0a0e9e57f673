"""The cache: never wrong, never in the way, never in the linted tree."""

# Tests replace private parts, and some libraries have no types.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
from __future__ import annotations

import marshal
import os
import random
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shardlint import cache, engine, project
from shardlint.finding import Finding

from .conftest import GUARDED, LONG_AGO, PLAIN, Project

CALLER = """\
import torch.distributed as dist
from lib.io import store

def run(state):
    if dist.get_rank() == 0:
        store(state)
"""
STORE = "import torch.distributed.checkpoint as dcp\n\ndef store(state):\n    dcp.save(state)\n"


@pytest.fixture
def filled(project: Project) -> Project:
    """A project with findings in one file, across two files, and in a document, checked once."""
    project.write("train.py", GUARDED)
    project.write("caller.py", CALLER)
    project.write("lib/__init__.py", "")
    project.write("lib/io.py", STORE)
    project.write("conf.yaml", "lr: 1e-5\n")
    assert project.check()[0] == 1
    return project


def shown(project: Project, *paths: str, use_cache: bool = True) -> list[Finding]:
    return project.outcome(*paths, use_cache=use_cache).findings


# What the cache folder looks like


def test_folder_and_files_are_private(filled: Project) -> None:
    files = filled.cache_files()
    assert len(files) == 3
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"SHARDLINT_CACHE_DIR": "/one", "XDG_CACHE_HOME": "/two"}, "/one"),
        ({"XDG_CACHE_HOME": "/two"}, "/two/shardlint"),
        ({"SHARDLINT_CACHE_DIR": "", "XDG_CACHE_HOME": "/two"}, "/two/shardlint"),
    ],
)
def test_the_folder_is_where_the_user_wants_it(given: dict[str, str], expected: str) -> None:
    assert os.path.dirname(cache.folder(given)) == expected


def test_a_relative_xdg_folder_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache.folder({"XDG_CACHE_HOME": "here"}).startswith("/home/someone/")


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    file = cache.path({}, "session", str(tmp_path))
    cache.save(file, {"a": 1})
    assert cache.load(file) is None
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_into_the_linted_tree(filled: Project) -> None:
    before = {path: path.stat().st_mtime_ns for path in filled.root.rglob("*")}
    filled.write("train.py", GUARDED + "\n\n", settled=False)
    before[filled.root / "train.py"] = (filled.root / "train.py").stat().st_mtime_ns
    for arguments in ((), ("--no-cache",), ("--statistics",), ("train.py",)):
        filled.check(*arguments)
    assert {path: path.stat().st_mtime_ns for path in filled.root.rglob("*")} == before


@pytest.mark.parametrize("place", ["/dev/null", "file", "/proc/none"])
def test_an_unwritable_folder_is_no_failure(filled: Project, place: str) -> None:
    expected = filled.check()
    (filled.cache / "file").touch()
    filled.environ["SHARDLINT_CACHE_DIR"] = place if place.startswith("/") else str(filled.cache / place)
    assert filled.check() == expected


# Content that cannot be trusted


def _truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _empty(_data: bytes) -> bytes:
    return b""


def _flipped(data: bytes) -> bytes:
    return data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]


def _flipped_digest(data: bytes) -> bytes:
    at = len(cache.MAGIC) + 2
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def _of_another_version(data: bytes) -> bytes:
    return data.replace(b"-1\n", b"-0\n", 1)


def _garbage(data: bytes) -> bytes:
    return random.Random(1).randbytes(len(data))


def _signed(content: bytes) -> bytes:
    return cache.MAGIC + cache.digest(content) + content


def _signed_garbage(data: bytes) -> bytes:
    return _signed(random.Random(2).randbytes(len(data)))


def _signed_bomb(_data: bytes) -> bytes:
    return _signed(b"(" + (2**22).to_bytes(4, "little") + b"N")


def _signed_depth(_data: bytes) -> bytes:
    return _signed(b")\x01" * 100_000 + b"N")


def _of_another_shape(_data: bytes) -> bytes:
    return _signed(marshal.dumps(["a", 1]))


def _of_an_empty_shape(_data: bytes) -> bytes:
    return _signed(marshal.dumps({}))


BROKEN = (
    _truncated,
    _empty,
    _flipped,
    _flipped_digest,
    _of_another_version,
    _garbage,
    _signed_garbage,
    _signed_bomb,
    _signed_depth,
    _of_another_shape,
    _of_an_empty_shape,
)


@pytest.mark.parametrize("kind", ["session", "results", "facts", ""])
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_cache_is_a_cold_run(filled: Project, broken: Callable[[bytes], bytes], kind: str) -> None:
    expected = shown(filled)
    files = filled.cache_files(kind)
    assert files
    for file in files:
        file.write_bytes(broken(file.read_bytes()))
    assert shown(filled) == expected
    filled.write("lib/io.py", STORE + "\n")
    assert shown(filled) == expected
    assert shown(filled) == expected


def test_a_cache_of_another_user_is_not_read(filled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = filled.cache_files("results")
    assert cache.load(str(file)) is not None
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    assert cache.load(str(file)) is None


def test_lost_facts_are_built_again(filled: Project) -> None:
    """The results name files whose facts lie in another file; without them, nothing would be found."""
    expected = shown(filled)
    for file in filled.cache_files("facts"):
        file.unlink()
    filled.write("lib/io.py", STORE + "\nx = 1\n")
    assert shown(filled) == expected
    assert any(finding.path == "train.py" for finding in expected)


def test_facts_that_are_nested_too_deeply_to_be_kept_stop_no_run(filled: Project) -> None:
    chain = "".join(f"        case [{n}]:\n            store(state)\n" for n in range(1_500))
    filled.write("deep.py", f"from lib.io import store\n\ndef each(state, rank):\n    match rank == 0, state:\n{chain}")
    expected = shown(filled)
    assert any(finding.path == "train.py" for finding in expected)
    assert shown(filled) == expected == shown(filled, use_cache=False)


# Time stamps


def test_a_change_within_the_resolution_of_the_clock_is_noticed(project: Project) -> None:
    now = time.time()
    file = project.write("train.py", GUARDED)
    os.utime(file, (now, now))
    assert shown(project)
    file.write_text(PLAIN + "#" * (len(GUARDED) - len(PLAIN)))
    os.utime(file, (now, now))
    assert shown(project) == []


def test_a_change_during_a_long_run_is_noticed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of a run is read when it starts: what is written after a file was read is as fresh as at the start."""
    assert shown(project) == []
    now = time.time_ns()
    file = project.write("train.py", GUARDED)
    os.utime(file, ns=(now, now))
    times = iter(range(now, now + 10**15, 10**13))
    monkeypatch.setattr(time, "time_ns", lambda: next(times))
    assert shown(project)
    file.write_text(PLAIN + "#" * (len(GUARDED) - len(PLAIN)))
    os.utime(file, ns=(now, now))
    assert shown(project) == []


def test_a_touched_file_is_read_and_not_judged_again(filled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = shown(filled)
    for name in ("train.py", "lib/io.py", "conf.yaml"):
        os.utime(filled.root / name, (LONG_AGO + 5, LONG_AGO + 5))

    def fail(*_arguments: object) -> None:
        raise AssertionError("the content is the same")

    monkeypatch.setattr(engine._Run, "_analysis", fail)
    assert shown(filled) == expected


def test_a_warm_run_reads_no_source(filled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = shown(filled)

    def fail(_run: object, path: str) -> bytes:
        raise AssertionError(f"{path} is read")

    monkeypatch.setattr(project.Project, "read", fail)
    assert shown(filled) == expected


def test_an_unreadable_file_is_tried_again(filled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = shown(filled)
    real = project.Project.read

    def refuse(run: project.Project, path: str) -> bytes:
        if path == "train.py":
            raise PermissionError(13, "Permission denied")
        return real(run, path)

    monkeypatch.setattr(project.Project, "read", refuse)
    filled.write("train.py", GUARDED + "#")
    for _ in range(2):
        outcome = filled.outcome()
        assert outcome.discovery is not None
        assert outcome.discovery.problems == [("train.py", "train.py cannot be read: Permission denied")]
        assert [finding.path for finding in outcome.findings if finding.path == "train.py"] == []
    monkeypatch.setattr(project.Project, "read", real)
    assert shown(filled) == expected


# What results depend on


def test_results_of_different_rules_do_not_mix(filled: Project) -> None:
    everything = filled.outcome().findings
    for _ in range(2):
        assert filled.outcome(select=("config",)).findings == [f for f in everything if f.family == "config"]
        assert filled.outcome(select=("checkpoint",)).findings == [f for f in everything if f.family == "checkpoint"]
        assert filled.outcome().findings == everything


def test_a_crash_is_reported_in_each_run(packed: Project) -> None:
    packed.write("a.py", "import probe\nprobe.crash()\nprobe.load()\n")
    for _ in range(2):
        code, out, err = packed.run("check", "--output-format", "concise")
        assert code == 2
        assert b"probe-crash" in err
        assert b"broken rule" in err
        assert b"probe-load loaded" in out


def test_a_new_package_file_changes_import_names(project: Project) -> None:
    project.write("pkg/caller.py", CALLER.replace("from lib.io", "from .io"))
    project.write("pkg/io.py", STORE)
    before = shown(project)
    assert before == shown(project, use_cache=False)
    project.write("pkg/__init__.py", "")
    assert shown(project) == shown(project, use_cache=False)
    (project.root / "pkg" / "__init__.py").unlink()
    assert shown(project) == before


def test_a_file_that_an_import_was_missing_is_noticed(project: Project) -> None:
    project.write("caller.py", CALLER.replace("lib.io", "io_of_mine"))
    assert shown(project) == []
    project.write("io_of_mine.py", STORE)
    (finding,) = [f for f in shown(project) if f.rule == "rank-guarded-checkpoint"]
    assert shown(project) == shown(project, use_cache=False)
    assert finding.path in ("caller.py", "io_of_mine.py")


# Several runs at once, and runs that are killed


def test_runs_at_once_agree(filled: Project) -> None:
    expected = filled.check()
    for number in range(4):
        filled.write("lib/io.py", STORE + "#" * number, settled=False)
        started = [filled.start("check", "--output-format", "concise") for _ in range(4)]
        assert {(process.communicate()[0].decode(), process.returncode) for process in started} == {expected[::-1]}
        assert filled.check() == expected
    assert [path for path in filled.cache_files() if cache.load(str(path)) is None] == []


def test_a_killed_run_leaves_nothing_broken(filled: Project) -> None:
    expected = shown(filled)
    chance = random.Random(3)
    for number in range(12):
        for file in filled.cache_files(chance.choice(("session", "results", "facts"))):
            file.unlink()
        filled.write("lib/io.py", STORE + "#" * number, settled=False)
        process = filled.start("check")
        time.sleep(chance.random() * 0.25)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert shown(filled) == expected


# Incremental runs say what a cold one says

NAMES = ("a.py", "b.py", "lib/io.py", "lib/__init__.py", "lib/deep/more.py", "conf.yaml", "other.json")
TEXTS = (
    GUARDED,
    CALLER,
    CALLER.replace("lib.io", "b"),
    CALLER.replace("from lib.io import store", "from lib import store"),
    STORE,
    STORE.replace("dcp.save(state)", "pass"),
    "from lib.io import store\n",
    "from lib.io import *\nfrom a import *\n",
    "from b import store\n",
    PLAIN,
    "",
    "if rank == 0:\n",
    GUARDED.replace("path)\n", "path)  # shardlint: ignore[rank-guarded-checkpoint] why\n"),
    "# shardlint: ignore-file[checkpoint] why\n" + STORE,
    "x = 1  # shardlint: ignore[checkpoint] why\n",
    "# Generated by protoc. DO NOT EDIT\n" + GUARDED,
    "class Saver:\n    def store(self, state):\n        store(state)\n" + CALLER,
)
DOCUMENTS = ("lr: 1e-5\n", "lr: 1.0e-5\n", "lr: [\n", "", '{"lr": "1e-5"}')


@pytest.mark.parametrize("seed", range(3))
def test_incremental_runs_equal_cold_runs(project: Project, seed: int) -> None:
    chance = random.Random(seed)
    project.write("train.py", GUARDED)
    found = 0
    for step in range(60):
        _edit(project, chance)
        whole = shown(project)
        assert whole == shown(project, use_cache=False), step
        found += len(whole)
        _check_part(project, whole, chance)
    assert found > 60


def _edit(project: Project, chance: random.Random) -> None:
    name = chance.choice(NAMES)
    file = project.root / name
    what = chance.random()
    if what < 0.15 and file.exists():
        file.unlink()
    elif what < 0.3 and file.exists():
        other = project.root / chance.choice([each for each in NAMES if each[-3:] == name[-3:]])
        other.parent.mkdir(parents=True, exist_ok=True)
        file.rename(other)
    else:
        text = chance.choice(TEXTS if name.endswith(".py") else DOCUMENTS)
        project.write(name, text, settled=chance.random() < 0.5)


def _check_part(project: Project, whole: list[Finding], chance: random.Random) -> None:
    """A run over one file reports what lies there and what it causes, and nothing else."""
    name = chance.choice([*(each for each in NAMES if (project.root / each).exists()), "train.py"])
    part = shown(project, name)
    assert part == shown(project, name, use_cache=False)
    expected = [f for f in whole if f.path == name or any(place.path == name for place in f.related)]
    assert part == expected
