"""The kinds of input, how many there are of each in a hundred, and what each is held to."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

import shardlint
from fuzzing import documents, expressions, models, programs, records, splices
from fuzzing.case import Broken, Case
from fuzzing.invariants import Checks
from fuzzing.limits import limited
from fuzzing.mutations import MUTATIONS, mutated
from fuzzing.place import SETTINGS
from fuzzing.vocabulary import Vocabulary
from fuzzing.whims import whims
from shardlint.analysis import Analysis
from shardlint.change_run import judge_changes
from shardlint.changes.memory import memory_change_set
from shardlint.errors import ShardlintError, UsageError
from shardlint.loading import Row, make
from shardlint.plan_run import judge_checkpoint_text, judge_plan_text
from shardlint.registry import load_rows
from shardlint.rule import CheckpointRule

_ODD_NAMES = ("a b/é.py", "\x1b[31m.py", "\n::error::x.py", "-x.py", "a'\"$;.py", "\udcff.py", "\u202e.py")

_GUARDED = b"""\
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

def save(state, path):
    if dist.get_rank() == 0:
        dcp.save(state, checkpoint_id=path)
"""


@dataclass(frozen=True)
class World:
    """What inputs are made from: the rules, their vocabulary and the paths of real files by ending."""

    rows: Sequence[Row]
    words: Vocabulary
    real: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, folders: Sequence[str], rules: Sequence[str] = ()) -> World:
        """The world with the installed rules and the real files below some folders; all rules run in it.

        `rules` are the names of those that lend their examples, without them all. Raises UsageError for a wrong name.
        """
        _import_everything()
        rows, _ = load_rows()
        unknown = set(rules) - {row["name"] for row in rows}
        if unknown:
            raise UsageError(f"`{min(unknown)}` is no rule: `shardlint rules` lists the names")
        words = Vocabulary.of(rows)
        if rules:
            words = Vocabulary.of([row for row in rows if row["name"] in rules]).filled(words)
        return cls(rows, words, splices.real_files(folders))

    @cached_property
    def whims(self) -> tuple[str, ...]:
        """Programs of hypothesmith. Made once, before workers are forked: they take seconds."""
        return whims()


def _import_everything() -> None:
    """What a run imports when it needs it is imported here: workers are forked from this process again and again."""
    for module in pkgutil.walk_packages(shardlint.__path__, "shardlint."):
        if not module.name.startswith(("shardlint.runtime.runner", "shardlint.testing", "shardlint.__main__")):
            importlib.import_module(module.name)


Make = Callable[[World, Random], Case]


@dataclass(frozen=True)
class Kind:
    """One kind of input: its share in percent, how one is made, and the check."""

    name: str
    share: int
    make: Make
    check: Callable[[Checks], None] = Checks.project


def _encoded(files: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode("utf-8", "surrogatepass") for path, text in files.items()}


def program(world: World, chance: Random) -> Case:
    """Programs by the grammar."""
    return Case("program", _encoded(programs.Writer(world.words, chance).project()), intact=True)


def deep(world: World, chance: Random) -> Case:
    """One construct, nested or repeated too often."""
    return Case("deep", {"a.py": programs.deep(world.words, chance).encode()})


def splice(world: World, chance: Random) -> Case:
    """Examples with statements of others and of real files."""
    return Case("splice", _encoded(splices.spliced(world.words, world.real[".py"], chance)), intact=True)


def example(world: World, chance: Random) -> Case:
    """The examples of two or three rules in one project, with suppressions."""
    files: dict[str, str] = {}
    for _ in range(chance.choice((1, 2, 3))):
        files |= chance.choice(world.words.projects)
    names = [row["name"] for row in world.rows]
    for path, text in files.items():
        lines = text.split("\n")
        for _ in range(chance.choice((0, 1, 4)) if path.endswith((".py", ".yaml", ".yml", ".toml")) else 0):
            at = chance.randrange(len(lines))
            listed = ", ".join(chance.sample([*names, "ALL", "config", "x", ""], chance.choice((0, 1, 1, 3))))
            mark = chance.choice(("ignore", "ignore-file", "ignore", "ignored", "ignore "))
            close = chance.choice(("]", "]", "]", "", "] why # shardlint: ignore[y"))
            lines[at] += f"{chance.choice(('  ', ''))}# shardlint: {mark}[{listed}{close}"
        files[path] = "\n".join(lines)
    return Case("example", _encoded(files), intact=True)


def whim(world: World, chance: Random) -> Case:
    """Programs of hypothesmith between the statements of our domain."""
    writer = programs.Writer(world.words, chance)
    parts = [writer.statement(0, ["a"]) for _ in range(2)] + [chance.choice(world.whims) for _ in range(3)]
    chance.shuffle(parts)
    return Case(
        "whim", {"a.py": "\n".join(["import torch.distributed as dist", *parts, ""]).encode("utf-8", "surrogatepass")}
    )


def _some_python(world: World, chance: Random) -> bytes:
    source = chance.random()
    if source < 0.3 and world.real[".py"]:
        return splices.read(chance.choice(world.real[".py"]))
    maker = program if source < 0.6 else example
    files = {path: data for path, data in maker(world, chance).files.items() if path.endswith(".py")}
    return chance.choice(sorted(files.values())) if files else _GUARDED


def broken_python(world: World, chance: Random) -> Case:
    """Mutated bytes of programs and of real files, beside one that is whole."""
    name = chance.choice(("a.py", "a.py", "pkg/__init__.py", "a.pyi", "b.py", *_ODD_NAMES))
    return Case("broken python", {name: mutated(_some_python(world, chance), chance), "whole.py": _GUARDED})


def document(world: World, chance: Random) -> Case:
    """Documents by their grammars."""
    writer = documents.Writer(world.words, chance)
    paths = chance.sample(documents.NAMES, chance.choice((1, 1, 2, 4)))
    return Case("document", _encoded({path: writer.document(path) for path in paths} | {"load.py": _reader(chance)}))


def _reader(chance: Random) -> str:
    """The program that reads the documents: rules ask with which library."""
    library = chance.choice(("yaml", "ruamel.yaml", "omegaconf", "hydra", "json", "tomllib", "transformers"))
    return f"import {library}\nconf = {library}.load(open('train.yaml'))\nlr = conf['lr']\n"


def extreme_document(_world: World, chance: Random) -> Case:
    """One construct of a document, nested or repeated too often."""
    path, text = documents.extreme(chance)
    return Case("extreme document", {path: text.encode(), "load.py": _reader(chance).encode()})


def broken_document(world: World, chance: Random) -> Case:
    """Mutated bytes of documents, generated and real."""
    writer = documents.Writer(world.words, chance)
    path = chance.choice(documents.NAMES)
    real = world.real["." + path.rpartition(".")[2]]
    data = splices.read(chance.choice(real)) if real and chance.random() < 0.4 else b""
    data = data or writer.document(path).encode("utf-8", "surrogatepass")
    return Case("broken document", {path: mutated(data, chance), "load.py": _reader(chance).encode()})


def settings(_world: World, chance: Random) -> Case:
    """Settings files."""
    files = {"a.py": _GUARDED, "train.yaml": b"lr: 1e-5\n", **records.settings(chance)}
    return Case(
        "settings", files, arguments=chance.choice((("check",), ("check",), ("check", "--show-settings"), ("plan",)))
    )


def baseline(_world: World, chance: Random) -> Case:
    """Baseline files, and settings that name one."""
    files = {"a.py": _GUARDED, "b.yaml": b"lr: 1e-5\n", "known.json": records.baseline(chance)}
    if chance.random() < 0.3:
        files["pyproject.toml"] = SETTINGS + b'baseline = "known.json"\n'
        return Case("baseline", files, arguments=("check",))
    option = chance.choice(("--baseline", "--baseline", "--write-baseline"))
    return Case("baseline", files, arguments=("check", option, "known.json"))


def cache_file(world: World, chance: Random) -> Case:
    """A healthy project; the check breaks its cache."""
    files = {path: data for path, data in example(world, chance).files.items() if path != "pyproject.toml"}
    return Case("cache", {**files, "whole.py": _GUARDED})


def check_cache(checks: Checks) -> None:
    """A cache that was broken is a cold run."""
    checks.written()
    place, chance = checks.place, checks.chance
    arguments = ("check", "--output-format", "json", *checks.extended)
    cold = place.lint(*arguments)
    files = place.cache_files()
    for path in chance.sample(files, chance.randrange(1, len(files) + 1)):
        data = splices.read(path)
        with open(path, "wb") as file:
            file.write(records.cached(data, chance))
    again = place.lint(*arguments)
    for path in files:
        os.unlink(path)  # a session table of another shape must not be met by the next input
    if (cold.code, cold.out) != (again.code, again.out):
        raise Broken("a broken cache changes findings", f"{cold.out}{cold.err}\nthen\n{again.out}{again.err}")


def changed(world: World, chance: Random) -> Case:
    """Two states of a repository: the examples of change rules, and programs that were edited."""
    before, after = chance.choice(world.words.changes)
    old, new = _encoded(before), _encoded(after)
    if chance.random() < 0.5:
        other, later = chance.choice(world.words.changes)
        old, new = {**_encoded(other), **old}, {**_encoded(later), **new}
    for files in (old, new):
        for path in sorted(files):
            if chance.random() < 0.3:
                files[path] = chance.choice(MUTATIONS)(files[path], chance) if files[path] else b"x"
    return Case("change", new, before=old)


def check_change(checks: Checks) -> None:
    """The change rules over two states in memory, and every fifth time over a real repository."""
    case = checks.case
    assert case.before is not None
    texts = [
        {
            path: data.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
            for path, data in files.items()
        }
        for files in (case.before, case.files)
    ]
    rows = [row for row in checks.rows if row["kind"] == "change"]
    analysis = Analysis(rows, edits=True)
    with limited(("the change rules",)):
        judge_changes(rows, analysis, memory_change_set(*texts))
    for crash in analysis.crashes:
        raise Broken(f"rule {crash.rule} crashed: {crash.detail[:100]}", crash.path)
    if checks.chance.random() < 0.2:
        checks.project()


def plan_text(world: World, chance: Random) -> Case:
    """The text forms of models, plans, meshes and checkpoints."""
    model, plan, mesh, saved = models.plan_texts(world.words, chance)
    texts = {"model": model, "plan": plan, "mesh": mesh, "checkpoint": saved}
    return Case("plan text", _encoded(texts))


def check_plan_text(checks: Checks) -> None:
    """Every plan and checkpoint rule over texts, which may be refused in a sentence."""
    texts = {name: data.decode("utf-8", "replace") for name, data in checks.case.files.items()}
    for row in checks.rows:
        if row["kind"] != "plan":
            continue
        rule: Any = make(row)
        with limited((row["name"],)):
            try:
                if isinstance(rule, CheckpointRule):
                    judge_checkpoint_text(rule, texts["model"], texts["checkpoint"])
                else:
                    judge_plan_text(rule, texts["model"], texts["plan"], texts["mesh"])
            except ShardlintError:
                continue


def saved_model(_world: World, chance: Random) -> Case:
    """Facts and checkpoints on disk."""
    files = {"facts.json": models.facts(chance), **models.checkpoint(chance)}
    return Case("saved model", files, arguments=models.arguments(chance))


def config_check(world: World, chance: Random) -> Case:
    """A condition on config files, and a document: its keys are those of the condition."""
    given = expressions.values(chance)
    files = {
        "expression": expressions.Writer(chance).expression(),
        "hostile": expressions.hostile(chance),
        "values.json": json.dumps(given),
        "check.json": json.dumps(expressions.check(chance)),
        "message": expressions.text_of_message(chance),
        "a.yaml": json.dumps(
            {**given, "l": [*range(chance.choice((3, 3, 9_000)))], "s": "a" * chance.choice((3, 9_000))}
        ),
    }
    if chance.random() < 0.3:
        files["a.yaml"] = documents.Writer(world.words, chance).document("a.yaml")
    return Case("config check", _encoded(files))


def check_config_check(checks: Checks) -> None:
    """An expression answers as Python does, and a check of any shape is refused in a sentence or ends soon."""
    files = checks.case.files
    texts = {name: data.decode("utf-8", "surrogatepass") for name, data in files.items()}
    with limited(("an expression",)):
        expressions.agrees(texts["expression"], json.loads(texts["values.json"]), checks.chance)
    for plain in (json.loads(texts["check.json"]), {"require": texts["hostile"]}, {"require": texts["expression"]}):
        with limited(("a config check",)):
            expressions.judged(plain, texts["message"], files["a.yaml"])


KINDS = (
    Kind("program", 18, program),
    Kind("config check", 2, config_check, check_config_check),
    Kind("deep", 2, deep),
    Kind("splice", 14, splice),
    Kind("example", 6, example),
    Kind("whim", 2, whim),
    Kind("broken python", 18, broken_python),
    Kind("document", 10, document),
    Kind("extreme document", 3, extreme_document),
    Kind("broken document", 8, broken_document),
    Kind("settings", 4, settings, Checks.command),
    Kind("baseline", 2, baseline, Checks.command),
    Kind("cache", 1, cache_file, check_cache),
    Kind("change", 4, changed, check_change),
    Kind("plan text", 2, plan_text, check_plan_text),
    Kind("saved model", 4, saved_model, Checks.command),
)
assert sum(kind.share for kind in KINDS) == 100
