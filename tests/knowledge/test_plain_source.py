"""A plain mapping, as the tests of a constraint write it, is read like the same file."""

from __future__ import annotations

import pytest

from shardlint.configs.document import read_document
from shardlint.knowledge.key_source import DocumentSource, PlainSource
from shardlint.knowledge.unknown import ABSENT, UNKNOWN

TEXT = """\
train:
  lr: 0.1
  batch: ${oc.env:BATCH}
  mesh: {tp: 2}
  steps: [1, 2]
"""
VALUES = {"train": {"lr": 0.1, "batch": "${oc.env:BATCH}", "mesh": {"tp": 2}, "steps": [1, 2]}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("train", "lr"), 0.1),
        (("train", "batch"), UNKNOWN),
        (("train", "batch", "size"), UNKNOWN),
        (("train", "lr", "peak"), ABSENT),
        (("train", "mesh", "pp"), ABSENT),
        (("train", "steps", 2), ABSENT),
        (("train", "optimizer"), ABSENT),
        (("data", "path"), ABSENT),
    ],
)
def test_a_key_is_the_same_in_a_mapping_and_in_a_file(path: tuple[str | int, ...], value: object) -> None:
    (document,) = DocumentSource.of(read_document("a.yaml", TEXT.encode(), kind="yaml"))

    assert document.look(path) is value or document.look(path) == value
    assert PlainSource(VALUES).look(path) is value or PlainSource(VALUES).look(path) == value
