"""Whether a key of a model was part of a release: of one that never was, nobody can have a checkpoint to keep."""

from __future__ import annotations

import re

from shardlint.errors import GitFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.changes.states import ChangeSet, FileChange
    from shardlint.facts.key_changes import KeyChange


def released(change: KeyChange, file: FileChange, changes: ChangeSet) -> bool:
    """Whether the last release may have the class of a changed key, or its file the old key.

    The class counts by its name, wherever the release has it: classes move. True where there is no release to look at,
    as in a project without tags or a shallow clone.
    """
    release = changes.release()
    if release is None:
        return True
    try:
        content = release.read(file.old_path or file.path) or b""
        name = (change.before.owner or change.class_name).rpartition(".")[2]
        key = change.old.partition(".")[0]
        if re.search(rf"^\s*class\s+{name}\b|\bself\.{re.escape(key)}\b".encode(), content, re.MULTILINE):
            return True
        return release.git.mentions(release.revision, rf"^[[:space:]]*class[[:space:]]+{name}([^A-Za-z0-9_]|$)")
    except GitFailed:  # a clone without the contents of its tags
        return True
