"""Checkpoints on disk, healthy and hostile. The files below `written` were saved by torch 2.4 and 2.13."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from shardlint.errors import CheckpointError
from shardlint.runtime.checkpoint.folder import read_folder

WRITTEN = Path(__file__).parent / "written"
VERSIONS = ("torch-2.4", "torch-2.13")


def header(path: Path, tensors: dict[str, object], data: int = 8) -> None:
    text = json.dumps(tensors).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(data))


def tensor(shape: list[int], begin: int, end: int, dtype: str = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def refusal(folder: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        read_folder(str(folder), "saved")
    return str(caught.value)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_torch_wrote_is_read_with_shapes_dtypes_and_nesting(version: str) -> None:
    entries = read_folder(str(WRITTEN / version / "full"), "saved").entries

    weight = entries["model.layers.3.mlp.up_proj.weight"]
    assert (weight.path, weight.shape, weight.dtype) == (("model", "layers.3.mlp.up_proj.weight"), (32, 16), "float32")
    assert entries["step"].shape == ()
    assert not entries["rng.a"].tensor
    assert entries["optimizer.state.embed.weight.exp_avg"].path == ("optimizer", "state", "embed.weight", "exp_avg")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_dtype_that_torch_saves_is_known(version: str) -> None:
    tensors = read_folder(str(WRITTEN / version / "dtypes"), "saved").tensors

    named = [one for one in tensors if one.name not in ("scalar", "empty")]
    assert len(named) >= 14
    assert [one.name for one in named] == [one.dtype for one in named]


class Call:
    def __init__(self, called: Callable[..., object], *arguments: object) -> None:
        self.called, self.arguments = called, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self.called, self.arguments


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_calls_something_names_it_and_calls_nothing(tmp_path: Path, protocol: int) -> None:
    data = pickle.dumps(Call(os.mkdir, f"{tmp_path}/ran"), protocol)
    (tmp_path / ".metadata").write_bytes(data)

    said = refusal(tmp_path)

    assert "asks for `posix.mkdir`" in said
    assert not (tmp_path / "ran").exists()


def bomb(depth: int) -> bytes:
    """A tuple that holds itself twice, so many times over: hashing it would never end."""
    return (
        b"\x80\x04)"
        + b"\x94h\x00\x86" * 1
        + b"".join(b"\x94h" + bytes([at]) + b"\x86" for at in range(1, depth))
        + b"."
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "ends early or is no pickle"),
        (b"\x80\x04", "ends early"),
        (b"\x80\x04X\xff\xff\xff\x7fabc", "ends early"),
        (b"\x80\x04h\x07.", "ends early"),
        (b"\x80\x04\x86.", "ends early"),
        (b"\x80\x04u.", "ends early"),
        (bomb(60), "nests tuples deeper"),
        (b"\x80\x04" + b")" + b"\x85" * 100_000 + b".", "nests tuples deeper"),
        (b"\x80\x04" + b"]" * 200_000 + b".", "makes more objects"),
        (b"\x80\x04r\xff\xff\xff\x7f.", "opcode 0x72"),
        (b"\x80\x04\x8e" + b"\xff" * 8, "opcode 0x8e"),
        (b"\x80\x04cbuiltins\neval\n.", "`builtins.eval`"),
        (b"\x80\x04(ios\nsystem\n.", "`os.system`"),
        (b"\x80\x04\x8c\x01a\x8c\x01b\x93.", "`a.b`"),
        (b"\x80\x04NN\x93.", "no text"),
        (b"\x80\x04}.", "holds no `Metadata`"),
        (b"\x80\x04N).", "holds no `Metadata`"),
        (b"\x80\x04N)R.", "calls something that is no global"),
        (b"\x80\x04NNb.", "no object"),
        (b"\x80\x04NNa.", "no list"),
        (b"\x80\x04NNNs.", "no dict"),
        (b"\x80\x04})Ns.", "neither text nor an object"),
        (b"\x80\x04}(\x8c\x01aN\x8c\x01aNu.", "gives the key `a` twice"),
        (b"\x80\x04\x8c\x01\xff.", "no UTF-8"),
        (b"\x80\x04\x8c\x04a\x1b[0\x8c\x01b\x93.", "`a?[0.b`"),
    ],
)
def test_a_hostile_pickle_is_refused_in_one_sentence(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / ".metadata").write_bytes(data)
    assert said in refusal(tmp_path)


@pytest.mark.parametrize("version", VERSIONS)
def test_metadata_that_was_cut_or_changed_is_refused_or_read(tmp_path: Path, version: str) -> None:
    whole = (WRITTEN / version / "dtypes" / ".metadata").read_bytes()
    for at in range(0, len(whole) - 1, 37):
        (tmp_path / ".metadata").write_bytes(whole[:at])
        refusal(tmp_path)
        (tmp_path / ".metadata").write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with contextlib.suppress(CheckpointError):
            assert read_folder(str(tmp_path), "saved").form == "DCP"


def test_a_safetensors_file_gives_names_shapes_and_dtypes(tmp_path: Path) -> None:
    header(tmp_path / "model.safetensors", {"a": tensor([2], 0, 8), "__metadata__": {"format": "pt"}})
    contents = read_folder(str(tmp_path), "saved")
    assert contents.path == "saved/model.safetensors"
    assert [(one.name, one.shape, one.dtype, one.bytes) for one in contents.tensors] == [("a", (2,), "float32", 8)]


def test_an_index_gives_the_names_and_the_shards_that_are_there_the_shapes(tmp_path: Path) -> None:
    header(tmp_path / "1.safetensors", {"a": tensor([2], 0, 8)})
    index = {"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    contents = read_folder(str(tmp_path), "saved")
    assert {one.name: one.shape for one in contents.tensors} == {"a": (2,), "b": None}


def test_parts_of_a_tensor_that_ranks_wrote_are_put_together(tmp_path: Path) -> None:
    for rank in range(2):
        slices = json.dumps({"a": {"saved_offsets": [rank * 2]}})
        header(
            tmp_path / f"shard-{rank}.safetensors",
            {"a": tensor([2], 0, 8), "__metadata__": {"DCP_SHARDING_INFO": slices}},
        )
    assert [one.shape for one in read_folder(str(tmp_path), "saved").tensors] == [(4,)]


def test_of_pickled_shards_only_the_names_are_known(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin.index.json").write_text('{"weight_map": {"a": "x.bin"}}')
    (tmp_path / "x.bin").write_bytes(pickle.dumps(Call(os.getcwd)))
    contents = read_folder(str(tmp_path), "saved")
    assert [(one.name, one.shape, one.dtype) for one in contents.tensors] == [("a", None, None)]
    (tmp_path / "pytorch_model.bin.index.json").unlink()
    assert "pickles, which are not opened" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no safetensors file"),
        (b"\x00\x00\x00\x80\x00\x00\x00\x00{}", "no safetensors file, or was cut"),
        (b"\xff" * 8 + b"{}", "no safetensors file"),
        (b"\x02" + bytes(7) + b"[]", "no JSON object"),
        (b"\x02" + bytes(7) + b"{x", "broken JSON"),
    ],
)
def test_a_broken_header_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "model.safetensors").write_bytes(data)
    assert said in refusal(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, "a": 2}', "given twice"),
        ("[" * 50_000, "broken JSON"),
        ('{"a": {}}', "does not describe the tensor `a`"),
        ('{"a": {"dtype": "F32", "shape": [true], "data_offsets": [0, 4]}}', "does not describe"),
        ('{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}', "does not describe"),
        ('{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4000]}}', "not copied or written to its end"),
        ('{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}', "another size"),
    ],
)
def test_a_header_that_lies_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text.encode() + bytes(8))
    assert said in refusal(tmp_path)


def test_a_key_in_two_files_is_refused(tmp_path: Path) -> None:
    for name in ("1.safetensors", "2.safetensors"):
        header(tmp_path / name, {"a": tensor([2], 0, 8)})
    assert "gives the key `a` twice" in refusal(tmp_path)


@pytest.mark.parametrize("shard", ["../x.safetensors", "/etc/passwd", "", "..", 3])
def test_an_index_names_files_of_the_folder_only(tmp_path: Path, shard: object) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": shard}}))
    assert "is no file's name" in refusal(tmp_path)


def test_a_shard_without_a_key_of_the_index_is_refused(tmp_path: Path) -> None:
    header(tmp_path / "1.safetensors", {"a": tensor([2], 0, 8)})
    (tmp_path / "model.safetensors.index.json").write_text('{"weight_map": {"b": "1.safetensors"}}')
    assert "does not hold `b`" in refusal(tmp_path)


@pytest.mark.parametrize("name", [".metadata", "model.safetensors", "model.safetensors.index.json"])
def test_a_link_out_of_the_folder_and_a_pipe_are_not_opened(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    (tmp_path / "outside").write_text("{}")
    (folder / name).symlink_to(tmp_path / "outside")
    assert "leads out of the folder" in refusal(folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert "is no regular file" in refusal(folder)


def test_the_links_of_a_hub_cache_are_followed(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    folder = tmp_path / "snapshots" / "0123"
    folder.mkdir(parents=True)
    header(tmp_path / "blobs" / "f", {"a": tensor([2], 0, 8)})
    (folder / "model.safetensors").symlink_to("../../blobs/f")
    assert len(read_folder(str(folder), "saved").tensors) == 1


def test_a_folder_of_checkpoints_names_them(tmp_path: Path) -> None:
    (tmp_path / "step-10").mkdir()
    (tmp_path / "step-10" / ".metadata").write_bytes(b"")
    assert "name one of them, saved/step-10" in refusal(tmp_path)


def test_a_folder_without_a_checkpoint_or_that_is_none_says_so(tmp_path: Path) -> None:
    assert "holds no checkpoint: neither `.metadata` nor safetensors" in refusal(tmp_path)
    assert "cannot be read as a folder" in refusal(tmp_path / "absent")
