"""The words of local data, as text patterns: the prefilter reads them before anything is parsed.

A function can hold a test of local data that parts ranks only if it spells both a source of such data and a call that
may lead to a collective. Both are looked for without a parser, in a file first, then in each of its functions.
"""

from __future__ import annotations

import re
from functools import cache

FILES, CLOCK, DATA = "files", "clock", "data"
KINDS = (FILES, CLOCK, DATA)
"""What a test of local data asks for: the file system, the clock, or numbers that this rank has computed."""
NUMBERS = (CLOCK, DATA)

FILE_FUNCTIONS = ("exists", "lexists", "isfile", "isdir", "getsize", "getmtime", "listdir", "scandir", "glob", "iglob")
PATH_METHODS = ("exists", "is_file", "is_dir")
CLOCKS = ("time", "monotonic", "perf_counter", "now")
CHECKS = ("isfinite", "isnan", "isinf")
MEASURES = r"loss|metric|acc(?:uracy)?(?![a-z])|score|perplexity|ppl"
"""What the name of a number that a rank computes from its own batches holds."""

_WORDS = {
    FILES: "|".join(dict.fromkeys((*FILE_FUNCTIONS, *PATH_METHODS))),
    CLOCK: rf"(?:{'|'.join(CLOCKS)})(?:_ns)?",
    DATA: "|".join(CHECKS),
}
_SOURCES = {
    FILES: rf"\b(?:{_WORDS[FILES]})\(",
    CLOCK: rf"\b{_WORDS[CLOCK]}\(\)",
    DATA: rf"\b(?:{_WORDS[DATA]})\("
    rf"|(?:{MEASURES})[\w.\"'\]]{{0,40}}(?:\(\))?\)?\s*(?:[<>]=?|[=!]=)"
    rf"|(?:[<>]=?|[=!]=)\s*[\w.(\[\"']{{0,60}}(?:{MEASURES})",
}
_LEADS = (
    r"(?:sav|load|gather|reduc|broadcast|barrier|sync|checkpoint|ckpt|backward|resum|restor|wait_for_everyone"
    r"|full_tensor|redistribute|distribute_tensor|scatter|all_to_all|allgather|summon|state_dict|rendezvous)\w*\("
)


class LocalWords:
    """What the text of a file says of some kinds of local data, as text or as bytes."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        renamed = "|".join(rf"\b(?:{_WORDS[kind]}) as (\w+)" for kind in kinds)
        source = "|".join(_SOURCES[kind] for kind in kinds)
        self._leads = re.compile(_LEADS)
        self._source = re.compile(source)
        self._renamed = re.compile(renamed)
        self._leads_bytes = re.compile(_LEADS.encode())
        self._any_bytes = re.compile(f"{source}|{renamed}".encode())

    def in_file(self, data: bytes) -> bool:
        """Whether a file can hold a test of local data, and a call that may lead to a collective."""
        return self._leads_bytes.search(data) is not None and self._any_bytes.search(data) is not None

    def aliases(self, text: str) -> frozenset[str]:
        """The names under which a file imports what asks for local data."""
        return frozenset(name for match in self._renamed.finditer(text) for name in match.groups() if name)

    def in_part(self, text: str, aliases: frozenset[str]) -> bool:
        """Whether a part of a file can hold both."""
        if self._leads.search(text) is None:
            return False
        return self._source.search(text) is not None or any(f"{name}(" in text for name in aliases)


@cache
def local_words(kinds: tuple[str, ...]) -> LocalWords:
    """The words of some kinds, compiled once."""
    return LocalWords(kinds)
