"""The parent's side of a run: with a stand-in for the interpreter, and hostile factories in a real one with torch."""

from __future__ import annotations

import functools
import json
import os
import select
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shardlint.errors import (
    InterpreterFailed,
    ModelCrashed,
    ModelExited,
    ModelOutOfMemory,
    ModelRaised,
    ModelRefused,
    ModelTimedOut,
    PlanFailed,
)
from shardlint.runtime.collected import Collected
from shardlint.runtime.driver import Request, collect

FACTS: dict[str, Any] = {
    "version": 1,
    "parameters": [{"name": "w", "shape": [4, 2], "dtype": "float32"}],
    "modules": [],
}

TELL = f"""\
import json, os, signal, sys, time
pipe = int(sys.argv[-1])
request = json.loads(sys.stdin.read())
def tell(event, **what):
    os.write(pipe, json.dumps(dict(what, event=event)).encode() + b"\\n")
def stage(name):
    tell("stage", name=name)
FACTS = {FACTS!r}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project's folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def stand_in(root: Path, behaviour: str) -> str:
    """A program to pass as the interpreter, which behaves as a child may."""
    path = root.parent / "python"
    path.write_text(f"#!{sys.executable}\n{TELL}{textwrap.dedent(behaviour)}")
    path.chmod(0o755)
    return str(path)


def ask(root: Path, python: str, factory: str = "train:build", timeout: float = 60.0, **more: Any) -> Collected:
    request = Request(str(root), {"factory": factory}, **more)
    return collect(request, python=python, timeout=timeout, memory_gib=8, environ=dict(os.environ))


def failure(root: Path, python: str, factory: str = "train:build", timeout: float = 60.0, **more: Any) -> PlanFailed:
    with pytest.raises(PlanFailed) as caught:
        ask(root, python, factory, timeout, **more)
    assert "\n" not in str(caught.value)
    return caught.value


def test_what_the_child_tells_becomes_facts_plan_and_times(root: Path) -> None:
    entry = {
        "axis": "tp",
        "pattern": "w",
        "placement": "colwise",
        "path": str(root / "train.py"),
        "line": 3,
        "column": 7,
    }
    python = stand_in(
        root,
        f"""
        print("noise " * 100_000)
        stage("build")
        tell("stage_end", name="build", seconds=0.5)
        tell("warning", text="it is slow")
        tell("facts", facts=FACTS, mode="meta")
        tell("plan", plan={{"matcher": "hf", "entries": [{entry!r}]}})
        tell("sources", files=[request["root"] + "/train.py"], sites=[])
        tell("done", peak_mib=12.5)
        """,
    )
    got = ask(root, python, plan={"kind": "hf"})
    assert [parameter.name for parameter in got.facts.parameters.values()] == ["w"]
    assert got.plan is not None
    assert [(one.path, one.line, one.column) for one in got.plan.entries] == [("train.py", 3, 7)]
    assert (got.warnings, got.mode, got.seconds, got.peak_mib) == (("it is slow",), "meta", {"build": 0.5}, 12.5)
    assert got.files == (str(root / "train.py"),)


def test_the_child_is_kept_offline_off_the_devices_and_in_the_projects_folder(root: Path) -> None:
    python = stand_in(
        root,
        """
        names = ("CUDA_VISIBLE_DEVICES", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
        seen = {name: os.environ.get(name) for name in names}
        own = os.getsid(0) == os.getpid()
        tell("warning", text=json.dumps([seen, os.getcwd(), own, request["memory"], sys.argv[1:3]]))
        tell("facts", facts=FACTS)
        tell("done")
        """,
    )
    seen, folder, own_session, memory, options = json.loads(ask(root, python).warnings[0])
    assert seen == {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    assert os.path.samefile(folder, root)
    assert own_session
    assert memory == 8 << 30
    assert options == ["-X", "faulthandler"]


@pytest.mark.parametrize(
    ("behaviour", "kind", "stage", "said"),
    [
        ("sys.exit(0)", InterpreterFailed, "start", "did not start the check"),
        ("stage('build'); os._exit(9)", ModelExited, "build", "exit status 9"),
        ("stage('build'); os.kill(os.getpid(), signal.SIGSEGV)", ModelCrashed, "build", "a segmentation fault"),
        ("stage('import'); os.kill(os.getpid(), signal.SIGKILL)", ModelCrashed, "import", "want of memory"),
        ("stage('facts'); tell('facts', facts={}); tell('done')", InterpreterFailed, "facts", "cannot be read"),
        ("stage('build'); os.write(pipe, b'{\\xff\\n[1]\\n\\n'); os._exit(4)", ModelExited, "build", "exit status 4"),
        ("stage('build'); time.sleep(1000)", ModelTimedOut, "build", "longer than 2 s"),
        ("stage('build'); os.close(pipe); time.sleep(1000)", ModelTimedOut, "build", "longer than 2 s"),
    ],
)
def test_each_end_of_the_child_is_one_error_with_one_sentence(
    root: Path, behaviour: str, kind: type[PlanFailed], stage: str, said: str
) -> None:
    got = failure(root, stand_in(root, behaviour), timeout=2 if "sleep" in behaviour else 60)
    assert (type(got), got.stage) == (kind, stage)
    assert said in str(got)


def test_what_the_child_started_is_killed_with_it(root: Path) -> None:
    os.mkfifo(root / "held")
    heard = os.open(root / "held", os.O_RDONLY | os.O_NONBLOCK)
    python = stand_in(
        root,
        """
        import subprocess
        held = os.open("held", os.O_WRONLY)
        os.write(held, b"x")
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], pass_fds=(held,))
        stage("build")
        time.sleep(1000)
        """,
    )
    try:
        assert isinstance(failure(root, python, timeout=3), ModelTimedOut)
        assert os.read(heard, 10) == b"x"
        assert select.select([heard], [], [], 30)[0] == [heard]
        assert os.read(heard, 10) == b""  # nobody is left who could write
    finally:
        os.close(heard)


def test_a_process_that_outlives_the_child_does_not_keep_the_parent(root: Path) -> None:
    python = stand_in(
        root,
        """
        tell("facts", facts=FACTS)
        tell("done")
        if os.fork() == 0:
            time.sleep(1000)
        """,
    )
    assert len(ask(root, python).facts.parameters) == 1


def test_a_program_that_is_missing_is_named(root: Path) -> None:
    got = failure(root, str(root / "nowhere"))
    assert isinstance(got, InterpreterFailed)
    assert "nowhere` cannot be started: No such file" in str(got)


def test_an_interpreter_without_torch_is_named(root: Path) -> None:
    told = {
        "stage": "import",
        "kind": "error",
        "type": "ModuleNotFoundError",
        "message": "No module",
        "missing": "torch",
    }
    got = failure(root, stand_in(root, f"stage('import'); tell('failed', **{told!r})"))
    assert isinstance(got, InterpreterFailed)
    assert "has no torch" in str(got)


def test_a_traceback_is_told_by_the_users_frames(root: Path) -> None:
    frame = {"path": str(root / "train.py"), "line": 12, "name": "build", "text": "return Net(3)"}
    told = {"stage": "build", "kind": "error", "type": "ValueError", "message": "too\n  few\n\nmore", "frames": [frame]}
    got = failure(root, stand_in(root, f"tell('failed', **{told!r})"))
    assert str(got) == "`train:build` raised while building it (train.py:12): ValueError: too few"
    assert got.frames == ("train.py:12 in build: return Net(3)",)


def test_what_an_error_was_raised_from_is_told(root: Path) -> None:
    told = {"stage": "import", "kind": "error", "type": "ImportError", "message": "no", "cause": "OSError: not there"}
    got = failure(root, stand_in(root, f"tell('failed', **{told!r})"))
    assert str(got) == "`train:build` raised while importing it: ImportError: no (because of OSError: not there)"


def test_the_frames_of_a_crash_are_read_off_the_fault_handler(root: Path) -> None:
    python = stand_in(
        root,
        """
        stage("build")
        sys.stderr.write(
            "Fatal Python error: Segmentation fault\\n\\nCurrent thread 0x00 (most recent call first):\\n"
            f'  File "{os.getcwd()}/train.py", line 5 in build\\n  File "/lib/other.py", line 1 in run\\n\\nExtension'
        )
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGSEGV)
        """,
    )
    got = failure(root, python)
    assert got.frames == ("train.py:5 in build",)
    assert "(train.py:5)" in str(got)


def test_arguments_that_json_does_not_have_are_refused(root: Path) -> None:
    request = Request(str(root), {"factory": "train:build", "kwargs": {"scale": float("nan")}})
    with pytest.raises(ModelRefused, match="its arguments are no JSON"):
        collect(request, python=sys.executable, environ={})


# With torch.

FACTORIES = """\
import ctypes, os, subprocess, sys, time
import torch
from torch import nn
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)
        self.register_buffer("scale", torch.ones(1), persistent=False)

