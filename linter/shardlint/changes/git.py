"""The one way to ask git: plumbing that reads, hardened so that nothing which a repository configures is run.

What a repository can configure to run, and why none of it runs here (git's documentation: git-config, gitattributes,
githooks):

- ``core.fsmonitor``, ``core.hooksPath`` and ``.git/hooks``: overridden on the command line; no index is written.
- ``filter.*.clean``, ``filter.*.smudge`` and ``filter.*.process`` run when a command compares or writes the working
  tree. No command here does: ``ls-files``, ``ls-tree``, ``diff-index --cached``, ``diff-tree``, ``rev-list``,
  ``describe``, ``grep`` of a revision, ``cat-file`` and ``check-attr`` read the index, objects and attributes.
  Working-tree content is read from disk and compared here.
- ``diff.external``, ``diff.*.command`` and ``diff.*.textconv``: switched off, and ``--raw`` output does not reach them.
- ``core.sshCommand``, ``remote.*.uploadpack``, credential helpers and remote helpers need a transport: lazy fetches
  are off, and ``GIT_ALLOW_PROTOCOL`` allows none, which also holds for a git older than ``GIT_NO_LAZY_FETCH``.
- ``core.pager``: no output is a terminal, and ``--no-pager``. ``alias.*`` cannot replace a command of git.
  ``gpg.program`` runs for signatures only, which are never asked for.
- ``core.worktree``: the folder that holds ``.git`` is named as the working tree. ``safe.directory`` is the user's to
  decide: a repository of another user is refused by git, and that refusal is reported.
"""

from __future__ import annotations

import os
from stat import S_ISREG

from ..errors import GitFailed, MissingContent
from .process import communicate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

INDEX = ""
"""What `Git.read` takes for the index in the place of a revision; git writes it the same way, as in ``:path``."""

LARGEST = 4 << 20
"""Bytes. A larger file is no source, config or schema, and is not read."""

_HARDENED = (
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "safe.bareRepository=explicit",
    "-c",
    "submodule.recurse=false",
    "--no-optional-locks",
    "--no-pager",
    "--literal-pathspecs",
)
_DIFF = ("--raw", "-z", "--no-abbrev", "--ignore-submodules=all", "--no-ext-diff", "--no-textconv")
_RENAMES = ("-M", "-l2000")

_SET = {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "none", "LC_ALL": "C"}

_REDIRECTING = (
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
)
"""Variables that would point the child at another repository or contradict the options above."""

