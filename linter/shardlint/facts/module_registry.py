"""What a module object has registered so far, and the statements that register, append and remove."""

from __future__ import annotations

import ast

from shardlint.facts.key_pattern import HOLE, dotted, pattern
from shardlint.facts.module_made import Made, Scope, Slot
from shardlint.facts.module_values import Values
from shardlint.facts.tensor_size import persistence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardlint.facts.module_index import ModuleIndex


class Entry:
    """One way in which an attribute got its value."""

    __slots__ = ("column", "conditional", "line", "made", "owner", "persistent", "sure")

    def __init__(
        self, made: Made, owner: str, node: ast.expr | None, conditional: bool, persistent: bool, sure: bool
    ) -> None:
        self.made = made
        self.owner = owner
        self.line = node.lineno if node else made.line
        self.column = node.col_offset + 1 if node else made.column
        self.conditional = conditional
        self.persistent = persistent
        self.sure = sure


class Registry(Values):
    """The attributes of one object of one class.

    `entries` maps keys to what they may hold; `complete` is False when a key could not be read; `plain` holds lists
    and dicts that are attributes but not registered; `unread` names attributes whose value may be a module and was not
    understood; `sure` is False while code is read that may never run.
    """

    def __init__(self, index: ModuleIndex, qualified: str) -> None:
        super().__init__(index)
        self.lineage = index.lineage(qualified)
        self.entries: dict[str, list[Entry]] = {}
        self.complete = True
        self.plain: dict[str, list[Made]] = {}
        self.unread: set[str] = set()
        self.sure = True

    def attribute(self, name: str) -> list[Made]:
        """What ``self.<name>`` holds so far."""
        entries = self.entries.get(name)
        if entries:
            return [entry.made for entry in entries]
        return self.plain.get(name, [])

    def put(self, key: str, made: Sequence[Made], node: ast.expr, scope: Scope, conditional: bool, keep: bool) -> None:
        """Register `made` under `key`. `keep` leaves what is there as an alternative."""
        owner = self.lineage[min(scope.position, len(self.lineage) - 1)]
        for place, one in enumerate(made):
            persistent = one.persistent is not False
            entry = Entry(one, owner, node, conditional or one.persistent is None, persistent, self.sure and one.sure)
            self.add(key, entry, keep or place > 0)

    def add(self, key: str, entry: Entry, keep: bool) -> None:
        entries = self.entries.get(key)
        if not keep or not entries:
            self.entries.pop(key, None)
            self.entries[key] = [entry]
            return
        for other in entries:
            other.conditional = True
        entries.append(entry)

    def remove(self, key: str, scope: Scope) -> None:
        if scope.conditional:
            for entry in self.entries.get(key, ()):
                entry.conditional = True
        else:
            self.entries.pop(key, None)

    def register(self, arguments: Sequence[ast.expr], call: ast.Call, scope: Scope) -> None:
        if len(arguments) < 2:
            return
        key, value = pattern(arguments[0], scope.strings), arguments[1]
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if key is None or key == HOLE:
            key = HOLE
            self.complete = False
        if is_none(value):
            if not scope.conditional:
                self.entries.pop(key, None)
            return
        if name == "register_buffer":
            made = Made(value, "buffer", "buffer")
            made.shape, made.sized = self.sizes.read(value, scope)
            made.persistent = persistence(call, 2)
            self.put(key, [made], call, scope, scope.conditional or isinstance(value, ast.IfExp), scope.conditional)
            return
        made_list = [one for one in self.values(value, scope) if one.registers]
        if not made_list and name != "__setattr__":
            made = Made(value, "parameter" if name == "register_parameter" else "module", "")
            made.opaque = made.kind == "module"
            made_list = [made]
        if made_list:
            self.put(key, made_list, call, scope, scope.conditional or len(made_list) > 1, scope.conditional)

    def set_by_name(self, call: ast.Call, scope: Scope, delete: bool) -> None:
        """``setattr(self, name, value)`` and ``delattr(self, name)``."""
        if len(call.args) < 2 or not scope.self_name:
            return
        owner = call.args[0]
        if not delete and not (isinstance(owner, ast.Name) and owner.id == scope.self_name):
            return
        key = pattern(call.args[1], scope.strings)
        if delete:
            if key is not None and dotted(owner).split(".")[0] == scope.self_name:
                self.remove(key, scope)
            return
        made = [one for one in self.values(call.args[2], scope) if one.registers] if len(call.args) > 2 else []
        if made:
            if key is None or key == HOLE:
                self.complete = False
            self.put(key or HOLE, made, call, scope, scope.conditional or len(made) > 1, scope.conditional)

    def assign_item(self, target: ast.Subscript, value: ast.expr, scope: Scope) -> None:
        """``self.blocks[name] = layer``."""
        for held in self.values(target.value, scope) if not isinstance(target.value, ast.Subscript) else ():
            if held.kind in ("dict",):
                key = pattern(target.slice, scope.strings) or HOLE
                if not self.append(held, value, scope, key):
                    self._unread(held, key, value)
            elif held.kind in ("list", "sequential") and held.slots:
                # Which entry is replaced is not known: the new one is an alternative to all.
                found = self.values(value, scope)
                if found:
                    held.slots.append(Slot(found, None, True, True))

    def _unread(self, held: Made, key: str | None, value: ast.expr) -> None:
        """An entry that makes no module: a plain tensor in a ParameterList or ParameterDict becomes a parameter."""
        if is_none(value) or not held.registers:
            held.opaque = held.opaque or not is_none(value)
        elif held.type_name.endswith(("ParameterList", "ParameterDict")):
            held.slots.append(
                Slot([Made(value, "parameter", "Parameter", sure=False)], key, False, held.where != self.where)
            )
        else:
            held.opaque = True

    def container_call(self, held: Made, name: str, call: ast.Call, scope: Scope) -> None:
        """``blocks.append(layer)`` and its like, on containers of torch and of Python."""
        if name in ("append", "insert") and call.args:
            if not self.append(held, call.args[-1], scope):
                self._unread(held, None, call.args[-1])
            for slot in held.slots if name == "insert" else ():
                slot.repeat = True
        elif name == "extend" and call.args:
            held.opaque = not self.fill_list(held, call.args[:1], scope) or held.opaque
        elif name == "update" and call.args:
            held.opaque = not self.fill_dict(held, call.args[0], scope) or held.opaque
        elif name in ("add_module", "register_module", "register_parameter", "setdefault"):
            parts = ordered(call, ("name",), ("module", "param"))
            if len(parts) > 1 and held.registers:
                key = pattern(parts[0], scope.strings) or HOLE
                if not self.append(held, parts[1], scope, key):
                    self._unread(held, key, parts[1])

    def grow(self, statement: ast.AugAssign, scope: Scope) -> None:
        """``layers += [...]``."""
        grown = self.values(statement.target, scope)
        for made in grown:
            if made.kind in ("list", "sequential") and not self.fill_list(made, [statement.value], scope):
                made.opaque = True
        if not grown and isinstance(statement.target, ast.Name):
            scope.forget(statement.target.id)


def ordered(call: ast.Call, *names: tuple[str, ...]) -> list[ast.expr]:
    """Positional arguments, completed by keywords of these names in this order."""
    found = list(call.args)
    for place, allowed in enumerate(names):
        if len(found) <= place:
            found += [word.value for word in call.keywords if word.arg in allowed][:1]
    return found


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
