"""The rule packing-without-boundaries."""

from __future__ import annotations

import re

from shardlint.rule import SAMPLES, Bad, Call, Findings, Good, LocalRule, Matching, Site, Spelled, Written, observation
from shardlint.rule import counted_row as counted
from shardlint.rule import joined_row as joined

_COUNTS = Call("torch.arange", "numpy.arange", "builtins.range") & Spelled("position_ids", "positions", "pos =")
_PACKS = Spelled("input_ids", "ids =", "tokens", "labels") & Matching(r"(?:def|class) \w*(?i:pack)")
_JOINS = Call("torch.cat", "torch.concat", "torch.hstack") & _PACKS
# `(batch, ` is how the comments of most models begin a shape.
_FIRST = rf"(?:{'|'.join(SAMPLES)})(?:\)(?::| ->)|:|, )"
_INSIDE = [f"({name}" for name in SAMPLES]
"""What both expressions below need, one of these texts or of a few more, is looked for first."""
_TAKES_SAMPLES = Written(*_INSIDE, *(f"self, {name}" for name in SAMPLES)) & Matching(
    rf"collate(?:_fn)?\(batch, |self, {_FIRST}|\((?!batch, ){_FIRST}"
)
_OVER_SAMPLES = Written(*_INSIDE, *(f"in {name}" for name in SAMPLES)) & Matching(
    rf"(?:\bin (?:\w+\()?|(?:cat|hstack|enate)\((?:\w+\()?)(?:{'|'.join(SAMPLES)})\b"
)
_POSITIONS = re.compile(r"^pos(ition)?s?(_ids?)?$|position_ids?$")
_TOKENS = re.compile(r"(input_)?ids$|tokens$", re.IGNORECASE)
_ALL_ONES = re.compile(r"(?s)(?!.*attention_mask(?:\W{0,2}\[|\.\w+_\()).*attention_mask\W+(?:\w+\.)?ones")
_BOUNDARIES = re.compile(
    r"cu_?seq|seq_?(?:len|id)|segment|doc\w*_(?:id|mask)|block|chunk|bound|length|lens\b|varlen|split|packedseq"
    r"|(?<!loss_)(?<!label_)(?<!labels_)mask",
    re.IGNORECASE,
)


class PackingWithoutBoundaries(LocalRule):
    """Reports samples that are packed into one row with nothing that tells where one ends and the next begins.

    Why is this bad?
    The attention is told of boundaries by position ids that start anew, by `cu_seqlens` or by a block mask. Without
    them each sample attends to the samples before it, with positions that it will not have alone. The loss falls,
    because the context leaks, and the model is worse on single samples.

    Use instead
    Position ids for each sample (`torch.cat([torch.arange(len(s)) for s in samples])`), and a model or an attention
    kernel that reads them; ignore the label of each first token.

    Known limits
    The join, and the position ids, must stand in one function, over a first parameter such as `samples` or `batch`.
    Without position ids only a function or class that calls itself a packing is judged. Whatever could be a boundary
    (lengths, segments, documents, a mask that is not all ones) silences the rule. Cutting one long text into blocks for
    pretraining is no finding, nor are the settings of a trainer: transformers builds a block mask from position ids for
    eager and SDPA attention too, unless an attention mask, even one of ones, is handed over beside them.
    """

    severity, since = "warning", "0.1.0"
    evidence = observation("https://github.com/meta-pytorch/torchtune/issues/875")
    suspects = (_COUNTS | _JOINS) & _TAKES_SAMPLES & _OVER_SAMPLES
    symptoms = (
        r"(?:loss|eval).*(?:lower|drops?|better) (?:with|when) packing",
        r"[Cc]ross[- ](?:sample|document) (?:attention|contamination)",
    )
    proof = ("test_packing_without_boundaries", "the second sample of a row attends to the first")
    bad = (
        Bad(
            """
            import torch

            def collate(samples):
                row = torch.cat([sample["input_ids"] for sample in samples])
                labels = torch.cat([sample["labels"] for sample in samples])
                pos = torch.arange(row.numel())  # error
                return {"input_ids": row[None], "labels": labels[None], "position_ids": pos[None]}

            class PackingCollator:
                def __call__(self, features):
                    input_ids = torch.cat([f["input_ids"] for f in features]).unsqueeze(0)  # error
                    return {"input_ids": input_ids, "labels": input_ids, "attention_mask": torch.ones_like(input_ids)}
            """
        ),
    )
    good = (
        Good(
            """
            import torch

            def collate(samples):
                row = torch.cat([sample["input_ids"] for sample in samples])
                pos = torch.cat([torch.arange(sample["input_ids"].numel()) for sample in samples])
                return {"input_ids": row[None], "position_ids": pos[None]}

            def with_lengths(samples):
                row = torch.cat([sample["input_ids"] for sample in samples])
                cu_seqlens = torch.tensor([0] + [len(sample["input_ids"]) for sample in samples]).cumsum(0)
                return {"input_ids": row, "position_ids": torch.arange(row.numel()), "cu_seqlens": cu_seqlens}

            def one_sample(prompt, answer):
                row = torch.cat([prompt, answer])
                return {"input_ids": row, "position_ids": torch.arange(row.numel())}

            def batched(samples):
                ids = torch.cat([sample["input_ids"] for sample in samples], dim=0)
                return {"input_ids": ids, "position_ids": torch.arange(ids.shape[1]).expand(ids.shape[0], -1)}
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        function = site.function
        if function.is_module or site.in_tests:
            return
        counts = site.called.endswith("range")
        row = counted(site) if counts else joined(site)
        if row is None:
            return
        text = site.module.source(function.ast)
        told = text.replace("attention_mask", "") if _ALL_ONES.match(text) else text
        what = "counts on over all of them" if counts else "comes without position ids"
        packs = "pack" in function.name.lower() and "unpack" not in function.name.lower() and "pos" not in text
        is_row = row.has_batch_dim and packs and _TOKENS.search(row.called)
        if (_POSITIONS.search(row.called) if counts else is_row) and not _BOUNDARIES.search(told):
            yield site.finding(
                f"all of `{row.samples}` are packed into one row, and `{site.text}` {what}: each sample attends to "
                "those before it, so the loss falls by what leaks, and the model is worse on a sample alone",
                help="start the position ids anew for each sample (`torch.cat([torch.arange(len(s)) for s in samples])"
                "`), or hand `cu_seqlens` or a block mask to the attention",
                certainty=0.8,
            )
