"""Whatever Python there is goes through all rules and all facts: nothing crashes and nothing hangs."""

# Tests replace private parts, and some libraries have no types.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportArgumentType=false, reportDeprecated=false, reportUnknownVariableType=false
from __future__ import annotations

import ast
import contextlib
import os
import random
import re
import signal
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

import hypothesis
import hypothesmith
import libcst
import pytest
from hypothesis import HealthCheck, given, settings

from shardlint.analysis import Analysis
from shardlint.errors import UndecodableSource
from shardlint.facts.matching import Hit
from shardlint.facts.module import Module
from shardlint.facts.program import FileFacts, package_name
from shardlint.facts.site import Site
from shardlint.finding import Evidence, Finding
from shardlint.parsing import parse
from shardlint.program_run import run_program
from shardlint.record import Record
from shardlint.registry import load_rows
from shardlint.sieve import Sieve
from shardlint.source import decode
from shardlint.voice import Voice

ROWS, _ = load_rows()
LIMIT = 20
"""Seconds of processor time for one file, on a slow machine; none takes a tenth of it."""

VOICE = Voice("probe", "probe", "error", Evidence("observation"), 0.9, None)
STANDARD_LIBRARY = sysconfig.get_path("stdlib")
GUARD = "import torch.distributed as dist\n"
KINDS = {"py": "python", "yaml": "yaml", "yml": "yaml", "json": "json", "toml": "toml", "sh": "shell"}


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Fail what takes longer; a hang would otherwise stop the whole run of the tests."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"took longer than {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def findings_of(files: Mapping[str, bytes], *, prefilter: bool = False) -> list[Finding]:
    """The findings of all rules in a project in memory. Fails when a rule crashes."""
    analysis = Analysis(ROWS, edits=True)
    sieve = Sieve(ROWS, prefilter=prefilter)
    names = frozenset(files)
    findings: list[Finding] = []
    roots: list[str] = []
    for path, data in sorted(files.items()):
        with limited(LIMIT):
            dotted = package_name(path, names)
            sifted = sieve.sift(path, KINDS[path.rpartition(".")[2]], (0, 0, 0), data)
            record = sifted if isinstance(sifted, Record) else analysis.look(sifted, dotted)
        findings += record.unpacked()
        roots += [path] * record.root
    python = [path for path in files if path.endswith(".py")]
    with limited(LIMIT * 2):
        result, _ = run_program(
            analysis, roots, python, analysis.facts, files.__getitem__, lambda path: package_name(path, names)
        )
    assert [(crash.rule, crash.path, crash.detail) for crash in analysis.crashes] == []
    return sorted([*findings, *result.findings])


def examine(path: str, data: bytes, most: int = 60) -> int:
    """Ask for every fact of every function and of at most so many calls of a file; the number of calls."""
    try:
        source = decode(data)
    except UndecodableSource:
        return 0
    tree = parse(source.text)
    if isinstance(tree, SyntaxError):
        return 0
    module = Module(path, source.text, tree, dotted="package.module")
    facts = FileFacts(path, None, lambda _: module, frozenset(("save", "all_reduce", "append")))
    for name in ["", *facts.stored["functions"]]:
        assert facts.trace(name) is not None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    before = None
    for call in calls[:: len(calls) // most + 1]:
        site = Site(module, Hit(call, "probe.call", 1.0), VOICE)
        _ask(site)
        if before is not None and before.function.name == site.function.name:
            before.reaches(site)
            site.dominates(before)
        before = site
    return len(calls)


def _ask(site: Site) -> None:
    for part in (site, site.receiver, site.argument("input", 0), *site.positional, *site.targets):
        if part is not None:
            str((part.text, part.span, part.literal, part.names, part.made_from, part.last_name, part.default))
            str((part.rank, part.rank_test, part.is_builtin, part.values))
            part.same_as(site)
    str((site.guards, site.loops, site.opaque, site.statement, site.function.class_name))
    assert site.finding("m", help="h").span.line >= 1


def standard_files(*folders: str) -> list[str]:
    """The Python files in folders of the standard library, sorted."""
    found: list[str] = []
    for folder in folders:
        for at, _, names in os.walk(os.path.join(STANDARD_LIBRARY, folder)):
            found += [os.path.join(at, name) for name in names if name.endswith(".py")]
    return sorted(found)


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


EVERY = standard_files("test", "lib2to3", "idlelib", "asyncio", "concurrent", "multiprocessing")
SAMPLE = [path for number, path in enumerate(EVERY) if number % 12 == 0]


def go_through(paths: list[str]) -> None:
    for path in paths:
        data = read(path)
        with limited(LIMIT):
            examine(path, data)
    files = {os.path.relpath(path, STANDARD_LIBRARY): read(path) for path in paths}
    for finding in findings_of(files):
        assert finding.span.line >= 1


def test_the_tests_of_python_itself_are_there() -> None:
    assert len(EVERY) > 50


@pytest.mark.parametrize("share", range(4))
def test_a_sample_of_the_tests_of_python_itself(share: int) -> None:
    go_through(SAMPLE[share::4])


@pytest.mark.slow
@pytest.mark.parametrize("share", range(12))
def test_all_tests_of_python_itself(share: int) -> None:
    go_through(EVERY[share::12])


QUICK = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(hypothesis.Phase.generate,),
)


@QUICK
@given(hypothesmith.from_node(libcst.Module))
def test_generated_programs(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    examine("generated.py", data)
    findings_of({"generated.py": data})


@QUICK
@given(hypothesmith.from_node(libcst.Call))
def test_generated_calls_under_a_rank_guard(call: str) -> None:
    text = f"{GUARD}def f(x):\n    if dist.get_rank() == 0:\n        x = ({call}\n)\n    return ({call}\n)\n"
    examine("generated.py", text.encode("utf-8", "surrogatepass"))
    findings_of({"generated.py": text.encode("utf-8", "surrogatepass")})


SEED = b'''\
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from .other import helper as aid

class Trainer:
    """A trainer."""

    def save(self, state, path, *args, step: int = 0, **kwargs):
        main = dist.get_rank() == 0 and step % 10 == 0
        if main:
            dcp.save(state, checkpoint_id=f"{path}/{step!r:>{10}}")  # shardlint: ignore[rank-guarded-checkpoint] a, b
        elif (rank := dist.get_rank()) in (1, 2):
            return [self.save(s, path) for s in state if rank]
        for _ in range(rank):
            dist.all_reduce(state)
        else:
            dist.barrier()
        with open(path) as file, lambda: 0:
            try:
                aid(*args, **kwargs)
            except (ValueError, OSError) as error:
                raise RuntimeError from error
            finally:
                dist.broadcast(state, 0)
        match state:
            case {"a": [1, *rest]} if dist.get_rank():
                dist.barrier()
            case _:
                pass
'''
DOCUMENT = b"# shardlint: ignore[a]\na: &x [1, 2e-5, 1e5, {b: *x}]\nc: !!float '1'\nd: |\n  text\n? e\n: <<: *x\n"


def _truncated(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def _without_lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(line for line in lines if chance.random() > 0.2)


def _swapped(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def _with_odd_bytes(data: bytes, chance: random.Random) -> bytes:
    odd = (b"\0", b"\xef\xbb\xbf", b"\r", b"\f", b"\t", b"\xe2\x80\xa8", "é𝒳".encode(), b"\xff", b"\x1b[31m", b"\\\n")
    at = chance.randrange(len(data))
    return data[:at] + chance.choice(odd) + data[at:]


def _with_flipped_bytes(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(3):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


MUTATIONS = (_truncated, _without_lines, _swapped, _with_odd_bytes, _with_flipped_bytes)


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_broken_files(mutation: Callable[[bytes, random.Random], bytes]) -> None:
    chance = random.Random(mutation.__name__)
    originals = [SEED, *(read(path) for path in SAMPLE[:40:8])]
    for number in range(150):
        data = mutation(originals[0] if number % 10 else originals[number // 10 % len(originals)], chance)
        if chance.random() < 0.3 and data:
            data = _with_odd_bytes(data, chance)
        examine("broken.py", data)
        findings_of({"broken.py": data, "whole.py": SEED})


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_broken_documents(mutation: Callable[[bytes, random.Random], bytes]) -> None:
    chance = random.Random(mutation.__name__)
    for ending in ("yaml", "json", "toml", "sh"):
        for _ in range(40):
            findings_of({f"broken.{ending}": mutation(DOCUMENT, chance)})


DEEP = {
    "parentheses": "x = " + "(" * 500 + "1" + ")" * 500,
    "lists": "x = " + "[" * 500 + "]" * 500,
    "calls": "x = " + "f(" * 500 + ")" * 500,
    "lambdas": "x = " + "lambda: " * 500 + "dist.get_rank() == 0",
    "ifs": "\n".join("\t" * depth + "if dist.get_rank() == 0:" for depth in range(99)) + "\n" + "\t" * 99 + "f()",
    "functions": "\n".join(" " * depth + "def f(rank):" for depth in range(99)) + "\n" + " " * 99 + "rank == 0",
    "additions": "x = rank == " + " + ".join(["f()"] * 5_000),
    "attributes": "x = a" + ".b" * 5_000,
    "call chain": "x = a" + ".b(rank == 0)" * 3_000,
    "subscripts": "x = a" + "[0]" * 3_000,
    "conditions": "x = " + " and ".join(["dist.get_rank() == 0"] * 5_000),
    "negations": "x = " + "not " * 500 + "rank == 0",
    "minus": "x = " + "-" * 3_000 + "1",
    "elif": "if rank == 0:\n    f()\n" + "".join(f"elif rank == {n}:\n    f{n}()\n" for n in range(3_000)),
    "elif and": "if rank == 0 and a:\n    f()\n" + "elif rank == 1 and b:\n    dist.barrier()\n" * 200,
    "else if and": "x = " + "dist.barrier() if rank == 0 and a else " * 90 + "0",
    "classes in a word": "AutoConfig.register('a', B)\nx = '" + "class" * 60_000 + "'",
    "if else expressions": "x = " + "".join(f"f({n}) if rank == {n} else " for n in range(1_000)) + "0",
    "dict": "x = {\n" + "".join(f"    'key{n}': rank == {n},\n" for n in range(10_000)) + "}",
    "one line": "x = [" + "f(rank == 0), " * 60_000 + "]",
    "one word": "x = '" + "rank " * 400_000 + "'",
    "statements": "x = f(rank == 0); " * 5_000,
    "assignments": "x = y = " * 2_000 + "0",
    "renamed": "a0 = dist.get_rank()\n" + "".join(f"a{n + 1} = a{n}\n" for n in range(3_000)) + "if a3000 == 0: f()",
    "rebound": "model = f()\n" + "model = g(model)\n" * 3_000 + "model.save(rank == 0)\n",
    "own value": "x = x\ny = z\nz = y\nif x == y: x()\n",
    "own class": "class A(B):\n  pass\nclass B(A):\n  def f(self):\n    if rank == 0: self.g()\nA().g()\n",
    "comment": "x = 1  # shardlint: ignore[" + "a, " * 50_000 + "]",
    "f-strings": "x = " + "f'{f(rank == 0)}' " * 2_000,
    "matches": "match rank:\n" + "".join(f"    case {n}:\n        f()\n" for n in range(2_000)),
    "try": "\n".join(" " * n + "try:" for n in range(18))
    + "\n"
    + " " * 18
    + "f()\n"
    + "\n".join(" " * n + "finally: dist.barrier()" for n in range(17, -1, -1)),
    "loops": "\n".join(" " * n + "for i in range(rank):" for n in range(18)) + "\n" + " " * 18 + "break",
    "guards in a row": "def f():\n" + "".join(f"    if rank == {n}:\n        return g()\n" for n in range(300)),
    "star imports": "from broken import *\n" * 500 + "f(rank == 0)",
}


@pytest.mark.parametrize("name", DEEP)
def test_extreme_programs(name: str) -> None:
    findings_of({"broken.py": (GUARD + DEEP[name] + "\n").encode()})


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff", "# a comment\n", "\f"])
def test_the_prefilter_knows_lines_as_python_does(start: str, end: str) -> None:
    local = "import torch.distributed as dist\ndef share(x, tp_group):\n    dist.broadcast(x, src=0, group=tp_group)\n"
    rank = "if dist.get_rank() == 0:\n    dist.barrier()\n"
    text = (start + local + rank).replace("\n", end)
    files = {"a.py": text.encode()}
    found = findings_of(files, prefilter=True)
    assert [finding.rule for finding in found] == ["subgroup-src-local-rank", "rank-guarded-collective"]
    assert found == findings_of(files)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_the_prefilter_reads_documents_in_every_encoding_that_yaml_allows(encoding: str) -> None:
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    text = "lr: 1e-5\nx: 1  # shardlint: ignore[yaml-float-is-string] why\n"
    files = {"load.py": b"import yaml\nyaml.safe_load(open('a.yaml'))\n", "a.yaml": mark + text.encode(encoding)}
    found = findings_of(files, prefilter=True)
    assert [finding.rule for finding in found] == ["yaml-float-is-string"]
    assert found == findings_of(files)


@pytest.mark.parametrize(
    "end",
    [
        "import torch.distributed as dist \\",
        "from a import b\\\n\\\r\n \\",
        "from torch import (  # " + ")" * 300_000,
        "from torch import (  # )\n" * 300,
        "import torch.nn \\\n  # \\\n" * 20_000,
        "import a; " * 40_000,
        "import torch.nn, " + "a" * 400_000,
    ],
    ids=["continued", "by nothing", "closed in a comment", "closed nowhere", "always", "one line", "one word"],
)
def test_the_prefilter_gets_past_imports_that_end_nowhere(end: str) -> None:
    for text in (GUARD + end, "load(torch, pickle, weights_only, broadcast, src, group, distributed)\n" + end):
        findings_of({"broken.py": text.encode()}, prefilter=True)


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("yaml", "a: " + "[" * 3_000 + "]" * 3_000),
        ("yaml", "".join(" " * n + f"a{n}:\n" for n in range(600))),
        ("yaml", "a0: &a0 [x, x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(40))),
        ("yaml", "a: &a [*a]\n"),
        ("yaml", "a: 1e5\n" * 5_000),
        ("json", '{"a": ' * 3_000 + "1" + "}" * 3_000),
        ("json", "[" * 100_000),
        ("json", '{"a": ' + "9" * 10_000 + "}"),
        ("toml", "a = " + "[" * 3_000 + "]" * 3_000),
        ("toml", "a" + ".a" * 3_000 + " = 1\n"),
        ("toml", "a = " + "9" * 10_000 + "\n"),
    ],
    ids=lambda value: value[:12].replace("\n", " "),
)
def test_extreme_documents(ending: str, text: str) -> None:
    findings_of({f"broken.{ending}": text.encode()})


def test_functions_and_files_that_go_in_circles() -> None:
    files = {
        "a.py": "from b import f as g\ndef f(rank):\n    if rank == 0:\n        g()\n        f(rank)\n",
        "b.py": "from c import f\nfrom a import *\n",
        "c.py": "from b import f\nimport a\nclass C(a.D):\n    def h(self):\n        self.h()\n        a.f()\n",
        "d.py": "from c import C\nclass D(C):\n    def run(self, rank):\n        if rank == 0:\n            self.h()\n",
        "e/__init__.py": "from e import x\nfrom . import x as y\nif x == 0: y()\n",
        "e/x.py": "from . import *\nfrom .. import z\nfrom .... import w\nimport e.x\nif e.x.rank == 0: e.x.x()\n",
    }
    assert findings_of({path: (GUARD + text).encode() for path, text in files.items()}) == []


def test_a_chain_of_calls_through_many_files_ends() -> None:
    text = "from m{1} import f{1}\ndef f{0}(rank):\n    if rank == 0:\n        f{1}(rank)\n"
    files = {f"m{n}.py": text.format(n, n + 1).encode() for n in range(300)}
    findings_of(files)


def test_many_paths_through_calls_end() -> None:
    """Each function calls the next one twice: without a bound that is 2 to the 40th ways."""
    text = "".join(f"def f{n}(x):\n    f{n + 1}(x)\n    f{n + 1}(x)\n" for n in range(40))
    findings_of({"a.py": (GUARD + text + "def run(x, rank):\n    if rank == 0:\n        f0(x)\n").encode()})


def test_the_prefilter_changes_no_finding_in_real_packages() -> None:
    """It may only drop files in which no rule can fire."""
    files: dict[str, bytes] = {"planted.py": (GUARD + "import torch.distributed.checkpoint as dcp\n").encode()}
    files["planted.py"] += b"def save(s):\n    if dist.get_rank() == 0:\n        dcp.save(s)\n"
    for package in (libcst, hypothesis, pytest):
        folder = os.path.dirname(package.__file__ or "")
        for at, _, names in os.walk(folder):
            for name in sorted(names):
                if re.search(r"\.(py|yaml|json|toml)$", name) and os.path.getsize(os.path.join(at, name)) < 60_000:
                    path = os.path.join(at, name)
                    files[os.path.relpath(path, os.path.dirname(folder))] = read(path)
    with_filter = findings_of(files, prefilter=True)
    assert with_filter
    assert findings_of(files) == with_filter


def test_a_warning_of_the_compiler_is_not_ours(recwarn: pytest.WarningsRecorder) -> None:
    assert findings_of({"a.py": b"x = '\\d' is 1\nassert (x, 1)\nrank = 0\n"}) == []
    assert [str(warning.message) for warning in recwarn] == []


def test_the_recursion_limit_is_left_alone() -> None:
    before = sys.getrecursionlimit()
    with contextlib.suppress(RecursionError):  # some versions of Python print deep trees by recursion
        examine("a.py", (GUARD + DEEP["additions"]).encode())
    assert sys.getrecursionlimit() == before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        examine("a.py", SEED)
