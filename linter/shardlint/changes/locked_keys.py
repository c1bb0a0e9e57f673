"""The key manifest of a project beside its states: what a file's keys were at the lock, and what they are now."""

from __future__ import annotations

from shardlint.changes.linked_classes import MODULE_WORDS, LinkedClasses
from shardlint.errors import LockError
from shardlint.facts.path_roles import in_tests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shardlint.changes.states import ChangeSet, FileChange, State
    from shardlint.facts.key_changes import KeyChange
    from shardlint.facts.key_manifest import Keys


def locked_changes(file: FileChange, changes: ChangeSet) -> list[KeyChange] | None:
    """What changed in a file since the manifest of the later state was written; None if there is no manifest.

    A manifest that cannot be read counts as none here: the `keys` command says what is wrong with it.
    """
    from shardlint.facts.key_manifest import MANIFEST, changed_since, read_manifest

    data = changes.read_after(MANIFEST)
    if data is None or file.after is None:
        return None
    classes = changes.module_classes(after=True).of(file.path, file.after)
    if classes is None:
        return None
    try:
        roots = read_manifest(data).roots
    except LockError:
        return None
    locked = roots.get(file.path) or roots.get(file.old_path or "") or {}
    return changed_since(locked, classes) if locked else []


def project_roots(state: State, excluded: Callable[[str], bool]) -> dict[str, dict[str, Keys]]:
    """The keys of all root modules of a state, by file and class, tests left out.

    Args:
        excluded: whether the settings leave a path out.
    """
    from shardlint.facts.key_manifest import root_keys

    paths = [path for path in state.paths() if path.endswith(".py") and not in_tests(path) and not excluded(path)]
    state.load(paths)
    linked = LinkedClasses(state)
    found: dict[str, dict[str, Keys]] = {}
    for path in paths:
        content = state.read(path)
        if content is None or not any(word in content for word in MODULE_WORDS):
            continue
        classes = linked.of(path, content)
        keys = root_keys(classes) if classes is not None else {}
        if keys:
            found[path] = keys
    return found
