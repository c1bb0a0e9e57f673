"""Model facts, plans and checkpoints: what `plan` and `checkpoint` read without running anything."""

from __future__ import annotations

import json
import os
import struct
from random import Random
from typing import Any

from fuzzing.mutations import mutated
from fuzzing.schemas import Sampler
from fuzzing.splices import read
from fuzzing.vocabulary import Vocabulary
from shardlint.runtime import model_facts
from shardlint.runtime.model_facts import BYTES

WRITTEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests/runtime/checkpoint/written")
"""Checkpoints that torch wrote, and the facts of their model."""

_NAMES = (
    "embed.weight",
    "layers.0.attn.weight",
    "layers.1.attn.weight",
    "layers.*.attn",
    "experts.3.up",
    "model.layers.0.mlp",
    "_fsdp_wrapped_module.x",
    "a..b",
    "",
    ".",
    "é",
    "\x1b[31m",
    "\ud800",
    "(a+)+$",
    "[",
    "x" * 3000,
)
_WORDS = (
    *BYTES,
    "Linear",
    "ModuleList",
    "colwise",
    "Shard(0)",
    "Shard(9)",
    "Replicate()",
    "tp",
    "ep",
    "torch",
    "hf",
    "veomni",
)
_MESHES = ("tp=4", "ep=16,fsdp=8", "tp=0", "tp", "=", "tp=1e3", "tp=4,tp=4", "a=99999999999999999999", "é=2", "")


def facts(chance: Random) -> bytes:
    """The facts of a model: those of a real one, changed, or new ones by their schema."""
    if chance.random() < 0.6:
        return _changed_facts(chance)
    with open(os.path.join(os.path.dirname(model_facts.__file__), "model_facts.schema.json"), encoding="utf-8") as file:
        schema: Any = json.load(file)
    made = Sampler(schema, chance, (*_NAMES, *_WORDS), odd=chance.choice((0, 0, 0.02, 0.1))).value()
    return json.dumps(made).encode()


def _changed_facts(chance: Random) -> bytes:
    data = read(os.path.join(WRITTEN, "facts.json"))
    if chance.random() < 0.3:
        return mutated(data, chance, 2)
    table: Any = json.loads(data)
    for _ in range(chance.randrange(1, 6)):
        one = chance.choice(table[chance.choice(("parameters", "buffers"))])
        key = chance.choice(sorted(one))
        odd: tuple[Any, ...] = (
            None,
            0,
            -1,
            [],
            [0],
            [1] * 9,
            [2**62] * 3,
            "",
            chance.choice(_NAMES),
            chance.choice(_WORDS),
            True,
            {},
            1.5,
        )
        one[key] = chance.choice(odd)
    return json.dumps(table).encode()


def checkpoint(chance: Random) -> dict[str, bytes]:
    """The files of a checkpoint in a folder `saved`."""
    form = chance.choice(("dcp", "dcp", "safetensors", "index", "parts"))
    if form == "dcp":
        saved = chance.choice(("torch-2.4/full", "torch-2.4/titan", "torch-2.13/full", "torch-2.13/dtypes"))
        data = read(os.path.join(WRITTEN, saved, ".metadata"))
        return {"saved/.metadata": mutated(data, chance, 2) if chance.random() < 0.9 else data}
    names = ["model.safetensors"] if form == "safetensors" else ["a-1.safetensors", "a-2.safetensors"]
    files = {f"saved/{name}": _tensors(chance) for name in names}
    if form == "index":
        weights: Any = {name: chance.choice((*names, "../x", "", "gone.safetensors", 1)) for name in _NAMES}
        index: Any = {"metadata": {"total_size": chance.choice((1, -1, "x"))}, "weight_map": weights}
        files["saved/model.safetensors.index.json"] = _text(index, chance)
    return files


def _text(value: Any, chance: Random) -> bytes:
    data = json.dumps(value).encode()
    return mutated(data, chance, 2) if chance.random() < 0.4 else data


def _tensors(chance: Random) -> bytes:
    """A safetensors file, whose sizes may be false."""
    header: dict[str, Any] = {}
    at = 0
    for name in chance.sample(_NAMES, chance.randrange(6)):
        shape = [chance.choice((0, 1, 3, 16)) for _ in range(chance.randrange(4))]
        size = 4
        for extent in shape:
            size *= extent
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        if chance.random() < 0.1:
            wrong: tuple[Any, ...] = (None, [], [-1], "F8_E4M3", "F4", [2**62, 2**62], [5, 1], {}, 1.5)
            header[name][chance.choice(("dtype", "shape", "data_offsets", "x"))] = chance.choice(wrong)
        at += size
    if chance.random() < 0.3:
        slices = {name: {"saved_offsets": [0] * chance.randrange(4)} for name in header}
        header["__metadata__"] = {"format": "pt", "DCP_SHARDING_INFO": _text(slices, chance).decode("utf-8", "replace")}
    text = _text(header, chance)
    length = len(text) if chance.random() < 0.9 else chance.choice((0, 1, 2**63, 2**64 - 1, len(text) + 9))
    return struct.pack("<Q", length) + text + bytes(at if chance.random() < 0.9 else at // 2)


def arguments(chance: Random) -> tuple[str, ...]:
    """A command line over the files `facts.json` and `saved`."""
    form = chance.choice(("text", "concise", "json", "github"))
    if chance.random() < 0.4:
        more: tuple[str, ...] = ("--mesh", chance.choice(_MESHES)) if chance.random() < 0.7 else ()
        more += ("--budget-gib", chance.choice(("1", "0.1", "-1", "nan", "1e30"))) if chance.random() < 0.2 else ()
        return ("plan", "--facts-in", "facts.json", "--output-format", form, *more)
    more = chance.choice(((), (), ("--resume",), ("--write-mapping",)))
    return ("checkpoint", "saved", "--facts-in", "facts.json", "--output-format", form, *more)


def plan_texts(words: Vocabulary, chance: Random) -> tuple[str, str, str, str]:
    """Model, plan, mesh and checkpoint of an example of a plan rule, with lines of other examples, cut and mixed."""
    chosen = chance.choice(words.plans)
    others = chance.choice(words.plans)
    mixed: list[str] = []
    for one, other in zip(chosen, others, strict=True):
        lines = one.split("\n")
        if chance.random() < 0.4:
            lines += chance.sample(other.split("\n"), 1)
        if chance.random() < 0.3:
            chance.shuffle(lines)
        text = "\n".join(line for line in lines if chance.random() > 0.05)
        if chance.random() < 0.3:
            text = mutated(text.encode(), chance, 1).decode("utf-8", "replace")
        mixed.append(text)
    model, plan, mesh, saved = mixed
    return model, plan, mesh, saved
