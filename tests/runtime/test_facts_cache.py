"""Facts are kept for as long as nothing that they came from has changed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shardlint.runtime.driver import Request
from shardlint.runtime.facts_cache import collect_cached

CHILD = f"""\
#!{sys.executable}
import json, os, sys
pipe = int(sys.argv[-1])
root = json.loads(sys.stdin.read())["root"]
def tell(event, **what):
    os.write(pipe, json.dumps(dict(what, event=event)).encode() + b"\\n")
tell("facts", facts={{"version": 1, "parameters": []}}, mode="meta")
tell("plan", plan={{"matcher": "hf", "entries": []}})
tell("warning", text="slow")
tell("sources", files=[root + "/train.py"], sites=[root + "/site-packages"])
tell("done")
"""


class Kept:
    """A project, a stand-in for the interpreter, and whether facts came from the cache."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        (self.root / "site-packages" / "torch-2.4.0.dist-info").mkdir(parents=True)
        (self.root / "train.py").write_text("a = 1\n")
        (self.root / "config.json").write_text("{}")
        self.python = folder / "python"
        self.python.write_text(CHILD)
        self.python.chmod(0o755)
        self.environ = {**os.environ, "SHARDLINT_CACHE_DIR": str(folder / "cache")}

    def was_known(self, model: str = "config.json") -> bool:
        request = Request(str(self.root), {"hf": model}, {"kind": "hf"})
        collected, known = collect_cached(request, python=str(self.python), environ=self.environ)
        assert (collected.warnings, collected.mode) == (("slow",), "meta")
        assert collected.plan is not None
        assert collected.plan.matcher == "hf"
        return known


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """A project whose facts are in the cache."""
    project = Kept(tmp_path)
    assert not project.was_known()
    assert project.was_known()
    return project


def test_a_module_that_changed_is_run_again(kept: Kept) -> None:
    (kept.root / "train.py").write_text("a = 2\n")
    assert not kept.was_known()
    (kept.root / "train.py").unlink()
    assert not kept.was_known()


def test_a_config_that_changed_is_run_again(kept: Kept) -> None:
    (kept.root / "config.json").write_text("{ }")
    assert not kept.was_known()


def test_another_version_of_a_package_is_run_again(kept: Kept) -> None:
    (kept.root / "site-packages" / "torch-2.4.0.dist-info").rename(
        kept.root / "site-packages" / "torch-2.5.0.dist-info"
    )
    assert not kept.was_known()


def test_another_request_interpreter_or_import_path_is_run_again(kept: Kept) -> None:
    assert not kept.was_known("other.json")
    kept.environ["PYTHONPATH"] = "elsewhere"
    assert not kept.was_known()
    assert kept.was_known()
    os.utime(kept.python, (1_600_000_000, 1_600_000_000))
    assert not kept.was_known()


def test_a_broken_table_is_no_table(kept: Kept) -> None:
    (table,) = (kept.root.parent / "cache").rglob("*.plan")
    table.write_bytes(table.read_bytes()[:-1])
    assert not kept.was_known()
