"""The parent's side: what a model is, learnt by a child process in the user's interpreter, without torch in this one.

    request = Request(root, model={"factory": "train.model:build", "kwargs": {"layers": 2}}, plan={"kind": "veomni"})
    collected = collect(request, python="/opt/train/bin/python", timeout=120, memory_gib=8, environ=os.environ)
    collected.facts, collected.plan, collected.warnings, collected.seconds

`collect` returns, or raises one kind of PlanFailed, whose text is a sentence and which holds the user's own frames.
User code runs in the child: a crash there is contained, malice is not. `facts_cache` keeps results, `facts_file`
exports them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardlint.errors import (
    InterpreterFailed,
    ModelCrashed,
    ModelExited,
    ModelOutOfMemory,
    ModelRaised,
    ModelRefused,
    ModelTimedOut,
    PlanError,
    PlanFailed,
)
from shardlint.runtime.collected import Collected
from shardlint.runtime.exchange import Ended, exchange

STAGES = {
    "start": "while the interpreter started",
    "import": "while importing it",
    "build": "while building it",
    "facts": "while reading its parameters",
    "plan": "while reading its plan",
}
"""Each stage of the child, as a clause about the model."""

_RUNNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runner")
_BOOT = """
import importlib.util, sys
folder, pipe = sys.argv[1:]
spec = importlib.util.spec_from_file_location(
    "shardlint_runner", folder + "/__init__.py", submodule_search_locations=[folder]
)
sys.modules["shardlint_runner"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
from shardlint_runner.child import main
main(int(pipe))
"""
_QUIET = {
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
}
_LONGEST = 300


@dataclass(frozen=True)
class Request:
    """What to learn.

    Args:
        root: the project's absolute path: the working directory, and the first place where modules are looked for.
        model: `{"factory": "package.module:name", "kwargs": {...}}`: a function, a Module class or a Module;
            `{"hf": CONFIG, "overrides": {...}}` or `{"veomni": CONFIG}`, where CONFIG is the path of a folder or of a
            `config.json`, or a mapping with `model_type`.
        plan: None, or a mapping with `kind`:
            `veomni`: `get_parallel_plan()` of the model, or `target`;
            `torch`: `target`, a dict for `parallelize_module`, and `axis`;
            `hf`: the model's own plans, or `target`, and `axes`;
            `wrap`: `_no_split_modules` of the model, or `target`, or `classes`;
            `apply`: `target` is called with the model and a device mesh, whose `mesh` maps axes to sizes.
            A `target` is the object, or a function of nothing or of the model that gives it.
        paths: further folders in which modules are looked for.
        trust_remote_code: whether code that comes with a config may run.
    """

    root: str
    model: Mapping[str, Any]
    plan: Mapping[str, Any] | None = None
    paths: Sequence[str] = field(default=())
    trust_remote_code: bool = False

    def to_json(self) -> dict[str, Any]:
        """The form that the child reads. Raises ModelRefused for values that JSON does not have."""
        plain = {
            "root": self.root,
            "model": dict(self.model),
            "plan": None if self.plan is None else dict(self.plan),
            "paths": list(self.paths),
            "trust_remote_code": self.trust_remote_code,
        }
        try:
            json.dumps(plain, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ModelRefused(
                f"{self.subject} cannot be checked: its arguments are no JSON ({error})", "start"
            ) from None
        return plain

    @property
    def subject(self) -> str:
        """The model in the words of a sentence."""
        if "factory" in self.model:
            return f"`{self.model['factory']}`"
        given: Any = self.model.get("hf") or self.model.get("veomni") or {}
        kind: Any = given if isinstance(given, str) else given.get("model_type")
        return f"the model of `{kind}`"


def collect(
    request: Request,
    *,
    python: str,
    timeout: float = 120.0,
    memory_gib: float | None = 16.0,
    environ: Mapping[str, str],
) -> Collected:
    """Run the child and give what it learnt.

    Args:
        python: the interpreter of the training environment.
        timeout: seconds, all stages together; then the child and what it started are killed.
        memory_gib: a bound of the child's data, on Linux only; None for no bound.
        environ: the child's environment, to which what keeps it offline and off the devices is added.

    Raises:
        PlanFailed: one of its kinds, with a sentence.
    """
    memory = None if memory_gib is None else int(memory_gib * 2**30)
    data = json.dumps({**request.to_json(), "memory": memory}).encode()
    command = [python, "-X", "faulthandler", "-c", _BOOT, _RUNNER]
    try:
        ended = exchange(command, data, cwd=request.root, environ={**environ, **_QUIET}, timeout=timeout)
    except OSError as error:
        said = error.strerror or str(error)
        raise InterpreterFailed(f"the interpreter `{python}` cannot be started: {said}", "start") from None
    try:
        result = Collected.gather(ended.events, request.root)
    except (KeyError, TypeError, ValueError, AttributeError, PlanError) as error:
        raise InterpreterFailed(f"what `{python}` told of {request.subject} cannot be read: {error}", "facts") from None
    if result is not None and not ended.timed_out:
        return result
    raise _Failure(request, python, ended, timeout, memory_gib).error()


class _Failure:
    """Why a child did not deliver."""

    def __init__(self, request: Request, python: str, ended: Ended, timeout: float, memory_gib: float | None) -> None:
        self._request, self._python, self._ended = request, python, ended
        self._timeout, self._memory = timeout, memory_gib
        told = [event for event in ended.events if event.get("event") == "failed"]
        stages = [str(event["name"]) for event in ended.events if event.get("event") == "stage"]
        self._told: dict[str, Any] = told[-1] if told else {}
        self._stage = str(self._told.get("stage") or (stages[-1] if stages else "start"))

    def error(self) -> PlanFailed:
        if self._told:
            return self._of_told()
        subject, when = self._request.subject, self._when
        if self._ended.timed_out:
            return self._make(ModelTimedOut, f"{subject} was stopped {when}: it took longer than {self._timeout:g} s")
        if self._ended.too_much:
            return self._make(ModelOutOfMemory, f"{subject} was stopped {when}: it described more than can be held")
        if self._stage == "start":
            said = self._ended.output.strip().split("\n")[-1] or f"exit status {self._ended.code}"
            return self._make(InterpreterFailed, f"the interpreter `{self._python}` did not start the check: {said}")
        if self._ended.code < 0:
            why = _signal(-self._ended.code)
            return self._make(ModelCrashed, f"{subject} crashed {when}: {why}{self._place}")
        return self._make(ModelExited, f"{subject} ended its process {when}, with exit status {self._ended.code}")

    def _of_told(self) -> PlanFailed:
        told, subject, when = self._told, self._request.subject, self._when
        kind, message = told.get("kind"), _short(str(told.get("message", "")))
        if told.get("missing") == "torch":
            return self._make(
                InterpreterFailed, f"the interpreter `{self._python}` has no torch; name the one that trains"
            )
        if kind == "refused":
            return self._make(ModelRefused, f"{subject} cannot be checked: {message}")
        if kind == "exit":
            return self._make(ModelExited, f"{subject} called `sys.exit({message})` {when}{self._place}")
        if kind == "memory":
            bound = "" if self._memory is None else f" of {self._memory:g} GiB"
            said = f": {message}" if message else ""
            return self._make(ModelOutOfMemory, f"{subject} used up the memory{bound} {when}{self._place}{said}")
        said = f"{told.get('type')}: {message}" if message else str(told.get("type"))
        said += f" (because of {_short(str(told['cause']))})" if told.get("cause") else ""
        return self._make(ModelRaised, f"{subject} raised {when}{self._place}: {said}{_advice(said)}")

    def _make(self, kind: type[PlanFailed], sentence: str) -> PlanFailed:
        return kind(sentence, self._stage, self._frames, self._ended.output)

    @property
    def _when(self) -> str:
        return STAGES.get(self._stage, f"in the stage {self._stage}")

    @property
    def _frames(self) -> tuple[str, ...]:
        return tuple(
            f"{self._relative(str(frame['path']))}:{frame['line']} in {frame['name']}"
            + (f": {str(frame['text']).strip()}" if frame.get("text") else "")
            for frame in self._told.get("frames") or self._faults()
        )

    @property
    def _place(self) -> str:
        frames = self._told.get("frames") or self._faults()
        return f" ({self._relative(str(frames[-1]['path']))}:{frames[-1]['line']})" if frames else ""

    def _faults(self) -> list[dict[str, Any]]:
        """The frames in what faulthandler printed that lie in the project, the innermost last."""
        root = os.path.join(os.path.realpath(self._request.root), "")
        return [frame for frame in self._ended.fault_frames() if os.path.realpath(frame["path"]).startswith(root)]

    def _relative(self, path: str) -> str:
        root = os.path.join(os.path.realpath(self._request.root), "")
        real = os.path.realpath(path)
        return real[len(root) :].replace(os.sep, "/") if real.startswith(root) else path


def _short(message: str) -> str:
    """The first paragraph of a message, on one line."""
    text = " ".join(message.strip().split("\n\n")[0].split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _signal(number: int) -> str:
    import signal

    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    known = {"SIGSEGV": "a segmentation fault", "SIGKILL": "it was killed, perhaps for want of memory"}
    return known.get(name, f"it was ended by {name}")


def _advice(said: str) -> str:
    if any(word in said for word in ("CUDA", "NVIDIA driver", "NPU")):
        return "; models are checked without an accelerator: leave the device to the caller"
    return ""
