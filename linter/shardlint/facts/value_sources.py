"""Where a value comes from, through names, attributes, factories, registries and calls of the whole project.

A source is an expression that cannot be followed further: the call of a class or of something outside of the project,
an import, a definition, a literal. All sources of a value are found, or none: what cannot be told is `Unresolved`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shardlint.facts.matching import last_part
from shardlint.facts.module import FUNCTIONS, Binding, FunctionNode, Module
from shardlint.facts.names import bindings_at, resolve, self_class, self_values
from shardlint.facts.project_modules import Definition, ProjectModules, Untold

_DEPTH = 24
"""Steps from a value to its source; a longer way is not followed."""

_MOST = 8
"""Alternatives of one value: with more of them, which one holds where cannot be told."""

_WRAPPERS = {
    "peft.get_peft_model": ("model", 0),
    "peft.prepare_model_for_kbit_training": ("model", 0),
    "torch.compile": ("model", 0),
    "copy.deepcopy": ("x", 0),
}
"""Functions that give back what they are handed, with that argument. Source: their documentation."""

_CHANGES = ("update", "setdefault", "pop", "popitem", "clear")
"""Methods that change a dict."""

_TRANSPARENT = frozenset(
    ("staticmethod", "classmethod", "functools.cache", "functools.lru_cache", "typing.no_type_check")
)
"""Decorators under which a function still gives what its `return` says."""


class Unresolved(Exception):
    """A value whose sources are not all known; `text` is the expression where the way ends, in line `line`."""

    def __init__(self, module: Module, node: ast.AST) -> None:
        self.text = module.source(node) if isinstance(node, ast.expr) else ""
        self.path = module.path
        self.line: int = getattr(node, "lineno", 1)
        super().__init__(self.text)


class Frame(NamedTuple):
    """One call on the way: what the parameters of `function` were given, in the file of the caller.

    For a class it is the call that makes the object: its `__init__`, or the class itself where a decorator writes one.
    """

    function: FunctionNode | ast.ClassDef
    call: ast.Call
    caller: Module
    outer: Frame | None


Calling = tuple[Module, ast.Call, Frame | None]
"""A call, in its file, on its own way."""


class Source(NamedTuple):
    """An expression in its file. `definition` is the class or function of the project behind it, where there is one."""

    module: Module
    node: ast.expr
    frame: Frame | None = None
    definition: Definition | None = None


def sources(value: Source) -> list[Source]:
    """All expressions that a value may come from, nearest alternatives first. Raises Unresolved."""
    return _Search(value.module).of(value, 0)


def item_sources(value: Source, key: str) -> list[Source] | None:
    """The sources of an entry of a dict by its literal key; None if no such entry is there. Raises Unresolved."""
    search = _Search(value.module)
    found = search.items(value, key, 0)
    return None if found is None else [source for one in found for source in search.of(one, 1)]


class _Search:
    def __init__(self, module: Module) -> None:
        self.modules: ProjectModules = module.project().modules
        self.modules.adopt(module)
        self._active: set[tuple[ast.AST, Frame | None]] = set()

    def of(self, value: Source, depth: int) -> list[Source]:
        """The sources of one expression."""
        place = (value.node, value.frame)
        if depth > _DEPTH or place in self._active:
            raise Unresolved(value.module, value.node)
        self._active.add(place)
        try:
            found = self._step(value, depth)
        finally:
            self._active.discard(place)
        if len(found) > _MOST:
            raise Unresolved(value.module, value.node)
        return found

    def _all(self, values: list[Source], depth: int) -> list[Source]:
        return [source for value in values for source in self.of(value, depth + 1)]

    def _step(self, value: Source, depth: int) -> list[Source]:
        module, node, frame, _ = value
        if isinstance(node, ast.Call):
            return self._call(value, node, depth)
        if isinstance(node, ast.Name):
            return self._name(value, node, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(value, node, depth)
        if isinstance(node, ast.IfExp):
            return self._all([Source(module, arm, frame) for arm in (node.body, node.orelse)], depth)
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            found = self._all([Source(module, arm, frame) for arm in node.values], depth)
            return [one for one in found if not _is_none(one.node)] or found
        if isinstance(node, ast.NamedExpr):
            return self.of(Source(module, node.value, frame), depth + 1)
        if isinstance(node, ast.Subscript):
            return self._item(value, node, depth)
        if isinstance(node, (ast.Dict, ast.Constant, ast.Lambda, ast.List, ast.Tuple)):
            return [value]
        raise Unresolved(module, node)

    def _item(self, value: Source, node: ast.Subscript, depth: int) -> list[Source]:
        """An item: of a dict, of a registry; of something from elsewhere it is the item itself."""
        owners = self.of(Source(value.module, node.value, value.frame), depth + 1)
        if last_part(node.value) in _changed(value.module) and isinstance(node.value, (ast.Name, ast.Attribute)):
            raise Unresolved(value.module, node)
        if owners and all(_from_elsewhere(owner) for owner in owners):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            found = self.modules.registered(last_part(node.value), key) if isinstance(key, str) else None
            return [value._replace(definition=found)]
        key = self._text(Source(value.module, node.slice, value.frame), depth)
        inner = [self._entry(owner, key, depth) for owner in owners if owner.definition is None]
        if inner and len(inner) == len(owners) and None not in inner:
            return self._all([one for entry in inner for one in entry or ()], depth)
        return [self._registered(value, node.value, key)]

    def _call(self, value: Source, node: ast.Call, depth: int) -> list[Source]:
        module, _, frame, _ = value
        names = resolve(module, node.func).names
        name = names[0] if len(names) == 1 else ""
        if name in _WRAPPERS:
            given = argument(node, *_WRAPPERS[name])
            if given is None:
                raise Unresolved(module, node)
            return self.of(Source(module, given, frame), depth + 1)
        if name == "functools.partial" and node.args:
            # `partial` around a known thing is that thing with some arguments fixed.
            return [value._replace(definition=self._one_definition(Source(module, node.args[0], frame), depth))]
        looked_up = self._lookup(value, node, depth)
        if looked_up is not None:
            return looked_up
        definition = self._callee(value, node, name, depth)
        if definition is None:
            return [value]
        if isinstance(definition.node, ast.ClassDef):
            return [value._replace(definition=definition)]
        return self._all(self._returned(value, node, definition), depth)

    def _lookup(self, value: Source, node: ast.Call, depth: int) -> list[Source] | None:
        """`REGISTRY.get("name")`, `table.get("name")`: what stands under the name; None where the call is no lookup."""
        func = node.func
        if not isinstance(func, ast.Attribute) or func.attr not in ("get", "pop") or not node.args:
            return None
        owner = Source(value.module, func.value, value.frame)
        key = self._text(Source(value.module, node.args[0], value.frame), depth)
        try:
            found = self.items(owner, key, depth + 1)
        except Unresolved:
            found = None
        return self._all(found, depth) if found is not None else [self._registered(value, func.value, key)]

    def _callee(self, value: Source, node: ast.Call, name: str, depth: int) -> Definition | None:
        """The function or class of the project that a call enters; None for one from elsewhere."""
        if name:
            found = self.modules.definition(name, value.module)
            if found is None or isinstance(found.node, (*FUNCTIONS, ast.ClassDef)):
                return found
        return self._one_definition(Source(value.module, node.func, value.frame), depth)

    def _one_definition(self, value: Source, depth: int) -> Definition | None:
        """The only definition of the project that a value is; None if it is from elsewhere. Raises Unresolved."""
        found = self.of(value, depth + 1)
        if len(found) != 1:
            raise Unresolved(value.module, value.node)
        one = found[0]
        if one.definition is None and isinstance(one.node, ast.Lambda):
            raise Unresolved(one.module, one.node)
        return one.definition

    def _returned(self, value: Source, node: ast.Call, definition: Definition) -> list[Source]:
        """What a function gives back, with its parameters bound by the call."""
        function = definition.node
        assert isinstance(function, FUNCTIONS)
        module = definition.module
        marks = [
            resolve(module, mark.func if isinstance(mark, ast.Call) else mark).names for mark in function.decorator_list
        ]
        plain = all(len(names) == 1 and names[0].removeprefix("builtins.") in _TRANSPARENT for names in marks)
        if not plain or not isinstance(function, ast.FunctionDef) or self._replaced(value, node, definition):
            raise Unresolved(value.module, node)
        own = [one for one in ast.walk(function) if module.function(one) is function]
        if any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in own):
            raise Unresolved(value.module, node)
        results = [one.value for one in own if isinstance(one, ast.Return)]
        if not results or any(result is None for result in results):
            raise Unresolved(value.module, node)
        frame = Frame(function, node, value.module, value.frame)
        return [Source(module, result, frame) for result in results if result is not None]

    def _replaced(self, value: Source, node: ast.Call, definition: Definition) -> bool:
        """Whether `self.build()` may run the method of a class that extends the one where it was found."""
        function = definition.node
        if not isinstance(definition.module.parent(function), ast.ClassDef) or not isinstance(function, FUNCTIONS):
            return False
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if not isinstance(owner, ast.Name) or self_class(value.module, owner) is None:
            return False
        return value.module.project().count(function.name, rf"def\s+{function.name}\b") > 1

    def _name(self, value: Source, node: ast.Name, depth: int) -> list[Source]:
        module = value.module
        found = bindings_at(module, node)
        if found is None:
            names = resolve(module, node).names  # from a star import
            if len(names) == 1:
                return self._named(value, names[0], depth)
            raise Unresolved(module, node)
        bindings, others = found
        kept = [one for one in bindings if not (one.exact and _is_none(one.value))] or bindings
        if others or not kept:
            raise Unresolved(module, node)
        result: list[Source] = []
        for binding in kept:
            result += self._bound(value, node, binding, depth)
        return result

    def _bound(self, value: Source, node: ast.Name, binding: Binding, depth: int) -> list[Source]:
        module, _, frame, _ = value
        if binding.kind in ("import", "def", "class"):
            names = resolve(module, node).names
            if binding.kind == "import" and binding.target is not None:
                return self._named(value, binding.target, depth)
            return self._named(value, names[0], depth) if len(names) == 1 else [value]
        if binding.kind in ("assign", "walrus") and binding.value is not None:
            if binding.exact:
                return self.of(Source(module, binding.value, frame), depth + 1)
            return self._unpacked(value, node, binding, depth)
        if binding.kind == "param" and isinstance(binding.node, ast.arg):
            return self._parameter(value, node, binding.node, depth)
        raise Unresolved(module, node)

    def _named(self, value: Source, name: str, depth: int) -> list[Source]:
        """A dotted name: a definition of the project, what a file of it gives the name, or something from elsewhere."""
        found = self.modules.definition(name, value.module)
        if found is None or isinstance(found.node, (*FUNCTIONS, ast.ClassDef)):
            return [value._replace(definition=found)]
        return self.of(Source(found.module, found.node), depth + 1)

    def _unpacked(self, value: Source, node: ast.Name, binding: Binding, depth: int) -> list[Source]:
        """One name of `a, b = f()`: that part of every tuple that the function gives back."""
        place, given = binding.node, binding.value
        targets = place.targets if isinstance(place, ast.Assign) else []
        tuples = [one for one in targets if isinstance(one, (ast.Tuple, ast.List))]
        if len(tuples) != 1 or given is None or any(isinstance(one, ast.Starred) for one in tuples[0].elts):
            raise Unresolved(value.module, node)
        at = [number for number, one in enumerate(tuples[0].elts) if isinstance(one, ast.Name) and one.id == node.id]
        results = self.of(Source(value.module, given, value.frame), depth + 1)
        found: list[Source] = []
        for one in results:
            whole = one.node
            if len(at) != 1 or not isinstance(whole, ast.Tuple) or len(whole.elts) != len(tuples[0].elts):
                raise Unresolved(value.module, node)
            found += self.of(Source(one.module, whole.elts[at[0]], one.frame), depth + 1)
        return found

    def _attribute(self, value: Source, node: ast.Attribute, depth: int) -> list[Source]:
        module = value.module
        owner = self_class(module, node.value) if isinstance(node.value, ast.Name) else None
        if owner is not None:
            given = [Source(module, one, value.frame) for one in self_values(module, owner, node.attr)]
            given = given or self._of_bases(module, owner, node.attr)
            given = [one for one in given if not _is_none(one.node)] or given
            if (given or node.attr in _fields(owner)) and self._set_elsewhere(module, owner, node.attr):
                raise Unresolved(module, node)
            if given:
                return self._all(given, depth)
            if node.attr in _fields(owner):
                return self._field(value, node, owner, depth)
        names = resolve(module, node).names
        return self._named(value, names[0], depth) if len(names) == 1 else self._member(value, node, depth)

    def _set_elsewhere(self, module: Module, owner: ast.ClassDef, attribute: str) -> bool:
        """Whether a class that extends this one gives the attribute a value, or whoever has an object of it may."""
        return module.project().sets(owner.name, attribute) or self.modules.gives(owner, attribute)

    def _member(self, value: Source, node: ast.Attribute, depth: int) -> list[Source]:
        """An attribute of an object: what its class gives it; where that is from elsewhere, the attribute itself."""
        found: list[Source] = []
        for owner in self.of(Source(value.module, node.value, value.frame), depth + 1):
            if _from_elsewhere(owner):
                found.append(value)
                continue
            made = constructed(owner)
            if made is None or made.definition is None or not isinstance(made.definition.node, ast.ClassDef):
                raise Unresolved(value.module, node)
            given = self_values(made.module, made.definition.node, node.attr)
            if not given:
                raise Unresolved(value.module, node)
            found += self._all([Source(made.module, one, made.frame) for one in given], depth)
        return found

    def _field(self, value: Source, node: ast.Attribute, owner: ast.ClassDef, depth: int) -> list[Source]:
        """What a field of a dataclass was given by the call that made the object, or by every such call."""
        module, _, frame, _ = value
        fields = _fields(owner)
        # A base may have fields of its own, which come first.
        position = fields.index(node.attr) if not owner.bases else None
        if frame is not None and frame.function is owner:
            made: Iterable[Calling] = [(frame.caller, frame.call, frame.outer)]
        else:
            made = self._calls(Definition(module, owner), module, node)
        found: list[Source] = []
        for caller, call, outer in made:
            given = argument(call, node.attr, position)
            if given is None:
                raise Unresolved(caller, call)
            found += self.of(Source(caller, given, outer), depth + 1)
        return found

    def _calls(self, of: Definition, module: Module, node: ast.expr) -> Iterator[Calling]:
        """Every call of a function or class, at least one. Raises Unresolved where they are not all known."""
        none = True
        try:
            for caller, call in self.modules.calls(of):
                none = False
                yield caller, call, None
        except Untold:
            raise Unresolved(module, node) from None
        if none:
            raise Unresolved(module, node)

    def _of_bases(self, module: Module, owner: ast.ClassDef, attribute: str) -> list[Source]:
        """What the bases of a class in other files give an attribute."""
        found: list[Source] = []
        for base in owner.bases:
            for name in resolve(module, base).names:
                defined = self.modules.definition(name, module)
                if defined is not None and isinstance(defined.node, ast.ClassDef) and defined.module is not module:
                    values = self_values(defined.module, defined.node, attribute)
                    found += [Source(defined.module, one) for one in values]
        return found

    def _parameter(self, value: Source, node: ast.Name, parameter: ast.arg, depth: int) -> list[Source]:
        """What a parameter is given: by the call on the way here, or by every call of the function there is."""
        module, _, frame, _ = value
        function = next((at for at in module.ancestors(parameter) if isinstance(at, FUNCTIONS)), None)
        if function is None:
            raise Unresolved(module, node)
        if frame is not None and frame.function is function:
            return self._given(value, node, function, (frame.caller, frame.call, frame.outer), depth)
        owner = module.parent(function)
        called: FunctionNode | ast.ClassDef = function
        if isinstance(owner, ast.ClassDef) and function.name == "__init__":
            called = owner
        elif function.decorator_list:
            raise Unresolved(module, node)
        found: list[Source] = []
        for made in self._calls(Definition(module, called), module, node):
            found += self._given(value, node, function, made, depth)
        return found

    def _given(
        self,
        value: Source,
        node: ast.Name,
        function: FunctionNode,
        made: Calling,
        depth: int,
    ) -> list[Source]:
        """The sources of the argument that one call gives a parameter, or of the parameter's default."""
        caller, call, outer = made
        names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
        in_class = isinstance(value.module.parent(function), ast.ClassDef)
        marks = [mark.id for mark in function.decorator_list if isinstance(mark, ast.Name)]
        if in_class and "staticmethod" not in marks:
            if "classmethod" not in marks and self._is_class(caller, call.func):
                raise Unresolved(caller, call)  # `Class.method(object, ...)`
            names = names[1:]
        position = names.index(node.id) if node.id in names else None
        given = argument(call, node.id, position)
        if given is not None:
            return self.of(Source(caller, given, outer), depth + 1)
        spread = [keyword.value for keyword in call.keywords if keyword.arg is None]
        for one in spread:
            found = self.items(Source(caller, one, outer), node.id, depth + 1)
            if found is not None:
                return self._all(found, depth)
        default = _default(function, node.id)
        if default is None or any(isinstance(one, ast.Starred) for one in call.args):
            raise Unresolved(caller, call)
        return self.of(Source(value.module, default), depth + 1)

    def _is_class(self, module: Module, method: ast.expr) -> bool:
        """Whether a method is taken from a class by its name."""
        owners = resolve(module, method.value).names if isinstance(method, ast.Attribute) else ()
        found = [self.modules.definition(name, module) for name in owners]
        return any(one is not None and isinstance(one.node, ast.ClassDef) for one in found)

    def items(self, value: Source, key: str, depth: int) -> list[Source] | None:
        """The expressions under a key of a dict, one for each dict that the value may be; None if the key is absent."""
        found: list[Source] = []
        if last_part(value.node) in _changed(value.module):
            raise Unresolved(value.module, value.node)
        for one in self.of(value, depth):
            entry = self._entry(one, key, depth)
            if entry is None:
                return None
            found += entry
        return found

    def _entry(self, source: Source, key: str, depth: int) -> list[Source] | None:
        module, node, frame, _ = source
        if _assigned_to(module, node) in _changed(module):
            raise Unresolved(module, node)
        if isinstance(node, ast.Dict):
            pairs = list(zip(node.keys, node.values, strict=True))
        elif isinstance(node, ast.Call) and resolve(module, node.func).names == ("builtins.dict",) and not node.args:
            pairs = [(ast.Constant(word.arg) if word.arg else None, word.value) for word in node.keywords]
        else:
            raise Unresolved(module, node)
        for name, given in reversed(pairs):
            if name is None:
                inner = self.items(Source(module, given, frame), key, depth + 1)
                if inner is not None:
                    return inner
            elif not isinstance(name, ast.Constant):
                raise Unresolved(module, name)
            elif name.value == key:
                return [Source(module, given, frame)]
        return None

    def _text(self, value: Source, depth: int) -> str:
        """The one text that a value is. Raises Unresolved."""
        found = {one.node.value if isinstance(one.node, ast.Constant) else None for one in self.of(value, depth + 1)}
        text = found.pop() if len(found) == 1 else None
        if not isinstance(text, str):
            raise Unresolved(value.module, value.node)
        return text

    def _registered(self, value: Source, registry: ast.expr, key: str) -> Source:
        """What the project registers in a registry under a name."""
        found = self.modules.registered(last_part(registry), key)
        if found is None:
            raise Unresolved(value.module, value.node)
        return value._replace(definition=found)


