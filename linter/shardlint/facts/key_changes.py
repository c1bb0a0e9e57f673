"""Changes of state dict keys between two versions of one file.

Only what the text proves is called a change: a constant that became a name, a local that got another name, a base that
moved, an import written differently are none.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from shardlint.facts.key_pattern import HOLE, overlap
from shardlint.facts.module_index import adds_no_key
from shardlint.facts.state_keys import StateKeys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from shardlint.facts.module_tree import Member, ModuleClass

    Kind = Literal["renamed", "removed", "reshaped"]
    Groups = dict[str, tuple[Member, ...]]

_ALIKE = 0.55
"""Names at least this similar (difflib's ratio) are taken for one thing renamed: `norm` and `layer_norm` have 0.57."""

_TOKEN = re.compile(r"[A-Za-z_]\w*=|[A-Za-z_][\w.]*|\d+(?:\.\d+)?|\S")
_WORDS = ("True", "False", "None")


class KeyChange(NamedTuple):
    """One change. `old` and `new` are relative to the class; `new` is "" for a removal and equals `old` for a reshape.

    `line` and `column` lie in the new version: at the new member, or at the class where there is none.
    `sure` is False where names alone tell that the class or the member is a module.
    """

    kind: Literal["renamed", "removed", "reshaped"]
    class_name: str
    old: str
    new: str
    before: Member
    after: Member | None
    line: int
    column: int
    sure: bool


def compare(before: Mapping[str, ModuleClass], after: Mapping[str, ModuleClass]) -> list[KeyChange]:
    """The changes of keys in the classes that both versions have, each once, at the class that owns the member.

    Several members of one type and shape that change their names together are paired by likeness, then by order.
    """
    comparison = _Comparison(before, after)
    found: list[KeyChange] = []
    seen: set[tuple[str, str, str, str]] = set()
    for name, old in before.items():
        new = after.get(name)
        if new is None:
            continue
        for change in comparison.of_class(old, new):
            mark = (change.kind, change.before.owner, change.old, change.new)
            if mark not in seen:
                seen.add(mark)
                found.append(change)
    return found


def renamed_classes(before: Mapping[str, ModuleClass], after: Mapping[str, ModuleClass]) -> dict[str, str]:
    """Classes that only one version has and whose keys are the same: one class under a new name, old to new."""
    gone = [name for name in before if name not in after]
    came = [name for name in after if name not in before]
    if not gone or not came:
        return {}
    old_keys, new_keys = StateKeys(before), StateKeys(after)
    found: dict[str, str] = {}
    for name in gone:
        keys = old_keys.of_class(name)
        same = [other for other in came if new_keys.of_class(other) == keys]
        if len(same) == 1:
            found[name] = same[0]
    return found


class _Comparison:
    """Two versions of a file, with the keys of each."""

    def __init__(self, before: Mapping[str, ModuleClass], after: Mapping[str, ModuleClass]) -> None:
        self._after = after
        self._old_keys = StateKeys(before)
        self._new_keys = StateKeys(after)
        self._new_names = renamed_classes(before, after)

    def of_class(self, old: ModuleClass, new: ModuleClass) -> Iterator[KeyChange]:
        """The changes in one class."""
        if {base for base in old.open_bases if not adds_no_key(base)} != {
            base for base in new.open_bases if not adds_no_key(base)
        }:
            return  # a base that cannot be read came or went: its keys are not known
        if not (old.complete and new.complete):
            return
        sides = _Sides(self, old, new)
        yield from sides.changes("", old.members, new.members)

    def old_paths(self, member: Member) -> tuple[str, ...]:
        """The keys that a member of the old version makes."""
        return tuple(key.path for key in self._old_keys.of_member(member))

    def new_paths(self, member: Member) -> tuple[str, ...]:
        """The keys that a member of the new version makes."""
        return tuple(key.path for key in self._new_keys.of_member(member))

    def type_of(self, member: Member, old: bool) -> str:
        """The class of a member, the same for all ways to import it and for both names of a renamed class."""
        if member.local:
            return self._new_names.get(member.local, member.local) if old else member.local
        return member.type_name.rsplit(".", 1)[-1]

    def kept_below(self, name: str, key: str) -> bool:
        """Whether all classes that extend `name` in the new version still have `key`: it moved down to them."""
        heirs = [one for one in self._after.values() if name in one.bases]
        return bool(heirs) and all(any(overlap(member.key, key) for member in one.members) for one in heirs)


class _Sides:
    """The two versions of one class."""

    def __init__(self, files: _Comparison, old: ModuleClass, new: ModuleClass) -> None:
        self._files = files
        self._old = old
        self._new = new
        old_names = _names(old.members)
        new_names = _names(new.members)
        self._dropped = old_names - new_names
        self._added = new_names - old_names

    def _change(self, kind: Kind, prefix: str, old: Member, new: Member | None, key: str) -> KeyChange:
        sure = self._old.known and self._new.known and old.sure and (new is None or new.sure)
        return KeyChange(
            kind,
            self._new.name,
            prefix + old.key,
            prefix + key if key else "",
            old,
            new,
            new.line if new else self._new.line,
            new.column if new else 1,
            sure,
        )

    def changes(self, prefix: str, old: Sequence[Member], new: Sequence[Member]) -> Iterator[KeyChange]:
        """The changes between two lists of members: of a class, or of a container inside it."""
        before = _groups(old, self._files.old_paths)
        after = _groups(new, self._files.new_paths)
        gone = {key: members for key, members in before.items() if not any(overlap(key, other) for other in after)}
        came = {key: members for key, members in after.items() if not any(overlap(key, other) for other in before)}
        gone = {key: members for key, members in gone.items() if not self._moved_down(prefix, key)}
        if not prefix:
            # What only one version could read was there in both; a class without known keys is such, too.
            kept = self._new.unread | {member.key for member in new if member.local}
            gone = {key: members for key, members in gone.items() if key not in kept and not _has(self._new, key)}
            came = {
                key: members
                for key, members in came.items()
                if key not in self._old.unread and not _has(self._old, key)
            }
        pairs = self._pairs(gone, came)
        for key, members in gone.items():
            target = pairs.get(key)
            if target is not None:
                yield self._change("renamed", prefix, members[0], came[target][0], target)
            elif (wrapped := self._wrapped(members, came)) is not None:
                yield self._change("renamed", prefix, members[0], wrapped, f"{wrapped.key}.{key}")
            elif key != HOLE:
                yield self._change("removed", prefix, members[0], None, "")
        for key, members in before.items():
            others = after.get(key)
            if others is not None and len(members) == len(others) == 1:
                yield from self._same_name(prefix, members[0], others[0])

    def _moved_down(self, prefix: str, key: str) -> bool:
        return not prefix and self._files.kept_below(self._new.name, key)

    def _pairs(self, gone: Groups, came: Groups) -> dict[str, str]:
        """Old keys to new keys: first those alike in all but the name, then those alike in type and name."""
        pairs: dict[str, str] = {}
        for exact in (True, False):
            old_kinds = self._by_kind(gone, True, exact, pairs.keys())
            new_kinds = self._by_kind(came, False, exact, pairs.values())
            for kind, old_keys in old_kinds.items():
                new_keys = new_kinds.get(kind, [])
                together = exact and len(old_keys) == len(new_keys)
                pairs.update(_matched(old_keys, new_keys, together))
        return pairs

    def _by_kind(
        self, groups: Groups, old: bool, exact: bool, taken: Collection[str]
    ) -> dict[tuple[object, ...], list[str]]:
        found: dict[tuple[object, ...], list[str]] = {}
        used = set(taken)
        for key, members in groups.items():
            if key in used or key == HOLE:
                continue
            kind = tuple(
                sorted(
                    (member.kind, self._files.type_of(member, old), self._shape(member, old) if exact else "")
                    for member in members
                )
            )
            found.setdefault(kind, []).append(key)
        return found

    def _shape(self, member: Member, old: bool) -> str:
        """The shape with the names that only one version knows blanked: a renamed local is no other shape."""
        blank = self._dropped if old else self._added
        return " ".join("_" if token in blank else token for token in _tokens(member.shape)) or self._contents(member)

    def _contents(self, member: Member) -> str:
        return ",".join(f"{child.key}:{child.kind}:{child.type_name}" for child in member.children)

    def _wrapped(self, members: tuple[Member, ...], came: Groups) -> Member | None:
        """The new member that holds all keys of an old one below itself: the old one was moved into it."""
        paths = {path for member in members for path in self._files.old_paths(member)}
        for others in came.values():
            for other in others:
                below = set(self._files.new_paths(other))
                if all(f"{other.key}.{path}" in below for path in paths) and not any("*" in path for path in paths):
                    return other
        return None

    def _same_name(self, prefix: str, old: Member, new: Member) -> Iterator[KeyChange]:
        if old.children and new.children and not (old.opaque or new.opaque):
            yield from self.changes(f"{prefix}{old.key}.", old.children, new.children)
            return
        old_type, new_type = self._files.type_of(old, True), self._files.type_of(new, False)
        if old.kind == new.kind and old.sized and new.sized and (old.kind != "module" or old_type == new_type):
            if old.kind in ("parameter", "buffer", "module") and self._reshaped(old.shape, new.shape):
                yield self._change("reshaped", prefix, old, new, new.key)
            return
        old_paths, new_paths = self._files.old_paths(old), self._files.new_paths(new)
        if any("*" in path for path in (*old_paths, *new_paths)) or set(old_paths) & set(new_paths):
            return
        for child in new.children:
            if {f"{new.key}.{path.partition('.')[2]}" for path in self._files.new_paths(child)} == set(old_paths):
                yield self._change("renamed", prefix, old, child, f"{new.key}.{child.key}")
                return
        if old.kind != new.kind:
            yield self._change("removed", prefix, old, None, "")

    def _reshaped(self, old: str, new: str) -> bool:
        """Whether two size texts prove different shapes."""
        before, after = _tokens(old), _tokens(new)
        if before == after:
            return False
        if len(before) != len(after):
            return self._restructured(before, after)
        proved = False
        for one, other in zip(before, after, strict=True):
            if one == other:
                continue
            numbers = one[0].isdigit() and other[0].isdigit()
            names = _is_name(one) and _is_name(other)
            if names and one in self._dropped and other in self._added:
                continue
            if names and (one in self._dropped or other in self._added):
                return False
            if numbers or names or {one, other} == {"True", "False"}:
                proved = True
            else:
                return False
        return proved

    def _restructured(self, before: list[str], after: list[str]) -> bool:
        """Different forms prove something only if every name in them is known to both versions."""
        names = {token for token in (*before, *after) if _is_name(token)}
        if names & (self._dropped | self._added):
            return False
        labels = [token for token in before if token.endswith("=")], [token for token in after if token.endswith("=")]
        if labels[0] == labels[1]:
            return True
        # An argument came or went: only a constant says that this differs from the default.
        return _changed_flag(before, after) or _changed_flag(after, before)


def _changed_flag(shorter: list[str], longer: list[str]) -> bool:
    """Whether `longer` has an argument with a constant value that `shorter` leaves at its default."""
    for place, token in enumerate(longer[:-1]):
        value = longer[place + 1]
        if token.endswith("=") and token not in shorter and (value in _WORDS or value[0].isdigit()):
            return True
    return False


def _has(one: ModuleClass, key: str) -> bool:
    """Whether a class gets a key from a base in another file: there it is renamed, if it is."""
    return any(overlap(member.key, key) for member in one.inherited)


def _tokens(shape: str) -> list[str]:
    return _TOKEN.findall(shape)


def _is_name(token: str) -> bool:
    return (token[0].isalpha() or token[0] == "_") and not token.endswith("=") and token not in _WORDS


def _names(members: Sequence[Member]) -> set[str]:
    found: set[str] = set()
    for member in members:
        found.update(token for token in _tokens(member.shape) if _is_name(token))
        found |= _names(member.children)
    return found


def _groups(members: Sequence[Member], paths: Callable[[Member], tuple[str, ...]]) -> Groups:
    """The members that make keys, by their own key; alternatives share one."""
    found: dict[str, list[Member]] = {}
    for member in members:
        if paths(member):
            found.setdefault(member.key, []).append(member)
    return {key: tuple(same) for key, same in found.items()}


def _matched(old_keys: Sequence[str], new_keys: Sequence[str], together: bool) -> dict[str, str]:
    """Pairs of like names. With `together` as many came as went: the likest are paired, what remains in order."""
    if together and len(old_keys) == 1:
        return {old_keys[0]: new_keys[0]}
    from difflib import SequenceMatcher

    likeness = {(old, new): SequenceMatcher(None, old, new).ratio() for old in old_keys for new in new_keys}
    alike = [pair for pair, score in likeness.items() if score >= _ALIKE]
    if not together:
        # Three projections fused into one are all like it: that is no rename.
        olds, news = [old for old, _ in alike], [new for _, new in alike]
        return {old: new for old, new in alike if olds.count(old) == 1 and news.count(new) == 1}
    pairs: dict[str, str] = {}
    for old, new in sorted(alike, key=lambda pair: -likeness[pair]):
        if old not in pairs and new not in pairs.values():
            pairs[old] = new
    free = [new for new in new_keys if new not in pairs.values()]
    pairs.update(zip((old for old in old_keys if old not in pairs), free, strict=True))
    return pairs
