"""Keys of a model's state dict that a change renames, and code that maps the old ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shardlint.changes.edit import parsed
from shardlint.changes.linked_classes import MODULE_WORDS
from shardlint.changes.locked_keys import locked_changes
from shardlint.changes.releases import released
from shardlint.changes.states import ChangeSet, FileChange
from shardlint.facts.path_roles import in_tests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.facts.key_changes import KeyChange
    from shardlint.facts.module_tree import ModuleClass

_SEARCHED = 200
"""Files beside the changed ones in which a mapping of old keys is looked for, the likeliest first."""

_APART = 10
"""Lines between the old and the new name of a key in a mapping that did not change along."""

_MAPPING_NAMES = (
    "mapping",
    "conver",
    "checkpoint",
    "state_dict",
    "weight",
    "remap",
    "rename",
    "load",
    "adapter",
    "compat",
)


def key_renames(file: FileChange, changes: ChangeSet) -> Iterator[KeyChange]:
    """The keys that a changed Python file renames without any code in sight that maps the old one.

    They are compared with the key manifest, where the project has one, and otherwise with the earlier state; then a
    class that came after the last release is left out. Mappings are looked for in the file, the files that changed
    along, and at most `_SEARCHED` others of the same package.
    """
    if file.before is None or not any(word in file.before for word in MODULE_WORDS):
        return
    since_lock = locked_changes(file, changes)
    if since_lock is not None:
        yield from unmapped(file, changes, since_lock)
        return
    for one in unmapped(file, changes, changed_keys(file, changes)):
        if released(one, file, changes):
            yield one


def unmapped(file: FileChange, changes: ChangeSet, changed: Iterable[KeyChange]) -> Iterator[KeyChange]:
    """The renamed keys among changes of a file that no code in sight maps."""
    renamed = [one for one in changed if one.kind == "renamed"]
    after = parsed(file.after or b"")
    if not renamed or after is None:
        return
    from shardlint.facts.key_remaps import handles_rename

    others = _Mappings(file, changes)
    for one in renamed:
        if not handles_rename(after, one.old, one.new) and not others.handle(one.old, one.new):
            yield one


def key_reshapes(file: FileChange, changes: ChangeSet) -> list[KeyChange]:
    """The keys whose tensors a change gives another shape for certain, without a conversion that names them.

    A conversion is looked for in the file and in those that changed along: one that was there before names the key for
    another reason.
    """
    found = [one for one in changed_keys(file, changes) if one.kind == "reshaped" and one.sure]
    if not found:
        return []
    from shardlint.facts.key_remaps import handles_rename

    beside = [change.after for change in changes.changes if change.path.endswith(".py") and not in_tests(change.path)]
    trees = [tree for content in beside if content is not None and (tree := parsed(content)) is not None]
    left = [one for one in found if not any(handles_rename(tree, one.old, "") for tree in trees)]
    return [one for one in left if released(one, file, changes)]


def changed_keys(file: FileChange, changes: ChangeSet) -> list[KeyChange]:
    """All changes of keys in a Python file, mapped or not; none if one of its states does not parse."""
    states = both_classes(file, changes)
    if states is None:
        return []
    from shardlint.facts.key_changes import compare

    return compare(*states)


def both_classes(file: FileChange, changes: ChangeSet) -> tuple[dict[str, ModuleClass], dict[str, ModuleClass]] | None:
    """The module classes of a changed Python file in its two states; None if one is absent, or holds no model."""
    if file.before is None or file.after is None or not file.path.endswith(".py"):
        return None
    if not any(word in file.before for word in MODULE_WORDS):
        return None
    before = changes.module_classes(after=False).of(file.old_path or file.path, file.before)
    after = changes.module_classes(after=True).of(file.path, file.after)
    return None if before is None or after is None else (before, after)


class _Mappings:
    """Files in which a mapping of the keys of one file may lie."""

    def __init__(self, file: FileChange, changes: ChangeSet) -> None:
        self._changes = changes
        changed = [change.path for change in changes.changes if change.path != file.path]
        self._changed = [path for path in changed if path.endswith(".py") and not in_tests(path)]
        self._others = [path for path in self._nearest(file.path) if path not in self._changed]
        changes.after.load((*self._changed, *self._others))

    def _nearest(self, path: str) -> list[str]:
        """Python files of the same package: those named after mappings first, then those that lie nearest."""
        package = path.partition("/")[0] + "/" if "/" in path else ""
        listed = [one for one in self._changes.paths_after() if one.startswith(package) and one.endswith(".py")]
        foreign = _other_models(path, listed)
        found: list[tuple[bool, int, str]] = []
        for other in listed:
            if other != path and not in_tests(other) and not other.startswith(foreign):
                found.append((not named_after_mappings(other), -_shared_folders(other, path), other))
        return [other for _, _, other in sorted(found)[:_SEARCHED]]

    def handle(self, old: str, new: str) -> bool:
        """Whether one of the files maps the old key to the new one."""
        from shardlint.facts.key_remaps import handles_rename

        words = _longest_word(old).encode(), _longest_word(new).encode()
        for path in (*self._changed, *self._others):
            content = self._changes.read_after(path)
            if content is None or not all(word in content for word in words):
                continue
            if path not in self._changed and not _near(content, *words):
                continue
            tree = parsed(content)
            if tree is not None and handles_rename(tree, old, new):
                return True
        return False


def named_after_mappings(path: str) -> bool:
    """Whether a file is named after what maps or loads keys."""
    name = path.rpartition("/")[2]
    return any(word in name for word in _MAPPING_NAMES)


def _near(content: bytes, one: bytes, other: bytes) -> bool:
    """Whether two words stand within `_APART` lines: a table for all models has any two of them somewhere."""
    last: dict[bytes, int] = {}
    for number, line in enumerate(content.split(b"\n")):
        for word in (one, other):
            if word in line:
                last[word] = number
        if one in last and other in last and abs(last[one] - last[other]) <= _APART:
            return True
    return False


def _other_models(path: str, listed: list[str]) -> tuple[str, ...]:
    """The folders beside that of a file that hold models of their own: what they map are keys of those."""
    own = path.rpartition("/")[0]
    above = own.rpartition("/")[0]
    if not above:
        return ()
    found: set[str] = set()
    for other in listed:
        folder, _, name = other.rpartition("/")
        if name.startswith("model") and folder != own and folder.startswith(above + "/"):
            found.add(above + "/" + folder[len(above) + 1 :].partition("/")[0] + "/")
    return tuple(found - {own + "/"})


def _shared_folders(one: str, other: str) -> int:
    count = 0
    for first, second in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if first != second:
            break
        count += 1
    return count


def _longest_word(key: str) -> str:
    """The longest piece of a key that every spelling of it has."""
    from shardlint.facts.key_pattern import HOLE

    parts = key.split(".")
    while len(parts) > 1 and (parts[-1].isdigit() or parts[-1] == HOLE):
        parts.pop()
    return max(parts[-1].split(HOLE), key=len)
