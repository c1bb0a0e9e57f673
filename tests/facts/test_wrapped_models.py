"""Whether ranks train a model together."""

from __future__ import annotations

import ast

import pytest

from shardlint.facts.module import Module
from shardlint.facts.program import Program
from shardlint.facts.wrapped_models import trains_together


def together(**files: str) -> bool:
    texts = {f"{stem}.py": text for stem, text in files.items()}

    def load(path: str, _: str | None) -> Module:
        return Module(path, texts[path], ast.parse(texts[path]))

    return trains_together(Program(texts, load, lambda path: texts[path].encode(), frozenset()), "main.py")


@pytest.mark.parametrize(
    "text", ["model = DDP(model)", "fully_shard(model)", "accelerator = Accelerator()", "deepspeed.initialize(model=m)"]
)
def test_wrapped_here(text: str) -> None:
    assert together(main=text)


def test_wrapped_in_a_file_that_it_imports() -> None:
    wrapper = "from torch.nn.parallel import DistributedDataParallel as W\ndef wrap(m):\n    return W(m)\n"
    assert together(main="from setup import wrap\n", setup=wrapper)
    assert not together(main="import json\n", setup=wrapper)
