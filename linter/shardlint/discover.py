"""Which files there are: paths -> files, each with a kind.

Every run comes through here, so nothing is imported but `os` and `sys`; `re` only for the patterns of the settings, and
pathspec only for a `.gitignore` outside of a git repository.
"""

from __future__ import annotations

import os

from shardlint.errors import GitFailed, UnreadableFile, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Protocol

    Kind = str
    File = tuple[str, Kind, int, int, int]
    """Path relative to the root with `/`, kind, size in bytes, modification time in ns, inode."""

    Regexes = Sequence[tuple[bool, str]]
    """What `compile_patterns` returns: whether the pattern is negated (`!`), and a regular expression for the path."""

    Match = Callable[[str], bool]

    class ListsFiles(Protocol):
        """What is asked of a git repository."""

        def tracked_and_untracked(self) -> Iterable[str]:
            """Files that git tracks or would track (not ignored), relative to the project root with `/`."""
            ...


_KINDS = {
    "py": "python",
    "yaml": "yaml",
    "yml": "yaml",
    "json": "json",
    "toml": "toml",
    "sh": "shell",
    "bash": "shell",
    "slurm": "shell",
    "sbatch": "shell",
}
"""Kind by ending. Stubs (.pyi) hold no behaviour, and notebooks are not read."""

_LAUNCHER = "launcher"

