"""A collator between a dataset and a model: what it takes of a sample and gives, and what both sides say to that."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import copy
from itertools import combinations, product
from typing import Any

from shardlint.facts.dataset_keys import dataset_keys, dataset_media
from shardlint.facts.origins import Origin, handed, hands_on
from shardlint.facts.sample_media import loads_media
from shardlint.facts.samples import Keys
from shardlint.facts.site import Site

About = Mapping[str, str | bool]
Way = tuple[Origin, Origin, Origin]
"""A collator, a dataset and a model."""

_TOKENIZER_ENDS = ("Tokenizer", "TokenizerFast")
_TEXT_KEYS = frozenset(
    ("input_ids", "attention_mask", "token_type_ids", "position_ids", "special_tokens_mask", "labels", "label")
)
_WORDS = (
    ("visual", re.compile("image|img|pixel|video|frame|visi|visual|patch|clip|picture|photo")),
    ("sound", re.compile("audio|sound|speech|wave|spec|mel|voice")),
)
_PART = re.compile(r"(^|_)(images?|imgs?|pixels?|videos?|frames?|audios?|waveforms?|sounds?|speech)(_|$)")
"""A word of a key that carries media, whole: `special_tokens_mask` is not a spectrogram."""

_MADE = re.compile("latent|embed|feature|media|model_input")
"""What media become: keys that may hold either of them."""

_ABOUT = re.compile("(^|_)(id|idx|index|name|path|file|size|shape|count|num)s?$")
"""Ends of keys that speak of media and hold none."""

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
    loads = site.called.lower().replace("_", "").endswith("dataloader")
    datasets = handed(site, *_DATASETS, position=0 if loads else None) or (nothing,)
    models = handed(site, "model", position=None if loads else 0) or (nothing,)
    known = known.with_settings(site.modality)
    meet = [
        way for way in product(collators, datasets, models) if not any(a.apart_from(b) for a, b in combinations(way, 2))
    ]
    chosen = len(collators) > 1 and len(datasets) > 1
    return [Batching(*way, known, alone=chosen and _alone(way, meet)) for way in meet]


def _alone(way: Way, ways: list[Way]) -> bool:
    """Whether neither the collator nor the dataset of a way stands in another one."""
    return sum(other[0] is way[0] or other[1] is way[1] for other in ways) == 1


class Batching:
    """One collator with the dataset and the model on its sides, each of them perhaps unknown.

    `alone` says that the code chooses among several, and that where it chooses this collator or this dataset it
    chooses both.
    """

    def __init__(
        self, collator: Origin, dataset: Origin, model: Origin, known: Modalities, *, alone: bool = False
    ) -> None:
        self.collator, self.dataset, self.alone = collator, dataset, alone
        self._known = known
        name = collator.library_name_by("__call__", "torch_call")
        self.about: About = known.collators.get(name) or known.collators.get(collator.name) or {}
        self.name = name.rpartition(".")[2] or collator.text
        self._padding = name in known.padding
        self._own = collator.collating if not self.about else None
        self.samples = dataset_keys(dataset)
        self._media = dataset_media(dataset, known.keys)
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
        told = self.samples is not None or self._media or self.takes or self._dataset_media
        return mine and bool(told)

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
        given = self.collator.arguments("tokenizer", 0)
        # A name that cannot be followed says so itself.
        named = re.compile(r"`[\w.]*tokenizer`")
        return bool(given) and all(is_tokenizer(one) if one.known else named.match(one.lost) for one in given or ())

    @property
    def dropped(self) -> frozenset[str]:
        """Media keys of samples that the collator leaves behind."""
        if self.reads is None:
            return frozenset()
        loaded = self._left_behind
        # A column of a pipeline may have served its purpose: images that became latents or embeddings are left behind.
        if self.samples is None or (self.samples.open and not self.reads.possible <= _TEXT_KEYS):
            return loaded
        return (self.samples.sure & self._known.keys.keys()) - self.reads.possible or loaded

    @property
    def _left_behind(self) -> frozenset[str]:
        """Keys of media that the dataset loads, where the collator takes none of that kind, nor loads it itself."""
        own = self._own
        if self.reads is None or not self._media:
            return frozenset()
        if any(not self._kind(key) for key in self.reads.possible & self._media):
            return frozenset()
        if own is not None and (own.asked() or loads_media(own.module, own.function)):
            return frozenset()
        taken = {self._kind(key) for key in self.reads.possible} - {""}
        loaded = frozenset(key for key in self._media if not _ABOUT.search(key) and self._kind(key) not in taken)
        # Where the name of a key does not say what it carries, it is left behind only if all media are.
        return loaded if not taken else frozenset(key for key in loaded if self._kind(key) and "any" not in taken)

    def _kind(self, key: str) -> str:
        """Whether a key carries something to see, to hear, either ("any"), or, by its name, no media (empty)."""
        if key in self._known.keys:
            return "sound" if self._known.keys[key] == "audio" else "visual"
        if _ABOUT.search(key):
            return ""
        return next((kind for kind, words in _WORDS if words.search(key)), "any" if _MADE.search(key) else "")

    @property
    def medium(self) -> str:
        """What the dropped keys carry."""
        kinds = {
            self._known.keys.get(key) or ("sound" if self._kind(key) == "sound" else "image") for key in self.dropped
        }
        return min(kinds) if len(kinds) == 1 else "media"

    @property
    def missing(self) -> frozenset[str]:
        """Keys that the collator cannot do without and that no sample has: media, or text where samples have media."""
        if self.samples is None or self.reads is None or self.samples.open:
            return frozenset()
        if not self.samples.possible & self.reads.possible and "image" in self._modalities:
            return frozenset(key for key in self.reads.possible if key.startswith("image"))
        missing = self.reads.sure - self.samples.possible
        media = self._known.keys.keys() | self._media
        carrying = [key for key in missing if _PART.search(key) and not _ABOUT.search(key)]
        wrong = missing & media or carrying or ("input_ids" in missing and self.samples.sure & media)
        return missing if wrong else frozenset()

    @property
    def text_asked(self) -> bool:
        """Whether the collator needs token ids, gives no media, and the model takes media alone."""
        if not self.takes or "text" in self.takes or self.reads is None or "input_ids" not in self.reads.sure:
            return False
        media = self._known.keys.keys()
        if self._own is not None:
            emits = self._own.emits
            return emits is not None and not emits.open and not emits.possible & media
        both = self.samples is not None and "input_ids" in self.samples.possible and self.samples.possible & media
        return bool(self.about) and not both

    @property
    def unwanted(self) -> frozenset[str]:
        """Media keys of batches that a model which takes text alone has no argument for."""
        if self.takes != frozenset(("text",)):
            return frozenset()
        return self._emitted & self._known.keys.keys() - self._arguments

    @property
    def _emitted(self) -> frozenset[str]:
        """The keys that every batch has for certain, or has when samples bring the media that the dataset loads."""
        if self._own is None:
            return frozenset(str(self.about.get("emits", "")).split())
        found = self._own.emits
        if found is None:
            # What such a collator makes of the media is not known; that it cannot do without them is.
            return self.reads.sure if self.reads is not None else frozenset()
        return found.sure | (found.possible & self._media)

    @property
    def incomplete(self) -> frozenset[str]:
        """Arguments that the model needs beside the media it is given, and that no batch has."""
        found = self._own.emits if self._own is not None else None
        if found is None or found.open:
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
