"""Peers that are too slow for rounds over whole trees: one run each, on one folder, in environments of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

from benchmarks.measure import Command, watched
from benchmarks.tools import USUAL, ruff, shardlint
from benchmarks.trees import size

SEMGREP_QUIET = ("--metrics", "off", "--disable-version-check", "--quiet")
PATTERNS = str(Path(__file__).parent / "semgrep.yaml")
FOLDER = Path("veomni/distributed")
"""Inside of the package veomni."""

PLANTED = """\
import os
from typing import NamedTuple

import torch
from torch.nn import functional as F
from torch.utils.data._utils.collate import default_collate


class Batch(NamedTuple):
    images: torch.Tensor


def loss(model, path, images, labels):
    model.load_state_dict(torch.load(path, weights_only=False))
    scores = F.softmax(model(default_collate(images)), dim=-1)
    return F.cross_entropy(scores, labels)
"""
"""Each tool reports something here. One that does not was started wrongly, or its output is not understood."""


class Peer(NamedTuple):
    """A tool: what pip installs, its command line, how a finding looks in its output, and what it looks for."""

    requirement: str
    command: tuple[str, ...]
    finding: str
    about: str

    @property
    def name(self) -> str:
        return self.requirement.partition("==")[0]


AT = r"^[^\s:]+:\d+:\d+: "
"""Path, line and column, as most tools begin the line of a finding."""

PEERS = (
    Peer("torchfix==0.7.0", ("torchfix", "."), AT + "TOR", "uses of PyTorch; LibCST with all metadata"),
    Peer("fixit==2.2.1", ("fixit", "lint", "."), r"^[^\s@]+@\d+:\d+ ", "its built-in rules; LibCST with all metadata"),
    Peer(
        "torch-preflight==0.5.0",
        ("torch-preflight", "check", "--format", "github", "."),
        "^::(error|warning|notice) ",
        "training scripts; LibCST",
    ),
    Peer("flake8==7.5.0", ("flake8", "--isolated", "."), AT, "its default rules, style for the most part"),
    Peer(
        "pylint==4.1.4",
        ("pylint", "--rcfile", "/dev/null", "--exit-zero", "--recursive", "y", "--disable", "C,R,import-error", "."),
        AT,
        "errors and warnings; infers types",
    ),
    Peer(
        "semgrep==1.185.0",
        (
            "semgrep",
            "scan",
            "--metrics",
            "off",
            "--disable-version-check",
            "--quiet",
            "--emacs",
            "--config",
            PATTERNS,
            ".",
        ),
        r"^[^\s:]+:\d+:\d+:",
        "two patterns, `benchmarks/semgrep.yaml`",
    ),
)


class Run(TypedDict):
    """One run: CPU seconds, the most bytes held at once, and how many findings the output has."""

    tool: str
    about: str
    seconds: float
    peak: int
    findings: int


class Peers(TypedDict):
    """The folder and its size, and the runs, cheapest first."""

    folder: str
    files: int
    lines: int
    runs: list[Run]


def count(finding: str, said: bytes) -> int:
    """How many lines of an output are findings."""
    return len(re.findall(finding, said.decode("utf-8", "replace"), re.MULTILINE))


def install(peer: Peer, environments: Path) -> Path:
    """The folder of executables of an environment that holds this peer alone, made on first use."""
    at = environments / peer.requirement
    done = at / "installed"
    if not done.exists():
        print(f"installing {peer.requirement}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(at)], check=True)
        pip = [str(at / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, peer.requirement], check=True)
        done.touch()
    return at / "bin"


def run(tool: str, about: str, finding: str, command: Command, planted: Path) -> Run:
    """Measures one run, after one on the planted file that must report something.

    The first run also leaves the tool's bytecode behind, as an earlier use of it would have.
    """
    if not count(finding, watched(command._replace(cwd=planted)).said):
        sys.exit(f"{tool} reports nothing where something is planted, so its cost elsewhere means nothing")
    print(f"  {tool}", file=sys.stderr, flush=True)
    cost = watched(command)
    return {
        "tool": tool,
        "about": about,
        "seconds": cost.seconds,
        "peak": cost.peak,
        "findings": count(finding, cost.said),
    }


def peer_command(peer: Peer, executables: Path, tree: Path) -> Command:
    """Semgrep finds its own parts on PATH, so the environment comes first there."""
    outside = {name: value for name, value in USUAL.items() if name != "PYTHONPATH"}
    program, *arguments = peer.command
    path = f"{executables}:{USUAL.get('PATH', '')}"
    return Command([str(executables / program), *arguments], tree, outside | {"PATH": path})


def measure(tree: Path, name: str, environments: Path, scratch: Path, peers: Sequence[Peer] = PEERS) -> Peers:
    """One run of each tool on a tree, ours and ruff among them.

    Args:
        tree: the folder, copied away from what stands around it.
        name: what it is called in the report.
        environments: where the environments of the peers are kept.
        scratch: a folder for the planted file and the cache.
        peers: which tools.
    """
    planted = scratch / "planted"
    planted.mkdir()
    (planted / "planted.py").write_text(PLANTED, encoding="utf-8")
    ours = shardlint(tree, scratch / "cache", "--no-cache", "--output-format", "concise")
    runs = [
        run("shardlint", "all rules that are on by default, no cache", AT, ours, planted),
        run("ruff", "its default rules, no cache", AT, ruff(tree, None, "."), planted),
    ]
    for peer in peers:
        command = peer_command(peer, install(peer, environments), tree)
        runs.append(run(peer.requirement.replace("==", " "), peer.about, peer.finding, command, planted))
    counted = size(tree)
    runs.sort(key=lambda one: one["seconds"])
    return {"folder": name, "files": counted.files, "lines": counted.lines, "runs": runs}
