"""A checkpoint's folder: which of its files list the keys, and how they are opened.

Only regular files below the folder are opened. A link may lead out of it to the blobs beside the snapshots of a
Hugging Face cache, and nowhere else.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from shardlint.errors import CheckpointError
from shardlint.runtime.checkpoint.dcp import METADATA, read_dcp
from shardlint.runtime.checkpoint.pickle_subset import MOST_BYTES, printable
from shardlint.runtime.checkpoint.plain import is_dict
from shardlint.runtime.checkpoint.safetensors import LONGEST_HEADER, read_header, read_json
from shardlint.runtime.checkpoint.stored import Contents, Stored

_INDEX = ".safetensors.index.json"
_BIN_INDEX = ".bin.index.json"
_WHOLE = ("model.safetensors", "diffusion_pytorch_model.safetensors")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt")
_MOST_NAMED = 5


def read_folder(folder: str, shown: str) -> Contents:
    """What the checkpoint in a folder holds.

    Args:
        folder: its path.
        shown: how findings and errors name it.

    Raises CheckpointError, with what to do, when there is none or it cannot be read.
    """
    return _Folder(folder, shown).read()


class _Folder:
    def __init__(self, folder: str, shown: str) -> None:
        self.root = os.path.realpath(folder)
        self.shown = shown.rstrip("/") or shown
        try:
            self.names = sorted(os.listdir(folder))
        except OSError as error:
            raise CheckpointError(f"{shown} cannot be read as a folder: {error.strerror}") from None

    def read(self) -> Contents:
        if METADATA in self.names:
            with self.opened(METADATA) as (file, size):
                if size > MOST_BYTES:
                    raise CheckpointError(
                        f"{self.path(METADATA)} has {size} bytes, more than the {MOST_BYTES} that are read"
                    )
                return read_dcp(file.read(MOST_BYTES), self.path(METADATA))
        index = next((name for name in self.names if name.endswith(_INDEX)), None)
        if index is not None:
            return self.indexed(index, "safetensors")
        files = [name for name in self.names if name.endswith(".safetensors")]
        if files:
            whole = next((name for name in _WHOLE if name in files), None)
            return self.headers([whole] if whole else files)
        index = next((name for name in self.names if name.endswith(_BIN_INDEX)), None)
        if index is not None:
            return self.indexed(index, "names of pickled shards")
        raise CheckpointError(self.nothing())

    def path(self, name: str) -> str:
        """How a file is named in findings and errors."""
        return f"{self.shown}/{printable(name)}"

    @contextmanager
    def opened(self, name: str) -> Generator[tuple[BinaryIO, int], None, None]:
        """A regular file of the folder and its size."""
        real = os.path.realpath(os.path.join(self.root, name))
        if not any(os.path.commonpath((place, real)) == place for place in self.places()):
            raise CheckpointError(f"{self.path(name)} leads out of the folder: it was not opened")
        try:
            # A pipe without a writer would wait for one.
            number = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise CheckpointError(f"{self.path(name)} cannot be read: {error.strerror}") from None
        with open(number, "rb") as file:
            status = os.fstat(number)
            if not stat.S_ISREG(status.st_mode):
                raise CheckpointError(f"{self.path(name)} is no regular file")
            yield file, status.st_size

    def places(self) -> Iterator[str]:
        yield self.root
        snapshots, model = os.path.split(os.path.dirname(self.root))[::-1]
        if snapshots == "snapshots":
            yield os.path.join(model, "blobs")

    def indexed(self, name: str, form: str) -> Contents:
        """The names that an index gives, with shapes and dtypes where the shard is there."""
        with self.opened(name) as (file, size):
            if size > LONGEST_HEADER:
                raise CheckpointError(
                    f"{self.path(name)} has {size} bytes, more than the {LONGEST_HEADER} that are read"
                )
            weights = read_json(file.read(LONGEST_HEADER), self.path(name)).get("weight_map")
        if not is_dict(weights):
            raise CheckpointError(f"{self.path(name)} has no `weight_map`")
        shards: dict[str, list[str]] = {}
        for key, shard in weights.items():
            if not isinstance(shard, str) or os.path.basename(shard) != shard or shard in ("", ".", ".."):
                raise CheckpointError(
                    f"{self.path(name)} names the shard `{printable(str(shard))}`, which is no file's name"
                )
            shards.setdefault(shard, []).append(str(key))
        found = {str(key): Stored(str(key), (str(key),)) for key in weights}
        for shard in sorted(shards) if form == "safetensors" else ():
            if shard in self.names:
                found |= self.shard(shard, shards[shard])
        return Contents(self.path(name), form, found.values())

    def shard(self, name: str, keys: list[str]) -> dict[str, Stored]:
        """The tensors of a shard for which the index names it."""
        with self.opened(name) as (file, size):
            held = {one.name: one for one in read_header(file, size, self.path(name))[0]}
        absent = [key for key in keys if key not in held]
        if absent:
            raise CheckpointError(
                f"{self.path(name)} does not hold `{printable(absent[0])}`, for which the index names it"
                + (f", nor {len(absent) - 1} more" if absent[1:] else "")
            )
        return {key: held[key] for key in keys}

    def headers(self, names: list[str]) -> Contents:
        """The tensors of files without an index; parts that ranks wrote are put together."""
        found: list[Stored] = []
        parts: dict[str, Stored] = {}
        for name in names:
            with self.opened(name) as (file, size):
                held, sliced = read_header(file, size, self.path(name))
            if not sliced:
                found += held
                continue
            for part in held:
                other = parts.get(part.name, part)
                shape = tuple(map(max, part.shape or (), other.shape or ()))
                parts[part.name] = Stored(part.name, part.path, shape, part.dtype)
        path = self.path(names[0]) if len(names) == 1 else self.shown
        return Contents(path, "safetensors", [*found, *parts.values()])

    def nothing(self) -> str:
        """Why the folder cannot be read, and what to try."""
        inside = [name for name in self.names if os.path.isdir(os.path.join(self.root, name))]
        below = [name for name in inside if self.holds(name)]
        if below:
            named = ", ".join(self.path(name) for name in below[:_MOST_NAMED])
            return f"{self.shown} holds no checkpoint itself, but folders in it do: name one of them, {named}"
        if any(name.endswith(_PICKLES) for name in self.names):
            return (
                f"{self.shown} holds weights as pickles, which are not opened: loading one may run any code; "
                "save the checkpoint as safetensors or with `torch.distributed.checkpoint`"
            )
        return f"{self.shown} holds no checkpoint: neither `{METADATA}` nor safetensors, nor an index of either"

    def holds(self, name: str) -> bool:
        try:
            names = os.listdir(os.path.join(self.root, name))
        except OSError:
            return False
        return any(one == METADATA or one.endswith((_INDEX, ".safetensors", _BIN_INDEX)) for one in names)
