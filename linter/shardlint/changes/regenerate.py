"""Run a project's own generator in a copy of the project, and compare what it writes. Only on request: it is user code.

The working tree is never touched: the copy lies in a temporary folder and goes away with it.
"""

from __future__ import annotations

import os

from shardlint.changes.git import read_file
from shardlint.changes.process import communicate
from shardlint.discover import matcher
from shardlint.errors import GeneratorFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shardlint.changes.generated_file import Declared

_SHELL = "/bin/sh"


def regenerate(root: str, paths: Sequence[str], entry: Declared, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """The files of one `generated` entry that its command writes otherwise: path and what is the matter, sorted.

    Args:
        root: the project root.
        paths: all files of the project, relative to the root; what git ignores is not copied.
        entry: an entry of the settings with a command.
        environ: the environment of the command.

    Raises:
        GeneratorFailed: the command cannot be run, or ends with another exit code than 0.
    """
    from tempfile import TemporaryDirectory

    _, regexes, _, command = entry
    outputs = matcher(regexes)
    with TemporaryDirectory(prefix="shardlint-generate-") as copy:
        _copy(root, paths, copy)
        _run(command, copy, environ)
        after = {path: read_file(os.path.join(copy, path)) for path in files_below(copy) if outputs(path)}
    found: list[tuple[str, str]] = []
    for path in sorted({*after, *(path for path in paths if outputs(path))}):
        before = read_file(os.path.join(root, path))
        if path not in after:
            found.append((path, f"`{command}` does not write it"))
        elif before is None:
            found.append((path, f"`{command}` writes it, and it is not there"))
        elif before != after[path]:
            found.append((path, f"`{command}` writes something else"))
    return found


def _copy(root: str, paths: Sequence[str], copy: str) -> None:
    import shutil

    for path in paths:
        source, target = os.path.join(root, path), os.path.join(copy, path)
        if os.path.lexists(source) and not os.path.isdir(source):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def _run(command: str, folder: str, environ: Mapping[str, str]) -> None:
    try:
        code, _, err = communicate(
            _SHELL, ["-c", 'cd "$1" && exec "$2" -c "$3"', "sh", folder, _SHELL, command], environ
        )
    except OSError as error:
        raise GeneratorFailed(f"`{command}` cannot be run: {error.strerror}") from None
    if code:
        said = err.decode("utf-8", "replace").strip().splitlines()
        last = f": {said[-1]}" if said else ""
        raise GeneratorFailed(f"`{command}` failed in a copy of the project with exit code {code}{last}")


def files_below(folder: str) -> list[str]:
    """All files below a folder, relative to it with `/`; git's own are left out."""
    found: list[str] = []
    for at, inside, names in os.walk(folder):
        inside[:] = [name for name in inside if name != ".git"]
        found += [os.path.relpath(os.path.join(at, name), folder).replace(os.sep, "/") for name in names]
    return found
