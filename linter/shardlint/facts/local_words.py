"""The words of local data: the prefilter looks for them before anything is parsed.

A function can hold a test of local data that parts ranks only if it spells both a source of such data and a call that
may lead to a collective. Both are looked for without a parser, in the parts of a file first, then in each function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

FILES, CLOCK, DATA = "files", "clock", "data"
KINDS = (FILES, CLOCK, DATA)
"""What a test of local data asks for: the file system, the clock, or numbers that this rank has computed."""
NUMBERS = (CLOCK, DATA)

FILE_FUNCTIONS = ("exists", "lexists", "isfile", "isdir", "getsize", "getmtime", "listdir", "scandir", "glob", "iglob")
PATH_METHODS = ("exists", "is_file", "is_dir")
CLOCKS = ("time", "monotonic", "perf_counter", "now", "default_timer")
CHECKS = ("isfinite", "isnan", "isinf")
MEASURES = r"loss|metric|acc(?:uracy)?(?![a-z])|perplexity|ppl"
"""What the name of a number that a rank computes from its own batches holds."""

_SOURCES = {
    FILES: tuple(dict.fromkeys((*FILE_FUNCTIONS, *PATH_METHODS))),
    CLOCK: (*CLOCKS, *(f"{clock}_ns" for clock in CLOCKS[:3])),
    DATA: CHECKS,
}
_ENDS = {FILES: "(", CLOCK: "()", DATA: "("}
_NAMES = {
    "loss": "loss losses val_loss valid_loss validation_loss eval_loss test_loss train_loss total_loss loss_value "
    "loss_val avg_loss mean_loss epoch_loss batch_loss step_loss reduced_loss cur_loss current_loss running_loss",
    "acc": "acc acc1 val_acc test_acc eval_acc valid_acc accuracy val_accuracy top1_acc",
    "metric": "metric metrics val_metric eval_metric current_metric",
    "ppl": "ppl val_ppl",
    "perplexity": "perplexity",
}
_STEM_OF = {name: stem for stem, names in _NAMES.items() for name in names.split()}
"""What stands in a file that compares a measure: one of these names, or a longer one beside one of them."""
_MEASURED = frozenset(_STEM_OF)
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
    r"all_?reduce|all_?gather|gather_object|gather_for_metrics|reduce_scatter|broadcast|barrier|sync|checkpoint|ckpt"
    r"|backward|resum|restor|wait_for_everyone|full_tensor|redistribute|distribute_tensor|scatter_full|all_to_all|summon"
    r"|rerun|load_and|(?:save|load)_(?:state\b|model|best|shard|distributed)|(?:dcp|DCP|dist_cp|[cC]heckpoint\w*"
    r"|ckpt\w*|checkpointing|accelerator|fabric|engine|manager|trainer|strategy|dist|distributed)\.(?:async_)?"
    r"(?:save|load|gather|reduce|scatter|send|restore|resume|step)\w*"
)
_REDUCED = re.compile(r"\bif [^\n]*?\b([A-Za-z_]\w*)\b[^\n]*:[ \t]*\n(?:[^\n]*\n){0,4}?[^\n]*\ball_reduce\(\s*\1\b")
"""A branch on something that it reduces soon after: it is another number on each rank."""
_REDUCES = "all_reduce"
_WIDEST = 100
_WAITS_FOR_NOBODY = re.compile(r"save_for_backward|checkpointing_\w*able|ckpt_path|checkpoint_path")
"""Calls with such a word that wait for nobody."""


class LocalWords:
    """What the text of a file says of some kinds of local data."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.kinds = kinds
        self._kind_of = {word: kind for kind in kinds for word in _SOURCES[kind]}
        self._words = frozenset(self._kind_of)

    def in_file(self, data: bytes, identifiers: frozenset[str]) -> bool:
        """Whether one part of a file can hold both, given the words of the file."""
        if not self._spelled(identifiers):
            return False
        text = data.decode("latin-1")
        words = self._words & identifiers
        stems = {_STEM_OF[name] for name in _MEASURED & identifiers} if DATA in self.kinds else ()
        if not any(word + _ENDS[self._kind_of[word]] in text or f"{word} as " in text for word in words) and not (
            _compares(text, stems) or self._reduced(text)
        ):
            return False
        renamed = self.renamed(text, words)
        return any(self.found(part, renamed, stems) for part in _parts(text))

    def _spelled(self, identifiers: frozenset[str]) -> bool:
        """Whether a file has one of the words at all."""
        if FILES not in self.kinds and _TRAINING.isdisjoint(identifiers):
            return False
        measured = DATA in self.kinds and (_REDUCES in identifiers or not identifiers.isdisjoint(_MEASURED))
        return measured or not identifiers.isdisjoint(self._words)

    def renamed(self, text: str, words: Iterable[str] | None = None) -> dict[str, str]:
        """The names under which a file imports what asks for local data, and the kind. `words`: those it spells."""
        if " as " not in text:
            return {}
        return {
            name: self._kind_of[word]
            for word in (self._words if words is None else words)
            if f"{word} as " in text
            for name in re.findall(rf"\b{word} as (\w+)", text)
        }

    def found(self, text: str, renamed: dict[str, str], stems: Iterable[str] = tuple(_NAMES)) -> list[str]:
        """The kinds that a part of a file can hold a test of, with a call that may lead to a collective."""
        kinds = {kind for name, kind in renamed.items() if f"{name}(" in text}
        for kind in self.kinds:
            if any(word + _ENDS[kind] in text for word in _SOURCES[kind]):
                kinds.add(kind)
        if DATA in self.kinds and (_compares(text, stems) or self._reduced(text)):
            kinds.add(DATA)
        return [kind for kind in self.kinds if kind in kinds] if kinds and _leads(text) else []

    def _reduced(self, text: str) -> bool:
        return DATA in self.kinds and _REDUCES in text and _REDUCED.search(text) is not None


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


def _leads(text: str) -> bool:
    """Whether a call by its name may lead to a collective; a definition is none. What stands before `(` is its name."""
    for piece in text.split("(")[:-1]:
        before = piece[-_WIDEST:].split()
        if before and _may_lead(before[-1]) and before[-2:-1] != ["def"]:
            return True
    return False


@cache
def _may_lead(name: str) -> bool:
    return _LEADS.search(name) is not None and _WAITS_FOR_NOBODY.search(name) is None


def _compares(text: str, stems: Iterable[str]) -> bool:
    """Whether a measure stands in a line with a comparison."""
    for stem in stems:
        at = text.find(stem)
        while at >= 0:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            start = text.rfind("\n", 0, at) + 1
            if _COMPARED.search(text, start, end) is not None and _MEASURE.search(text, start, end) is not None:
                return True
            at = text.find(stem, end)
    return False