class Net(nn.Module):
    def __init__(self, d=64, layers=2):
        super().__init__()
        self.config = {"hidden": d, "text": {"layers": layers}}
        self._no_split_modules = ["Block"]
        self.embed = nn.Embedding(100, d)
        self.layers = nn.ModuleList(Block(d) for _ in range(layers))
        self.head = nn.Linear(d, 100, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(self.embed(tokens))

    def get_parallel_plan(self):
        return Plan({"ep": {"layers.*.up.weight": Shard(0)}})

class Plan:
    def __init__(self, extra_parallel_plan):
        self.extra_parallel_plan = extra_parallel_plan

class Older:
    ep_plan = {"layers.*.down.weight": Shard(1)}

def good(d=64, layers=2): return Net(d, layers)
def prints():
    print('{"event": "done"}' * 100_000)
    sys.stderr.write("noise")
    return Net()
def leak():
    net = Net()
    net.extra = nn.Parameter(torch.empty(1000, 1000, device="cpu"))
    return net
def leaves(): sys.exit(3)
def ends(): os._exit(9)
def segfault(): ctypes.string_at(0)
def sleeps(): time.sleep(10**6)
def hungry(): return torch.empty(10 * 2**30, device="cpu")
def cuda(): return torch.empty(2, device="cuda")
def deep(): return deep()
def forks():
    os.fork()
    return Net()
def daemon():
    subprocess.Popen(["sleep", "1000"])
    return Net()
def closes():
    os.closerange(3, 256)
    return Net()
def number(): return 3
def values():
    net = Net()
    net.rates = [rate.item() for rate in torch.linspace(0, 1, 4)]
    return net
def typed(): return Net(d="x")

PLAN = {
    "layers.*.up": ColwiseParallel(),
    "layers.*.down": RowwiseParallel(output_layouts=Shard(1)),
}

def apply(model, mesh):
    from torch.distributed.fsdp import fully_shard
    parallelize_module(model, mesh["tp"], {"layers.*.up": ColwiseParallel()})
    for layer in model.layers:
        fully_shard(layer, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
"""


@functools.cache
def python_with_torch() -> str:
    """SHARDLINT_TEST_PYTHON, or this interpreter; empty when it has no torch."""
    python = os.environ.get("SHARDLINT_TEST_PYTHON", sys.executable)
    found = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
    return python if found.returncode == 0 else ""


@pytest.fixture
def torch_python(root: Path) -> str:
    """An interpreter with torch, and a project of factories."""
    python = python_with_torch()
    if not python:
        pytest.skip("neither SHARDLINT_TEST_PYTHON nor this interpreter has torch")
    (root / "hostile.py").write_text(FACTORIES)
    return python


@pytest.mark.parametrize(
    ("factory", "kind", "stage", "said"),
    [
        ("leaves", ModelExited, "build", "called `sys.exit(3)` while building it (hostile.py:"),
        ("ends", ModelExited, "build", "exit status 9"),
        ("segfault", ModelCrashed, "build", "a segmentation fault (hostile.py:"),
        ("sleeps", ModelTimedOut, "build", "longer than 20 s"),
        pytest.param(
            *("hungry", ModelOutOfMemory, "build", "used up the memory of 8 GiB while building it (hostile.py:"),
            marks=pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux only"),
        ),
        ("cuda", ModelRaised, "build", "models are checked without an accelerator"),
        ("prnts", ModelRefused, "import", "`hostile` has no `prnts`; it has `prints`"),
        ("deep", ModelRaised, "build", "RecursionError"),
        ("closes", ModelExited, "build", "ended its process"),
        ("number", ModelRefused, "build", "of the class `int`, which is no torch.nn.Module"),
        ("typed", ModelRaised, "build", "TypeError"),
    ],
)
def test_a_hostile_factory_is_one_sentence(
    root: Path, torch_python: str, factory: str, kind: type[PlanFailed], stage: str, said: str
) -> None:
    got = failure(root, torch_python, f"hostile:{factory}", timeout=20 if factory == "sleeps" else 120)
    assert (type(got), got.stage) == (kind, stage)
    assert said in str(got)


@pytest.mark.parametrize(
    ("factory", "mode", "warned"),
    [
        ("good", "meta", ""),
        ("prints", "meta", ""),
        ("forks", "meta", ""),
        ("daemon", "meta", ""),
        ("leak", "meta", "1 tensor of the model held real memory (3.8 MiB, `extra` first)"),
        ("values", "values", "cannot be built on the meta device"),
    ],
)
def test_a_strange_factory_is_described_all_the_same(
    root: Path, torch_python: str, factory: str, mode: str, warned: str
) -> None:
    got = ask(root, torch_python, f"hostile:{factory}", timeout=120)
    assert got.mode == mode
    assert len(got.warnings) == (1 if warned else 0)
    assert warned in "".join(got.warnings)
    assert "layers.1.down.bias" in got.facts.parameters
    assert got.files == (os.path.realpath(root / "hostile.py"),)


def test_facts_hold_ties_buffers_classes_and_the_config(root: Path, torch_python: str) -> None:
    request = Request(str(root), {"factory": "hostile:good", "kwargs": {"d": 8, "layers": 3}})
    facts = collect(request, python=torch_python, environ=dict(os.environ)).facts
    assert facts.tied_group("embed.weight") == ("embed.weight", "head.weight")
    assert facts.parameters["layers.2.up.weight"].shape == (32, 8)
    assert not facts.buffers["layers.0.scale"].persistent
    assert (facts.modules["layers.0"].class_name, facts.modules["layers.0"].runs) == ("Block", False)
    assert (facts.class_name, facts.modules[""].runs, facts.no_split) == ("Net", True, ("Block",))
    assert facts.config == {"hidden": 8, "text.layers": 3}
    assert {"python", "torch"} <= set(facts.packages)


@pytest.mark.parametrize(
    ("plan", "entries"),
    [
        (
            {"kind": "torch", "target": "hostile:PLAN"},
            [
                ("tp", "layers.*.up", "ColwiseParallel", True),
                ("tp", "layers.*.down", "RowwiseParallel(output_layouts=Shard(1))", True),
            ],
        ),
        ({"kind": "veomni"}, [("ep", "layers.*.up.weight", "Shard(0)", True)]),
        ({"kind": "veomni", "target": "hostile:Older"}, [("ep", "layers.*.down.weight", "Shard(1)", True)]),
    ],
)
def test_a_plan_is_read_with_the_places_of_its_patterns(
    root: Path, torch_python: str, plan: Mapping[str, Any], entries: list[tuple[str, str, str, bool]]
) -> None:
    read = ask(root, torch_python, "hostile:good", plan=plan).plan
    assert read is not None
    got = [(one.axis, one.pattern, one.placement, one.pattern in read.spelled) for one in read.entries]
    assert got == entries
    lines = FACTORIES.split("\n")
    for entry in read.entries:
        assert entry.path == "hostile.py"
        assert lines[entry.line - 1][entry.column - 1 :].startswith(f'{entry.pattern}"')


def test_an_applied_plan_is_read_back(root: Path, torch_python: str) -> None:
    plan = {"kind": "apply", "target": "hostile:apply", "mesh": {"dp": 8, "tp": 8}}
    read = ask(root, torch_python, "hostile:good", plan=plan).plan
    assert read is not None
    assert read.applied is not None
    assert read.units is not None
    found = {one.name: one for one in read.applied}
    assert found["layers.0.up.weight"].placements["tp"] == "Shard(0)"
    assert found["layers.0.up.weight"].local == (4, 64)
    assert found["layers.0.down.weight"].placements == {"dp": "Shard(0)"}
    assert {(unit.module, unit.class_name) for unit in read.units} == {
        ("", "Net"),
        ("layers.0", "Block"),
        ("layers.1", "Block"),
    }


def test_wrapped_classes_are_found_where_they_are_written(root: Path, torch_python: str) -> None:
    read = ask(root, torch_python, "hostile:good", plan={"kind": "wrap"}).plan
    assert read is not None
    (wrap,) = read.wraps
    assert (wrap.class_name, wrap.path, wrap.spelled) == ("Block", "hostile.py", True)
    assert FACTORIES.split("\n")[wrap.line - 1][wrap.column - 1 :].startswith('Block"')
