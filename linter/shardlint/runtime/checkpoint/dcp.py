"""The `.metadata` of a distributed checkpoint: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html

It is a pickle of `torch.distributed.checkpoint.metadata.Metadata`. The globals below are all that torch 2.4 to 2.13
write into one; torch's own classes are never made.
"""

from __future__ import annotations

from collections.abc import Iterator

from shardlint.errors import CheckpointError
from shardlint.runtime.checkpoint.pickle_subset import Made, PickleSubset, Refused, printable
from shardlint.runtime.checkpoint.plain import is_dict, is_tuple
from shardlint.runtime.checkpoint.stored import Contents, Stored

METADATA = ".metadata"

_PACKAGE = "torch.distributed.checkpoint"
_TENSOR, _OBJECT = f"{_PACKAGE}.metadata.TensorStorageMetadata", f"{_PACKAGE}.metadata.BytesStorageMetadata"
_ROOT, _PROPERTIES = f"{_PACKAGE}.metadata.Metadata", f"{_PACKAGE}.metadata.TensorProperties"
_SIZE = "torch.Size"
_DTYPES = [
    "bfloat16",
    "bit",
    "bits16",
    "bits1x8",
    "bits2x4",
    "bits4x2",
    "bits8",
    "bool",
    "complex128",
    "complex32",
    "complex64",
    "float16",
    "float32",
    "float4_e2m1fn_x2",
    "float64",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "int1",
    "int16",
    "int2",
    "int3",
    "int32",
    "int4",
    "int5",
    "int6",
    "int64",
    "int7",
    "int8",
    "qint32",
    "qint8",
    "quint2x4",
    "quint4x2",
    "quint8",
    "uint1",
    "uint16",
    "uint2",
    "uint3",
    "uint32",
    "uint4",
    "uint5",
    "uint6",
    "uint64",
    "uint7",
    "uint8",
]
_PATHS = ("PosixPath", "PurePosixPath", "PureWindowsPath", "WindowsPath")
GLOBALS = frozenset(
    (
        _ROOT,
        _TENSOR,
        _OBJECT,
        _PROPERTIES,
        f"{_PACKAGE}.metadata.ChunkStorageMetadata",
        f"{_PACKAGE}.metadata.MetadataIndex",
        f"{_PACKAGE}.metadata.StorageMeta",
        f"{_PACKAGE}.metadata._MEM_FORMAT_ENCODING",
        f"{_PACKAGE}.filesystem._StorageInfo",
        _SIZE,
        "torch.serialization._get_layout",
        *(f"torch.{dtype}" for dtype in _DTYPES),
        *(f"{module}.{name}" for module in ("pathlib", "pathlib._local") for name in _PATHS),
    )
)
"""The name of a checkpoint's folder is a path where the job gave one; Python 3.13 calls its module otherwise."""


def read_dcp(data: bytes, path: str) -> Contents:
    """The entries of a `.metadata`.

    Args:
        data: its bytes.
        path: how findings and errors name it.

    Raises CheckpointError for what is no such file, or asks for more than one needs.
    """
    try:
        root = _fields(PickleSubset(data, GLOBALS).read(), _ROOT)
        entries = root.get("state_dict_metadata")
        if not is_dict(entries):
            raise Refused("has no `state_dict_metadata`")
        paths = root.get("planner_data")
        nested = is_dict(paths)
        return Contents(path, "DCP", _entries(entries, paths if is_dict(paths) else {}), nested=nested)
    except Refused as refused:
        raise CheckpointError(f"{path} {refused}; it was not read on") from None


def _entries(entries: dict[object, object], paths: dict[object, object]) -> Iterator[Stored]:
    for name, entry in entries.items():
        if not isinstance(name, str):
            raise Refused("has a key that is no text")
        at = _path(name, paths.get(name))
        if isinstance(entry, Made) and entry.of == _OBJECT:
            yield Stored(name, at, tensor=False)
            continue
        fields = _fields(entry, _TENSOR)
        yield Stored(name, at, _shape(fields.get("size"), name), _dtype(fields.get("properties"), name))


def _path(name: str, given: object) -> tuple[str, ...]:
    if is_tuple(given) and given and all(isinstance(step, (str, int)) for step in given):
        return tuple(str(step) for step in given)
    return (name,)


def _fields(value: object, wanted: str) -> dict[object, object]:
    if not isinstance(value, Made) or value.of != wanted or not is_dict(value.state):
        raise Refused(f"holds no `{wanted.rpartition('.')[2]}` where there must be one")
    return value.state


def _shape(size: object, name: str) -> tuple[int, ...]:
    if isinstance(size, Made) and size.of == _SIZE and len(size.arguments) == 1:
        extents = size.arguments[0]
        if is_tuple(extents):
            whole = tuple(extent for extent in extents if isinstance(extent, int) and 0 <= extent < 1 << 63)
            if len(whole) == len(extents):
                return whole
    raise Refused(f"has no shape for `{printable(name)}`")


def _dtype(properties: object, name: str) -> str:
    """`TensorProperties` hands its fields over as a tuple, the dtype first."""
    if isinstance(properties, Made) and properties.of == _PROPERTIES and is_tuple(properties.state):
        first = next(iter(properties.state), None)
        dtype = getattr(first, "name", "")
        if isinstance(dtype, str) and dtype.removeprefix("torch.") in _DTYPES:
            return dtype.removeprefix("torch.")
    raise Refused(f"has no dtype for `{printable(name)}`")
