"""The key manifest: the state dict keys of every root module of a project, as they were at its last release.

A root module is a class that no other class of its file holds or extends. Keys are patterns, see `state_keys`. With
each goes the class of what makes it (`Linear`, `Parameter`), which tells a renamed key from another one.
"""

from __future__ import annotations

from typing import NamedTuple

from shardlint.errors import LockError
from shardlint.facts.key_changes import KeyChange, compare
from shardlint.facts.module_tree import Member, ModuleClass
from shardlint.facts.state_keys import StateKeys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeGuard

    from shardlint.facts.module_made import Kind

    Tree = dict[str, "Tree"]
    Keys = dict[str, str]

MANIFEST = "state-keys.json"
"""Where it lies, below the project root."""

_VERSION = 1
_REST = "*"
_ACCEPTED = ("path", "class", "old", "new", "reason")


class Accepted(NamedTuple):
    """A renamed key that nothing maps, and why it was taken over."""

    path: str
    class_name: str
    old: str
    new: str
    reason: str


class Manifest(NamedTuple):
    """Keys with what makes them, by file and root class, and what was accepted at this lock and earlier ones."""

    roots: dict[str, dict[str, Keys]]
    accepted: tuple[Accepted, ...] = ()


def read_manifest(data: bytes) -> Manifest:
    """Read a manifest.

    Raises:
        LockError: it is none, or one of another version.
    """
    import json

    try:
        read: object = json.loads(data)
        if not _is_table(read) or read.get("version") != _VERSION:
            raise ValueError(f"it is no manifest of version {_VERSION}")
        roots = {
            path: {name: _texts(keys) for name, keys in _table(classes).items()}
            for path, classes in _table(read.get("roots")).items()
        }
        accepted = [
            Accepted(*(str(_table(entry).get(field, "")) for field in _ACCEPTED)) for entry in _list(read["accepted"])
        ]
    except (ValueError, KeyError, RecursionError) as error:
        raise LockError(f"{MANIFEST} cannot be read ({error}): restore it, or delete it and write it anew") from None
    return Manifest(roots, tuple(accepted))


def manifest_text(manifest: Manifest) -> str:
    """The manifest as JSON, sorted, so that a change of one key is a change of one line."""
    import json

    data = {
        "version": _VERSION,
        "accepted": [dict(zip(_ACCEPTED, one, strict=True)) for one in sorted(set(manifest.accepted))],
        "roots": {
            path: {name: dict(sorted(keys.items())) for name, keys in sorted(classes.items())}
            for path, classes in sorted(manifest.roots.items())
        },
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def root_keys(classes: Mapping[str, ModuleClass]) -> dict[str, Keys]:
    """The keys of the root modules of one file, by class. A class whose keys are all unknown is left out."""
    held = {base for one in classes.values() for base in one.bases}
    for one in classes.values():
        held.update(local for member in one.members for local in _locals(member) if local != one.name)
    keys = StateKeys(classes)
    roots = {name: _keys(classes, name, keys) for name in classes if name not in held}
    return {name: found for name, found in roots.items() if any(path != _REST for path in found)}


def _keys(classes: Mapping[str, ModuleClass], root: str, keys: StateKeys) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in keys.of_class(root):
        member = _member_at(classes, root, key.path)
        made = "" if member is None else member.type_name or member.kind
        found[key.path] = made.rpartition(".")[2]
    return found


def changed_since(locked: Mapping[str, Keys], classes: Mapping[str, ModuleClass]) -> list[KeyChange]:
    """What changed from locked keys to the classes of a file, placed at the members of the file.

    Args:
        locked: the keys of root classes. A class that is not among them was not there at the lock: it is left out, as
            is one that is no longer there.
    """
    keys = StateKeys(classes)
    before = {name: _rebuilt(name, paths) for name, paths in locked.items() if name in classes}
    after = {name: _rebuilt(name, _keys(classes, name, keys)) for name in before}
    found: dict[tuple[int, str, str], KeyChange] = {}
    for one in compare(before, after):
        if any(member.key == one.new.partition(".")[0] for member in classes[one.class_name].inherited):
            continue  # the root of the file that registers it has the same change
        member = _member_at(classes, one.class_name, one.new) if one.new else None
        if member is not None:
            one = one._replace(after=member, line=member.line, column=member.column, sure=member.sure)
        else:
            one = one._replace(line=classes[one.class_name].line)
        # Two roots that share a class have its keys twice; the member lies at one place.
        found.setdefault((one.line, one.old.rpartition(".")[2], one.new.rpartition(".")[2]), one)
    return list(found.values())


def _rebuilt(name: str, keys: Keys) -> ModuleClass:
    """A class with these keys: what both sides of a comparison are brought to."""
    tree: Tree = {}
    for path in sorted(keys):
        at = tree
        for part in path.split("."):
            at = at.setdefault(part, {})
    open_bases = (_REST,) if _REST in tree else ()
    return ModuleClass(name, 1, (), True, _members(name, "", tree, keys), open_bases, True)


def _members(owner: str, prefix: str, tree: Tree, keys: Keys) -> tuple[Member, ...]:
    found: list[Member] = []
    for key, below in tree.items():
        if key != _REST:
            path = prefix + key
            kind: Kind = "module" if below else "parameter"
            made = "" if below else keys[path]
            children = _members(owner, f"{path}.", below, keys)
            opaque = _REST in below
            found.append(Member(key, kind, 1, 1, owner, True, made, "", "", False, False, True, opaque, (), children))
    return tuple(found)


def _member_at(classes: Mapping[str, ModuleClass], root: str, path: str) -> Member | None:
    """The member that makes a key: the last one on the way that the file spells."""
    members, found = classes[root].members, None
    for part in path.split("."):
        step = next((member for member in members if member.key == part), None)
        if step is None:
            return found
        found = step
        members = (*step.children, *(classes[step.local].members if step.local in classes else ()))
    return found


def _locals(member: Member) -> Iterator[str]:
    yield member.local
    for child in member.children:
        yield from _locals(child)


def _is_table(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def _table(value: object) -> dict[str, object]:
    if not _is_table(value):
        raise ValueError("a table is missing")
    return value


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _list(value: object) -> list[object]:
    if not _is_list(value):
        raise ValueError("a list is missing")
    return value


def _texts(value: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, made in _table(value).items():
        if not isinstance(made, str):
            raise ValueError(f"what makes the key `{key}` is no text")
        found[key] = made
    return found
