"""Which program reads which config file: the commands of launchers and documents that name both.

Nothing is run, and nothing is believed that cannot be found: a script and a config count if the project has files of
these names, seen from the folder that the command runs in. Read are shell scripts, the fenced code of Markdown, and the
recipes of Makefiles.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from shardlint.configs.commands import UNKNOWN, Command, commands

CONFIG_ENDS = (".yaml", ".yml", ".json", ".toml")

_FENCE = re.compile(
    r"^(?P<indent>[ \t>]*)(?P<mark>`{3,}|~{3,})[ \t]*\{?[ \t]*(?P<language>[\w.+-]*)[^`\n]*\n", re.MULTILINE
)
_SHELL_FENCES = frozenset(("", "bash", "sh", "shell", "console", "zsh", "text", "txt", "shell-session", "terminal"))

_RUNNERS = frozenset((
    "bash", "sh", "zsh", "dash", "ksh", "ipython", "torchrun", "accelerate", "deepspeed", "colossalai", "torchx", "ray",
    "srun", "sbatch", "mpirun", "mpiexec", "horovodrun", "nohup", "env", "time", "timeout", "numactl", "taskset",
    "nice", "setsid", "sudo", "nsys", "ncu", "uv", "uvx", "poetry", "pipenv", "pdm", "hatch", "conda", "mamba",
    "xvfb-run", "docker", "podman", "singularity", "apptainer", "ssh", "tmux", "screen",
))  # fmt: skip
"""Programs that run another one: what they are given is run, not read."""

_COMMANDS = frozenset(("llamafactory-cli", "lmf", "axolotl", "swift", "megatron", "tune", "trl"))
"""Programs that train from a config file without a script. Source: the documentation of each framework."""

_TOLD = re.compile(rb"\.(?:ya?ml|json|toml)\b")
_RUN = re.compile(rb"\.(?:py|sh)\b|[ \t](?:-m|--module)[ \t]|\b(?:" + "|".join(sorted(_COMMANDS)).encode() + rb")[ \t]")

_PYTHON = re.compile(r"(?:python|pypy)[\dw.]*")

_WRAPPERS = frozenset(
    (
        "torch.distributed.run",
        "torch.distributed.launch",
        "torch.distributed.elastic.multiprocessing",
        "accelerate.commands.launch",
        "deepspeed.launcher.runner",
        "deepspeed.launcher.launch",
        "coverage",
        "cProfile",
        "debugpy",
        "pdb",
    )
)
"""Modules that run the script they are given. Source: the documentation of each."""

_WRITTEN = re.compile(r"-+\w*(?:out|save|dump|dest|log|write|export)", re.IGNORECASE)
"""Options after which a file is written, not read."""

_OPTION = re.compile(r"(?P<name>[A-Za-z_][\w.-]*)(?P<value>=.*)?", re.DOTALL)


class Launch(NamedTuple):
    """A command that hands a config file to a program.

    `path`, `line`, `column`: where it is written. `program`: the script, `-m` module or command as it is written there.
    `script`: the program's file in the project; empty where it is none, as for `llamafactory-cli train`. `config`: the
    config file in the project. `option`: the one that names the config; empty if it stands alone. `options`: the names
    that the command gives values after the program: `train.lr` of `--train.lr 1e-5` or `train.lr=1e-5`. `open`: whether
    it may give more, by `$@` or a variable that is not known.
    """

    path: str
    line: int
    column: int
    program: str
    script: str
    config: str
    option: str
    options: frozenset[str]
    open: bool


class Launches:
    """All launches of a project, read when first asked for.

    Args:
        sources: the files in which launches are looked for.
        files: all files that the project has.
        read: the content of a file. May raise OSError, and the file then says nothing.
    """

    def __init__(self, sources: Iterable[str], files: Collection[str], read: Callable[[str], bytes]) -> None:
        self._sources = sorted(sources)
        self._files = files
        self._read = read
        self._found: dict[str, list[Launch]] | None = None

    def of(self, config: str) -> list[Launch]:
        """The launches that hand a config file to a program, in the order of their places."""
        if self._found is None:
            self._found = {}
            folders = _Folders(self._files)
            for path in self._sources:
                try:
                    data = self._read(path)
                except OSError:
                    continue
                for launch in launches(path, data, folders.find):
                    self._found.setdefault(launch.config, []).append(launch)
        return self._found.get(config, [])


class _Folders:
    """The files of a project, as they are named from one of its folders."""

    def __init__(self, files: Collection[str]) -> None:
        self._files = files

    def find(self, word: str, folder: str) -> str:
        """The file that a word names in a folder; empty if there is none."""
        before, unknown, rest = word.rpartition(UNKNOWN)
        if unknown and (not rest.startswith("/") or UNKNOWN in before):
            return ""
        # A variable before the first slash is the folder of the project, or the file is not found.
        path = posixpath.normpath(rest[1:] if unknown else posixpath.join(folder, word))
        return path if path in self._files else ""


def may_launch(data: bytes) -> bool:
    """Whether a text names both a config file and something that may read it."""
    return _TOLD.search(data) is not None and _RUN.search(data) is not None


def launches(path: str, data: bytes, find: Callable[[str, str], str]) -> Iterator[Launch]:
    """The launches that are written in one file.

    Args:
        find: the file of the project that a word names, seen from a folder; empty if there is none.
    """
    if not may_launch(data):
        return
    for line, text in _texts(path, data.decode("utf-8", "replace")):
        if not may_launch(text.encode()):
            continue
        for command in commands(text):
            if any(word.endswith(CONFIG_ENDS) for word in command.words):
                yield from _launches_of(path, command._replace(line=command.line + line), find)


def _texts(path: str, text: str) -> Iterator[tuple[int, str]]:
    """The shell texts of a file, each with the number of lines before it."""
    name = path.rpartition("/")[2]
    if name.endswith(".md"):
        yield from _fences(text)
    elif name == "Makefile" or name.endswith(".mk"):
        yield 0, _recipes(text)
    else:
        yield 0, text


def _fences(text: str) -> Iterator[tuple[int, str]]:
    """The fenced blocks of Markdown that may hold commands."""
    at = 0
    while (opened := _FENCE.search(text, at)) is not None:
        mark = opened["mark"]
        closed = re.compile(rf"^[ \t>]*{mark[0]}{{{len(mark)},}}[ \t]*$", re.MULTILINE).search(text, opened.end())
        end = closed.start() if closed is not None else len(text)
        if opened["language"].lower() in _SHELL_FENCES:
            yield text.count("\n", 0, opened.end()), text[opened.end() : end]
        at = closed.end() if closed is not None else len(text)


def _recipes(text: str) -> str:
    """The recipes and variables of a Makefile as a shell text, line by line."""
    lines: list[str] = []
    continued = False
    for line in text.split("\n"):
        given = re.match(r"([A-Za-z_]\w*)[ \t]*(?:[:?]{0,2}=)[ \t]*(.*)", line)
        shell = ""
        if continued:
            shell = line
        elif line.startswith("\t"):
            shell = re.sub(r"^[\t @-]+", lambda found: " " * len(found[0]), line)
        elif given is not None:
            shell = f'{given[1]}="{given[2]}"'
        continued = line.endswith("\\") and bool(shell)
        lines.append(re.sub(r"\$\((\w+)\)", r"${\1}", shell).replace("$$", "$"))
    return "\n".join(lines)


def _launches_of(path: str, command: Command, find: Callable[[str, str], str]) -> Iterator[Launch]:
    """The launches of one command: one for each config file that its program is given."""
    at, program = _program(command.words)
    words = list(command.words[at + 1 :] if program else ())
    given = list(_given(words))
    options = frozenset(name for name in map(_option, words) if name)
    unknown = any(word.startswith(UNKNOWN) and not option for option, word in given)
    for option, word in dict.fromkeys(given):
        if not word.endswith(CONFIG_ENDS) or _WRITTEN.match(option):
            continue
        meant = _meant(program, word, [*_folders(path, command.folder)], find)
        if meant is not None:
            shown, name = program.removeprefix("-m "), option.lstrip("-")
            yield Launch(path, command.line, command.column, shown, *meant, name, options, unknown)


def _meant(program: str, config: str, folders: list[str], find: Callable[[str, str], str]) -> tuple[str, str] | None:
    """The script and the config that a command names; None where they are not there, or in two folders at once."""
    pairs: set[tuple[str, str]] = set()
    for folder in folders:
        if found := find(config, folder):
            pairs.update((script, found) for script in _scripts(program, folder, find))
    whole = {pair for pair in pairs if pair[0]} or pairs
    return whole.pop() if len(whole) == 1 else None


def _scripts(program: str, folder: str, find: Callable[[str, str], str]) -> Iterator[str]:
    """The file of a program; empty for one that may be installed."""
    if program.startswith("-m "):
        inner = program[3:].replace(".", "/")
        places = (f"{start}{inner}{end}" for start in ("", "src/") for end in (".py", "/__main__.py"))
        yield next((script for place in places if (script := find(place, folder))), "")
    elif not program.endswith((".py", ".sh", ".bash")):
        yield ""
    elif script := find(program, folder):
        yield script


def _program(words: tuple[str, ...]) -> tuple[int, str]:
    """What a command runs in the end, with its place: a script, `-m module`, or a command with its first word.

    Empty where something is run that cannot be told.
    """
    names = [word.rpartition("/")[2] for word in words]
    runs = names[0] in _RUNNERS or _PYTHON.fullmatch(names[0]) or names[0].endswith((".py", ".sh", ".bash"))
    for at, word in enumerate(words if runs else ()):
        if word.endswith(".py"):
            return at, word
        if word in ("-m", "--module") and at + 1 < len(words) and words[at + 1] not in _WRAPPERS:
            return at + 1, f"-m {words[at + 1]}"
    for at, name in enumerate(names if runs else names[:1]):
        if name in _COMMANDS:
            after = [word for word in words[at + 1 : at + 2] if re.fullmatch(r"\w[\w-]*", word)]
            return at + len(after), " ".join([name, *after])
    return next(((at, word) for at, word in enumerate(words) if runs and word.endswith((".sh", ".bash"))), (0, ""))


def _given(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each value that follows, with the option it belongs to; the option is empty for one that stands alone."""
    option = ""
    for word in words:
        name, sign, value = word.partition("=")
        if word.startswith("-"):
            option = name
            if sign:
                yield name, value
        elif sign and value.endswith(CONFIG_ENDS):
            yield name, value
        else:
            yield option, word
            option = ""


def _option(word: str) -> str:
    """The name that a word gives a value: of `--name`, `--name=value` and `name=value`; empty for another word."""
    found = _OPTION.fullmatch(word.lstrip("-+"))
    return found["name"] if found is not None and (word.startswith("--") or found["value"]) else ""


def _folders(path: str, folder: str) -> Iterator[str]:
    """The folders that a command may run in: where `cd` led, that of the file, those above it."""
    if folder and UNKNOWN not in folder and not folder.startswith("/"):
        for start in _above(path):
            yield posixpath.normpath(posixpath.join(start, folder))
    yield from _above(path)


def _above(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path


__all__ = ["Launch", "Launches", "launches"]