def _assigned_to(module: Module, node: ast.expr) -> str | None:
    """The name that a statement gives a value; None where none does."""
    parent = module.parent(node)
    targets = (
        parent.targets
        if isinstance(parent, ast.Assign)
        else [parent.target]
        if isinstance(parent, ast.AnnAssign)
        else []
    )
    return last_part(targets[0]) if targets else None


class _Changed(frozenset[str]):
    """Names of dicts that change."""


def _changed(module: Module) -> frozenset[str]:
    """The names of dicts to which a file adds something after they were made."""
    known = module.memo.get("changed dicts")
    if isinstance(known, _Changed):
        return known
    owners: list[ast.expr] = []
    owners += [node.value for node in module.nodes(ast.Subscript) if not isinstance(node.ctx, ast.Load)]
    owners += [node.target for node in module.nodes(ast.AugAssign)]
    for node in module.nodes(ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
            owners.append(node.func.value)
    found = module.memo["changed dicts"] = _Changed(word for word in map(last_part, owners) if word)
    return found


def _from_elsewhere(source: Source) -> bool:
    """Whether a source is the result of something outside of the project, or a part of one."""
    if source.definition is not None or not isinstance(source.node, (ast.Call, ast.Subscript, ast.Attribute)):
        return False
    node = source.node
    return not isinstance(node, ast.Call) or resolve(source.module, node.func).names != ("builtins.dict",)


def constructed(source: Source) -> Source | None:
    """The frame of the object that a source makes, at the class of the project: for what its methods read of `self`."""
    found = source.definition
    if found is None or not isinstance(found.node, ast.ClassDef) or not isinstance(source.node, ast.Call):
        return None
    starts = [one for one in found.node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
    frame = Frame(starts[0] if starts else found.node, source.node, source.module, source.frame)
    return Source(found.module, source.node, frame, found)


def _fields(owner: ast.ClassDef) -> list[str]:
    """The fields of a dataclass, in order; none of another class."""
    marks = [mark.func if isinstance(mark, ast.Call) else mark for mark in owner.decorator_list]
    if not any(last_part(mark) == "dataclass" for mark in marks):
        return []
    annotated = [one for one in owner.body if isinstance(one, ast.AnnAssign) and "ClassVar" not in ast.unparse(one)]
    return [one.target.id for one in annotated if isinstance(one.target, ast.Name)]


def argument(call: ast.Call, keyword: str, position: int | None) -> ast.expr | None:
    """An argument of a call by keyword or by position; None when it is not given, or hidden by a `*args`."""
    for given in call.keywords:
        if given.arg == keyword:
            return given.value
    if position is not None and position < len(call.args):
        before = call.args[: position + 1]
        if not any(isinstance(given, ast.Starred) for given in before):
            return before[-1]
    return None


def _default(function: FunctionNode, name: str) -> ast.expr | None:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    late = dict(zip([one.arg for one in positional][::-1], arguments.defaults[::-1], strict=False))
    late.update(
        {one.arg: given for one, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if given}
    )
    return late.get(name)


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