_LOCKS = frozenset(
    ("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "conda-lock.yml", "conda-lock.yaml", "pylock.toml")
)
"""Written by package managers: never a training config."""

_NEVER = frozenset(
    (
        ".eggs",
        ".git",
        ".hg",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        "__pycache__",
        "node_modules",
        "site-packages",
        "venv",
    )
)
"""Folders that hold no source of the project, whether git ignores them or not."""

_BUILT = frozenset(("build", "dist"))
"""Folders that hold build products, unless git says that they are part of the project."""

_LARGEST = 10_000_000
"""Bytes. No file written by hand is larger, and one that is would take seconds to parse."""

_LARGEST_JSON = 1_000_000
"""Bytes. A larger JSON file is data (a tokenizer, an index, results), not a config."""

_MOST_STARS = 4
"""In one part of a pattern: the time to see that a long name does not match grows with their number as a power."""

_TYPE, _REGULAR, _LINK, _FOLDER = 0o170000, 0o100000, 0o120000, 0o040000


class Discovery:
    """What was found, each list sorted by path.

    `files`: to be checked. `launchers`: read only where a rule asks what launches a config, besides the shell scripts.
    `excluded`: named on the command line, but excluded by the settings or by a folder's name. `skipped`: (path, reason)
    for what is no source file on closer look. `problems`: (path, sentence) for what could not be looked at.
    """

    __slots__ = ("excluded", "files", "launchers", "problems", "skipped")

    def __init__(self) -> None:
        self.files: list[File] = []
        self.launchers: list[File] = []
        self.excluded: list[str] = []
        self.skipped: list[tuple[str, str]] = []
        self.problems: list[tuple[str, str]] = []


def discover(
    root: str,
    paths: Sequence[str] = (),
    *,
    git: ListsFiles | None = None,
    exclude: Regexes = (),
    include: Regexes = (),
) -> Discovery:
    """The files of the project at `root`, or those among them that `paths` name.

    Args:
        root: the root folder of the project.
        paths: files and folders from the command line, relative to the working directory; none means all of `root`.
        git: lists the files of a repository; without it the folders are walked and `.gitignore` files are honoured.
        exclude: patterns of what to leave out, from `compile_patterns`; they hold for named files too.
        include: patterns of what alone to take; none means everything.

    Symbolic links: a link to a file counts under its own name, unless the file itself was found; what lies outside of
    the root is skipped; folders are not entered through links, so loops cannot arise.

    Raises:
        UnreadableFile: a named path is missing or cannot be read.
        UsageError: a named path lies outside of the root.
    """
    search = _Search(root, git, exclude, include)
    if paths:
        search.find_named(paths)
    else:
        search.find_folders([""])
    return search.finish()


class _Search:
    """One discovery in progress. Paths inside are relative to the root; "" is the root itself."""

    def __init__(self, root: str, git: ListsFiles | None, exclude: Regexes, include: Regexes) -> None:
        self.root = os.path.realpath(root)
        self.prefix = self.root if self.root.endswith("/") else self.root + "/"
        self.git = git
        self.found = Discovery()
        self.seen: set[str] = set()
        self.links: list[tuple[str, Kind]] = []
        self.excludes = matcher(exclude)
        self.may_prune = bool(exclude) and not any(negated for negated, _ in exclude)
        self.includes: Match | None = matcher(include) if include else None
        self.skipped_folders = _NEVER if git is not None else _NEVER | _BUILT

    def finish(self) -> Discovery:
        found = self.found
        for path, kind in sorted(self.links):
            self._follow(path, kind)
        found.files.sort()
        found.excluded.sort()
        found.skipped.sort()
        found.problems.sort()
        return found

    def find_named(self, paths: Sequence[str]) -> None:
        parents: dict[str, str] = {}
        folders: list[str] = []
        for named in paths:
            path = self._relative(named, parents)
            try:
                status = os.stat(self.prefix + path)
            except OSError as error:
                raise UnreadableFile(f"{named} cannot be read: {_reason(error)}; check the path") from None
            if status.st_mode & _TYPE == _FOLDER:
                if path and (self._in_skipped_folder(path + "/") or self.excludes(path + "/")):
                    self.found.excluded.append(path)
                else:
                    folders.append(path)
            elif self._in_skipped_folder(path) or self.excludes(path):
                self.found.excluded.append(path)
            else:
                self._add_named(named, path)
        if folders:
            self.find_folders(folders)

    def find_folders(self, folders: list[str]) -> None:
        if self.git is not None:
            try:
                listed = self.git.tracked_and_untracked()
            except GitFailed as error:
                self.found.problems.append((".git", f"git did not list the files, so the folders were walked: {error}"))
                self.skipped_folders = _NEVER | _BUILT
            else:
                self._take_listed(listed, folders)
                return
        for folder in folders:
            self._walk(folder)

    def _relative(self, named: str, parents: dict[str, str]) -> str:
        """The path relative to the root, with links resolved in its folders (not in its last part, if it is a file)."""
        absolute = os.path.abspath(named)
        if os.path.isdir(absolute):
            real = os.path.realpath(absolute)
        else:
            parent, name = os.path.split(absolute)
            if parent not in parents:
                parents[parent] = os.path.realpath(parent)
            real = os.path.join(parents[parent], name)
        if real == self.root:
            return ""
        if not real.startswith(self.prefix):
            raise UsageError(f"{named} lies outside of the project {self.root}: run shardlint from its own project")
        return real[len(self.prefix) :]

    def _add_named(self, named: str, path: str) -> None:
        status = os.lstat(self.prefix + path)
        kind = kind_of(path)
        if kind is None and "." not in path.rpartition("/")[2] and status.st_mode & _TYPE in (_REGULAR, _LINK):
            kind = self._kind_by_shebang(path)
        if kind is None:
            self.found.skipped.append((path, "shardlint does not read this kind of file"))
            return
        if not os.access(self.prefix + path, os.R_OK):
            raise UnreadableFile(f"{named} cannot be read: permission denied; check its permissions")
        self._add(path, kind, status)

    def _kind_by_shebang(self, path: str) -> Kind | None:
        """The kind of a script without an ending, by its first line."""
        try:
            with open(self.prefix + path, "rb") as script:
                line = script.readline(256)
        except OSError:
            return None
        if not line.startswith(b"#!"):
            return None
        if b"python" in line:
            return "python"
        return "shell" if line.split(None, 1)[0].endswith(b"sh") or b" bash" in line or b" sh" in line else None

    def _in_skipped_folder(self, path: str) -> bool:
        folders = path.split("/")[:-1]
        return any(part in self.skipped_folders or part.endswith(".egg-info") for part in folders)

    def _take_listed(self, listed: Iterable[str], folders: list[str]) -> None:
        wanted = None if "" in folders else tuple(folder + "/" for folder in folders)
        skip: dict[str, bool] = {}
        environments: list[str] = []
        taken: list[tuple[str, Kind]] = []
        for path in listed:
            kind = kind_of(path) or launcher_kind(path)
            if kind is None:
                if path.endswith("/pyvenv.cfg"):
                    environments.append(path[: -len("pyvenv.cfg")])
                continue
            if wanted is not None and not path.startswith(wanted):
                continue
            folder = path[: path.rfind("/") + 1]
            skipped = skip.get(folder)
            if skipped is None:
                skipped = skip[folder] = self._in_skipped_folder(folder)
            if not skipped and not self.excludes(path):
                taken.append((path, kind))
        inside = tuple(environments)
        prefix = self.prefix
        for path, kind in taken:
            if inside and path.startswith(inside):
                continue
            try:
                status = os.lstat(prefix + path)
            except (FileNotFoundError, NotADirectoryError):
                continue  # tracked, but deleted in the working tree
            except OSError as error:
                self.found.problems.append((path, f"{path} cannot be read: {_reason(error)}"))
                continue
            self._add(path, kind, status)

    def _walk(self, start: str) -> None:
        folder = start + "/" if start else ""
        layers = self._ignored_above(folder)
        if layers is None:
            self.found.excluded.append(start)
            return
        pending = [(folder, layers)]
        while pending:
            folder, layers = pending.pop()
            try:
                with os.scandir(self.prefix + folder) as opened:
                    entries = list(opened)
            except OSError as error:
                name = folder.rstrip("/") or "."
                self.found.problems.append((name, f"the folder {name} cannot be read: {_reason(error)}"))
                continue
            self._take_folder(folder, entries, layers, pending)

    def _take_folder(
        self,
        folder: str,
        entries: list[os.DirEntry[str]],
        layers: list[_Ignores],
        pending: list[tuple[str, list[_Ignores]]],
    ) -> None:
        inner: list[str] = []
        files: list[tuple[str, Kind, os.DirEntry[str]]] = []
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                inner.append(name)
                continue
            kind = kind_of(name) or launcher_kind(name)
            if kind is not None:
                files.append((folder + name, kind, entry))
            elif name == ".gitignore":
                if _ignores_all(self.prefix + folder + name):
                    return
                layers = [*layers, _Ignores(folder, self.prefix + folder + name)]
            elif name == "pyvenv.cfg" and folder:
                return
        if "conda-meta" in inner and folder:
            return
        for name in inner:
            path = folder + name + "/"
            if name in self.skipped_folders or name.endswith(".egg-info") or (layers and _ignored(path, layers)):
                continue
            if not (self.may_prune and self.excludes(path)):
                pending.append((path, layers))
        patterned = bool(layers) or self.excludes is not _nothing
        for path, kind, entry in files:
            if patterned and (_ignored(path, layers) or self.excludes(path)):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # deleted since the folder was read
            except OSError as error:
                self.found.problems.append((path, f"{path} cannot be read: {_reason(error)}"))
                continue
            self._add(path, kind, status)

    def _ignored_above(self, folder: str) -> list[_Ignores] | None:
        """The `.gitignore` files above a folder; None if they ignore the folder itself."""
        layers: list[_Ignores] = []
        at = 0
        while at < len(folder):
            above = folder[:at]
            if os.path.isfile(self.prefix + above + ".gitignore"):
                layers.append(_Ignores(above, self.prefix + above + ".gitignore"))
            at = folder.index("/", at) + 1
            if _ignored(folder[:at], layers):
                return None
        return layers

    def _add(self, path: str, kind: Kind, status: os.stat_result) -> None:
        """Take a file, whose `status` is that of `lstat`."""
        if self.includes is not None and not self.includes(path):
            return
        form = status.st_mode & _TYPE
        if form == _REGULAR:
            size = status.st_size
            if size > _LARGEST or (kind == "json" and size > _LARGEST_JSON):
                what = "data" if kind == "json" else "too large"
                self.found.skipped.append((path, f"{what}: {size // 1_000_000} MB"))
            elif path not in self.seen:
                self.seen.add(path)
                found = self.found.launchers if kind == _LAUNCHER else self.found.files
                found.append((path, kind, size, status.st_mtime_ns, status.st_ino))
        elif form == _LINK and kind != _LAUNCHER:
            self.links.append((path, kind))
        elif form not in (_FOLDER, _LINK):
            self.found.skipped.append((path, "not a regular file"))

    def _follow(self, path: str, kind: Kind) -> None:
        """Take what a symbolic link leads to, after everything else has been found."""
        real = os.path.realpath(self.prefix + path)
        target = real[len(self.prefix) :]
        if not real.startswith(self.prefix):
            self.found.skipped.append((path, "a symbolic link out of the project"))
            return
        if target in self.seen:
            return
        try:
            status = os.stat(real)
        except OSError as error:
            self.found.skipped.append((path, f"a symbolic link that leads nowhere: {_reason(error)}"))
            return
        self.seen.add(target)
        self._add(path, kind, status)


def launcher_kind(path: str) -> Kind | None:
    """The kind of a document or Makefile, in which commands stand; None for any other file."""
    return _LAUNCHER if path.endswith((".md", ".mk", "Makefile")) else None


def kind_of(path: str) -> Kind | None:
    """The kind of a file by its name; None for what is not read."""
    stem, _, ending = path.rpartition(".")
    kind = _KINDS.get(ending)
    if kind is None or kind == "python":
        return kind if stem else None
    name = path[path.rfind("/") + 1 :]
    if name in _LOCKS or (name.startswith("pylock.") and ending == "toml"):
        return None
    return kind if stem else None


def compile_patterns(patterns: Sequence[str]) -> list[tuple[bool, str]]:
    """Regular expressions for gitignore-style patterns, which `matcher` takes.

    Costly (imports pathspec): called when the settings are read, so that other runs need only `re`.

    Raises:
        ValueError: a pattern is malformed; the text names it.
    """
    if not patterns:
        return []
    import re

    from pathspec import GitIgnoreSpec

    compiled: list[tuple[bool, str]] = []
    for pattern in patterns:
        if any(len(re.findall(r"\*+", part)) > _MOST_STARS for part in pattern.split("/")):
            raise ValueError(f"`{pattern}` has more than {_MOST_STARS} `*` between two slashes: use fewer")
        try:
            for part in GitIgnoreSpec.from_lines([pattern]).patterns:
                regex = getattr(part, "regex", None)
                if part.include is not None and regex is not None:
                    # Named groups would clash when expressions are joined.
                    compiled.append((not part.include, re.sub(r"\(\?P<\w+>", "(?:", regex.pattern)))
        except (ValueError, re.error) as error:
            raise ValueError(f"`{pattern}` is not a pattern that git understands: {error}") from None
    return compiled


def matcher(regexes: Regexes) -> Match:
    """Whether a path (relative, with `/`; a folder ends with `/`) matches; the last pattern that matches decides."""
    if not regexes:
        return _nothing
    import re

    if not any(negated for negated, _ in regexes):
        search = re.compile("|".join(f"(?:{source})" for _, source in regexes)).search
        return lambda path: search(path) is not None
    backwards = [(not negated, re.compile(source).search) for negated, source in reversed(regexes)]

    def matches(path: str) -> bool:
        return next((verdict for verdict, found in backwards if found(path)), False)

    return matches


def _nothing(path: str) -> bool:  # noqa: ARG001 - the shape of a Match
    return False


class _Ignores:
    """One `.gitignore`: its patterns are relative to its folder."""

    __slots__ = ("decide", "start")

    def __init__(self, folder: str, file: str) -> None:
        import re

        self.start = len(folder)
        self.decide: list[tuple[bool, Callable[[str], object]]] = []
        for negated, source in _gitignore_regexes(file):
            self.decide.append((not negated, re.compile(source).search))
        self.decide.reverse()


def _ignores_all(file: str) -> bool:
    """Whether a `.gitignore` says `*` and nothing else, as tools put it into their caches: told without a library."""
    try:
        with open(file, "rb") as opened:
            lines = opened.read(4096).split(b"\n")
    except OSError:
        return False
    return [line.strip() for line in lines if line.strip() and not line.startswith(b"#")] == [b"*"]


def _gitignore_regexes(file: str) -> list[tuple[bool, str]]:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as opened:
            lines = opened.read(_LARGEST_JSON).split("\n")
    except OSError:
        return []
    regexes: list[tuple[bool, str]] = []
    for line in lines:
        try:
            regexes += compile_patterns([line])
        except ValueError:
            continue  # git lets a malformed line match nothing
    return regexes


def _ignored(path: str, layers: list[_Ignores]) -> bool:
    """Whether the nearest `.gitignore` that says something about a path ignores it."""
    for layer in reversed(layers):
        inside = path[layer.start :]
        for verdict, found in layer.decide:
            if found(inside):
                return verdict
    return False


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
