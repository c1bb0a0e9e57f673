"""Two states of the repository and what changed from one to the other.

The states are read as they are stored: objects through ``git cat-file``, the working tree from disk, never through a
filter. A file counts as changed when its content differs in more than line ends. Symbolic links, submodules, binary
files and files larger than `git.LARGEST` are no part of a change.
"""

from __future__ import annotations

import os

from ..errors import GitFailed
from .git import INDEX, blob_name, is_file_mode, same_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Literal, Protocol

    from .git import Git
    from .linked_classes import LinkedClasses

    Status = Literal["added", "modified", "deleted", "renamed"]

    class State(Protocol):
        """One state of the repository: which regular files it has and what is in them."""

        def paths(self) -> tuple[str, ...]:
            """Its regular files, sorted."""
            ...

        def load(self, paths: Iterable[str]) -> None:
            """Read files ahead of `read`, which then costs nothing."""
            ...

        def read(self, path: str) -> bytes | None:
            """The content of a file; None if it is no regular file here."""
            ...


_BINARY_LOOK = 8000
"""Bytes. git calls a file binary when one of so many first bytes is 0."""


class FileChange:
    """One changed file.

    `path` is where it lies afterwards (before, if it was deleted), `old_path` where it lay before a rename. `before`
    and `after` are its contents. `merged` says that an unfinished merge takes the file as it is in the other branch:
    it explains other changes, but this commit did not write it.
    """

    __slots__ = ("after", "before", "merged", "old_path", "path", "status")

    def __init__(
        self,
        path: str,
        status: Status,
        before: bytes | None,
        after: bytes | None,
        old_path: str | None = None,
        merged: bool = False,
    ) -> None:
        self.path = path
        self.status: Status = status
        self.before = before
        self.after = after
        self.old_path = old_path
        self.merged = merged

    def __repr__(self) -> str:
        origin = f" from {self.old_path}" if self.old_path else ""
        return f"<{self.status} {self.path}{origin}{' (merged)' if self.merged else ''}>"


class StoredState:
    """A state that git or the disk holds.

    Contents are kept once read; `load` reads many at once, which costs as much as reading one.
    """

    def __init__(self, git: Git) -> None:
        self.git = git
        self._paths: tuple[str, ...] | None = None
        self._read: dict[str, bytes | None] = {}

    def paths(self) -> tuple[str, ...]:
        """Its regular files, sorted."""
        if self._paths is None:
            self._paths = tuple(sorted(self._list()))
        return self._paths

    def load(self, paths: Iterable[str]) -> None:
        """Read files ahead of `read`."""
        wanted = [path for path in paths if path not in self._read]
        if wanted:
            self._read.update(self._contents(wanted))

    def read(self, path: str) -> bytes | None:
        """The content of a file; None if it is no regular file here."""
        self.load((path,))
        return self._read[path]

    def _list(self) -> Collection[str]:
        raise NotImplementedError

    def _contents(self, paths: Collection[str]) -> Mapping[str, bytes | None]:
        raise NotImplementedError


class Revision(StoredState):
    """A commit, the index (`git.INDEX`) or a tree."""

    def __init__(self, git: Git, revision: str) -> None:
        super().__init__(git)
        self.revision = revision

    def _list(self) -> Collection[str]:
        return self.git.index_blobs() if self.revision == INDEX else self.git.tree_blobs(self.revision)

    def _contents(self, paths: Collection[str]) -> Mapping[str, bytes | None]:
        return self.git.read(self.revision, paths)


class WorkingTree(StoredState):
    """What lies on disk, of the files that git tracks or would track.

    Files that a sparse checkout keeps out are taken from the index: they are absent, not deleted.
    """

    def __init__(self, git: Git) -> None:
        super().__init__(git)
        self._left_out: set[str] | None = None

    def left_out(self) -> set[str]:
        """Tracked files that a sparse checkout keeps out of the working tree."""
        if self._left_out is None:
            self._left_out = self.git.left_out()
        return self._left_out

    def has(self, path: str) -> bool:
        """Whether a regular file of that path lies on disk."""
        full = os.path.join(self.git.root, path)
        return os.path.isfile(full) and not os.path.islink(full)

    def _list(self) -> Collection[str]:
        left_out = self.left_out()
        return [path for path in self.git.tracked_and_untracked() if path in left_out or self.has(path)]

    def _contents(self, paths: Collection[str]) -> Mapping[str, bytes | None]:
        found: dict[str, bytes | None] = {path: self.git.on_disk(path) for path in paths}
        absent = [path for path, content in found.items() if content is None and path in self.left_out()]
        found.update(self.git.read(INDEX, absent))
        return found


