"""The rule collator-columns-removed."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Given, Good, LocalRule, Site, entries, entry, observation, origin
from shardlint.rule import signature as declared

_KEPT = frozenset(("label", "label_ids", "labels"))
_TRAINERS = {f"transformers.{name}" for name in ("Trainer", "Seq2SeqTrainer", "trainer.Trainer")}
_ARGUMENTS = ("transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments")
_CHOOSES = ("_set_signature_columns_if_needed", "_remove_unused_columns", "_get_dataloader", "get_train_dataloader")


class CollatorColumnsRemoved(LocalRule):
    """Reports a collator of the Hugging Face Trainer whose keys the Trainer takes out of every sample before.

    Why is this bad?
    By default the Trainer keeps only the columns that `model.forward` has a parameter for, and those named like labels.
    A collator that turns `image` and `messages` into tensors no longer finds them: the first batch fails with a
    KeyError, or the run does not start because no column is left. The other way round, a key of the batch that
    `forward` does not take ends in a TypeError.

    Use instead
    `TrainingArguments(remove_unused_columns=False)`, wherever the collator works on raw columns.

    Known limits
    Arguments, Trainer and collator must be in one file, and the model a class of transformers or of this file, in every
    branch and without an adapter put on. Where the class of the model is not known (`AutoModel...`), a key counts that
    no model of transformers takes. Arguments from a parser, a Trainer that chooses the columns itself, and samples that
    are no dicts are not judged.
    """

    severity, since = "warning", "0.1.0"
    evidence = observation("https://huggingface.co/docs/transformers/main_classes/trainer")
    suspects = Given("data_collator")
    symptoms = (
        r"No columns in the dataset match the model's forward method signature",
        r"KeyError: '(image|images|messages|text|audio|video|question|answer|caption)s?'",
        r"forward\(\) got an unexpected keyword argument",
    )
    proof = ("test_collator_columns_removed", "the Trainer takes the column away, and the collator fails")
    bad = (
        Bad(
            """
            import transformers as hf
            from transformers import AutoModelForImageTextToText, Trainer, TrainingArguments
            def collate(examples):
                return processor(text=[e["text"] for e in examples], images=[e["image"] for e in examples])
            class Clips:
                def __call__(self, batch):
                    return {"labels": [b["labels"] for b in batch], "input_features": [load(b["path"]) for b in batch]}
            class Loud(hf.Seq2SeqTrainer):
                def log(self, logs): print(logs)
            model, args = AutoModelForImageTextToText.from_pretrained(name), TrainingArguments("out", bf16=True)
            Trainer(model=model, args=args, train_dataset=data, data_collator=collate)  # error
            speech = hf.WhisperForConditionalGeneration.from_pretrained("m")
            Loud(speech, hf.TrainingArguments("o"), data_collator=Clips(), train_dataset=data)  # error
            """
        ),
    )
    good = (
        Good(
            """
            from transformers import AutoModelForImageTextToText, Trainer, TrainingArguments, ViTForImageClassification
            def collate(examples):
                return processor(text=[e["text"] for e in examples], images=[e["image"] for e in examples])
            def stack(batch):
                return {"pixel_values": [e["pixel_values"] for e in batch], "labels": [e["label"] for e in batch]}
            def main(name, parsed):
                model = AutoModelForImageTextToText.from_pretrained(name)
                args = TrainingArguments("out", remove_unused_columns=False)
                Trainer(model=model, args=args, data_collator=collate, train_dataset=data)
                Trainer(model=model, args=parsed, data_collator=collate, train_dataset=data)
                Trainer(ViTForImageClassification(c), TrainingArguments("o"), data_collator=stack, train_dataset=data)
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        given = site.argument("data_collator")
        if given is None or site.opaque or not set(site.classes) & _TRAINERS:
            return
        taken, more, model = _forward(site)
        if not taken or not _removes(site):
            return
        collator = origin(given)
        reads, gives = collator.read_keys, collator.emitted_keys
        samples, name = origin(site.argument("train_dataset", 3)), collator.name.rpartition(".")[2]
        here = samples.name.startswith(f"{site.module.dotted}.")
        if reads is not None and reads.sure - taken and not (here and samples.sample_keys is None):
            yield site.finding(
                f"`{name}` reads `{min(reads.sure - taken)}` of each sample, but {model} has no such parameter, so the "
                "Trainer removes it before: the first batch fails",
                help="pass `remove_unused_columns=False` to the training arguments",
                at=given,
                certainty=1.0 if here or samples.name.startswith("datasets.") else 0.8,
            )
        elif gives is not None and gives.sure - taken and not more and site.name in _TRAINERS:
            yield site.finding(
                f"`{name}` adds `{min(gives.sure - taken)}` to the batch, but {model} does not take it: the step fails",
                help="name it as the parameter of `forward` is named, or leave it out of the batch",
                at=given,
            )


def _removes(site: Site) -> bool:
    """Whether the arguments of a Trainer are known and leave `remove_unused_columns` as it is."""
    module, given = site.module, site.argument("args", 1)
    made = origin(given)
    here = made.library_name in _ARGUMENTS and made.place[0] == module.path
    if given is not None and (not here or made.opaque or made.argument("label_names") is not None):
        return False
    chosen = made.argument("remove_unused_columns")
    late = ".remove_unused_columns" in module.text or "_transform(" in module.text
    chooses = any(declared(module, site.name, of=name) is not None for name in _CHOOSES)
    return (chosen is None or chosen.literal is True) and not late and not chooses


def _forward(site: Site) -> tuple[frozenset[str], bool, str]:
    """The columns that stay for the model's `forward`, whether it takes any other name, and how to speak of it."""
    model = origin(site.argument("model", 0))
    name = model.of("transformers")
    if name.startswith("AutoModel"):
        every = entries("model_forwards", "forwards", of=__name__).values()
        return _KEPT.union(*every), True, "`forward` of every model"
    own = declared(site.module, model.name.removesuffix(".from_pretrained"), of="forward")
    listed = frozenset(entry("model_forwards", "forwards", name, of=__name__).split() if name else ())
    taken, more = (own.names, own.more) if own is not None else (listed, "**" in listed)
    last = model.name.removesuffix(".from_pretrained").rpartition(".")[2]
    return (taken | _KEPT, more, f"`{last}.forward`") if taken else (frozenset(), True, "")