_OF_ONE_REPOSITORY = ("GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
"""Variables that a hook inherits from its repository and that are wrong for any other."""

_EARLIER_COMMITS = 50
"""Commits of one file that are searched for a content that it had before."""

_PATHS_PER_COMMAND = 200
"""With more paths than this the whole listing is read instead: a command line has a limited length."""


class Git:
    """The repository that holds `root`. Paths are relative to `root`, with ``/``.

    `top` is the folder of the working tree and `folder` the one that git keeps for it (``.git``, or elsewhere for a
    linked working tree or a submodule).
    """

    __slots__ = ("_environ", "_program", "folder", "root", "top")

    def __init__(self, root: str, top: str, folder: str, program: str) -> None:
        self.root = root
        self.top = top
        self.folder = folder
        self._program = program
        self._environ = _environment(top, folder)

    @staticmethod
    def at(directory: str) -> Git | None:
        """The repository of a folder; None if it is in none, or if there is no git. Starts no process."""
        root = os.path.abspath(directory)
        place = _find_repository(root)
        program = _find_program()
        if place is None or program is None:
            return None
        return Git(root, place[0], place[1], program)

    def run(self, *args: str, input: bytes = b"") -> bytes:
        """Standard output of a git command. Raises GitFailed if its exit code is not 0."""
        code, out, err = self._communicate(args, input)
        if code:
            raise GitFailed(self._failure(args, code, err))
        return out

    def tracked_and_untracked(self) -> list[str]:
        """Files that git tracks or would track (not ignored), sorted.

        Tracked files that were deleted are still listed, submodules as the path of their folder.
        """
        out = self.run("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        # A repository inside this one that is no submodule is listed as one name with a slash at its end.
        return sorted({path for path in _names(out) if not path.endswith("/")})

    def untracked(self) -> list[str]:
        """Files that git does not track and does not ignore."""
        out = self.run("ls-files", "-z", "--others", "--exclude-standard")
        return [path for path in _names(out) if not path.endswith("/")]

    def index_blobs(self, paths: Collection[str] | None = None) -> dict[str, str]:
        """Object names of regular files in the index, of all of them or of `paths`; unmerged ones are left out."""
        out = self.run("ls-files", "-z", "--stage", *_limited(paths))
        found: dict[str, str] = {}
        for record in _names(out):
            meta, _, path = record.partition("\t")
            mode, blob, stage = meta.split(" ")
            if stage == "0" and is_file_mode(mode) and (paths is None or path in paths):
                found[path] = blob
        return found

    def left_out(self) -> set[str]:
        """Tracked files that a sparse checkout keeps out of the working tree on purpose."""
        return {record[2:] for record in _names(self.run("ls-files", "-z", "-t")) if record.startswith("S ")}

    def tree_blobs(self, revision: str, paths: Collection[str] | None = None) -> dict[str, str]:
        """Object names of regular files in a revision, of all of them or of `paths`."""
        out = self.run("ls-tree", "-z", "-r", _plain(revision), *_limited(paths))
        found: dict[str, str] = {}
        for record in _names(out):
            meta, _, path = record.partition("\t")
            mode, _, blob = meta.split(" ")
            if is_file_mode(mode) and (paths is None or path in paths):
                found[path] = blob
        return found

    def read(self, revision: str, paths: Collection[str]) -> dict[str, bytes | None]:
        """Contents of files in a revision or in the `INDEX`.

        None stands for a path that is no regular file there, and for a file larger than `LARGEST`.
        """
        if not paths:
            return {}
        blobs = self.index_blobs(paths) if revision == INDEX else self.tree_blobs(revision, paths)
        contents = self.contents(blobs.values())
        return {path: contents[blobs[path]] if path in blobs else None for path in paths}

    def contents(self, blobs: Iterable[str]) -> dict[str, bytes | None]:
        """Contents of objects, by object name; None for one larger than `LARGEST`."""
        names = sorted(set(blobs))
        if not names:
            return {}
        found: dict[str, bytes | None] = dict.fromkeys(names)
        small = [name for name, size in self._sizes(names) if size <= LARGEST]
        out = self.run("cat-file", "--batch", input=_lines(small)) if small else b""
        at = 0
        for name in small:
            start = out.index(b"\n", at) + 1
            end = start + int(out[at : start - 1].rpartition(b" ")[2])
            found[name] = out[start:end]
            at = end + 1
        return found

    def unstaged(self, paths: Collection[str]) -> set[str]:
        """Those of `paths` whose working-tree content differs from the index, or is gone.

        Line ends do not count. A file under a filter always counts, because its filter would have to run to tell. A
        file that is not in the index is not part of the answer.
        """
        if not paths:
            return set()
        blobs = self.index_blobs(paths)
        changed: set[str] = set()
        differing: dict[str, bytes] = {}
        for path, blob in blobs.items():
            now = self.on_disk(path)
            if now is None:
                changed.add(path)
            elif blob_name(now, len(blob)) != blob:
                differing[path] = now
        staged = self.contents(blobs[path] for path in differing)
        for path, now in differing.items():
            before = staged[blobs[path]]
            if before is None or not same_text(before, now):
                changed.add(path)
        return changed

    def on_disk(self, path: str) -> bytes | None:
        """Content in the working tree, as it lies there; None if it is no regular file or larger than `LARGEST`."""
        return read_file(os.path.join(self.root, path))

    def head(self) -> str | None:
        """The commit that is checked out; None before the first commit."""
        return self._commit("HEAD")

    def commit(self, revision: str) -> str:
        """The commit that a revision names. Raises GitFailed if there is none, with what to do."""
        found = self._commit(_plain(revision))
        if found is None:
            raise GitFailed(f"`{revision}` names no commit in {self.top}: {self._how_to_get(revision)}")
        return found

    def merge_base(self, one: str, other: str) -> str:
        """The best common ancestor of two revisions. Raises GitFailed if there is none, with what to do."""
        args = ("merge-base", self.commit(one), self.commit(other))
        code, out, err = self._communicate(args, b"")
        if code == 1 and not out:
            advice = self._how_to_get(one)
            raise GitFailed(f"`{one}` and `{other}` have no common ancestor in {self.top}: {advice}")
        if code:
            raise GitFailed(self._failure(args, code, err))
        return _text(out).strip()

    def merged_commits(self) -> list[str]:
        """The commits that an unfinished merge brings in, beside the one that is checked out."""
        content = read_file(os.path.join(self.folder, "MERGE_HEAD"))
        return _text(content).split() if content else []

    def empty_tree(self) -> str:
        """The object name of the tree without files, which stands for the state before the first commit."""
        return _text(self.run("hash-object", "-t", "tree", "--stdin")).strip()

    def staged_changes(self, tree: str) -> bytes:
        """What the index changes in a tree below the root, renames found, in git's raw format (see `states`).

        Paths begin at the top: with ``--relative``, git 2.39 crashes on a conflict outside of the folder.
        """
        return self.run("diff-index", "--cached", *_DIFF, *_RENAMES, _plain(tree), "--", *self._below)

    def changes_between(self, one: str, other: str) -> bytes:
        """What one revision changes in another below the root, renames found, in git's raw format (see `states`)."""
        return self.run("diff-tree", "-r", *_DIFF, *_RENAMES, _plain(one), _plain(other), "--", *self._below)

    @property
    def prefix(self) -> str:
        """The path of the root from the top, with a slash; empty where they are the same."""
        return "" if self.root == self.top else os.path.relpath(self.root, self.top).replace(os.sep, "/") + "/"

    @property
    def _below(self) -> tuple[str, ...]:
        return (".",) if self.prefix else ()

    def attribute(self, name: str, paths: Collection[str]) -> dict[str, str]:
        """Values of an attribute of ``.gitattributes``, of those `paths` that have one; a bare name gives ``set``."""
        if not paths:
            return {}
        data = b"".join(os.fsencode(path) + b"\0" for path in paths)
        fields = iter(_names(self.run("check-attr", "-z", "--stdin", name, input=data)))
        return {path: value for path, _, value in zip(fields, fields, fields, strict=True) if value != "unspecified"}

    def generated(self, paths: Collection[str]) -> dict[str, bool]:
        """Whether ``.gitattributes`` calls files ``linguist-generated``, of those `paths` of which it says either.

        git is asked only if an attributes file of the repository has the word.
        """
        if not self._mentions_generated(paths):
            return {}
        values = self.attribute("linguist-generated", paths)
        return {path: value not in ("unset", "false") for path, value in values.items()}

    def _mentions_generated(self, paths: Collection[str]) -> bool:
        folders = {self.top}
        for path in paths:
            folder = os.path.dirname(os.path.join(self.root, path))
            while folder not in folders and folder.startswith(self.top):
                folders.add(folder)
                folder = os.path.dirname(folder)
        files = [os.path.join(folder, ".gitattributes") for folder in folders]
        files.append(os.path.join(_common(self.folder), "info", "attributes"))
        return any(b"linguist-generated" in (read_file(file) or b"") for file in files)

    def earlier_blobs(self, revision: str, path: str) -> set[str]:
        """Object names of the contents that the last commits before a revision, or it, gave to a file."""
        if "\n" in path:
            return set()
        limit = f"--max-count={_EARLIER_COMMITS}"
        commits = _text(self.run("rev-list", limit, _plain(revision), "--", path)).split()
        asked = b"".join(b"%s:./%s\n" % (commit.encode("ascii"), os.fsencode(path)) for commit in commits)
        out = _text(self.run("cat-file", "--batch-check=%(objectname) %(objecttype)", input=asked)) if commits else ""
        return {name for name, _, kind in (line.partition(" ") for line in out.splitlines()) if kind == "blob"}

    def last_release(self, revision: str) -> str | None:
        """The nearest tag with a version number (``v1.2``, ``release-0.3.0``) in the history of a revision, or None."""
        args = ("describe", "--tags", "--abbrev=0", "--match", "*[0-9].[0-9]*", _plain(revision))
        code, out, _ = self._communicate(args, b"")
        return None if code else "refs/tags/" + _text(out).strip()

    def mentions(self, revision: str, pattern: str) -> bool:
        """Whether a line of a text file of a revision matches an extended regular expression.

        Raises GitFailed where that cannot be told.
        """
        args = ("grep", "-q", "-I", "--no-textconv", "--no-recurse-submodules", "-E", "-e", pattern, _plain(revision))
        code, _, err = self._communicate(args, b"")
        if code not in (0, 1):
            raise GitFailed(self._failure(args, code, err))
        return code == 0

    def _commit(self, revision: str) -> str | None:
        args = ("rev-parse", "--verify", "--quiet", revision + "^{commit}")
        code, out, err = self._communicate(args, b"")
        if code and err:
            raise GitFailed(self._failure(args, code, err))
        return _text(out).strip() or None

    def _sizes(self, names: list[str]) -> Iterator[tuple[str, int]]:
        out = self.run("cat-file", "--batch-check=%(objectname) %(objectsize)", input=_lines(names))
        for line in _text(out).splitlines():
            name, _, size = line.partition(" ")
            if size == "missing":
                raise MissingContent(
                    f"this clone of {self.top} lacks the content of {name}, and none is fetched here: "
                    f"fetch it first, or clone without `--filter`"
                )
            yield name, int(size)

    def _communicate(self, args: tuple[str, ...], data: bytes) -> tuple[int, bytes, bytes]:
        try:
            return communicate(self._program, ("-C", self.root, *_HARDENED, *args), self._environ, data)
        except OSError as error:
            raise GitFailed(f"`{self._program}` cannot be started: {error.strerror}") from error

    def _failure(self, args: tuple[str, ...], code: int, err: bytes) -> str:
        lines = [line.strip() for line in _text(err).splitlines() if line.strip()]
        fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
        reason = (fatal or lines or [f"exit code {code}"])[0]
        if "dubious ownership" in reason or "owned by someone else" in reason:
            return (
                f"git refuses to read {self.top} because it belongs to another user: if you trust it, run "
                f"`git config --global --add safe.directory {self.top}`"
            )
        command = " ".join(args[:6]) + (" ..." if len(args) > 6 else "")
        return f"`git {command}` failed in {self.root}: {reason}"

    def _how_to_get(self, revision: str) -> str:
        if os.path.exists(os.path.join(self.folder, "shallow")) or os.path.exists(
            os.path.join(_common(self.folder), "shallow")
        ):
            return (
                "the clone is shallow, so fetch the history first (`git fetch --unshallow`, or `fetch-depth: 0` in CI)"
            )
        return f"fetch it first (`git fetch origin {revision.removeprefix('origin/')}`), or name another revision"


def is_file_mode(mode: str) -> bool:
    """Whether git's mode is that of a regular file: not of a symbolic link, a submodule or nothing."""
    return mode in ("100644", "100755")


def blob_name(content: bytes, length: int) -> str:
    """git's name for a content, where names have `length` hexadecimal digits (40: SHA-1, 64: SHA-256)."""
    from hashlib import new

    digest = new("sha1" if length == 40 else "sha256", b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest()


def same_text(one: bytes, other: bytes) -> bool:
    """Whether two contents are equal but for line ends."""
    return one == other or one.replace(b"\r\n", b"\n") == other.replace(b"\r\n", b"\n")


def read_file(path: str) -> bytes | None:
    """A file's content; None if it cannot be read, is no regular file, is a link, or is larger than `LARGEST`."""
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with open(handle, "rb") as file:
            about = os.fstat(handle)
            return file.read() if S_ISREG(about.st_mode) and about.st_size <= LARGEST else None
    except OSError:
        return None


def _find_repository(root: str) -> tuple[str, str] | None:
    """The nearest folder upwards with a ``.git``, and the folder that git keeps for it."""
    at = root
    while True:
        folder = _git_folder(os.path.join(at, ".git"))
        if folder is not None:
            return at, folder
        above = os.path.dirname(at)
        if above == at:
            return None
        at = above


def _git_folder(dot_git: str) -> str | None:
    """The folder behind ``.git``: itself, or the one that a file of that name points to (gitrepository-layout)."""
    if os.path.isdir(dot_git):
        return dot_git if os.path.lexists(os.path.join(dot_git, "HEAD")) else None
    content = read_file(dot_git)
    if content is None or not content.startswith(b"gitdir: "):
        return None
    return os.path.join(os.path.dirname(dot_git), os.fsdecode(content[8:].rstrip(b"\r\n")))


def _common(folder: str) -> str:
    """The folder that the working trees of a repository share."""
    content = read_file(os.path.join(folder, "commondir"))
    return folder if content is None else os.path.join(folder, os.fsdecode(content.rstrip(b"\r\n")))


def _find_program() -> str | None:
    """git from PATH. Relative entries are passed over: they could lead into the linted tree."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        program = os.path.join(folder, "git")
        if os.path.isabs(program) and os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    return None


def _environment(top: str, folder: str) -> dict[str, str]:
    environ = dict(os.environ)
    inherited = environ.get("GIT_DIR")
    if inherited is not None and os.path.realpath(inherited) != os.path.realpath(folder):
        for name in _OF_ONE_REPOSITORY:
            environ.pop(name, None)
    for name in _REDIRECTING:
        environ.pop(name, None)
    environ.update(_SET)
    # Overrides core.worktree, and a core.bare that is wrong. GIT_DIR is not set as well: that would skip git's check
    # of who owns the repository.
    environ["GIT_WORK_TREE"] = top
    return environ


def _plain(revision: str) -> str:
    """A revision that cannot be taken for an option."""
    if not revision or revision.startswith("-") or "\0" in revision:
        raise GitFailed(f"`{revision}` is no name of a revision: name a branch, a tag or a commit")
    return revision


def _limited(paths: Collection[str] | None) -> tuple[str, ...]:
    return () if paths is None or len(paths) > _PATHS_PER_COMMAND else ("--", *paths)


def _lines(names: list[str]) -> bytes:
    return "".join(name + "\n" for name in names).encode("ascii")


def _names(out: bytes) -> list[str]:
    return os.fsdecode(out).split("\0")[:-1]


def _text(out: bytes) -> str:
    return out.decode("utf-8", "replace")
