"""What was asked of the whole project while its files were judged: so that a later run knows which changes matter.

A rule may ask about all Python files, and most of them say nothing to it. Each question has an answer for one file,
worked out from its bytes alone, and the files whose answer is not 0 are kept. A changed file matters only if its answer
to some question is another one than before, or if its content was read as a whole.

Imports nothing: a commit of three files asks all of this again, and should stay cheap.
"""

from __future__ import annotations

from shardlint.prefilter import spells
from shardlint.source import content_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    Question = tuple[str, str, str]
    """A kind, a word without which the answer is 0, and what else the kind needs: a pattern, an attribute, nothing."""

SPELLED = "spelled"
"""Whether a file has the word as an identifier."""

EXTENDED = "extended"
"""Whether a class of the file has the word among its bases."""

MATCHED = "matched"
"""How often a regular expression matches."""

SET = "set"
"""Whether a file that spells the word sets an attribute of an object, other than by `self.`."""

HELD = "held"
"""What a file says that holds the word: its whole content counts."""

_BASES = rb"class\s+\w+\s*\(([^)]*)"
_STAR = rb"import\s*\*"


def answer(question: Question, data: bytes) -> int | bytes:
    """What the bytes of one file say to a question; 0 for nothing."""
    kind, word, more = question
    text = word.encode()
    if text not in data:
        return 0
    if kind == SPELLED:
        return int(spells(data, text))
    if kind == HELD:
        return content_hash(data)
    import re

    if kind == EXTENDED:
        return int(word in extended(data))
    if kind == SET:
        found = re.search(rb"(?<!\bself)\." + more.encode() + rb"\s*=(?!=)", data)
        return int(found is not None and spells(data, text))
    return sum(1 for _ in re.finditer(more.encode(), data, re.MULTILINE))


def extended(data: bytes) -> set[str]:
    """The words among the bases of the classes of a file."""
    import re

    return {name.decode("latin-1") for bases in re.findall(_BASES, data) for name in re.findall(rb"\w+", bases)}


def has_star(data: bytes) -> bool:
    """Whether a file takes over all names of another one."""
    import re

    return re.search(_STAR, data) is not None


class Questions:
    """The questions of a run.

    `answers`: for each question the files with an answer other than 0, and that answer. `shown`: for a question of
    which some files were enough, these; others do not matter. `absent`: names that a file was asked for and cannot
    bind, by path. `read`: the paths that were read as a whole; `configs` and `everything`: whether all `config.json`,
    or all Python files, were.
    """

    __slots__ = ("absent", "answers", "configs", "everything", "read", "shown")

    def __init__(self) -> None:
        self.answers: dict[Question, Mapping[str, int | bytes]] = {}
        self.shown: dict[Question, tuple[str, ...]] = {}
        self.absent: dict[str, set[str]] = {}
        self.read: set[str] = set()
        self.configs = False
        self.everything = False

    def matters(self, path: str, data: bytes) -> bool:
        """Whether a Python file that changed says something else than before to any of the questions."""
        if self.everything or path in self.read:
            return True
        names = self.absent.get(path)
        if names and (any(name.encode() in data for name in names) or has_star(data)):
            return True
        if any(found.get(path, 0) != answer(question, data) for question, found in self.answers.items()):
            return True
        return any(path in paths and not answer(question, data) for question, paths in self.shown.items())

    def add(self, other: Questions) -> None:
        """Take over the questions that were asked elsewhere, of the same files."""
        self.answers.update(other.answers)
        self.shown.update(other.shown)
        for path, names in other.absent.items():
            self.absent.setdefault(path, set()).update(names)
        self.read |= other.read
        self.configs = self.configs or other.configs
        self.everything = self.everything or other.everything

    def as_plain(self) -> tuple[Any, ...]:
        """The questions as values that `marshal` takes."""
        answers = {question: dict(found) for question, found in self.answers.items()}
        return answers, self.shown, self.absent, self.read, self.configs, self.everything

    @classmethod
    def from_plain(cls, plain: tuple[Any, ...]) -> Questions:
        """The questions that `as_plain` gave."""
        made = cls()
        made.answers, made.shown, made.absent, made.read, made.configs, made.everything = plain
        return made


def layout(paths: Iterable[str]) -> bytes:
    """A digest of which files there are: a name may mean any of them."""
    return content_hash("\n".join(sorted(paths)).encode("utf-8", "surrogateescape"))
