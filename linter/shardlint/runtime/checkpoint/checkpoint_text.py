"""The text form of a checkpoint, in which the examples of checkpoint rules are written.

    format: dcp
    model/layers.{0..3}.mlp.w1.weight  [64, 16]  fp32
    optimizer/state/layers.0.mlp.w1.weight/exp_avg  [64, 16]  fp32
    object lr_scheduler/last_epoch

The head names the format: dcp or safetensors. `/` divides the parts of the nested state that a distributed checkpoint
records; a key without one lies in the state itself.
"""

from __future__ import annotations

import re

from shardlint.errors import CheckpointError
from shardlint.runtime.braces import expand
from shardlint.runtime.checkpoint.stored import Contents, Stored
from shardlint.runtime.facts_text import SHORT_DTYPES, uncommented

_FORMS = {"dcp": "DCP", "safetensors": "safetensors"}
_ENTRY = re.compile(r"(?P<name>\S+)\s+\[(?P<shape>[0-9,\s]*)\]\s+(?P<dtype>\w+)")
_OBJECT = re.compile(r"object\s+(?P<name>\S+)")


def parse_checkpoint(text: str, path: str) -> Contents:
    """The checkpoint that a text states. Raises CheckpointError, with the line, for one that states none."""
    form = ""
    entries: list[Stored] = []
    for number, line in enumerate(text.split("\n"), 1):
        stated = uncommented(line).strip()
        if not stated:
            continue
        if not form:
            form = _FORMS.get(stated.removeprefix("format:").strip(), "")
            if not form:
                raise CheckpointError(f"line {number}: a checkpoint begins with `format: dcp` or `format: safetensors`")
            continue
        entries += _entries(stated, number)
    return Contents(path, form, entries, nested=form == "DCP")


def _entries(stated: str, number: int) -> list[Stored]:
    tensor, thing = _ENTRY.fullmatch(stated), _OBJECT.fullmatch(stated)
    if tensor is not None:
        shape = tuple(int(extent) for extent in tensor["shape"].split(",") if extent.strip())
        dtype = SHORT_DTYPES.get(tensor["dtype"], tensor["dtype"])
        return [_stored(name, number, shape, dtype) for name in expand(tensor["name"], number)]
    if thing is not None:
        return [_stored(name, number, None, None) for name in expand(thing["name"], number)]
    raise CheckpointError(f"line {number}: `{stated}` is no entry; write `KEY [SHAPE] DTYPE` or `object KEY`")


def _stored(name: str, line: int, shape: tuple[int, ...] | None, dtype: str | None) -> Stored:
    path = tuple(name.split("/"))
    return Stored(".".join(path), path, shape, dtype, shape is not None, line)
