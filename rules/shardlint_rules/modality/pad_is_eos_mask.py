"""The rule pad-is-eos-mask."""

from __future__ import annotations

import re

from shardlint.rule import Bad, Call, Compared, Findings, Good, LocalRule, Site, Spelled, Written, observation
from shardlint.rule import eos_pad as eos
from shardlint.rule import masked_labels as masked_by

_LOSSES = Call(*(f"torch.nn.{name}" for name in ("CrossEntropyLoss", "NLLLoss", "functional.cross_entropy")))
_COLLATOR = "DataCollatorForLanguageModeling"
_COLLATORS = Call(*(f"transformers.{module}{_COLLATOR}" for module in ("", "data.", "data.data_collator.")))
_IDS = ("pad_token_id", "pad_id", "pad_token")
_HERE = Spelled("eos_token", "eos_token_id") | Spelled("def __call__(self, ", "def __getitem__(self, ", "def collate")
_MASKS = ("loss_mask", "label_mask", "labels_mask", "target_mask", "loss_weight", "label_pad")
_NAMED = (*_MASKS, "ignore_i", "ignore_label", "ignore_token", "IGNORE", "ignore)", "= ignore")
_IGNORES = Written("= -100", "=-100", ", -100", ",-100", "(-100", "[-100", "else -100", "return -100", *_NAMED)
_NO_TRAINING = re.compile(r"eval|perplex|ppl|infer|generat|predict|score", re.IGNORECASE)
_TEXT_ENDS = re.compile(
    r"^(?!.*(?:pad_token|eos_token_id\s*=))[^#\n]*(?:eos_token|apply_chat_template|</s>|<\|e[no]\w+\|>|<\|im_end)", re.M
)


class PadIsEosMask(LocalRule):
    """Reports labels that are masked wherever a token equals the pad token, which was set to the end-of-text token.

    Why is this bad?
    `tokenizer.pad_token = tokenizer.eos_token` makes both ids equal. A comparison with the pad id then finds the end of
    each text as well as the padding: its label is ignored, the model is never taught to stop, and it generates until
    the limit. The loss looks healthy.

    Use instead
    Mask by position: `labels[attention_mask == 0] = -100`, or pad labels with -100; a pad token of its own helps too.

    Known limits
    The tokenizer must be the same object or have the same name in one file, or be handed to the function or class by a
    file that imports it. A mask with a second condition, tests, and functions that evaluate or generate are not judged;
    `DataCollatorForLanguageModeling`, which masks the same way, only where the file puts an end-of-text token or a chat
    template into its texts. A mask of the attention alone is no finding.
    """

    severity, since = "warning", "0.1.0"
    evidence = observation("https://github.com/huggingface/trl/pull/6357")
    suspects = (
        (Compared(*_IDS) & _HERE & _IGNORES)
        | (_LOSSES & Spelled(*_IDS) & Spelled("ignore_index"))
        | (_COLLATORS & Spelled(*_IDS))
    )
    symptoms = (
        r"(?:never|doesn't|does not) (?:stops?|emits?|generates?) .*(?:eos|EOS|</s>)",
        r"keeps generating until max",
    )
    proof = ("test_pad_is_eos_mask", "a tiny model does not learn where a text ends")
    bad = (
        Bad(
            """
            import torch
            from torch.nn.functional import cross_entropy as xent

            def prepare(tok, texts):
                tok.pad_token = tok.eos_token
                batch = tok(texts, padding=True, return_tensors="pt")
                labels = batch["input_ids"].clone()
                labels[labels == tok.pad_token_id] = -100  # error
                return batch, labels

            class Collator:
                def __init__(self, tokenizer):
                    self.tokenizer = tokenizer
                    self.tokenizer.pad_token = self.tokenizer.eos_token
                    self.pad = tokenizer.pad_token_id

                def __call__(self, rows):
                    ids = torch.stack(rows)
                    mask = ids.ne(self.pad)  # error
                    return {"input_ids": ids, "labels": ids.masked_fill(~mask, -100)}

                def loss(self, logits, labels):
                    return xent(logits, labels, ignore_index=self.tokenizer.pad_token_id)  # error
            """
        ),
    )
    good = (
        Good(
            """
            import torch

            def prepare(tok, texts):
                tok.pad_token = tok.eos_token
                batch = tok(texts, padding=True, return_tensors="pt")
                labels = batch["input_ids"].clone()
                labels[batch["attention_mask"] == 0] = -100
                padding = (labels == tok.pad_token_id) & (batch["attention_mask"] == 0)
                labels[padding] = -100
                return batch, labels, (labels == tok.pad_token_id).sum()

            def own(other, ids):
                other.add_special_tokens({"pad_token": "[PAD]"})
                return torch.where(ids == other.pad_token_id, -100, ids)
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        if site.in_tests or _NO_TRAINING.search(site.function.name):
            return
        what, given = "ignores the label of every token that equals the pad token", [site.argument("ignore_index")]
        whole, ended = site.name.endswith(_COLLATOR), _TEXT_ENDS.search(site.module.text) is not None
        if site.name.startswith("operator."):
            masked = masked_by(site)
            what = f"takes every token that equals the pad token out of `{masked.text}`" if masked is not None else ""
            given = [*site.positional]
        elif whole:
            mlm = site.argument("mlm", 1)
            given = [site.argument("tokenizer", 0)]
            what = what if mlm is not None and mlm.literal is False and ended else ""
        found = (eos(site, part, whole=whole) for part in given if part is not None and what)
        pad = next((pad for pad in found if pad is not None), None)
        if pad is not None:
            yield site.finding(
                f"`{pad.text}` pads with the end-of-text token, and this {what}: the end of each text is masked "
                "too, and the model never learns to stop",
                help="mask by position (`labels[attention_mask == 0] = -100`), or add a pad token of its own",
                related=[pad.note],
                certainty=pad.certainty if ended else min(pad.certainty, 0.6),
            )
