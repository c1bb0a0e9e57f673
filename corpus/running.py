"""One run of shardlint over one tree: its findings, and how much it looked at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import shardlint_rules
from shardlint.loading import Row
from shardlint.registry import describe, pack_rules
from shardlint.settings import Settings

from .labels import line_hash
from .sources import SETTINGS, CorpusError

_ENVIRONMENTS = ("VIRTUAL_ENV", "CONDA_PREFIX")
"""What is installed on this machine must not change what is found."""


class RunFailed(CorpusError):
    """shardlint could not check a tree."""


class Found(NamedTuple):
    """A finding of a run. `hash` is that of its line, `shown` as for a label; `message` is for whoever judges it."""

    path: str
    line: int
    hash: str
    rule: str
    severity: str
    shown: bool
    message: str


class Size(NamedTuple):
    """How much of a tree was looked at: Python files, their lines, and other files (configs, launchers)."""

    python: int
    lines: int
    others: int


def rows() -> list[Row]:
    """What is known of each rule of the built-in pack, by name."""
    found = [describe(rule, "builtin") for rule in pack_rules(shardlint_rules, "builtin")]
    return sorted(found, key=lambda row: str(row["name"]))


def findings_in(tree: Path) -> list[Found]:
    """All that shardlint reports in a tree: every rule, previews too, and however unsure.

    A rule whose confidence as a whole lies below the default threshold is not shown because of its precision. That must
    not hide its findings from that very precision: of such a rule what is as sure as the rule itself counts as shown.

    Raises:
        RunFailed: the run ended with an error.
    """
    known = rows()
    families = ",".join(sorted({str(row["family"]) for row in known}))
    lowest = Settings().min_confidence
    shown_from = {str(row["name"]): min(lowest, round(row["confidence"], 2)) for row in known}
    options = ["--select", families, "--min-confidence", "0", "--output-format", "json", "--no-cache", "--exit-zero"]
    reported: list[dict[str, Any]] = json.loads(_shardlint(tree, *options))
    texts: dict[str, list[str]] = {}
    found: list[Found] = []
    for finding in reported:
        path, line = str(finding["path"]), int(finding["line"])
        if path not in texts:
            texts[path] = _lines(tree / path)
        digest = line_hash(texts[path][line - 1] if line <= len(texts[path]) else "")
        rule = finding["rule"]
        shown = finding["confidence"] >= shown_from.get(rule, lowest)
        found.append(Found(path, line, digest, rule, finding["severity"], shown, finding["message"]))
    return found


def not_judged_in(tree: Path) -> list[tuple[str, str, str]]:
    """Path, function and reason of each function that shardlint could not judge in a tree."""
    options = ["--show-unknown", "--output-format", "json", "--no-cache", "--exit-zero"]
    reported: list[dict[str, Any]] = json.loads(_shardlint(tree, *options))
    unknown = [finding for finding in reported if finding["rule"] == "not-checked"]
    return [(str(one["path"]), _function(str(one["message"])), str(one["message"])) for one in unknown]


def _function(message: str) -> str:
    """The name that stands first in a message, between backticks."""
    return message.split("`")[1] if message.startswith("`") else ""


def size_of(tree: Path) -> Size:
    """How much of a tree shardlint looks at."""
    files = [line for line in _shardlint(tree, "--show-files").splitlines() if line and line != SETTINGS]
    python = [file for file in files if file.endswith((".py", ".pyi"))]
    return Size(len(python), sum(len(_lines(tree / file)) for file in python), len(files) - len(python))


def _lines(file: Path) -> list[str]:
    """The lines as the linter counts them: ended by a line feed, a carriage return or both, nothing else."""
    text = file.read_bytes().decode("utf-8", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _shardlint(tree: Path, *options: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in _ENVIRONMENTS}
    command = [sys.executable, "-m", "shardlint", "check", *options]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunFailed(f"shardlint failed in {tree}: {done.stderr.strip()}")
    return done.stdout