class ChangeSet:
    """What changed from one state to another.

    `before_name` and `after_name` are words for messages. `git` is None for states that no repository holds; `origin`
    is the commit in whose history the first state lies, None where it has none.
    """

    def __init__(
        self,
        changes: tuple[FileChange, ...],
        before: State,
        after: State,
        before_name: str,
        after_name: str,
        git: Git | None = None,
        origin: str | None = None,
    ) -> None:
        self.changes = changes
        self.before = before
        self.after = after
        self.before_name = before_name
        self.after_name = after_name
        self._git = git
        self._origin = origin
        self._changed: frozenset[str] = frozenset()
        self._marked: Mapping[str, bool] | None = None
        self._classes: dict[bool, LinkedClasses] = {}
        self._release: tuple[Revision | None] | None = None

    def read_before(self, path: str) -> bytes | None:
        """The content that a file had, changed or not; None if it was not there."""
        return self.before.read(path)

    def read_after(self, path: str) -> bytes | None:
        """The content that a file has now, changed or not; None if it is not there."""
        return self.after.read(path)

    def paths_before(self) -> tuple[str, ...]:
        """All regular files of the first state, sorted."""
        return self.before.paths()

    def paths_after(self) -> tuple[str, ...]:
        """All regular files of the second state, sorted."""
        return self.after.paths()

    def module_classes(self, *, after: bool) -> LinkedClasses:
        """The module classes of a state's files."""
        if after not in self._classes:
            from .linked_classes import LinkedClasses

            self._classes[after] = LinkedClasses(self.after if after else self.before)
        return self._classes[after]

    def release(self) -> Revision | None:
        """The last release before the change: the nearest tag with a version number; None if there is none."""
        if self._release is None:
            tag = self._git.last_release(self._origin) if self._git is not None and self._origin is not None else None
            self._release = (Revision(self._git, tag) if self._git is not None and tag is not None else None,)
        return self._release[0]

    def marked_generated(self, path: str) -> bool | None:
        """Whether ``.gitattributes`` calls a file ``linguist-generated``; None where it says nothing."""
        if self._git is None:
            return None
        if self._marked is None:
            self._changed = frozenset(change.path for change in self.changes)
            self._marked = self._git.generated(self._changed)
        if path not in self._changed:
            return self._git.generated([path]).get(path)
        return self._marked.get(path)

    def restores(self, path: str) -> bool:
        """Whether a changed file has a content again that an earlier commit gave it, as after ``git revert``."""
        content = self.read_after(path)
        if self._git is None or self._origin is None or content is None:
            return False
        earlier = self._git.earlier_blobs(self._origin, path)
        return any(blob_name(content, len(blob)) == blob for blob in earlier)


def change_set(git: Git, *, staged: bool, base: str | None, environ: Mapping[str, str]) -> ChangeSet:
    """The change that a run is about.

    With `base`: from the merge base of `base` and HEAD to the working tree, or to the index if `staged`. Otherwise,
    when pre-commit names two revisions (``PRE_COMMIT_FROM_REF`` and ``PRE_COMMIT_TO_REF``,
    https://pre-commit.com/#pre-push) and `staged` is not asked for: from their merge base to the second. Otherwise
    from HEAD to the index, which is what the next commit will hold.

    Raises:
        GitFailed: a revision is unknown, or its history or content is not in this clone.
    """
    first, second = environ.get("PRE_COMMIT_FROM_REF"), environ.get("PRE_COMMIT_TO_REF")
    if base is not None:
        if git.head() is None:
            raise GitFailed(
                f"there is no commit yet in {git.top}, so nothing can be compared with `{base}`: leave `--base` out"
            )
        start = git.merge_base(base, "HEAD")
        name = f"the merge base of {base} and HEAD ({start[:10]})"
        return _to_index(git, start, name) if staged else _to_working_tree(git, start, name)
    if first and second and not staged:
        start, end = git.merge_base(first, second), git.commit(second)
        records, _ = _records(git.changes_between(start, end), git.prefix)
        name = f"the merge base of {first} and {second} ({start[:10]})"
        return _assemble(git, records, (Revision(git, start), Revision(git, end)), (name, second), start)
    try:
        return _to_index(git, "HEAD", "HEAD")
    except GitFailed:
        if git.head() is not None:
            raise
    return _to_index(git, git.empty_tree(), "the empty repository", has_history=False)


class _Record:
    """A change before its contents are read. A state that lacks the file has no blob; `content` is that on disk."""

    __slots__ = ("after", "before", "content", "old_path", "path")

    def __init__(self, path: str, old_path: str, before: str | None, after: str | None) -> None:
        self.path = path
        self.old_path = old_path
        self.before = before
        self.after = after
        self.content: bytes | None = None

    @property
    def had(self) -> bool:
        """Whether the first state has the file."""
        return self.before is not None

    @property
    def has(self) -> bool:
        """Whether the second state has the file."""
        return self.after is not None or self.content is not None


def _to_index(git: Git, tree: str, name: str, has_history: bool = True) -> ChangeSet:
    records, _ = _records(git.staged_changes(tree), git.prefix)
    states = (Revision(git, tree), Revision(git, INDEX))
    origin = tree if has_history else None
    return _assemble(git, records, states, (name, "the index"), origin, _taken_over(git) if records else None)


def _to_working_tree(git: Git, tree: str, name: str) -> ChangeSet:
    after = WorkingTree(git)
    records, conflicts = _records(git.staged_changes(tree), git.prefix)
    differing = _unstaged(git, after)
    differing.update((path, after.read(path)) for path in (*conflicts, *git.untracked()))
    records = _on_disk(records, differing, git.tree_blobs(tree, differing))
    return _assemble(git, records, (Revision(git, tree), after), (name, "the working tree"), tree)


