"""The hooks that pre-commit users install, driven by the real pre-commit and real commits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ("linter", "rules", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")

GUARDED_SAVE = """\
import torch.distributed as dist
import torch.distributed.checkpoint as dcp


def save(state, path):
    if dist.get_rank() == 0:
        dcp.save(state, checkpoint_id=path)
"""
SAVE_ON_EVERY_RANK = """\
import torch.distributed.checkpoint as dcp


def save(state, path):
    dcp.save(state, checkpoint_id=path)
"""
LOAD = """\
import torch
from torch import nn


def load(path):
    model = nn.Linear(8, 8)
    model.load_state_dict(torch.load(path, weights_only={weights_only}))
    return model
"""
UNSAFE_LOAD, SAFE_LOAD = LOAD.format(weights_only=False), LOAD.format(weights_only=True)
READS_CONFIG = """\
import yaml

with open("configs/sft.yaml") as text:
    rate = yaml.safe_load(text)["optim"]["lr"]
"""
TEXT_RATE = "optim:\n  lr: 1e-5\n"

# One worker runs all of these, because pip builds the environment of the hooks once for each.
pytestmark = [pytest.mark.network, pytest.mark.xdist_group("hooks")]


class Outcome(NamedTuple):
    code: int
    output: str


class Checkout:
    """A git repository in a temporary folder, out of reach of the user's git settings."""

    def __init__(self, root: Path, store: Path) -> None:
        self.root = root
        keep = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT"))}
        who = {
            f"GIT_{role}_{field}": "test@localhost" for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")
        }
        alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PRE_COMMIT_HOME": str(store)}
        self.environment = keep | who | alone
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def run(self, *command: str) -> Outcome:
        done = subprocess.run(
            command,
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return Outcome(done.returncode, done.stdout)

    def git(self, *arguments: str) -> str:
        done = self.run("git", *arguments)
        assert done.code == 0, done.output
        return done.output.strip()

    def pre_commit(self, *arguments: str) -> Outcome:
        return self.run(sys.executable, "-m", "pre_commit", *arguments)

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def stage(self, path: str, text: str) -> None:
        self.write(path, text)
        self.git("add", path)

    def commit(self) -> Outcome:
        return self.run("git", "commit", "--quiet", "--message", "change")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps the environments of hooks: one for all tests here, so it is built once."""
    return tmp_path_factory.mktemp("pre-commit")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory, store: Path) -> Checkout:
    """A commit of what is shipped, with the changes in the work tree that are not committed yet."""
    repo = Checkout(tmp_path_factory.mktemp("shardlint"), store)
    for name in SHIPPED:
        here = ROOT / name
        if here.is_dir():
            shutil.copytree(here, repo.root / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(here, repo.root / name)
    repo.git("add", ".")
    assert repo.commit().code == 0
    return repo


def training_repo(root: Path, hooks: Checkout, hook: str, *, installed: bool = True) -> Checkout:
    """A repository with a first commit, whose further commits one hook checks."""
    repo = Checkout(root, Path(hooks.environment["PRE_COMMIT_HOME"]))
    revision = hooks.git("rev-parse", "HEAD")
    repo.stage("save.py", SAVE_ON_EVERY_RANK)
    repo.stage(
        ".pre-commit-config.yaml",
        f"repos:\n  - repo: {hooks.root.as_uri()}\n    rev: {revision}\n    hooks:\n      - id: {hook}\n",
    )
    assert repo.commit().code == 0
    if installed:
        assert repo.pre_commit("install").code == 0
    return repo


@pytest.fixture
def repo(tmp_path: Path, hooks: Checkout) -> Checkout:
    return training_repo(tmp_path / "repo", hooks, "shardlint")


@pytest.fixture
def fixed_repo(tmp_path: Path, hooks: Checkout) -> Checkout:
    return training_repo(tmp_path / "repo", hooks, "shardlint-fix")


def test_commit_with_a_violation_is_rejected_and_says_why(repo: Checkout) -> None:
    before = repo.git("rev-parse", "HEAD")
    repo.stage("save.py", GUARDED_SAVE)

    outcome = repo.commit()

    assert outcome.code != 0
    assert "save.py:7:9" in outcome.output
    assert "rank-guarded-checkpoint" in outcome.output
    assert repo.git("rev-parse", "HEAD") == before


def test_clean_commit_passes(repo: Checkout) -> None:
    repo.stage("load.py", SAFE_LOAD)

    outcome = repo.commit()

    assert outcome.code == 0, outcome.output
    assert "Passed" in outcome.output


def test_violation_that_is_not_staged_does_not_stop_the_commit(repo: Checkout) -> None:
    repo.stage("save.py", SAVE_ON_EVERY_RANK + "\n\nSTEPS = 100\n")
    repo.write("save.py", GUARDED_SAVE)

    outcome = repo.commit()

    assert outcome.code == 0, outcome.output
    assert repo.read("save.py") == GUARDED_SAVE


def test_staged_violation_is_rejected_though_the_work_tree_is_clean(repo: Checkout) -> None:
    repo.stage("save.py", GUARDED_SAVE)
    repo.write("save.py", SAVE_ON_EVERY_RANK)

    outcome = repo.commit()

    assert outcome.code != 0
    assert "rank-guarded-checkpoint" in outcome.output
    assert repo.read("save.py") == SAVE_ON_EVERY_RANK


def test_only_the_staged_part_of_a_file_is_checked(repo: Checkout) -> None:
    repo.stage("save.py", SAVE_ON_EVERY_RANK + "\n\n" + GUARDED_SAVE.replace("def save", "def save_first"))
    repo.write("save.py", repo.read("save.py") + UNSAFE_LOAD)

    outcome = repo.commit()

    assert outcome.code != 0
    assert "rank-guarded-checkpoint" in outcome.output
    assert "unsafe-checkpoint-load" not in outcome.output
    assert repo.read("save.py").endswith(UNSAFE_LOAD)


def test_commit_that_only_deletes_passes(repo: Checkout) -> None:
    repo.git("rm", "--quiet", "save.py")

    outcome = repo.commit()

    assert outcome.code == 0, outcome.output
    assert repo.git("ls-files") == ".pre-commit-config.yaml"


def test_all_files_are_checked_when_nothing_is_staged(repo: Checkout) -> None:
    repo.stage("save.py", GUARDED_SAVE)
    repo.git("commit", "--quiet", "--no-verify", "--message", "unchecked")

    outcome = repo.pre_commit("run", "--all-files")

    assert outcome.code != 0
    assert "rank-guarded-checkpoint" in outcome.output


def test_config_with_a_violation_is_rejected(repo: Checkout) -> None:
    repo.stage("configs/sft.yaml", TEXT_RATE)
    repo.stage("train.py", READS_CONFIG)

    outcome = repo.commit()

    assert outcome.code != 0
    assert "configs/sft.yaml:2" in outcome.output
    assert "yaml-float-is-string" in outcome.output


def test_fix_hook_rewrites_the_file_and_rejects_the_commit_once(fixed_repo: Checkout) -> None:
    fixed_repo.stage("load.py", UNSAFE_LOAD)

    first = fixed_repo.commit()
    after = fixed_repo.read("load.py")
    fixed_repo.git("add", "load.py")
    second = fixed_repo.commit()

    assert first.code != 0
    assert "files were modified by this hook" in first.output
    assert after == SAFE_LOAD
    assert second.code == 0, second.output


def test_fix_hook_rewrites_a_config(fixed_repo: Checkout) -> None:
    fixed_repo.stage("configs/sft.yaml", TEXT_RATE)
    fixed_repo.stage("train.py", READS_CONFIG)

    outcome = fixed_repo.commit()

    assert outcome.code != 0
    assert fixed_repo.read("configs/sft.yaml") == "optim:\n  lr: 1.0e-5\n"


def test_try_repo_reports_a_violation_before_anything_is_installed(tmp_path: Path, hooks: Checkout) -> None:
    repo = training_repo(tmp_path / "repo", hooks, "shardlint", installed=False)
    repo.stage("save.py", GUARDED_SAVE)

    outcome = repo.pre_commit("try-repo", str(hooks.root), "shardlint", "--verbose")

    assert outcome.code != 0
    assert "rank-guarded-checkpoint" in outcome.output


CAPTURE = ("--cause", "c", "--evidence", "observation", "--verification", "v", "--symptom", "s", "--confirm-hits")
LESSONS = {
    "train/a.py": ("import apex\n", "x = 1\n"),
    "train/b.py": ("import torch\n\ntorch.cuda.synchronize()\n", "import torch\n\ntorch.accelerator.synchronize()\n"),
    "train/c.py": (
        "import torch.distributed as dist\n\n\ndef f(rank):\n    if rank % 2:\n        dist.barrier()\n",
        "import torch.distributed as dist\n\n\ndef f(rank):\n    dist.barrier()\n",
    ),
    "train/d.py": (
        "from torch.utils.data import DataLoader\n\nl = DataLoader(d, drop_last=False)\n",
        "from torch.utils.data import DataLoader\n\nl = DataLoader(d, drop_last=True)\n",
    ),
    "train/e.py": (
        "def f(m, b):\n    return score(m, b)\n",
        "def f(m, b):\n    with torch.no_grad():\n        return score(m, b)\n",
    ),
    "train/f.py": ("import random\n\nrandom.seed(0)\n", "from seeds import seed\n\nseed(0)\n"),
    "train/g.py": ("def f(t):\n    send(t)\n    t.zero_()\n", "def f(t):\n    send(t)\n    wait(t)\n    t.zero_()\n"),
    "configs/h.yaml": ("batch: 5\nmicro: 2\n", "batch: 4\nmicro: 2\n"),
    "configs/i.yaml": ("fp16: true\nbf16: true\n", "bf16: true\n"),
    "configs/j.yaml": ("offload: true\n", "offload_config: true\n"),
}
"""Ten incidents by the file that shows each: the code or config before and after the fix."""


def shardlint(repo: Checkout, *arguments: str) -> Outcome:
    """The command line of this checkout, as the one who captures has it."""
    return repo.run(sys.executable, "-P" if sys.version_info >= (3, 11) else "-E", "-m", "shardlint", *arguments)


def test_what_was_captured_is_enforced_by_the_hook(repo: Checkout, tmp_path: Path) -> None:
    for number, (path, (bad, good)) in enumerate(LESSONS.items()):
        suffix = Path(path).suffix
        for side, text in (("bad", bad), ("good", good)):
            (tmp_path / f"{side}{suffix}").write_text(text)
        files = ("--bad", str(tmp_path / f"bad{suffix}"), "--good", str(tmp_path / f"good{suffix}"))
        done = shardlint(repo, "capture", "--title", f"Lesson {number}", *files, *CAPTURE)
        assert done.code == 0, done.output
    repo.git("add", ".agents")
    assert repo.commit().code == 0
    for path, (bad, _) in LESSONS.items():
        repo.stage(path, bad)

    checked, committed = shardlint(repo, "check", "--output-format", "concise"), repo.commit()

    assert committed.code != 0
    for number, path in enumerate(LESSONS):
        for outcome in (checked, committed):
            assert any(f"{path}:" in line and f"lesson-{number}" in line for line in outcome.output.splitlines()), path


def test_a_lesson_of_one_file_holds_in_another(tmp_path: Path, hooks: Checkout) -> None:
    """The whole loop on the example repository: a bug is fixed, captured, and cannot come back elsewhere."""
    repo = training_repo(tmp_path / "repo", hooks, "shardlint")
    shutil.copytree(ROOT / "examples" / "minitrain", repo.root, dirs_exist_ok=True)
    shutil.rmtree(repo.root / "bugs")
    repo.git("rm", "--quiet", "save.py")
    repo.git("add", ".")
    assert repo.commit().code == 0
    good = repo.read("minitrain/train.py")
    bad = good.replace("gradients.clip_grad_norm_(model", "nn.utils.clip_grad_norm_(model", 1)
    assert bad != good
    step = "from torch import nn\n\nfrom minitrain import gradients\n\nnorm = {}(model.parameters(), max_norm)\n"
    (tmp_path / "bad.py").write_text(step.format("nn.utils.clip_grad_norm_"))
    (tmp_path / "good.py").write_text(step.format("gradients.clip_grad_norm_"))
    files = ("--bad", str(tmp_path / "bad.py"), "--good", str(tmp_path / "good.py"))
    told = (
        "--title",
        "Gradients are clipped by our own function",
        "--number",
        "7",
        "--instead",
        "call `gradients.clip_grad_norm_`",
    )

    done = shardlint(repo, "capture", *files, *told, *CAPTURE)
    assert done.code == 0, done.output
    repo.git("add", ".")
    assert repo.commit().code == 0
    repo.stage(
        "minitrain/finetune.py",
        "from torch import nn\n\n\ndef clip(model):\n    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
    )
    rejected = repo.commit()
    repo.stage(
        "minitrain/finetune.py",
        "from minitrain import gradients\n\n\ndef clip(model):\n    gradients.clip_grad_norm_(model.weights(), 1.0)\n",
    )
    accepted = repo.commit()

    assert rejected.code != 0
    assert "minitrain/finetune.py:5:5  warning  gradients-are-clipped-by-our-own-function" in rejected.output
    assert "constraint 7" in rejected.output
    assert "help: call `gradients.clip_grad_norm_`" in rejected.output
    assert accepted.code == 0, accepted.output


def test_a_constraint_whose_test_fails_is_rejected(tmp_path: Path, hooks: Checkout) -> None:
    repo = training_repo(tmp_path / "repo", hooks, "shardlint-constraints")
    text = "version: 1\nconstraints:\n  - {id: a, title: T, forbidden: {imports: [apex]}, tests: {bad: [import %s]}}\n"
    repo.stage("constraints/ours.yaml", text % "amp")
    rejected = repo.commit()
    repo.stage("constraints/ours.yaml", text % "apex")
    accepted = repo.commit()

    assert rejected.code != 0
    assert "a, bad test 1: nothing is reported" in rejected.output
    assert accepted.code == 0, accepted.output
    assert "1 constraint, 1 test: all hold" not in rejected.output
