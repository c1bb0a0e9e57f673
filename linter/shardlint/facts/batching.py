"""A collator between a dataset and a model: what it takes of a sample and gives, and what both sides say to that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from itertools import product
from typing import Any

from shardlint.facts.dataset_keys import dataset_keys
from shardlint.facts.origins import Origin, handed, hands_on
from shardlint.facts.samples import Keys
from shardlint.facts.site import Site

About = Mapping[str, str | bool]

_TOKENIZER_ENDS = ("Tokenizer", "TokenizerFast")
_TEXT_KEYS = frozenset(
    ("input_ids", "attention_mask", "token_type_ids", "position_ids", "special_tokens_mask", "labels", "label")
)
_COLLATORS = ("data_collator", "collate_fn")
_DATASETS = ("train_dataset", "dataset")


class Modalities:
    """What a rule pack knows of libraries.

    Args:
        samples: its table `modalities`: `media`, medium -> sample keys, and `padding`, the collators that hand each
            sample to the `pad` of what they are made with.
        batches: its table `collator_modalities`: `collators`, library name -> `reads`, `pads`, `emits` (keys, words in
            one string), `rest` ("kept" or "dropped") and `modalities`; `datasets`, name of a builder -> modalities.
        entry: gives one text by table, section and key: of `model_modalities` and `model_forwards`.
    """

    def __init__(
        self, samples: Mapping[str, Any], batches: Mapping[str, Any], entry: Callable[[str, str, str], str]
    ) -> None:
        self.keys = {word: str(medium) for medium, words in samples["media"].items() for word in str(words).split()}
        self.padding = frozenset(samples["padding"])
        self.collators: Mapping[str, About] = batches["collators"]
        self.datasets: Mapping[str, str] = batches["datasets"]
        self.models: Mapping[str, str] = {}
        self._entry = entry

    def with_settings(self, own: Callable[[str], Mapping[str, str]]) -> Modalities:
        """The same with the names that a project adds: `package.Name` -> modalities, by kind (`collators`, ...)."""
        merged = copy(self)
        added = {name: {"modalities": words, "rest": "dropped"} for name, words in own("collators").items()}
        merged.collators, merged.datasets = {**self.collators, **added}, {**self.datasets, **own("datasets")}
        merged.models = own("models")
        return merged

    def model(self, model: Origin) -> frozenset[str]:
        """What a model takes, by its class in transformers or in the settings; empty when that is not known."""
        own = self.models.get(model.library_name) or self.models.get(model.name)
        name = "" if own else model.of("transformers")
        found = own or (self._entry("model_modalities", "models", name) if name else "")
        return frozenset((found or (self._entry("model_modalities", "auto", name) if name else "")).split())

    def forward(self, name: str) -> frozenset[str]:
        """The arguments of the `forward` of a model class of transformers."""
        return frozenset(self._entry("model_forwards", "forwards", name).split()) if name else frozenset()


def batchings(site: Site, known: Modalities) -> list[Batching]:
    """Every way in which the collator, dataset and model of a call may meet.

    None where the call has no collator, only makes a dict of arguments, or hands on those that its callers give by the
    same keywords.
    """
    if site.name == "builtins.dict":
        return []
    collators = handed(site, *_COLLATORS)
    if not collators or hands_on(site, *_COLLATORS):
        return []
    nothing = Origin(None)
    if not any(one.known for one in collators):
        return [Batching(one, nothing, nothing, known) for one in collators]
    loads = site.called.endswith("DataLoader")
    datasets = handed(site, *_DATASETS, position=0 if loads else None) or (nothing,)
    models = handed(site, "model", position=None if loads else 0) or (nothing,)
    known = known.with_settings(site.modality)
    return [Batching(*way, known) for way in product(collators, datasets, models)]


class Batching:
    """One collator with the dataset and the model on its sides, each of them perhaps unknown."""

    def __init__(self, collator: Origin, dataset: Origin, model: Origin, known: Modalities) -> None:
        self.collator, self.dataset = collator, dataset
        self._known = known
        name = collator.library_name_by("__call__", "torch_call")
        self.about: About = known.collators.get(name) or known.collators.get(collator.name) or {}
        self.name = name.rpartition(".")[2] or collator.text
        self._padding = name in known.padding
        self._own = collator.collating if not self.about else None
        self.samples = dataset_keys(dataset)
        self.model = model.library_name.rpartition(".")[2]
        self.takes = known.model(model)
        self._arguments = known.forward(model.of("transformers"))
        named = (f"`{one.text}`" for one in (dataset, model, collator) if one.text)
        self.lost = collator.lost or dataset.lost or model.lost or next(named, "the collator")
        self.reads = self._reads()

    @property
    def judged(self) -> bool:
        """Whether both sides are known well enough that silence says something."""
        mine = bool(self.about) or self._own is not None
        return mine and (self.samples is not None or bool(self.takes) or bool(self._dataset_media))

    def _reads(self) -> Keys | None:
        """The keys that the collator takes, or cannot do without; None where others may pass."""
        if self._own is not None:
            return self._own.reads
        reads = str(self.about.get("reads", "")).split()
        needed = ("input_ids",) if "input_ids" in reads and self.about.get("modalities") == "text" else ()
        if self._padding:
            return Keys(("input_ids",), self._known.keys) if self._pads_tokens else None
        return Keys(needed, reads) if reads and self.about.get("rest") == "dropped" else None

    @property
    def _pads_tokens(self) -> bool:
        """Whether a collator that pads through what it is made with was made with a tokenizer."""
        given = self.collator.argument("tokenizer", 0)
        return given is not None and is_tokenizer(given)

    @property
    def dropped(self) -> frozenset[str]:
        """Media keys of every sample that the collator leaves behind."""
        if self.samples is None or self.reads is None:
            return frozenset()
        # A column of a pipeline may have served its purpose: images that became latents or embeddings are left behind.
        if self.samples.open and not self.reads.possible <= _TEXT_KEYS:
            return frozenset()
        return (self.samples.sure & self._known.keys.keys()) - self.reads.possible

    @property
    def missing(self) -> frozenset[str]:
        """Keys that the collator cannot do without and that no sample has: media, or text where samples have media."""
        if self.samples is None or self.reads is None:
            return frozenset()
        missing = self.reads.sure - self.samples.possible if not self.samples.open else frozenset[str]()
        media = self._known.keys.keys()
        wrong = missing & media or (self.samples.sure & media and "input_ids" in missing)
        return missing if wrong else frozenset()

    @property
    def text_asked(self) -> bool:
        """Whether the collator needs token ids and the model takes media alone."""
        if self.samples is not None or not self.takes or "text" in self.takes or self.reads is None:
            return False
        return bool(self.about) and "input_ids" in self.reads.sure

    @property
    def unwanted(self) -> frozenset[str]:
        """Media keys of every batch that a model which takes text alone has no argument for."""
        if self.takes != frozenset(("text",)) or self.samples is not None:
            return frozenset()
        return self._emitted & self._known.keys.keys() - self._arguments

    @property
    def _emitted(self) -> frozenset[str]:
        """The keys that every batch has for certain."""
        if self._own is None:
            return frozenset(str(self.about.get("emits", "")).split())
        found = self._own.emits
        return found.sure if found is not None else frozenset()

    @property
    def incomplete(self) -> frozenset[str]:
        """Arguments that the model needs beside the media it is given, and that no batch has."""
        found = self._own.emits if self._own is not None else None
        if found is None:
            return frozenset()
        pairs = (("pixel_values", "image_grid_thw"), ("pixel_values_videos", "video_grid_thw"))
        lacking = {grid for media, grid in pairs if media in found.sure and {media, grid} <= self._arguments}
        return frozenset(lacking - found.possible)

    @property
    def left_out(self) -> frozenset[str]:
        """Media of a library's dataset that a library's collator drops."""
        if self.about.get("rest") != "dropped" or not self.about.get("modalities"):
            return frozenset()
        return self._dataset_media - set(str(self.about["modalities"]).split())

    @property
    def _dataset_media(self) -> frozenset[str]:
        known, dataset = self._known.datasets, self.dataset
        return frozenset((known.get(dataset.name) or known.get(dataset.library_name, "")).split())

    @property
    def tokenizer_asked(self) -> tuple[str, str] | None:
        """The medium that the collator hands to a tokenizer, which takes none, and the name of what is called."""
        if self._own is None:
            given = self.collator.argument("processor", 0) if "image" in self._modalities else None
            return ("image", given.text) if given is not None and is_tokenizer(given) else None
        for found, medium, call in self._own.asked():
            if found and all(is_tokenizer(Origin(one)) for one in found):
                return medium, self._own.module.source(call.func)
        return None

    @property
    def _modalities(self) -> frozenset[str]:
        return frozenset(str(self.about.get("modalities", "")).split())


def is_tokenizer(value: Origin) -> bool:
    """Whether a value is a tokenizer of transformers: loaded as one, or taken from a processor."""
    if value.text.endswith(".tokenizer") and not value.text.startswith("self."):
        return True
    return value.of("transformers").endswith(_TOKENIZER_ENDS)
