"""Key paths as they are written: `train.lr`, `layers[2].dim`, `plugins."a.b"`, and `train.muon_*` for many keys."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from shardlint.configs.document import pointer_of
from shardlint.knowledge.language import shortened
from shardlint.knowledge.problem import CheckProblem

if TYPE_CHECKING:
    from shardlint.configs.document import Path

LONGEST = 400
"""Characters of a key path."""

_STEP = re.compile(r'(?P<bare>[^\s.\[\]"\']+)|"(?P<double>[^"]*)"|\'(?P<single>[^\']*)\'|\[(?P<index>\d{1,6}|\*)\]')
_WORD = re.compile(r"[A-Za-z0-9_]+")


class KeyPattern:
    """The keys that a path with `*` and `?` stands for; neither passes a dot, `[*]` is any item of a list.

    Attributes:
        text: the path as it was written.
        steps: the steps; those that are globs are marked in `globs`.
    """

    __slots__ = ("globs", "steps", "text")

    def __init__(self, text: str, steps: Path, globs: tuple[bool, ...]) -> None:
        self.text = text
        self.steps = steps
        self.globs = globs

    @property
    def path(self) -> Path | None:
        """The one path that it stands for, None with a glob."""
        return None if any(self.globs) else self.steps

    def fits(self, depth: int, step: str | int) -> bool:
        """Whether a step of a path fits at a depth, from 0."""
        wanted = self.steps[depth]
        if not self.globs[depth]:
            return step == wanted
        if isinstance(step, int):
            return wanted == "[*]"
        return wanted != "[*]" and fnmatchcase(step, str(wanted))

    @property
    def word(self) -> str:
        """A word that a file must spell to hold one of the keys; empty if there is none."""
        for step, glob in zip(reversed(self.steps), reversed(self.globs), strict=True):
            words: list[str] = _WORD.findall(step) if isinstance(step, str) and not glob else []
            if words:
                return max(words, key=len)
        return ""


def key_pattern(text: object, where: tuple[str | int, ...]) -> KeyPattern:
    """Read a key path in which steps may be globs. Raises CheckProblem."""
    if not isinstance(text, str) or not text.strip():
        raise CheckProblem(where, "a key path is a text such as `train.optimizer.lr`")
    steps: list[str | int] = []
    globs: list[bool] = []
    at = 0
    text = text.strip()
    if len(text) > LONGEST:
        raise CheckProblem(where, f"a key path has at most {LONGEST} characters, and this one has {len(text)}")
    while at < len(text):
        if steps and text[at] == ".":
            at += 1
        found = _STEP.match(text, at)
        if found is None or (steps and found["index"] is None and text[at - 1] != "."):
            raise CheckProblem(
                where, f'`{shortened(text)}` is no key path: write `train.optimizer.lr` or `layers[0]."a.b"`'
            )
        at = found.end()
        step: str | int
        if found["index"] is not None:
            glob = found["index"] == "*"
            step = "[*]" if glob else int(found["index"])
        elif found["bare"] is not None:
            step = str(found["bare"])
            glob = "*" in step or "?" in step
        else:
            glob, step = False, found["double"] if found["double"] is not None else found["single"]
        steps.append(step)
        globs.append(glob)
    return KeyPattern(text, tuple(steps), tuple(globs))


def key_path(text: object, where: tuple[str | int, ...]) -> Path:
    """Read the path of one key. Raises CheckProblem."""
    pattern = key_pattern(text, where)
    if pattern.path is None:
        raise CheckProblem(where, f"`{shortened(pattern.text)}` stands for many keys, and one is needed here")
    return pattern.path


def word_of(path: Path) -> str:
    """A word that a file must spell to write the key; empty if there is none."""
    return KeyPattern(pointer_of(path), path, (False,) * len(path)).word
