"""Programs out of the statements of others: the rules' examples, and files that people wrote."""

from __future__ import annotations

import ast
import os
import sysconfig
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from random import Random

from fuzzing.vocabulary import Vocabulary, written

_LARGEST = 40_000
"""Bytes of a real file: larger ones cost time and show nothing that these do not."""

_ENDINGS = (".py", ".yaml", ".yml", ".json", ".toml", ".sh")
_HEADS = (
    "if dist.get_rank() == 0:",
    "for rank in range(world_size):",
    "while not done:",
    "with torch.no_grad():",
    "def train(model, optimizer, rank):",
    "async def step(self, batch):",
    "class Trainer(Base):",
    "try:",
    "match rank:\n  case 0:",
)


def real_files(folders: Sequence[str]) -> dict[str, list[str]]:
    """Paths of real files by their ending, sorted: below the folders, or else in the standard library of Python."""
    library = sysconfig.get_path("stdlib")
    found: dict[str, list[str]] = {ending: [] for ending in _ENDINGS}
    for folder in folders or [os.path.join(library, name) for name in ("test", "asyncio", "json", "multiprocessing")]:
        for at, inner, names in os.walk(folder):
            inner[:] = sorted(name for name in inner if name not in (".git", "node_modules", "site-packages"))
            for name in sorted(names):
                ending = os.path.splitext(name)[1]
                path = os.path.join(at, name)
                if ending in found and os.path.isfile(path) and 0 < os.path.getsize(path) < _LARGEST:
                    found[ending].append(path)
    return found


def read(path: str) -> bytes:
    """The content of a file."""
    with open(path, "rb") as file:
        return file.read()


def statements_of(text: str) -> list[str]:
    """The statements of a program, inner ones too, as they are written; empty for what is no program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []
    lines = text.split("\n")
    return [written(node, lines) for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def spliced(words: Vocabulary, real: Sequence[str], chance: Random) -> dict[str, str]:
    """The files of one example with statements of other examples, and of a real file, put between its own."""
    project = {path: text for path, text in chance.choice(words.projects).items() if path.endswith(".py")}
    if not project:
        project = {"example.py": chance.choice(words.statements)}
    foreign = list(words.statements)
    if real and chance.random() < 0.5:
        theirs = statements_of(read(chance.choice(real)).decode("utf-8", "replace"))
        foreign = theirs or foreign
    return {path: _with_others(text, foreign, chance) for path, text in sorted(project.items())}


def _with_others(text: str, foreign: Sequence[str], chance: Random) -> str:
    """A program with foreign statements between its lines, and some of its blocks below a new head."""
    blocks = _blocks(text)
    made: list[str] = []
    for block in blocks:
        if chance.random() < 0.2:
            made.append(chance.choice(foreign))
        if chance.random() < 0.2:
            head = chance.choice(_HEADS)
            depth = "    " if "\n" in head else "  "
            block = f"{head}\n{textwrap.indent(block, depth)}"
            block += "\nfinally:\n  pass" if head == "try:" else ""
        made += [block] * chance.choice((1, 1, 1, 1, 0, 2))
    made += chance.sample(foreign, min(len(foreign), chance.randrange(3)))
    if chance.random() < 0.3:
        chance.shuffle(made)
    return _inserted("\n".join(made) + "\n", foreign, chance)


def _inserted(text: str, foreign: Sequence[str], chance: Random) -> str:
    """Foreign statements put between lines, as deep as the line that follows."""
    lines = text.split("\n")
    for _ in range(chance.choice((0, 1, 3))):
        at = chance.randrange(len(lines))
        line = lines[at]
        if line.strip() and not line.lstrip().startswith(("elif", "else", "except", "finally", "case", ")", "]", "}")):
            lines[at:at] = textwrap.indent(chance.choice(foreign), line[: len(line) - len(line.lstrip())]).split("\n")
    return "\n".join(lines)


def _blocks(text: str) -> list[str]:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return [text]
    lines = text.split("\n")
    return [written(node, lines) for node in tree.body]


def is_program(texts: Iterable[bytes]) -> bool:
    """Whether all of these are Python programs in UTF-8."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for text in texts:
                ast.parse(text.decode())
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
