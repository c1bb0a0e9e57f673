"""The rule collator-modality-mismatch."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from shardlint.rule import (
    Bad,
    Batching,
    Given,
    Good,
    Judgements,
    LocalRule,
    Modalities,
    Site,
    batchings,
    entry,
    observation,
    table,
)

_SAMPLES, _BATCHES = table("modalities", of=__name__), table("collator_modalities", of=__name__)
_KNOWN = Modalities(_SAMPLES, _BATCHES, partial(entry, of=__name__))


class CollatorModalityMismatch(LocalRule):
    """Reports a collator that loses the images, sound or video of its samples, or asks for media that are not there.

    Why is this bad?
    A collator decides which keys of a sample reach the model. One that was written for text, or for images alone,
    leaves the other media behind without a word: the model trains on placeholders. The other way round, a batch fails
    on the first missing key, or carries `pixel_values` to a model that has no use for them.

    Use instead
    A collator that batches every media key of the dataset; a processor where a collator hands media to one.

    Known limits
    Both sides must be known: a dataset whose code shows keys or loads media, or a model of transformers; and a collator
    of a known library, or one of the project that takes keys by name. They are followed through names, parameters,
    factories, registries and `**kwargs`. Not seen: columns that a dataset of the hub has, samples that are tuples or
    made beforehand, a `ConcatDataset`, media that a setting turns on, a pair of which one branch fits, media that a
    collator takes and leaves out. What leads into a configuration counts as not judged (`--show-unknown`).
    """

    severity, since = "warning", "0.1.0"
    evidence = observation("https://huggingface.co/docs/transformers/main_classes/data_collator")
    suspects = Given("data_collator", "collate_fn", spread_into="Trainer")
    symptoms = (r"KeyError: '(pixel_values|input_features)'", r"You should supply an encoding .* includes input_ids")
    bad = (
        Bad(
            {
                "data.py": """
                    class Figures:
                        def __getitem__(self, index):
                            return {"input_ids": self.ids[index], "pixel_values": self.images[index]}
                    class TextCollator:
                        def __call__(self, samples):
                            return {"input_ids": [s["input_ids"] for s in samples]}
                    """,
                "train.py": """
                    import torch.utils.data as tud, transformers as hf, trl.trainer.sft_trainer as sft
                    from data import Figures, TextCollator
                    collators = {"text": TextCollator()}
                    tud.DataLoader(Figures(), collate_fn=collators["text"])  # error
                    vit, tokenizer = hf.ViTModel(config), hf.BertTokenizer.from_pretrained("m")
                    hf.Trainer(model=vit, data_collator=hf.DataCollatorWithPadding(tokenizer))  # error
                    hf.Trainer(hf.LlamaModel(config), data_collator=sft.DataCollatorForVisionPreference(p))  # error
                    """,
            }
        ),
    )
    good = (
        Good(
            """
            from torch.utils.data import DataLoader
            from transformers import AutoFeatureExtractor, DataCollatorWithPadding as Pad, Trainer, Wav2Vec2ForCTC
            class Figures:
                def __getitem__(self, index):
                    return {"input_ids": self.ids[index], "pixel_values": self.images[index]}
            def both(samples):
                return {"pixel_values": [s["pixel_values"] for s in samples], "all": [s.get("sound") for s in samples]}
            def loaders(collator=None):
                yield DataLoader(Figures(), collate_fn=both), DataLoader(Figures(), collate_fn=collator or text)
            Trainer(Wav2Vec2ForCTC(config), data_collator=Pad(AutoFeatureExtractor.from_pretrained(m)))
            """
        ),
    )

    def judge(self, site: Site) -> Judgements:
        ways = batchings(site, _KNOWN)
        wrong = [way for way in ways if _mismatch(way)[0]]
        # Which values meet at run time is not known: all pairs must be wrong. A tokenizer is the wrong one in any pair.
        worst = [way for way in wrong if way.tokenizer_asked] or (wrong if len(wrong) == len(ways) else [])
        unknown = [way.lost for way in ways if not way.judged]
        if worst:
            (what, remedy), at = _mismatch(worst[0]), site.argument("data_collator") or site.argument("collate_fn")
            yield site.finding(f"`{worst[0].name}` {what}", help=remedy, at=at)
        elif unknown and not site.in_tests:
            yield site.not_judged(f"what {unknown[0]} takes or gives is not known, so nothing is said of modalities")


def _mismatch(way: Batching) -> tuple[str, str]:
    """What is wrong between the three, and what to do; empty when nothing is."""
    fitting = "use a collator for what the dataset gives and the model takes"
    reads, has = (_listed(keys.possible) if keys else "" for keys in (way.reads, way.samples))
    if way.dropped:
        what = f"takes {reads} of each sample and drops {_listed(way.dropped)}"
        what += f", so the {way.medium} input that the dataset loads never reaches the model"
        return what, f"batch {_listed(way.dropped)} in the collator, or do not load it"
    if way.missing:
        return f"needs {_listed(way.missing)}, but samples have {has}: the first batch fails", fitting
    if way.text_asked:
        return f"needs `input_ids`, but `{way.model}` takes {' and '.join(sorted(way.takes))} input alone", fitting
    if way.unwanted:
        return f"puts {_listed(way.unwanted)} into its batches, but `{way.model}` takes text alone", fitting
    if way.incomplete:
        what = f"gives no {_listed(way.incomplete)}, and `{way.model}` cannot place the media in the text without"
        return f"{what}: the first batch fails", f"keep {_listed(way.incomplete)} of what the processor returns"
    if way.left_out:
        return f"drops the {' and '.join(way.left_out)} input of `{way.dataset.library_name}`", fitting
    if way.tokenizer_asked:
        medium, called = way.tokenizer_asked
        what = f"hands {medium} input to `{called}`, a tokenizer, which refuses it or loses it, by its version"
        return what, "load the model's processor (`AutoProcessor.from_pretrained`) and give that to the collator"
    return "", ""


def _listed(keys: Iterable[str]) -> str:
    return ", ".join(f"`{key}`" for key in sorted(keys))
