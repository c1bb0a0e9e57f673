"""The words of local data: the prefilter looks for them before anything is parsed.

A function can hold a test of local data that parts ranks only if it spells both a source of such data and a call that
may lead to a collective. Both are looked for without a parser, in the parts of a file first, then in each function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

FILES, CLOCK, DATA = "files", "clock", "data"
KINDS = (FILES, CLOCK, DATA)
"""What a test of local data asks for: the file system, the clock, or numbers that this rank has computed."""
NUMBERS = (CLOCK, DATA)

FILE_FUNCTIONS = ("exists", "lexists", "isfile", "isdir", "getsize", "getmtime", "listdir", "scandir", "glob", "iglob")
PATH_METHODS = ("exists", "is_file", "is_dir")
CLOCKS = ("time", "monotonic", "perf_counter", "now", "default_timer")
CHECKS = ("isfinite", "isnan", "isinf")
MEASURES = r"loss|metric|acc(?:uracy)?(?![a-z])|score|perplexity|ppl"
"""What the name of a number that a rank computes from its own batches holds."""

_SOURCES = {
    FILES: tuple(dict.fromkeys((*FILE_FUNCTIONS, *PATH_METHODS))),
    CLOCK: (*CLOCKS, *(f"{clock}_ns" for clock in CLOCKS[:3])),
    DATA: CHECKS,
}
_ENDS = {FILES: "(", CLOCK: "()", DATA: "("}
_STEMS = ("loss", "metric", "score", "accuracy", "acc", "perplexity", "ppl")
_COMPARED = re.compile(r"(?<![-=])[<>]|[=!]=(?![ ]*[\"'])")
_MEASURE = re.compile(MEASURES)
_TRAINING_WORDS = (
    "backward barrier all_reduce all_gather all_gather_object broadcast broadcast_object_list reduce_scatter dist dcp "
    "wait_for_everyone accelerator Accelerator fabric Fabric deepspeed save_checkpoint save_state checkpointer "
    "Checkpointer trainer Trainer world_size"
)
_TRAINING = frozenset(_TRAINING_WORDS.split())
"""One of these words is in every file that trains: a number that is compared elsewhere parts no ranks."""
_LEADS = re.compile(
    r"(?:all_?reduce|all_?gather|gather_object|gather_for_metrics|reduce_scatter|broadcast|barrier|sync|checkpoint|ckpt"
    r"|backward|resum|restor|wait_for_everyone|full_tensor|redistribute|distribute_tensor|scatter_full|all_to_all|summon"
    r"|rerun|load_and|(?:save|load)_(?:state\b|model|best|shard|distributed))\w*\(|(?:dcp|DCP|dist_cp|[cC]heckpoint\w*"
    r"|ckpt\w*|checkpointing|accelerator|fabric|engine|manager|trainer|strategy|dist|distributed)\.(?:async_)?"
    r"(?:save|load|gather|reduce|scatter|send|restore|resume|step)\w*\("
)
_WAITS_FOR_NOBODY = re.compile(r"def \w+$|save_for_backward|checkpointing_\w*able|reduce_sum")
"""Calls with such a word that wait for nobody, with what stands before them in the line."""


class LocalWords:
    """What the text of a file says of some kinds of local data."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.kinds = kinds
        self._kind_of = {word: kind for kind in kinds for word in _SOURCES[kind]}
        self._words = frozenset(self._kind_of)

    def in_file(self, data: bytes, identifiers: frozenset[str]) -> bool:
        """Whether one part of a file can hold both, given the words of the file."""
        if not self.spelled(data, identifiers):
            return False
        text = data.decode("latin-1")
        if not self._asked(text, identifiers):
            return False
        renamed = self.renamed(text)
        return any(self.found(part, renamed) for part in _parts(text))

    def spelled(self, data: bytes, identifiers: frozenset[str]) -> bool:
        """Whether a file has one of the words at all."""
        if FILES not in self.kinds and _TRAINING.isdisjoint(identifiers):
            return False
        named = not identifiers.isdisjoint(self._words)
        return named or (DATA in self.kinds and any(stem.encode() in data for stem in _STEMS))

    def _asked(self, text: str, identifiers: frozenset[str]) -> bool:
        """Whether one of the words is called, or imported under another name, or a measure is compared."""
        for word in self._words & identifiers:
            if word + _ENDS[self._kind_of[word]] in text or f"{word} as " in text:
                return True
        return DATA in self.kinds and _compares(text)

    def renamed(self, text: str) -> dict[str, str]:
        """The names under which a file imports what asks for local data, and the kind."""
        if " as " not in text:
            return {}
        return {
            name: kind
            for word, kind in self._kind_of.items()
            if f"{word} as " in text
            for name in re.findall(rf"\b{word} as (\w+)", text)
        }

    def found(self, text: str, renamed: dict[str, str]) -> list[str]:
        """The kinds that a part of a file can hold a test of, with a call that may lead to a collective."""
        kinds = {kind for name, kind in renamed.items() if f"{name}(" in text}
        kinds.update(kind for kind in self.kinds if kind not in kinds and _asks(kind, text))
        return [kind for kind in self.kinds if kind in kinds] if kinds and _leads(text) else []


@cache
def local_words(kinds: tuple[str, ...]) -> LocalWords:
    """The words of some kinds, made once."""
    return LocalWords(kinds)


def _parts(text: str) -> Iterator[str]:
    """A file cut at its functions and methods, by indentation alone: no function is cut in two."""
    for top in text.split("\ndef "):
        first, *classes = top.split("\nclass ")
        yield first
        for body in classes:
            yield from body.split("\n    def ")


def _asks(kind: str, text: str) -> bool:
    end = _ENDS[kind]
    for word in _SOURCES[kind]:
        if word + end in text:
            return True
    return kind == DATA and _compares(text)


def _leads(text: str) -> bool:
    """Whether a call by its name may lead to a collective."""
    for match in _LEADS.finditer(text):
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.end() - 1]
        if _WAITS_FOR_NOBODY.search(line) is None:
            return True
    return False


def _compares(text: str) -> bool:
    """Whether a measure stands in a line with a comparison."""
    for stem in _STEMS:
        at = text.find(stem)
        while at >= 0:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            start = text.rfind("\n", 0, at) + 1
            if _COMPARED.search(text, start, end) is not None and _MEASURE.search(text, start, end) is not None:
                return True
            at = text.find(stem, end)
    return False
