"""Runs jobs on gloo processes: reads a job a line from standard input, and answers each with a line.

A job is `{"folder", "name", "given", "world", "seconds"}`: the copy of minitrain whose code runs, the function of
`jobs.py` with its keywords, how many processes, and how long they may take. The answer is a list with
`{"result"}`, `{"error"}`, `{"hung": true}` or `{"died": true}` for each rank. Processes are forked, so that torch is
imported once.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

JOBS = Path(__file__).with_name("jobs.py")
WANTED = (
    "torch._dynamo",
    "torch.distributed.checkpoint",
    "torch.distributed.fsdp",
    "torch.distributed.tensor.parallel",
    "yaml",
)
"""What minitrain imports, sooner or later: a forked process has it already."""


def serve() -> None:
    """Answer jobs until standard input ends."""
    for name in WANTED:
        importlib.import_module(name)
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as answers:
            print(json.dumps(run(json.loads(line), Path(answers))), flush=True)


def run(job: dict[str, Any], answers: Path) -> list[dict[str, Any]]:
    """Fork the ranks of a job, wait for them, and end those that are late."""
    port = free_port()
    files = [answers / str(rank) for rank in range(job["world"])]
    pids = [start(job, rank, port, file) for rank, file in enumerate(files)]
    until = time.monotonic() + job["seconds"]
    late = set(pids)
    while late and time.monotonic() < until:
        late = {pid for pid in late if os.waitpid(pid, os.WNOHANG) == (0, 0)}
        time.sleep(0.02)
    for pid in late:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    ended = [json.loads(file.read_text()) if file.exists() else {"died": True} for file in files]
    return [{"hung": True} if pid in late else answer for pid, answer in zip(pids, ended, strict=True)]


def start(job: dict[str, Any], rank: int, port: int, answer: Path) -> int:
    """Fork a rank. Its answer appears at once, when it is complete."""
    pid = os.fork()
    if pid:
        return pid
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(job["world"]))
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    try:
        sys.path.insert(0, job["folder"])
        jobs: dict[str, Any] = {"__name__": "jobs"}
        exec(compile(JOBS.read_bytes(), JOBS, "exec"), jobs)
        said = {"result": jobs[job["name"]](**job["given"])}
    except BaseException as error:
        said = {"error": f"{type(error).__name__}: {error}"}
    draft = answer.with_suffix(".draft")
    draft.write_text(json.dumps(said))
    draft.rename(answer)
    os._exit(0)


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    serve()
