"""Two states that exist only in memory: the form in which the examples of a change rule are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shardlint.changes.states import ChangeSet, FileChange


class MemoryState:
    """One state: path -> content."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = {path: text.encode() for path, text in files.items()}

    def paths(self) -> tuple[str, ...]:
        """All files, sorted."""
        return tuple(sorted(self._files))

    def load(self, paths: Iterable[str]) -> None:
        """Nothing: all is in memory."""

    def read(self, path: str) -> bytes | None:
        """The content of a file, or None."""
        return self._files.get(path)


def memory_change_set(before: Mapping[str, str], after: Mapping[str, str]) -> ChangeSet:
    """The change from one state to the other. A file that moved with its content unchanged is a rename."""
    earlier, later = MemoryState(before), MemoryState(after)
    changes: list[FileChange] = []
    gone = {path: text for path, text in before.items() if path not in after}
    for path, text in sorted(after.items()):
        if path in before:
            if before[path] != text:
                changes.append(FileChange(path, "modified", before[path].encode(), text.encode()))
            continue
        origin = next((old for old, content in sorted(gone.items()) if content == text), None)
        if origin is None:
            changes.append(FileChange(path, "added", None, text.encode()))
        else:
            del gone[origin]
            changes.append(FileChange(path, "renamed", text.encode(), text.encode(), origin))
    changes += [FileChange(path, "deleted", text.encode(), None) for path, text in sorted(gone.items())]
    return ChangeSet(tuple(changes), earlier, later, "before", "after")