def _records(raw: bytes, prefix: str) -> tuple[list[_Record], list[str]]:
    """Parse git's raw format: ``:mode mode blob blob status``, path and, after a rename, new path, each zero-ended.

    The second result are the files with a conflict: the index has no one content of them. All paths begin with
    `prefix`, which is taken off.
    """
    fields = iter(os.fsdecode(raw).split("\0")[:-1])
    found: list[_Record] = []
    conflicts: list[str] = []
    for meta in fields:
        old_mode, new_mode, old, new, status = meta[1:].split(" ")
        old_path = next(fields).removeprefix(prefix)
        path = next(fields).removeprefix(prefix) if status[0] in "RC" else old_path
        if status[0] == "U":
            conflicts.append(path)
            continue
        before = old if is_file_mode(old_mode) else None
        after = new if is_file_mode(new_mode) else None
        if before != after or path != old_path:
            found.append(_Record(path, old_path, before, after))
    return found, conflicts


def _on_disk(
    records: list[_Record], differing: Mapping[str, bytes | None], originals: Mapping[str, str]
) -> list[_Record]:
    """Changes from a tree to the index, continued to what lies on disk.

    Args:
        records: the changes from the tree to the index.
        differing: contents on disk of files that differ from the index; None for one that is gone.
        originals: the blobs that these files have in the tree.
    """
    by_path = {record.path: record for record in records}
    for path, content in differing.items():
        record = by_path.pop(path, None)
        if record is None:
            record = _Record(path, path, originals.get(path), None)
        elif content is None and record.path != record.old_path:
            record = _Record(record.old_path, record.old_path, record.before, None)
        record.content, record.after = content, None
        by_path[record.path] = record
    _join_moves(by_path.values())
    return [record for record in by_path.values() if record.had or record.has]


def _unstaged(git: Git, state: WorkingTree) -> dict[str, bytes | None]:
    """Files of the index whose content on disk is another, with that content; None for one that is gone.

    No filter is run, so files under one are passed over, and so are files that are too large to be read.
    """
    blobs = git.index_blobs()
    differing: dict[str, bytes | None] = {}
    for path, blob in blobs.items():
        content = git.on_disk(path)
        if content is None:
            if path not in state.left_out() and not state.has(path):
                differing[path] = None
        elif blob_name(content, len(blob)) != blob:
            differing[path] = content
    filtered = git.attribute("filter", differing)
    staged = git.contents(blobs[path] for path in differing)
    kept: dict[str, bytes | None] = {}
    for path, content in differing.items():
        before = staged[blobs[path]]
        same = content is not None and before is not None and same_text(before, content)
        if content is None or not (same or path in filtered):
            kept[path] = content
    return kept


def _join_moves(records: Collection[_Record]) -> None:
    """Join a file that is gone with an untracked one of the same content: a move that git has not been told of."""
    gone = {record.before: record for record in records if record.before is not None and not record.has}
    for record in records:
        if not gone:
            return
        if record.content is not None and not record.had:
            source = gone.pop(blob_name(record.content, len(next(iter(gone)))), None)
            if source is not None:
                record.before, record.old_path = source.before, source.path
                source.before = None


def _taken_over(git: Git) -> dict[str, str] | None:
    """Blobs of the branches that an unfinished merge brings in, by path; None when nothing is being merged."""
    commits = git.merged_commits()
    found: dict[str, str] = {}
    for commit in commits:
        found.update(git.tree_blobs(commit))
    return found if commits else None


def _assemble(
    git: Git,
    records: list[_Record],
    states: tuple[State, State],
    names: tuple[str, str],
    origin: str | None,
    taken_over: Mapping[str, str] | None = None,
) -> ChangeSet:
    blobs = [blob for record in records for blob in (record.before, record.after) if blob is not None]
    contents = git.contents(blobs)
    changes: list[FileChange] = []
    for record in sorted(records, key=lambda record: record.path):
        merged = taken_over is not None and taken_over.get(record.path) == record.after
        change = _change(record, contents, merged)
        if change is not None:
            changes.append(change)
    return ChangeSet(tuple(changes), states[0], states[1], names[0], names[1], git, origin)


def _change(record: _Record, contents: Mapping[str, bytes | None], merged: bool) -> FileChange | None:
    """The change with its contents; None if it is none, or if one side cannot be read as text."""
    before = contents[record.before] if record.before is not None else None
    after = contents[record.after] if record.after is not None else record.content
    if (record.had and _unreadable(before)) or (record.has and _unreadable(after)):
        return None
    if record.path != record.old_path:
        return FileChange(record.path, "renamed", before, after, record.old_path, merged)
    if before is not None and after is not None:
        return None if same_text(before, after) else FileChange(record.path, "modified", before, after, merged=merged)
    return FileChange(record.path, "added" if record.has else "deleted", before, after, merged=merged)


def _unreadable(content: bytes | None) -> bool:
    return content is None or b"\0" in content[:_BINARY_LOOK]
