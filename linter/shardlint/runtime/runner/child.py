"""The child's run, from the request on standard input to the last event."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from . import applying, building, description, plans
from .events import Events
from .failure import describe
from .modules import module, target
from .origin import Opened, sites, users_files
from .sources import prepare


def main(pipe: int) -> None:
    """Do what the request says, tell it on `pipe`, and end the process at once: the user's threads and exit handlers
    must not keep it."""
    os.set_inheritable(pipe, False)
    events = Events(pipe)
    code = 1
    try:
        request = json.loads(sys.stdin.buffer.read())
        _close_input()
        _limit(request.get("memory"))
        opened = Opened(request["root"])
        _work(request, events)
        events.send("sources", files=sorted({*users_files(), *opened.files()}), sites=sites())
        events.send("done", peak_mib=_peak())
        code = 0
    except BaseException as error:
        events.send("failed", stage=events.stage, **describe(error))
    finally:
        os._exit(code)


def _work(request: dict[str, Any], events: Events) -> None:
    model, plan = request["model"], request.get("plan")
    sys.path[:] = [request["root"], *request.get("paths", ()), *(path for path in sys.path if path)]
    sys.argv = ["shardlint"]
    with events.during("import"):
        module("torch").set_num_threads(1)
        make = prepare(model, bool(request.get("trust_remote_code")))
        if plan and plan["kind"] == "apply":
            applying.check(plan)
            applying.pretend(plan["mesh"])
        if plan and plan.get("target"):
            target(plan["target"])
    with events.during("build"):
        built, mode = building.build(make, events)
        real = building.warn_of_real(built, events)
    with events.during("facts"):
        events.send("facts", facts=description.facts(built, events), mode=mode, real=real)
    if plan:
        with events.during("plan"):
            read = applying.apply(plan, built) if plan["kind"] == "apply" else plans.read(plan, built)
            events.send("plan", plan=read)


def _close_input() -> None:
    """The user's code reads an empty standard input."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # it lives as long as the process


def _limit(memory: int | None) -> None:
    """Bound the data segment, on Linux: torch maps far more than it uses, so its address space is no measure."""
    if memory and sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        bound = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))


def _peak() -> float:
    """The largest resident size, in MiB."""
    import resource

    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20, 1)
