"""The rule missing-set-epoch."""

from __future__ import annotations

import ast
import re

from shardlint.rule import Bad, Call, Expression, Findings, Good, LocalRule, Site, file_calls, observation

_TORCH, _TORCHDATA = "torch.utils.data", "torchdata.stateful_dataloader"
_LOADER = Call(f"{_TORCH}.DataLoader", f"{_TORCH}.dataloader.DataLoader", f"{_TORCHDATA}.StatefulDataLoader")
_CALLED_FOR_YOU = re.compile(
    r"^[^#\n]*(set_epoch|(accelerator|fabric)\.prepare\(|from accelerate|(from|import) (pytorch_)?lightning"
    r"|import[^\n]*\bTrainer\b|\bTrainer\(|setup_dataloaders|prepare_data_loader)",
    re.MULTILINE,
)
_EVALUATION = re.compile(r"(_|\b)(val|valid|validation|eval|evaluation|test|dev)(_|\b|[A-Zls])|[a-z](Val|Eval|Test)")
_EPOCH = re.compile(r"epoch|episode|^ep?$", re.IGNORECASE)


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

    severity, since = "error", "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/data.html")
    suspects = Call(
        f"{_TORCH}.DistributedSampler",
        f"{_TORCH}.distributed.DistributedSampler",
        f"{_TORCHDATA}.sampler.StatefulDistributedSampler",
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

            def batches(ds):
                return DataLoader(ds, sampler=DistributedSampler(ds, shuffle=True), drop_last=True)  # error

            def main(ds, episodes, run):
                train_batches = batches(ds)
                for episode in range(episodes):
                    run(train_batches, episode)
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
                    step(loader)
            """
        ),
        Good(
            """
            from torch.utils.data import DataLoader, DistributedSampler

            def ordered(ds, step):
                loader = DataLoader(ds, sampler=DistributedSampler(ds, shuffle=False))
                for epoch in range(3):
                    step(loader)

            def once(ds, step):
                loader = DataLoader(ds, sampler=DistributedSampler(ds))
                for batch in loader:
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
        loaders = [loader for loader in file_calls(site, _LOADER) if _draws_from(loader, site)]
        for held in [held for loader in loaders for held in loader.holders]:
            if not _EVALUATION.search(held.text) and any(_once_an_epoch(read) for read in held.reads):
                yield site.finding(
                    f"`{site.called}` is never told the epoch, so each round over `{held.text}` has the same order and "
                    "the same batches",
                    help="call `set_epoch(epoch)` on the sampler at the start of every epoch",
                    related=[held.note("the loader that uses it")],
                    certainty=1.0 if shuffle is None or shuffle.literal is True else 0.6,
                )
                return


def _draws_from(loader: Site, sampler: Site) -> bool:
    given = loader.argument("sampler", 3)
    return given is not None and any(part.ast is sampler.ast for value in given.values for part in value.parts)


def _once_an_epoch(read: Expression) -> bool:
    """Whether a loader is read in each round of a loop over epochs."""
    for loop in read.loops:
        if isinstance(loop, ast.While):
            if isinstance(read.module.statement(read.ast), ast.For):
                return True
        elif _EPOCH.search(read.module.source(loop.target)):
            count = Expression(read.module, loop.iter, read.voice).as_site()
            return count is None or len(count.positional) != 1 or count.positional[0].literal != 1
    return False
