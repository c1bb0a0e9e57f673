"""The construction of one module class, followed statement by statement: what its attributes hold at the end.

The walk starts at ``__init__`` and follows ``super().__init__``, calls of the object's own methods and functions of the
same file, with the method that the class would really use. Methods that build by their name but that nothing
in the file calls (``setup``, ``configure_model``) are read last, and what they add is marked unsure.
"""

from __future__ import annotations

import ast
import re

from shardlint.facts import torch_layers
from shardlint.facts.key_pattern import HOLE, dotted, local_text, pattern
from shardlint.facts.literal_loop import literal_rounds, names_of
from shardlint.facts.module_index import inner_bodies
from shardlint.facts.module_made import Made, Scope, keyed
from shardlint.facts.module_registry import Entry, Registry, is_none, ordered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardlint.facts.module_index import Function, ModuleIndex
    from shardlint.facts.module_made import Kind

_BUILDS = re.compile(r"_*(build|init|setup|make|create|configure_model|add|register|update_layer)(_?[a-z]\w*)?")
_NO_BUILD = re.compile(r"_*(init|reset|register)_?(weights?|parameters|buffers?_?hooks?|hooks?)\w*|__init_subclass__")

_MAX_STEPS = 20_000
_MAX_DEPTH = 12


class Construction(Registry):
    """Follows the constructor of one class; what it registered is in `entries`."""

    def __init__(self, index: ModuleIndex, qualified: str) -> None:
        super().__init__(index, qualified)
        self._texts: dict[str, str] = {}
        self._entered: set[tuple[int, str]] = set()
        self._active: list[object] = []
        self._steps = 0

    def run(self) -> None:
        """Read the constructor, then the methods that build by their name and were not called from it."""
        self._initialise(0, None, None)
        self.sure = False
        for position, place in enumerate(self.lineage):
            for name, function in self.index.methods(place).items():
                if (
                    (position, name) in self._entered
                    or name == "__init__"
                    or self._find(name, 0) != (position, function)
                ):
                    continue
                if _BUILDS.fullmatch(name) and not _NO_BUILD.fullmatch(name) and not _is_static(function):
                    self._enter(function, position, None, None)

    def _find(self, name: str, start: int) -> tuple[int, Function] | None:
        for position in range(start, len(self.lineage)):
            function = self.index.methods(self.lineage[position]).get(name)
            if function is not None:
                return position, function
        return None

    def _initialise(self, start: int, call: ast.Call | None, scope: Scope | None) -> None:
        """Run the next ``__init__`` in the lineage: of a class of this file, or of a layer of torch."""
        for position in range(start, len(self.lineage)):
            place = self.lineage[position]
            if place.startswith("torch.nn.") and place not in self.index.classes:
                self._base_layer(place[9:], position, call, scope)
                return
            function = self.index.methods(place).get("__init__")
            if function is not None:
                self._enter(function, position, call, scope)
                return

    def _base_layer(self, name: str, position: int, call: ast.Call | None, scope: Scope | None) -> None:
        """``super().__init__(...)`` of a class that extends a layer or a container of torch."""
        owner = self.lineage[max(position - 1, 0)]
        node = call or ast.Call(ast.Name("super"), [], [], lineno=self._line_of(owner), col_offset=0)
        here = scope or Scope(owner, "", position)
        if name in ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"):
            made = self._container_base(name, node, here)
            for key, slot in keyed(made):
                for one in slot.made:
                    self.add(key, Entry(one, owner, node, slot.conditional, True, self.sure), slot.conditional)
            return
        layer = torch_layers.LAYERS.get(name)
        given = self.arguments(node, layer.arguments if layer else (), here) if call else {"**": ""}
        for tensor in torch_layers.tensors(name, given) or ():
            made = Made(node, tensor.kind, "Parameter" if tensor.kind == "parameter" else "Buffer")
            made.shape, made.sized = torch_layers.size_text(name, given), "**" not in given
            self.add(tensor.name, Entry(made, owner, node, tensor.conditional, True, self.sure), tensor.conditional)

    def _container_base(self, name: str, node: ast.Call, scope: Scope) -> Made:
        kind: Kind = "dict" if name.endswith("Dict") else "list" if name.endswith("List") else "sequential"
        made = self.new(node, kind, name)
        for argument in node.args:
            if made.kind == "dict":
                self.fill_dict(made, argument, scope)
            elif made.kind == "list":
                self.fill_list(made, [argument], scope)
            elif isinstance(argument, ast.Call) and dotted(argument.func).endswith("Dict"):
                self.fill_dict(made, argument, scope)
            else:
                self.append(made, argument, scope)
        return made

    def _line_of(self, place: str) -> int:
        definitions = self.index.classes.get(place)
        return definitions[0].lineno if definitions else 1

    def _enter(self, function: Function, position: int, call: ast.Call | None, caller: Scope | None) -> list[Made]:
        """Walk a method of the object with its arguments bound; what it returns."""
        self._entered.add((position, function.name))
        if function in self._active or len(self._active) > _MAX_DEPTH:
            return []
        place = self.lineage[position]
        scope = Scope(f"{place}.{function.name}", "", position)
        names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        if not _is_static(function) and names:
            scope.self_name = names[0]
            names = names[1:]
        self._bind(function, names, scope, call, caller)
        if caller is not None:
            scope.conditional, scope.repeat = caller.conditional, caller.repeat
        self._active.append(function)
        self._walk(function.body, scope)
        self._active.pop()
        if caller is not None:
            caller.texts.update(self._texts)
        return scope.returns

    def _bind(
        self, function: Function, names: Sequence[str], scope: Scope, call: ast.Call | None, caller: Scope | None
    ) -> None:
        scope.texts.update(self._texts)
        arguments = function.args
        bound: dict[str, ast.expr] = {}
        if call is not None:
            bound.update(zip(names, (one for one in call.args if not isinstance(one, ast.Starred)), strict=False))
            bound.update({word.arg: word.value for word in call.keywords if word.arg})
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = dict(zip([one.arg for one in positional][::-1], arguments.defaults[::-1], strict=False))
        defaults.update(
            {one.arg: value for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value}
        )
        for argument in (*positional, *arguments.kwonlyargs):
            name = argument.arg
            if name == scope.self_name:
                continue
            given = bound.get(name)
            if given is not None and caller is not None:
                self._bind_value(name, given, scope, caller)
            elif argument.annotation is not None and (
                made := self.declared(argument.annotation, argument.annotation, scope)
            ):
                scope.made[name] = made
            elif name in defaults and (refs := self.types(defaults[name], scope)):
                scope.types[name] = [ref._replace(certain=False) for ref in refs]

    def _bind_value(self, name: str, given: ast.expr, scope: Scope, caller: Scope) -> None:
        made = self.values(given, caller)
        if made:
            scope.made[name] = made
            return
        refs = self.types(given, caller)
        if refs:
            scope.types[name] = refs
            return
        string = pattern(given, caller.strings)
        if string is not None:
            scope.strings[name] = string
        found = local_text(given, caller.texts, caller.self_name)
        if found is not None:
            scope.texts[name] = found

    def call_method(self, name: str, call: ast.Call, scope: Scope) -> list[Made] | None:
        """Walk ``self.<name>(...)`` with the method that the whole class would use."""
        found = self._find(name, 0)
        if found is None or name == "forward":
            return None
        return self._enter(found[1], found[0], call, scope)

    def call_function(self, function: Function, call: ast.Call, scope: Scope) -> list[Made]:
        """Walk a function of the file for what it returns."""
        if function in self._active or len(self._active) > _MAX_DEPTH:
            return []
        inner = Scope(function.name, "", scope.position)
        if function.name in scope.functions:  # a function inside the method sees the method's names
            inner.self_name, inner.place = scope.self_name, scope.place
            inner.made, inner.types = dict(scope.made), dict(scope.types)
            inner.texts, inner.functions = dict(scope.texts), dict(scope.functions)
        names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        self._bind(function, names, inner, call, scope)
        inner.repeat = scope.repeat
        self._active.append(function)
        self._walk(function.body, inner)
        self._active.pop()
        return inner.returns

    def _walk(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        before = scope.conditional
        for statement in body:
            self._steps += 1
            if self._steps > _MAX_STEPS:
                self.complete = False
                break
            self._statement(statement, scope)
            if isinstance(statement, ast.If) and any(isinstance(last, ast.Return) for last in statement.body[-1:]):
                scope.conditional = True
        scope.conditional = before

    def _statement(self, statement: ast.stmt, scope: Scope) -> None:
        if isinstance(statement, ast.Assign):
            self._assign(statement.targets, statement.value, scope)
        elif isinstance(statement, ast.Expr):
            if isinstance(statement.value, ast.Call):
                self._effect(statement.value, scope)
        elif isinstance(statement, ast.AnnAssign):
            if statement.value is not None:
                self._assign([statement.target], statement.value, scope, statement.annotation)
        elif isinstance(statement, ast.If):
            self._branches(statement, scope)
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            self._loop(statement, scope)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            self._walk(statement.body, scope)
        elif isinstance(statement, ast.AugAssign):
            self.grow(statement, scope)
        elif isinstance(statement, ast.Return):
            if statement.value is not None:
                scope.returns += self.values(statement.value, scope)
        elif isinstance(statement, ast.Delete):
            for target in statement.targets:
                self._delete(target, scope)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            scope.functions[statement.name] = statement
        elif isinstance(statement, ast.While):
            self._repeated([statement.body], scope)
        elif isinstance(statement, (ast.Try, ast.Match)):
            for body in inner_bodies(statement):
                self._under_condition(body, scope)

    def _branches(self, statement: ast.If, scope: Scope) -> None:
        for node in ast.walk(statement.test):
            if isinstance(node, ast.NamedExpr):
                self.values(node, scope)
        self._under_condition(statement.body, scope)
        self._under_condition(statement.orelse, scope)

    def _under_condition(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        before, scope.conditional = scope.conditional, True
        outside = self.step_inside()
        self._walk(body, scope)
        self.where = outside
        scope.conditional = before

    def _repeated(self, bodies: Sequence[Sequence[ast.stmt]], scope: Scope) -> None:
        before, scope.repeat = scope.repeat, True
        outside = self.step_inside()
        for body in bodies:
            self._walk(body, scope)
        self.where = outside
        scope.repeat = before

    def _loop(self, statement: ast.For | ast.AsyncFor, scope: Scope) -> None:
        rounds = literal_rounds(statement.target, statement.iter)
        held = self.values(statement.iter, scope)
        for name in names_of(statement.target):
            scope.forget(name)
        inside = [made for one in held for slot in one.slots for made in slot.made]
        if inside:
            last = list(names_of(statement.target))[-1:]
            scope.made.update(dict.fromkeys(last, inside))
        if rounds is None:
            self._repeated([statement.body], scope)
        for strings in rounds or ():
            scope.strings.update(strings)
            self._walk(statement.body, scope)
        self._walk(statement.orelse, scope)

    def _assign(
        self,
        targets: Sequence[ast.expr],
        value: ast.expr,
        scope: Scope,
        annotation: ast.expr | None = None,
    ) -> None:
        first = targets[0]
        if (
            isinstance(first, (ast.Tuple, ast.List))
            and isinstance(value, (ast.Tuple, ast.List))
            and len(first.elts) == len(value.elts)
            and not any(isinstance(one, ast.Starred) for one in first.elts)
        ):
            for target, part in zip(first.elts, value.elts, strict=True):
                self._assign([target], part, scope)
            return
        made = self.values(value, scope)
        if not made and annotation is not None and not is_none(value) and isinstance(value, ast.Call):
            made = self.declared(value, annotation, scope)
            for one in made:
                one.sure = False
        for target in targets:
            if isinstance(target, ast.Name):
                self._assign_name(target.id, value, made, scope)
            elif isinstance(target, ast.Attribute):
                if isinstance(target.value, ast.Name) and target.value.id == scope.self_name:
                    self._assign_attribute(target, value, made, scope)
            elif isinstance(target, ast.Subscript):
                self.assign_item(target, value, scope)
            else:
                for name in names_of(target):
                    scope.forget(name)

    def _assign_name(self, name: str, value: ast.expr, made: list[Made], scope: Scope) -> None:
        kept = scope.made.get(name, []) if scope.conditional else []
        kept_types = scope.types.get(name, []) if scope.conditional else []
        scope.forget(name)
        refs = [] if made else self.types(value, scope)
        if made or (kept and not is_none(value)):
            scope.made[name] = [*(one for one in kept if one not in made), *made]
        elif kept:
            scope.made[name] = kept
        elif refs or kept_types:
            scope.types[name] = [*kept_types, *refs]
        string = pattern(value, scope.strings)
        if string is not None:
            scope.strings[name] = string
        if not scope.conditional and not scope.repeat and not made and not refs:
            scope.nodes[name] = value
            found = local_text(value, scope.texts, scope.self_name)
            if found is not None:
                scope.texts[name] = found

    def _assign_attribute(self, target: ast.Attribute, value: ast.expr, made: list[Made], scope: Scope) -> None:
        registered = [one for one in made if one.registers]
        name = target.attr
        if registered:
            either = len(registered) > 1 or isinstance(value, (ast.IfExp, ast.BoolOp))
            self.put(name, registered, target, scope, scope.conditional or either, scope.conditional)
            return
        if is_none(value):
            if not scope.conditional:
                self.entries.pop(name, None)
            return
        self._texts.pop("self." + name, None)
        scope.texts.pop("self." + name, None)
        if not made and not isinstance(value, ast.Constant):
            self.unread.add(name)
        if made:
            self.plain[name] = made
        elif refs := self.types(value, scope):
            self.self_types[name] = refs
        elif not scope.conditional and not scope.repeat and not name.startswith("_"):
            found = local_text(value, scope.texts, scope.self_name)
            if found is not None:
                self._texts["self." + name] = scope.texts["self." + name] = found

    def _delete(self, target: ast.expr, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.forget(target.id)
        elif isinstance(target, ast.Attribute) and dotted(target.value) == scope.self_name:
            self.remove(target.attr, scope)

    def _effect(self, call: ast.Call, scope: Scope) -> None:
        """A call that stands for itself: it may register, append, or run another method."""
        func = call.func
        if isinstance(func, ast.Name):
            if func.id in ("setattr", "delattr"):
                self.set_by_name(call, scope, func.id == "delattr")
            elif func.id in scope.functions:
                self.call_function(scope.functions[func.id], call, scope)
            return
        if not isinstance(func, ast.Attribute):
            return
        if isinstance(func.value, ast.Call) and isinstance(func.value.func, ast.Name) and func.value.func.id == "super":
            self._super(func.attr, call, scope)
        elif isinstance(func.value, ast.Name) and func.value.id == scope.self_name and scope.self_name:
            self._self_call(func.attr, call, scope)
        elif func.attr == "__init__":
            self._base_init(func.value, call, scope)
        else:
            for held in self.values(func.value, scope):
                self.container_call(held, func.attr, call, scope)

    def _super(self, name: str, call: ast.Call, scope: Scope) -> None:
        if name == "__init__":
            self._initialise(scope.position + 1, call, scope)
        elif name == "__setattr__":
            self.register(call.args, call, scope)
        elif (found := self._find(name, scope.position + 1)) is not None:
            self._enter(found[1], found[0], call, scope)

    def _base_init(self, base: ast.expr, call: ast.Call, scope: Scope) -> None:
        """``Base.__init__(self, ...)``."""
        for ref in self.types(base, scope):
            place = ref.local or ref.target
            if place in self.lineage and call.args:
                rest = ast.copy_location(ast.Call(call.func, call.args[1:], call.keywords), call)
                self._initialise(self.lineage.index(place), rest, scope)

    def _self_call(self, name: str, call: ast.Call, scope: Scope) -> None:
        if name in ("register_parameter", "register_module", "add_module", "register_buffer", "__setattr__"):
            self.register(ordered(call, ("name",), ("param", "module", "tensor", "value")), call, scope)
        elif name == "__delattr__":
            self.set_by_name(ast.copy_location(ast.Call(call.func, [call.func, *call.args], []), call), scope, True)
        elif (found := self._find(name, 0)) is not None:
            self._enter(found[1], found[0], call, scope)
        elif name in ("append", "extend", "insert", "update"):  # a class that is itself a container
            for argument in call.args[-1:]:
                for one in self.values(argument, scope):
                    self.put(HOLE, [one], call, scope, scope.conditional, True)


def _is_static(function: Function) -> bool:
    return any(
        isinstance(mark, ast.Name) and mark.id in ("staticmethod", "classmethod") for mark in function.decorator_list
    )
