"""Two gloo ranks, forked from a process that has imported torch once: they run code and say what became of it.

A script. It reads a job a line from standard input and answers with a line each, all JSON. A job is the folder of the
code, the module whose names the driver sees, and the driver. The ranks live on while all goes well; when one hangs,
raises, dies or leaves the group for one of another kind, both are killed, and the next job gets two new ones. That
costs a fork, not an import.
"""

from __future__ import annotations

import ast
import faulthandler
import importlib
import json
import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import warnings
from multiprocessing.connection import Connection, wait
from typing import Any

Job = dict[str, Any]
Answer = dict[str, Any]

LOOK = 0.25
"""Seconds between two looks at a rank that has not answered."""
PATIENCE = 1.5
"""Seconds of sleep in one and the same place after which a rank is said to wait."""
LIMIT = 30.0
"""Seconds after which a rank that still moves is said to wait, too: it may go round in a loop for ever."""
FRAME = re.compile(r'^  File "(.+)", line (\d+) in (\S+)', re.MULTILINE)

fork = multiprocessing.get_context("fork")


class Rank:
    """One process of the pair."""

    def __init__(self, number: int, folder: str) -> None:
        self.jobs, theirs = fork.Pipe()
        self.stacks = os.path.join(folder, f"stacks-{number}")
        self.process = fork.Process(target=live, args=(number, folder, theirs))
        self.process.start()
        theirs.close()

    def busy(self) -> bool:
        """Whether the rank computes or reads, or would if it had its turn; known on Linux only."""
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
                return file.read().rpartition(")")[2].split()[0] in ("R", "D")
        except OSError:
            return False

    def stack(self) -> list[list[Any]]:
        """Where the rank is: [file, line, function], the innermost first."""
        start = size = _size(self.stacks)
        os.kill(self.process.pid or 0, signal.SIGUSR1)
        for _ in range(100):
            time.sleep(0.01)
            seen, size = size, _size(self.stacks)
            if size > start and seen == size:
                break
        with open(self.stacks, encoding="utf-8") as file:
            last = file.read().rpartition("most recent call first")[2]
        return [[path, int(line), name] for path, line, name in FRAME.findall(last)]

    def answer(self) -> Answer:
        """What the rank says, or that it died."""
        try:
            said: Answer = self.jobs.recv()
        except EOFError:
            self.process.join()
            return {"state": "died", "code": self.process.exitcode}
        return said

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.jobs.close()


class Pair:
    """Two ranks of one group."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="ranks-")
        self.ranks = [Rank(number, self.folder) for number in range(2)]

    def run(self, job: Job) -> list[Answer]:
        """What became of the job, by rank."""
        for rank in self.ranks:
            rank.jobs.send(job)
        answers: dict[int, Answer] = {}
        places: object = None
        started = moved = time.monotonic()
        while len(answers) < len(self.ranks):
            silent = {number: rank for number, rank in enumerate(self.ranks) if number not in answers}
            ready = wait([rank.jobs for rank in silent.values()], LOOK)
            answers |= {number: rank.answer() for number, rank in silent.items() if rank.jobs in ready}
            now = time.monotonic()
            busy = any(rank.busy() for rank in silent.values())
            stacks = {} if ready else {number: rank.stack() for number, rank in silent.items()}
            if now - started < LIMIT and (busy or stacks != places):
                places, moved = stacks, now
            elif stacks and (now - moved > PATIENCE or now - started >= LIMIT):
                answers |= {number: {"state": "waiting", "stack": stack} for number, stack in stacks.items()}
        return [answers[number] for number in sorted(answers)]

    def end(self) -> None:
        for rank in self.ranks:
            rank.end()
        shutil.rmtree(self.folder, ignore_errors=True)


def live(number: int, folder: str, jobs: Connection[Answer, Job]) -> None:
    """The life of a rank: join the group, then run jobs."""
    stacks = open(os.path.join(folder, f"stacks-{number}"), "a", encoding="utf-8")  # noqa: SIM115 (as long as it lives)
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=False)
    torch: Any = importlib.import_module("torch")
    dist = torch.distributed
    torch.set_num_threads(1)
    os.environ |= {"RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": "2"}
    dist.init_process_group("gloo", store=store(number, folder, dist), rank=number, world_size=2)
    nursery = os.getppid()
    while os.getppid() == nursery:
        if jobs.poll(1):
            jobs.send(perform(jobs.recv(), number, torch))


def store(number: int, folder: str, dist: Any) -> Any:
    """What the ranks meet in: a server of the first, whose port the other reads. Who waits in a file store polls it."""
    path = os.path.join(folder, "port")
    if number == 0:
        served = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(str(served.port))
        os.rename(path + ".new", path)
        return served
    while not os.path.exists(path):
        time.sleep(0.002)
    with open(path, encoding="utf-8") as file:
        return dist.TCPStore("127.0.0.1", int(file.read()), is_master=False, wait_for_workers=False)


def perform(job: Job, number: int, torch: Any) -> Answer:
    """Run one job in this process."""
    sys.path.insert(0, job["code"])
    os.chdir(job["folder"])
    importlib.invalidate_caches()
    before = set(sys.modules)
    torch.manual_seed(0)
    names = {"torch": torch, "dist": torch.distributed, "rank": number, "folder": job["folder"]}
    try:
        if job["module"]:
            names |= vars(importlib.import_module(job["module"]))
        value = plain(run(job["driver"], names), torch)
        return {"state": "finished", "value": value, "left": torch.distributed.get_backend() != "gloo"}
    except BaseException as error:
        return {"state": "raised", "error": f"{type(error).__name__}: {error}"}
    finally:
        sys.path.remove(job["code"])
        for name in set(sys.modules) - before:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(job["code"]):
                del sys.modules[name]


def run(driver: str, names: dict[str, Any]) -> Any:
    """Run statements; the value of the last one, if it is an expression."""
    tree = ast.parse(driver)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "driver", "exec"), names)
    return eval(compile(ast.Expression(last.value), "driver", "eval"), names) if isinstance(last, ast.Expr) else None


def plain(value: Any, torch: Any) -> Any:
    """A value in terms of JSON; of what JSON has no word for, how Python writes it."""
    return json.loads(json.dumps(value, default=lambda part: part.tolist() if torch.is_tensor(part) else repr(part)))


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0


def prepare() -> None:
    """Import all that a job may need, so that no rank has to."""
    torch: Any = importlib.import_module("torch")
    for name in ("checkpoint.state_dict", "fsdp", "tensor.parallel"):
        importlib.import_module(f"torch.distributed.{name}")
    torch._dynamo.disable(lambda: None)()  # what sharded tensors import when the first is made


def main() -> None:
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a job prints is no answer
    prepare()
    pair: Pair | None = None
    for line in sys.stdin:
        pair = pair or Pair()
        said = pair.run(json.loads(line))
        if any(answer["state"] != "finished" or answer["left"] for answer in said):
            pair.end()
            pair = None
        print(json.dumps(said), file=answers, flush=True)
    if pair is not None:
        pair.end()
    os._exit(0)  # taking torch down takes seconds


if __name__ == "__main__":
    main()
