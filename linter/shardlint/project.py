"""The linted project as one run sees it: which files there are, which are reported on, and what is in them."""

from __future__ import annotations

import os

from shardlint import cache
from shardlint.discover import discover
from shardlint.errors import GitFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shardlint.changes.git import Git
    from shardlint.configs.launches import Launches
    from shardlint.discover import Discovery, File
    from shardlint.request import Request
    from shardlint.session import Session


class Project:
    """The files of a run.

    `files`: every file of the project by path, with those that were named. `launchers`: the files in which a rule may
    look for commands: shell scripts, documents and Makefiles. `named`: what discovery said of the named paths, or of
    the whole project. `reported`: the paths whose findings are shown. `staged`: under `--staged`, the content of the
    index for files whose working tree differs.
    """

    def __init__(self, session: Session, request: Request) -> None:
        self.root = session.root
        self.git = _repository(session.root)
        self._settings = session.settings
        everything = self.find(())
        self.named = self.find(request.paths) if request.paths else everything
        self.files: dict[str, File] = {file[0]: file for file in everything.files}
        self.files.update((file[0], file) for file in self.named.files)
        self.launchers: dict[str, File] = {file[0]: file for file in everything.launchers}
        self.launchers.update((path, file) for path, file in self.files.items() if file[1] == "shell")
        self.staged: dict[str, bytes | None] = {}
        if request.staged:
            self._read_index()
        self.reported = {file[0] for file in self.named.files if file[0] in self.files}

    def find(self, paths: Sequence[str]) -> Discovery:
        """The files of the project, or those that `paths` name."""
        settings = self._settings
        return discover(
            self.root, paths, git=self.git, exclude=settings.exclude_regexes, include=settings.include_regexes
        )

    def _read_index(self) -> None:
        """Under `--staged` only tracked files count; a reported one with unstaged changes is read from the index.

        To compare every file of a large project with the index at each commit would cost more than the lint.
        """
        if self.git is None:
            raise GitFailed("`--staged` needs a git repository, and there is none here: leave it out")
        blobs = self.git.index_blobs()
        for path in [path for path in self.files if path not in blobs]:
            del self.files[path]
        differing = self.git.unstaged([file[0] for file in self.named.files if file[0] in self.files])
        contents = self.git.contents([blobs[path] for path in differing])
        self.staged = {path: contents.get(blobs[path]) for path in differing}

    @property
    def python(self) -> list[str]:
        """The paths of all Python files."""
        return [path for path, file in self.files.items() if file[1] == "python"]

    @property
    def model_configs(self) -> list[str]:
        """The paths of the files that describe a model."""
        return [path for path in self.files if is_model_config(path)]

    def launches(self) -> Launches:
        """The commands that hand a config file to a program."""
        from shardlint.configs.launches import Launches

        return Launches(self.launchers, self.files, self.read)

    def read(self, path: str) -> bytes:
        """The content of a file as the run judges it. Raises OSError."""
        staged = self.staged.get(path)
        if staged is not None:
            return staged
        handle = os.open(os.path.join(self.root, path), os.O_RDONLY)
        try:
            parts: list[bytes] = []
            while part := os.read(handle, 1 << 20):
                parts.append(part)
            return b"".join(parts)
        finally:
            os.close(handle)

    def dotted(self, path: str) -> str:
        """The import name of a file: its packages upwards as long as there is an `__init__.py`."""
        parts = path.removesuffix(".py").split("/")
        start = len(parts) - 1
        while start > 0 and os.path.exists(os.path.join(self.root, *parts[:start], "__init__.py")):
            start -= 1
        kept = parts[start:]
        if kept[-1] == "__init__":
            kept.pop()
        return ".".join(kept)

    def packages(self) -> bytes:
        """A digest of which folders are packages: they give every file its import name."""
        return _digest(path for path in self.python if path.endswith("__init__.py"))

    def layout(self) -> bytes:
        """A digest of which Python files there are: any new one may be what an import means."""
        return _digest(self.python)


def is_model_config(path: str) -> bool:
    """Whether a file is the `config.json` of a model, by its name."""
    return path == "config.json" or path.endswith("/config.json")


def _digest(paths: Iterable[str]) -> bytes:
    return cache.digest("\n".join(sorted(paths)).encode("utf-8", "surrogateescape"))


def _repository(root: str) -> Git | None:
    """The git repository of the project. Most of git's wrapper is imported only when there is one."""
    folder = root
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    from shardlint.changes.git import Git

    return Git.at(root)
