"""The keys that the state dict of a module class has, as far as its file and its bases in other files tell."""

from __future__ import annotations

from typing import Literal, NamedTuple

from shardlint.facts.module_index import adds_no_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shardlint.facts.module_tree import Member, ModuleClass

MAX_KEYS = 10_000
MAX_DEPTH = 40


class Key(NamedTuple):
    """One key. In `path`, ``{}`` stands for one part or a piece of one; an opaque key ends with ``*``: anything below.

    `conditional` tells that it is there on some paths only.
    """

    path: str
    kind: Literal["parameter", "buffer", "opaque"]
    conditional: bool


class StateKeys:
    """Keys of the classes of one file, each class worked out once."""

    def __init__(self, classes: Mapping[str, ModuleClass]) -> None:
        self._classes = classes
        self._of_class: dict[str, tuple[Key, ...]] = {}
        self._open: list[str] = []

    def of_class(self, name: str) -> tuple[Key, ...]:
        """The keys of a class, relative to it. A class inside itself, or too deep, gives one opaque key."""
        done = self._of_class.get(name)
        if done is not None:
            return done
        found = self._classes.get(name)
        if found is None or name in self._open or len(self._open) >= MAX_DEPTH:
            return (Key("*", "opaque", False),)
        self._open.append(name)
        keys = [key for member in (*found.inherited, *found.members) for key in self.of_member(member)]
        if not found.complete or not all(adds_no_key(base) for base in found.open_bases):
            keys.append(Key("*", "opaque", False))
        self._open.pop()
        result = _merged(keys)
        self._of_class[name] = result
        return result

    def of_member(self, member: Member) -> tuple[Key, ...]:
        """The keys of one member, with its own name in front."""
        if member.kind in ("parameter", "buffer"):
            return (Key(member.key, member.kind, member.conditional),) if member.persistent else ()
        below: list[Key] = [Key(tensor.name, tensor.kind, tensor.conditional) for tensor in member.tensors]
        if member.local:
            below += self.of_class(member.local)
        for child in member.children:
            below += self.of_member(child)
        if member.opaque:
            below.append(Key("*", "opaque", False))
        return _merged(
            Key(f"{member.key}.{key.path}", key.kind, key.conditional or member.conditional) for key in below
        )


def _merged(keys: Iterable[Key]) -> tuple[Key, ...]:
    """Each path once; more than `MAX_KEYS` of them end with one opaque key."""
    found: dict[str, Key] = {}
    for key in keys:
        other = found.get(key.path)
        if other is None or (other.conditional and not key.conditional):
            if len(found) >= MAX_KEYS:
                found["*"] = Key("*", "opaque", False)
                break
            found[key.path] = key
    return tuple(found.values())


def state_keys(classes: Mapping[str, ModuleClass], root: str) -> frozenset[Key]:
    """The keys of `root`'s state dict, through the classes of the same file.

    Args:
        classes: what `module_classes` found.
        root: the qualified name of one of them.

    Raises:
        KeyError: there is no such class.
    """
    classes[root]
    return frozenset(StateKeys(classes).of_class(root))
