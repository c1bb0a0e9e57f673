"""The entry that maps a renamed key, in the table of renames that its model already has and in the form used there."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from shardlint.changes.generated import generated_header
from shardlint.changes.generated_file import declaration
from shardlint.changes.key_renames import both_classes, named_after_mappings
from shardlint.changes.linked_classes import MODULE_WORDS
from shardlint.changes.model_files import model_folder
from shardlint.changes.rename_table import TableFile
from shardlint.facts.key_pattern import HOLE
from shardlint.facts.key_remaps import handles_rename
from shardlint.facts.module_tree import module_classes
from shardlint.facts.path_roles import in_tests
from shardlint.facts.state_keys import StateKeys
from shardlint.fixes import apply_edits
from shardlint.parsing import parse
from shardlint.syntax.edit import Edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shardlint.changes.generated_file import Declared
    from shardlint.changes.rename_table import Entry, RenameTable, Side
    from shardlint.changes.states import ChangeSet, FileChange
    from shardlint.facts.key_changes import KeyChange
    from shardlint.facts.module_tree import Member, ModuleClass

_MOST = 60
"""Files of a folder. One with more holds many models, and only the file itself is sure to be about its own."""

_TABLE_WORD = re.compile(
    rb"(?i)map|renam|remap|conver|replace|migrat|upgrade|legacy|compat|old_?to_?new|old2new|translat|re_?key"
)
"""What a file with a table has in it: most files are not parsed."""

_ANY = re.compile(r"\(?(?:\\d|\.|\[0-9\]|\[\^\.\])[+*]\??\)?|\\[1-9]|\\g<\d>|%d|\{\w*\}|\*")
"""What stands for a number or a name in a key: parts of regular expressions, and holes of formats."""

_LITERAL = re.compile(r"(?P<open>[rR]?(?P<quote>\"\"\"|'''|[\"']))(?P<inner>[^\"'\n]*)(?P=quote)")


class RenameEntries:
    """The entries for the keys that one change of a file renames.

    Args:
        others: all keys that it renames.
        declared: the settings about generated files: no table is edited in one.
    """

    def __init__(
        self, file: FileChange, others: Sequence[KeyChange], changes: ChangeSet, declared: Sequence[Declared] = ()
    ) -> None:
        self._file, self._others, self._changes, self._declared = file, others, changes, declared
        self._tables: list[_Tables] | None = None

    def edit(self, renamed: KeyChange) -> Edit | None:
        """The edit that adds the entry; None where there is no such table, or anything about it is not certain."""
        if not (renamed.old.isidentifier() and renamed.new.isidentifier() and renamed.sure):
            return None
        if self._tables is None:
            self._tables = list(self._read())
        found = [
            edit
            for one in self._tables
            if one.of is None or _owner(renamed) in one.of
            for table in one.tables
            if (edit := _Writer(renamed, self._others, one.model, one.file, table).edit()) is not None
        ]
        return found[0] if len(found) == 1 else None

    def _read(self) -> Iterator[_Tables]:
        states = both_classes(self._file, self._changes)
        for path, key in self._paths().items() if states is not None else ():
            content = self._changes.read_after(path)
            if content is None or _TABLE_WORD.search(content) is None or self._generated(path, content):
                continue
            found = TableFile.read(path, content)
            tables = list(found.tables()) if found is not None else []
            if found is None or not tables or states is None:
                continue
            if key:
                tables = [table for table in tables if _only_for(key, table, found)]
            others = not key and path != self._file.path and any(word in content for word in MODULE_WORDS)
            own = module_classes(found.tree) if others else {}
            yield _Tables(found, tables, _Model({**own, **states[1]}), _imported(found.tree) if own else None)

    def _paths(self) -> dict[str, str]:
        """The files that may hold the table, and for one about many models the key that this one has in it."""
        own, changes = self._file.path, self._changes
        folder = model_folder(own)
        python = [path for path in changes.paths_after() if path.endswith(".py") and not in_tests(path)]
        beside = [path for path in python if (path.startswith(folder) if folder else "/" not in path)]
        paths = dict.fromkeys(beside if len(beside) <= _MOST else [own], "")
        above, _, name = folder.rstrip("/").rpartition("/")
        for path in python if above else ():
            at = path.rpartition("/")[0]
            if f"{above}/".startswith(f"{at}/") and named_after_mappings(path) and path not in paths:
                paths[path] = name
        changes.after.load(paths)
        return paths

    def _generated(self, path: str, content: bytes) -> bool:
        if generated_header(content) is not None or declaration(path, self._declared) is not None:
            return True
        return bool(self._changes.marked_generated(path))


class _Tables(NamedTuple):
    """The tables of one file. One that has models of its own is about the classes `of` that it imports."""

    file: TableFile
    tables: list[RenameTable]
    model: _Model
    of: frozenset[str] | None


def _imported(tree: ast.Module) -> frozenset[str]:
    return frozenset(name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names)


def _only_for(name: str, table: RenameTable, file: TableFile) -> bool:
    """Whether a table is that of the model `name` and of no other: a second mention may share it or copy it."""
    if table.key != name:
        return False
    return sum(isinstance(node, ast.Constant) and node.value == name for node in ast.walk(file.tree)) == 1


def _owner(renamed: KeyChange) -> str:
    return (renamed.after.owner if renamed.after else "") or renamed.class_name


class _Model:
    """The module classes that the keys of a table can belong to, as they are after the change."""

    def __init__(self, classes: dict[str, ModuleClass]) -> None:
        self.classes = classes
        self.keys = StateKeys(classes)
        self._held: dict[str, set[str]] = {}
        for one in classes.values():
            for member in one.members:
                self._held.setdefault(member.key, set()).update(_classes(member))

    def family(self, owner: str) -> set[str]:
        """A class and those that extend it: all of them have its keys."""
        found = {owner}
        while more := {name for name, one in self.classes.items() if found.intersection(one.bases)} - found:
            found |= more
        return found

    def held(self, attribute: str) -> set[str]:
        """The classes of the modules that an attribute of that name holds, in itself or in a container."""
        return self._held.get(attribute, set())

    def holders(self, owner: str) -> set[str]:
        """The attributes that hold a class, or one that extends it."""
        family = self.family(owner)
        return {attribute for attribute, held in self._held.items() if held & family}

    def members(self, owner: str, key: str) -> list[Member]:
        """The members of a class that have a key."""
        return [member for member in self.classes[owner].members if member.key == key] if owner in self.classes else []

    def has(self, key: str) -> bool:
        """Whether any class has a member of that name."""
        return any(member.key == key for one in self.classes.values() for member in one.members)

    def paths(self, owner: str | None) -> Iterator[str]:
        """The keys of one class, or of all, each between dots."""
        for name in self.classes if owner is None else (owner,):
            yield from (f".{key.path}." for key in self.keys.of_class(name))


def _classes(member: Member) -> set[str]:
    found = {member.local or member.type_name.rpartition(".")[2]} - {""}
    return found.union(*(_classes(child) for child in member.children))


class _Form(NamedTuple):
    """How an entry spells one renamed member. `new_left`: its left side is the new name.

    `prefix` are the parts before the name; `rest` those after it, a tensor; `bordered` says that a dot ends it.
    `member` is the name on its new side, in the classes `places`.
    """

    entry: Entry
    new_left: bool
    anchored: bool
    prefix: tuple[str, ...]
    rest: str
    bordered: bool
    old: str
    member: str
    places: tuple[str, ...]


class _Writer:
    """One table, and the entry that would be added to it."""

    def __init__(
        self, renamed: KeyChange, others: Sequence[KeyChange], model: _Model, file: TableFile, table: RenameTable
    ) -> None:
        self.renamed, self.others, self.model = renamed, others, model
        self.file, self.table = file, table
        self.owner = _owner(renamed)

    def edit(self) -> Edit | None:
        """The edit that adds the entry to this table, if the table is one of this model's and all is certain."""
        table, renamed = self.table, self.renamed
        if table.foreign or any(_mentions(text, renamed.old, renamed.new) for text in table.strings):
            return None
        form = self._form()
        texts = self._texts(form) if form is not None and not self._collides(form) else None
        places = self.file.insertions(table, self._separator().join(texts)) if texts else None
        if not places:
            return None
        edit = Edit(self.file.path)
        for line, column, text in places:
            edit.insert(line, column, text)
        after = parse(apply_edits(self.file.text, edit.edits))
        return edit if not isinstance(after, SyntaxError) and handles_rename(after, renamed.old, renamed.new) else None

    def _separator(self) -> str:
        start = self.table.last[0]
        before = self.file.text[self.file.text.rfind("\n", 0, start) + 1 : start]
        return ", " if before.strip() else f",\n{before}"

    def _form(self) -> _Form | None:
        """The form of the last entry for the same owner; of any entry in a table of bare names."""
        read = [form for entry in self.table.entries if (form := self._read(entry)) is not None]
        if not read or len({form.new_left for form in read}) > 1 or (self.table.renames and read[0].new_left):
            return None
        own = [form for form in read if self._is_own(form)]
        if not own and not any(form.prefix for form in read):
            own = [form for form in read if not form.anchored and any(map(self.model.holders, form.places))]
        if len({(form.prefix, form.anchored) for form in own}) != 1:
            return None
        whole = [form for form in own if form.rest]
        return (whole or own)[-1]

    def _read(self, entry: Entry) -> _Form | None:
        """How an entry is spelt; None if it does not map one member of this model from another name."""
        left, right = _parts(entry.left.value), _parts(entry.right.value)
        if left is None or right is None or len(left) != len(right):
            return None
        apart = [at for at, (one, other) in enumerate(zip(left, right, strict=True)) if one != other]
        if len(apart) != 1 or not left[apart[0]].isidentifier() or not right[apart[0]].isidentifier():
            return None
        at = apart[0]
        prefix, rest = tuple(left[:at]), left[at + 1 :]
        tail = ".".join(part for part in rest if part)
        here, there = self._places(prefix, left[at], tail), self._places(prefix, right[at], tail)
        old, new = (right[at], left[at]) if here else (left[at], right[at])
        if bool(here) == bool(there) or self.model.has(old):
            return None
        anchored = entry.left.value.startswith("^") or entry.right.value.startswith("^")
        bordered = rest[-1:] == [""]
        return _Form(entry, bool(here), anchored, prefix, tail, bordered, old, new, here or there)

    def _places(self, prefix: Sequence[str], key: str, rest: str) -> tuple[str, ...]:
        """The classes in which a key is one of the present tree, under what its prefix says."""
        before = [part for part in prefix if part and part != HOLE]
        if any(part.isdigit() for part in before):
            return ()
        found: list[str] = []
        for name in self.model.held(before[-1]) if before else self.model.classes:
            for member in self.model.members(name, key):
                paths = [path.path.partition(".")[2] for path in self.model.keys.of_member(member)]
                if not rest or rest in paths:
                    found.append(name)
        return tuple(dict.fromkeys(found))

    def _is_own(self, form: _Form) -> bool:
        """Whether a form says for certain how the keys of the owner are spelt."""
        before = [part for part in form.prefix if part and part != HOLE]
        family = self.model.family(self.owner)
        if not before:
            return self.owner in form.places
        held = self.model.held(before[-1])
        return held <= family and self.model.holders(self.owner) == {before[-1]} and bool(family & set(form.places))

    def _collides(self, form: _Form) -> bool:
        """Whether the entry would also rename a key that is not meant."""
        prefixed = any(part for part in form.prefix)
        left = "." if form.prefix else ""
        right = "." if form.rest or form.bordered else ""
        text = f"{left}{self.renamed.old}{right}"
        if any(text in path for path in self.model.paths(self.owner if prefixed else None)):
            return True
        return any(one.old == self.renamed.old and one.new != self.renamed.new for one in self.others)

    def _texts(self, form: _Form) -> list[str] | None:
        """The texts of the entries: one for the member, or one for each of its tensors."""
        after = self.renamed.after
        if after is None:
            return None
        tensor = after.kind in ("parameter", "buffer")
        keys = self.model.keys.of_member(after)
        if not form.rest:
            known = {member.kind in ("parameter", "buffer") for member in self._like(form)}
            whole = known != {False} and not tensor
            return None if (tensor and form.bordered) or whole else self._rendered(form, [""])
        if not keys or any(key.path.endswith("*") or key.conditional or HOLE in key.path for key in keys):
            return None
        return self._rendered(form, [key.path.partition(".")[2] for key in keys])

    def _like(self, form: _Form) -> list[Member]:
        return [member for place in form.places for member in self.model.members(place, form.member)]

    def _rendered(self, form: _Form, rests: Sequence[str]) -> list[str] | None:
        """The text of the entry that has the form, with the names replaced: once for each rest of the key."""
        entry, text = form.entry, self.file.text
        names = [(form.old, self.renamed.old), (form.member, self.renamed.new)]
        if form.new_left:
            names.reverse()
        found: list[str] = []
        for rest in rests:
            left = self._literal(entry.left, *names[0], form.rest, rest)
            right = self._literal(entry.right, *names[1], form.rest, rest)
            if left is None or right is None:
                return None
            between, after = text[entry.left.end : entry.right.start], text[entry.right.end : entry.end]
            whole = text[entry.start : entry.left.start] + left + between + right + after
            if "#" in between + after:
                return None
            found.append(whole)
        return found

    def _literal(self, side: Side, name: str, other: str, old_rest: str, rest: str) -> str | None:
        """A string literal with one name in it replaced by another, and with it the tensor that follows."""
        match = _LITERAL.fullmatch(self.file.text, side.start, side.end)
        if match is None:
            return None
        inner = match["inner"]
        if old_rest:
            for dot in (".", r"\."):
                tail = dot.join([name, *old_rest.split(".")])
                if inner.endswith(tail):
                    inner = inner.removesuffix(tail) + dot.join([other, *filter(None, rest.split("."))])
                    return f"{match['open']}{inner}{match['quote']}"
            return None
        inner, count = re.subn(rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])", other, inner)
        return f"{match['open']}{inner}{match['quote']}" if count == 1 else None


def _parts(value: str) -> list[str] | None:
    """The parts of a key, or of a regular expression that is one but for numbers and borders; None for any other."""
    text = _ANY.sub(HOLE, value.replace("\\.", ".").removeprefix("^").removesuffix("$"))
    return text.split(".") if re.fullmatch(r"(?:[\w.]|\{\})*", text) else None


def _mentions(text: str, *names: str) -> bool:
    plain = re.sub(r"\\[bdswBDSW]", " ", text)
    return any(re.search(rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])", plain) for name in names)
