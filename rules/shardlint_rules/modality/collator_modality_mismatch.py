"""The rule collator-modality-mismatch."""

from __future__ import annotations

from shardlint.rule import Bad, Call, Findings, Good, Keys, LocalRule, Origin, Site, Spelled, observation, origin, table

_TABLE = table("modalities", of=__name__)
_PADDING, _READING, _EMITTING = _TABLE["padding"], _TABLE["reading"], _TABLE["emitting"]
_MEDIA, _MEDIA_MODELS, _TEXT_MODELS = (
    {word: kind for kind, words in _TABLE[name].items() for word in str(words).split()}
    for name in ("media", "media_models", "text_models")
)


_PADS_OR_READS, _EMITS = (
    Spelled(*(name.rpartition(".")[2] for name in names)) for names in ((*_PADDING, *_READING), _EMITTING)
)
_BOTH_SIDES = (
    (Spelled("__getitem__") & Spelled(*_MEDIA))
    | (Spelled(*_MEDIA_MODELS) & _PADS_OR_READS)
    | (Spelled(*_TEXT_MODELS) & _EMITS)
)


class CollatorModalityMismatch(LocalRule):
    """Reports a collator that loses the images, sound or video of its samples, or asks for media that are not there.

    Why is this bad?
    A collator decides which keys of a sample reach the model. One that was written for text, or for images alone,
    leaves the other media behind without a word: the model trains on placeholders. The other way round, a batch fails
    on the first missing key, or carries `pixel_values` to a model that has no use for them.

    Use instead
    A collator that batches every media key of the dataset; a plain text collator for a text model.

    Known limits
    Both sides must be known in one file: a dataset whose `__getitem__` returns a dict of literal keys, or a model that
    takes only media or only text; and a known collator of transformers or trl, or one in the file that takes keys of
    each sample by name. A collator or dataset that is a parameter, chosen in a branch or imported is not judged.
    """

    severity, since = "warning", "0.1.0"
    evidence = observation("https://huggingface.co/docs/transformers/main_classes/data_collator")
    suspects = Call(*str(_TABLE["calls"]["taking_a_collator"]).split()) & _BOTH_SIDES
    symptoms = (r"KeyError: '(pixel_values|input_features)'", r"You should supply an encoding .* includes input_ids")
    bad = (
        Bad(
            """
            import torch.utils.data as tud, transformers as hf, trl.trainer.sft_trainer as sft
            from functools import partial
            class Figures(tud.Dataset):
                def __getitem__(self, index):
                    sample = {"input_ids": self.ids[index]}
                    sample["pixel_values"] = self.images[index]
                    return sample
            class TextCollator:
                def __call__(self, samples):
                    return {"input_ids": [s["input_ids"] for s in samples]}
            def speech(batch, pad):
                return {"pixel_values": [b["pixel_values"] for b in batch], "sound": batch[0]["input_features"]}
            class Loop:
                def loaders(self):
                    self.collator = TextCollator()
                    yield tud.DataLoader(Figures(), collate_fn=self.collator)  # error
                    yield tud.DataLoader(Figures(), collate_fn=partial(speech, pad=0))  # error
            vit, tokenizer = hf.ViTForImageClassification(config), hf.BertTokenizer.from_pretrained("m")
            hf.Trainer(model=vit, data_collator=hf.DataCollatorWithPadding(tokenizer), train_dataset=data)  # error
            hf.Trainer(hf.LlamaForCausalLM(config), data_collator=sft.DataCollatorForVisionLanguageModeling(p))  # error
            """
        ),
    )
    good = (
        Good(
            """
            from torch.utils.data import DataLoader
            from transformers import AutoFeatureExtractor, DataCollatorWithPadding, Trainer, Wav2Vec2ForCTC
            class Figures:
                def __getitem__(self, index):
                    return {"input_ids": self.ids[index], "pixel_values": self.images[index]}
            def text(samples):
                return {"input_ids": [s["input_ids"] for s in samples]}
            def both(samples):
                sound = [s["input_features"] for s in samples] if "input_features" in samples[0] else []
                return {**text([]), "pixel_values": [s["pixel_values"] for s in samples], "sound": sound}
            def loaders(collator=None):
                yield DataLoader(Figures(), collate_fn=both), DataLoader(Figures(), collate_fn=collator or text)
            padding = DataCollatorWithPadding(AutoFeatureExtractor.from_pretrained("m"))
            Trainer(Wav2Vec2ForCTC.from_pretrained("m"), data_collator=padding, train_dataset=data)
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        given = site.argument("collate_fn") or site.argument("data_collator")
        collator, model = origin(given), origin(site.argument("model", 0)).of("transformers")
        samples = origin(site.argument("train_dataset") or site.argument("dataset", 0)).sample_keys
        name, reads = collator.library_name, _reads(collator)
        what, remedy = "", "use a collator for what the dataset gives and the model takes"
        if samples is not None and reads is not None:
            media = samples.sure & _MEDIA.keys()
            lost, missing = media - reads.possible, reads.sure - samples.possible
            if lost:
                what = f"takes {_listed(reads.possible)} of each sample and drops {_listed(lost)}, so the "
                what += f"{_MEDIA[min(lost)]} that the dataset loads never reaches the model"
                remedy = f"batch {_listed(lost)} in the collator, or do not load it"
            elif missing & _MEDIA.keys() or (media and "input_ids" in missing):
                what = f"needs {_listed(missing)}, but samples have {_listed(samples.possible)}: the first batch fails"
        elif samples is None and model in _MEDIA_MODELS and reads is not None and name in (*_READING, *_PADDING):
            what = f"needs `input_ids`, but `{model}` takes {_MEDIA_MODELS[model]} input alone: the first batch fails"
        elif samples is None and model in _TEXT_MODELS and name in _EMITTING:
            what = f"puts `{_EMITTING[name]}` into every batch, but `{model}` takes text alone"
        if given is not None and what:
            yield site.finding(f"`{name.rpartition('.')[2]}` {what}", help=remedy, at=given)


def _reads(collator: Origin) -> Keys | None:
    """The keys that a collator takes. One that pads token ids fails without them, and passes on what else there is."""
    name, given = collator.library_name, collator.argument("tokenizer", 0)
    if name not in _PADDING:
        return Keys(("input_ids",), str(_READING[name]).split()) if name in _READING else collator.read_keys
    owned = given is not None and given.text.endswith(".tokenizer") and given.text != "self.tokenizer"
    return (
        Keys(("input_ids",), _MEDIA)
        if owned or origin(given).of("transformers").endswith(("Tokenizer", "Fast"))
        else None
    )


def _listed(keys: set[str] | frozenset[str]) -> str:
    return ", ".join(f"`{key}`" for key in sorted(keys))
