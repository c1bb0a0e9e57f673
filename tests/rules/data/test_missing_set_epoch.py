"""More cases of missing-set-epoch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example

HEAD = "from torch.utils.data import DataLoader, DistributedSampler\n"
LOOP = """
def train(ds, step):
    loader = DataLoader(ds, sampler=DistributedSampler(ds))
    for epoch in range(3):
        for batch in loader:
            step(batch)
"""
CASES = {
    "from-a-function-and-under-a-test": """
        import torch.utils.data.distributed as distributed
        from torch.utils import data

        def loader(ds, world):
            sampler = distributed.DistributedSampler(ds, shuffle=True) if world > 1 else None  # error
            return data.DataLoader(ds, sampler=sampler, shuffle=sampler is None)

        def main(ds, world, epochs, run):
            batches = loader(ds, world)
            for epoch in range(epochs):
                run(batches, epoch)
        """,
    "iterated-in-a-while": """
        from torch.utils.data import DataLoader, DistributedSampler

        class Loop:
            def __init__(self, ds):
                self.loader = DataLoader(ds, sampler=DistributedSampler(ds, drop_last=True))  # error

            def run(self, steps):
                while steps > 0:
                    for batch in self.loader:
                        steps -= 1
        """,
    "one-of-two-results": """
        from torch.utils.data import DataLoader, DistributedSampler

        def build(ds):
            sampler = DistributedSampler(ds)  # error
            loader = DataLoader(ds, sampler=sampler)
            return len(ds), loader

        def main(ds, run):
            size, batches = build(ds)
            for epoch in range(3):
                run(batches)
        """,
    "the-other-of-two-results": """
        from torch.utils.data import DataLoader, DistributedSampler

        def build(ds):
            loader = DataLoader(ds, sampler=DistributedSampler(ds))
            return len(ds), loader

        def main(ds, run):
            size, batches = build(ds)
            for epoch in range(3):
                run(size)
        """,
    "for-evaluation": """
        from torch.utils.data import DataLoader, DistributedSampler

        def evaluated(ds, val_ds, step):
            val_sampler = DistributedSampler(val_ds)
            val_loader = DataLoader(val_ds, sampler=val_sampler)
            for epoch in range(3):
                for batch in val_loader:
                    step(batch)
        """,
    "another-loader": """
        from torch.utils.data import DataLoader, DistributedSampler

        def another(ds, batches, step):
            loader = DataLoader(ds, sampler=DistributedSampler(ds))
            for epoch in range(3):
                for batch in batches:
                    step(batch)
            return loader
        """,
    "one-epoch": """
        from torch.utils.data import DataLoader, DistributedSampler

        def once(ds, step):
            loader = DataLoader(ds, sampler=DistributedSampler(ds))
            for epoch in range(1):
                for batch in loader:
                    step(batch)
        """,
    "ordered-with-loops": """
        from torch.utils.data import DataLoader, DistributedSampler

        def ordered(ds, step):
            loader = DataLoader(ds, sampler=DistributedSampler(ds, shuffle=False))
            for epoch in range(3):
                for batch in loader:
                    step(batch)
        """,
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_marked_lines_are_reported(problems: Callable[[str, Example], list[str]], source: str) -> None:
    assert problems("missing-set-epoch", Example(source)) == []


@pytest.mark.parametrize(
    "line",
    [
        *("from accelerate import Accelerator", "import lightning", "from pytorch_lightning import LightningModule"),
        *("from transformers import Trainer", "accelerator.prepare(1)", "fabric.setup_dataloaders(1)"),
    ],
)
def test_a_framework_that_sets_the_epoch_is_believed(problems: Callable[[str, Example], list[str]], line: str) -> None:
    assert problems("missing-set-epoch", Example(f"{HEAD}{line}\n{LOOP}")) == []


def test_a_comment_about_set_epoch_is_no_call(problems: Callable[[str, Example], list[str]]) -> None:
    marked = LOOP.replace("DistributedSampler(ds))", "DistributedSampler(ds))  # error")
    assert problems("missing-set-epoch", Example(f"{HEAD}# no set_epoch here\n{marked}")) == []
