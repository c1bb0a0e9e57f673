"""The rule missing-set-epoch."""

from __future__ import annotations

import ast
import re

from shardlint.rule import Bad, Call, Expression, Findings, Good, LocalRule, Site, file_calls, observation

_LOADER = Call(
    "torch.utils.data.DataLoader",
    "torch.utils.data.dataloader.DataLoader",
    "torchdata.stateful_dataloader.StatefulDataLoader",
)
_CALLED_FOR_YOU = re.compile(
    r"^[^#\n]*(set_epoch|(accelerator|fabric)\.prepare\(|from accelerate|(from|import) (pytorch_)?lightning"
    r"|import[^\n]*\bTrainer\b|\bTrainer\(|setup_dataloaders|prepare_data_loader)",
    re.MULTILINE,
)
_EVALUATION = re.compile(
    r"(^|_|\b)(val|valid|validation|eval|evaluation|test|dev)(_|\b|$|[A-Zls])|[a-z](Val|Eval|Test)"
)
_EPOCH = re.compile(r"epoch|^ep?$", re.IGNORECASE)


class MissingSetEpoch(LocalRule):
    """Reports a shuffling DistributedSampler that is used for several epochs and never told which one it is.

    Why is this bad?
    `DistributedSampler` shuffles with `seed + epoch`, and the epoch stays 0 until `set_epoch` is called: every epoch
    has the same order and the same batches. Training goes on without an error and generalises worse.

    Use instead
    Call `sampler.set_epoch(epoch)` at the start of every epoch, before the loader is iterated.

    Known limits
    Sampler, loader and epoch loop must stand in one file. Where `shuffle` is no constant, the confidence is lower.
    Lightning, the Hugging Face Trainer and Accelerate call `set_epoch` themselves, so a file that uses one of them is
    not reported, nor is a sampler for evaluation.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/data.html")
    suspects = Call(
        "torch.utils.data.DistributedSampler",
        "torch.utils.data.distributed.DistributedSampler",
        "torchdata.stateful_dataloader.sampler.StatefulDistributedSampler",
    )
    symptoms = (r"[Ss]ame (?:order|batches|shuffling) (?:in|for) (?:each|every) epoch",)
    bad = (
        Bad(
            """
            from torch.utils.data import DataLoader, DistributedSampler

            def train(ds, model, step):
                sampler = DistributedSampler(ds)  # error
                loader = DataLoader(ds, sampler=sampler, num_workers=2)
                for epoch in range(3):
                    for x, y in loader:
                        step(model, x, y)

            def batches(ds, world):
                sampler = DistributedSampler(ds, shuffle=True) if world > 1 else None  # error
                return DataLoader(ds, sampler=sampler, shuffle=sampler is None)

            def main(ds, world, epochs, run):
                train_batches = batches(ds, world)
                for epoch in range(epochs):
                    run(train_batches, epoch)
            """
        ),
    )
    good = (
        Good(
            """
            from torch.utils.data import DataLoader, DistributedSampler

            def train(ds, step):
                sampler = DistributedSampler(ds)
                loader = DataLoader(ds, sampler=sampler)
                for epoch in range(3):
                    sampler.set_epoch(epoch)
                    for batch in loader:
                        step(batch)
            """
        ),
        Good(
            """
            from torch.utils.data import DataLoader, DistributedSampler

            def ordered(ds, step):
                loader = DataLoader(ds, sampler=DistributedSampler(ds, shuffle=False))
                for epoch in range(3):
                    for batch in loader:
                        step(batch)

            def once(ds, step):
                loader = DataLoader(ds, sampler=DistributedSampler(ds))
                for batch in loader:
                    step(batch)

            def evaluated(ds, val_ds, step):
                val_sampler = DistributedSampler(val_ds)
                val_loader = DataLoader(val_ds, sampler=val_sampler)
                for epoch in range(3):
                    for batch in val_loader:
                        step(batch)
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        shuffle = site.argument("shuffle", 3)
        ordered = shuffle is not None and shuffle.literal is False
        text = site.module.source(site.statement)
        if ordered or site.opaque or _EVALUATION.search(text) or _CALLED_FOR_YOU.search(site.module.text):
            return
        for held in [held for loader in _loaders(site) for held in loader.holders]:
            if not _EVALUATION.search(held.text) and any(_once_an_epoch(read) for read in held.reads):
                yield site.finding(
                    f"`{site.called}` is never told the epoch, so each round over `{held.text}` has the same order and "
                    "the same batches",
                    help="call `set_epoch(epoch)` on the sampler at the start of every epoch",
                    related=[held.note("the loader that uses it")],
                    certainty=1.0 if shuffle is None or shuffle.literal is True else 0.6,
                )
                return


def _loaders(sampler: Site) -> list[Site]:
    """The loaders of the file that draw from a sampler."""
    found: list[Site] = []
    for loader in file_calls(sampler, _LOADER):
        given = loader.argument("sampler", 3)
        if given is not None and any(part.ast is sampler.ast for value in given.values for part in value.parts):
            found.append(loader)
    return found


def _once_an_epoch(read: Expression) -> bool:
    """Whether a loader is read in each round of a loop over epochs."""
    iterated = isinstance(read.module.statement(read.ast), ast.For)
    for loop in read.loops:
        if isinstance(loop, ast.While):
            if iterated:
                return True
        elif _EPOCH.search(read.module.source(loop.target)):
            count = Expression(read.module, loop.iter, read.voice).as_site()
            return count is None or len(count.positional) != 1 or count.positional[0].literal != 1
    return False
