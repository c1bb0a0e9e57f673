"""The headers of safetensors files: 8 bytes with a length, then JSON. https://huggingface.co/docs/safetensors

The values behind the header are never read; that they are all there is seen by the size of the file.
"""

from __future__ import annotations

import json
from math import prod
from typing import BinaryIO

from shardlint.errors import CheckpointError
from shardlint.runtime.checkpoint.pickle_subset import printable
from shardlint.runtime.checkpoint.plain import is_dict, is_list
from shardlint.runtime.checkpoint.stored import Stored
from shardlint.runtime.model_facts import BYTES

LONGEST_HEADER = 100_000_000
"""In bytes; the format's own bound."""

_DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "F4": "float4_e2m1fn_x2",
    "C64": "complex64",
}
_SLICES = "DCP_SHARDING_INFO"
"""In the metadata of a file that one rank wrote: where its part of each tensor begins (torch's `hf_storage`)."""


def read_header(file: BinaryIO, size: int, path: str) -> tuple[list[Stored], bool]:
    """The tensors of one file, and whether they are a rank's parts of larger ones.

    Args:
        file: at its start.
        size: of the file, in bytes.
        path: how errors name it.

    Raises CheckpointError for what is no such file, and for one that ends before its last tensor does.
    """
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or not 2 <= length <= min(LONGEST_HEADER, size - 8):
        raise CheckpointError(
            f"{path} is no safetensors file, or was cut: its header is said to have {length} bytes, "
            f"of {max(size - 8, 0)}"
        )
    header = read_json(file.read(length), path)
    metadata = header.pop("__metadata__", None)
    offsets = _offsets(metadata, path)
    found = [_stored(name, given, size - 8 - length, offsets.get(name), path) for name, given in header.items()]
    return found, bool(offsets)


def read_json(data: bytes, path: str) -> dict[str, object]:
    """A JSON object. Raises CheckpointError, also for a key that is given twice."""
    try:
        value: object = json.loads(data, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is broken JSON: {printable(str(error))}") from None
    if not is_dict(value):
        raise CheckpointError(f"{path} holds no JSON object")
    return {str(key): item for key, item in value.items()}


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key `{key}` is given twice")
        found[key] = value
    return found


def _offsets(metadata: object, path: str) -> dict[str, tuple[int, ...]]:
    given = metadata.get(_SLICES) if is_dict(metadata) else None
    if not isinstance(given, str):
        return {}
    found: dict[str, tuple[int, ...]] = {}
    for name, slice_ in read_json(given.encode("utf-8", "surrogatepass"), path).items():
        begins = _whole(slice_.get("saved_offsets")) if is_dict(slice_) else None
        if begins is None:
            raise CheckpointError(f"{path} does not say where its part of `{printable(name)}` begins")
        found[name] = begins
    return found


def _stored(name: str, given: object, data: int, offsets: tuple[int, ...] | None, path: str) -> Stored:
    described: dict[object, object] = given if is_dict(given) else {}
    shape, place = _whole(described.get("shape")), _whole(described.get("data_offsets"))
    dtype = described.get("dtype")
    if shape is None or place is None or len(place) != 2 or not isinstance(dtype, str) or place[0] > place[1]:
        raise CheckpointError(f"{path} does not describe the tensor `{printable(name)}`")
    if place[1] > data:
        raise CheckpointError(
            f"{path} ends before the values of `{printable(name)}` do: it was not copied or written to its end"
        )
    known = _DTYPES.get(dtype, dtype.lower())
    if known in BYTES and prod(shape) * BYTES[known] != place[1] - place[0]:
        raise CheckpointError(f"{path} gives `{printable(name)}` another size than its shape and dtype have")
    if offsets is not None and len(offsets) == len(shape):
        shape = tuple(begin + extent for begin, extent in zip(offsets, shape, strict=True))
    return Stored(name, (name,), shape, known)


def _whole(value: object) -> tuple[int, ...] | None:
    if not is_list(value):
        return None
    whole = tuple(extent for extent in value if type(extent) is int and 0 <= extent < 1 << 63)
    return whole if len(whole) == len(value) else None
