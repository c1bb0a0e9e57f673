"""The module tree of one file: its module classes and what each attribute of them puts into a state dict.

Read from syntax alone: nothing is imported or run. What could not be read is marked, never guessed.
"""

from __future__ import annotations

import ast
from typing import Literal, NamedTuple

from shardlint.facts.module_construction import Construction
from shardlint.facts.module_index import ModuleIndex, torch_name
from shardlint.facts.module_made import keyed
from shardlint.facts.module_registry import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.facts.module_index import Link
    from shardlint.facts.torch_layers import Tensor

_MAX_NESTING = 12
"""Containers inside containers that are followed: one that holds itself must not be followed for ever."""


class Member(NamedTuple):
    """One entry of a module's parameters, buffers or submodules.

    Attributes:
        key: the attribute's name, or a pattern (``block_{}``) where a loop or an f-string makes it.
        kind: what holds it; "list" is a ModuleList or ParameterList, "dict" their counterparts by name.
        line, column: where it is registered, both from 1.
        owner: the class of the file whose code registers it.
        persistent: False for a buffer that the state dict leaves out.
        type_name: the class that makes it, as written.
        local: the qualified name of that class if it is a class of the same file, else "".
        shape: the arguments that make it, normalised: with their names, locals replaced by what they stand for.
        sized: whether `shape` holds sizes of tensors and nothing else.
        conditional: whether it is registered on some paths only, or in alternatives that share the key.
        sure: False where a name alone says that this is a module.
        opaque: whether there may be tensors below it that are not known.
        tensors: the tensors of a built-in layer of torch.
        children: the entries of a container.
    """

    key: str
    kind: Literal["parameter", "buffer", "module", "list", "dict", "sequential"]
    line: int
    column: int
    owner: str
    persistent: bool
    type_name: str
    local: str
    shape: str
    sized: bool
    conditional: bool
    sure: bool
    opaque: bool
    tensors: tuple[Tensor, ...]
    children: tuple[Member, ...]


class ModuleClass(NamedTuple):
    """One module class. `name` is qualified (``Outer.Inner``); `known` is False where only names say it is a module.

    `members` come in the order of registration, bases first; one key may come twice, as alternatives. `inherited` are
    those that classes of other files add; what they hold of their own file's classes is opaque. `open_bases` are bases
    outside of the file that were not found. `complete` is False when something is registered under a name that cannot
    be read. `unread` names attributes whose value was not understood: any of them may be a module.
    """

    name: str
    line: int
    bases: tuple[str, ...]
    known: bool
    members: tuple[Member, ...]
    open_bases: tuple[str, ...]
    complete: bool
    unread: frozenset[str] = frozenset()
    inherited: tuple[Member, ...] = ()


def module_classes(tree: ast.Module, link: Link | None = None) -> dict[str, ModuleClass]:
    """Every class of the file that is a torch module, by qualified name, in the order of the file.

    Args:
        link: gives the module class that a dotted name of another file stands for; None for one that is not known.
    """
    index = ModuleIndex(tree, link)
    found: dict[str, ModuleClass] = {}
    for name, definitions in index.classes.items():
        known = index.known(name)
        if known == "no":
            continue
        construction = Construction(index, name)
        construction.run()
        members = tuple(_member(key, entry) for key, entries in construction.entries.items() for entry in entries)
        foreign, open_bases = _outer_bases(index, construction.lineage)
        found[name] = ModuleClass(
            name=name,
            line=definitions[-1].lineno,
            bases=tuple(base.written for base in index.bases(name)),
            known=known == "yes",
            members=members,
            open_bases=open_bases,
            complete=construction.complete and all(one.complete for one in foreign),
            unread=frozenset(construction.unread).union(*(one.unread for one in foreign)),
            inherited=_inherited(foreign, {member.key for member in members}),
        )
    return found


def _outer_bases(index: ModuleIndex, lineage: list[str]) -> tuple[list[ModuleClass], tuple[str, ...]]:
    """The module classes of other files that a class extends, and the bases that are not known."""
    linked: list[ModuleClass] = []
    unknown: dict[str, None] = {}
    for place in lineage:
        for base in index.bases(place) if place in index.classes else ():
            if base.local or torch_name(base.target):
                continue
            found = index.linked(base)
            if found is None:
                unknown[base.written] = None
            else:
                linked.append(found)
                unknown.update(dict.fromkeys(found.open_bases))
    return linked, tuple(unknown)


def _inherited(foreign: list[ModuleClass], own: set[str]) -> tuple[Member, ...]:
    """What classes of other files add, nearest first; a key that a nearer class registers hides the farther one."""
    found: list[Member] = []
    hidden = set(own)
    for one in foreign:
        added = [member for member in (*one.inherited, *one.members) if member.key not in hidden]
        hidden.update(member.key for member in added)
        found += [_detached(member) for member in added]
    return tuple(found)


def _detached(member: Member) -> Member:
    """A member without the classes of its file, which another file knows nothing of."""
    children = tuple(_detached(child) for child in member.children)
    return member._replace(local="", opaque=member.opaque or bool(member.local), children=children)


def _member(key: str, entry: Entry, depth: int = 0) -> Member:
    made = entry.made
    children: dict[tuple[str, str, str, str], Member] = {}
    for child_key, slot in keyed(made) if depth < _MAX_NESTING else ():
        for one in slot.made:
            if one.registers:
                sure, persistent = entry.sure and one.sure, one.persistent is not False
                child = _member(child_key, Entry(one, entry.owner, None, slot.conditional, persistent, sure), depth + 1)
                children.setdefault((child_key, one.type_name, one.local, child.shape), child)
    return Member(
        key=key,
        kind=made.kind,
        line=entry.line,
        column=entry.column,
        owner=entry.owner,
        persistent=entry.persistent,
        type_name=made.type_name,
        local=made.local,
        shape=made.shape,
        sized=made.sized,
        conditional=entry.conditional,
        sure=entry.sure,
        opaque=made.opaque or depth >= _MAX_NESTING,
        tensors=made.tensors,
        children=tuple(children.values()),
    )
