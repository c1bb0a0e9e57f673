"""What an expression in a constructor makes: modules, parameters, buffers, containers of them, or nothing of these.

Nothing is run. Where the text leaves several answers (``a if c else b``) all of them are given.
"""

from __future__ import annotations

import ast

from shardlint.facts import torch_layers
from shardlint.facts.key_pattern import HOLE, dotted, pattern, text
from shardlint.facts.literal_loop import literal_rounds, names_of
from shardlint.facts.module_index import ModuleIndex, TypeRef, looks_like_layer, torch_name
from shardlint.facts.module_made import Made, Scope, Slot
from shardlint.facts.module_types import WRAPPERS, Types, alternatives
from shardlint.facts.tensor_size import TensorSize, persistence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from shardlint.facts.module_index import Function
    from shardlint.facts.module_made import Kind

_CONTAINERS: dict[str, Kind] = {
    "ModuleList": "list",
    "ParameterList": "list",
    "Sequential": "sequential",
    "ModuleDict": "dict",
    "ParameterDict": "dict",
}
_PARAMETERS = ("Parameter", "UninitializedParameter")
_SAME_METHOD_NAMES = """
    to cuda cpu half float bfloat16 double eval train requires_grad_ apply xpu to_empty type values items
"""
_SAME_METHODS = frozenset(_SAME_METHOD_NAMES.split())
_FACTORIES = ("from_pretrained", "from_config", "_from_config", "from_settings", "build", "create")
_SAME_FUNCTION_NAMES = """
    deepcopy copy fully_shard replicate parallelize_module distribute_module prepare_model script list tuple dict
    OrderedDict reversed sorted iter enumerate cast
"""
_SAME_FUNCTIONS = frozenset(_SAME_FUNCTION_NAMES.split())
_BUILDERS = ("build_module", "load_backbone", "create_model", "build_layer", "build_model")
_STATELESS_NAMES = ("Dropout", "DropPath", "StochasticDepth", "Identity")


class Values(Types):
    """Reads expressions. The subclass that walks statements knows attributes and calls of methods."""

    def __init__(self, index: ModuleIndex) -> None:
        super().__init__(index)
        self.sizes = TensorSize(index)
        self.where = 0
        self._blocks = 0

    def step_inside(self) -> int:
        """Enter a block that may run never or often; the caller puts the number that is returned back into `where`."""
        outside = self.where
        self._blocks += 1
        self.where = self._blocks
        return outside

    def collection(self, node: ast.expr, kind: Literal["list", "dict"]) -> Made:
        """A list or dict of Python, empty so far."""
        made = self.new(node, kind, kind)
        made.registers = False
        return made

    def new(self, node: ast.expr, kind: Kind, type_name: str) -> Made:
        """A container made in the present block: what is added to it from another block has no certain index."""
        made = Made(node, kind, type_name)
        made.where = self.where
        return made

    def attribute(self, name: str) -> list[Made]:
        """What ``self.<name>`` holds."""
        raise NotImplementedError

    def call_method(self, name: str, call: ast.Call, scope: Scope) -> list[Made] | None:
        """What ``self.<name>(...)`` returns, or None when the class has no such method in this file."""
        raise NotImplementedError

    def call_function(self, function: Function, call: ast.Call, scope: Scope) -> list[Made]:
        """What a function of this file returns."""
        raise NotImplementedError

    def values(self, node: ast.expr, scope: Scope) -> list[Made]:
        """All that `node` may make; empty when it makes nothing that a state dict could hold."""
        if isinstance(node, ast.Call):
            return self._call(node, scope)
        if isinstance(node, ast.Name):
            return scope.made.get(node.id, [])
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == scope.self_name:
                return self.attribute(node.attr)
            return []
        if isinstance(node, ast.IfExp):
            return [*self.values(node.body, scope), *self.values(node.orelse, scope)]
        if isinstance(node, ast.BoolOp):
            return [made for part in node.values for made in self.values(part, scope)]
        if isinstance(node, ast.NamedExpr):
            found = self.values(node.value, scope)
            scope.forget(node.target.id)
            scope.made[node.target.id] = found
            return found
        if isinstance(node, ast.Starred):
            return self.values(node.value, scope)
        if isinstance(node, ast.Subscript):
            return [made for held in self.values(node.value, scope) for slot in held.slots for made in slot.made]
        return self._display(node, scope)

    def _display(self, node: ast.expr, scope: Scope) -> list[Made]:
        """A list, dict or comprehension; it counts only if something in it does, or if it may still be filled."""
        if isinstance(node, (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp, ast.BinOp)):
            made = self.collection(node, "list")
            self.fill_list(made, [node], scope)
            return [made] if made.slots or (isinstance(node, ast.List) and not node.elts) else []
        if isinstance(node, (ast.Dict, ast.DictComp)):
            made = self.collection(node, "dict")
            self.fill_dict(made, node, scope)
            return [made] if made.slots or (isinstance(node, ast.Dict) and not node.keys) else []
        return []

    def fill_list(self, made: Made, sources: Sequence[ast.expr], scope: Scope) -> bool:
        """Append the entries of iterable expressions. False when one of them cannot be read."""
        return False not in [self._fill_from(made, source, scope) for source in sources]

    def _fill_from(self, made: Made, source: ast.expr, scope: Scope) -> bool:
        if isinstance(source, (ast.List, ast.Tuple)):
            return False not in [self.append(made, element, scope) for element in source.elts]
        if isinstance(source, (ast.ListComp, ast.GeneratorExp)):
            return self._fill_comprehension(made, source, scope)
        if isinstance(source, ast.BinOp):
            return self._fill_operation(made, source, scope)
        held = self.values(source, scope)
        for one in held:
            made.slots += [Slot(slot.made, None, slot.conditional or len(held) > 1, slot.repeat) for slot in one.slots]
        return bool(held) and not any(one.opaque for one in held)

    def _fill_operation(self, made: Made, source: ast.BinOp, scope: Scope) -> bool:
        if isinstance(source.op, ast.Add):
            return False not in [self._fill_from(made, side, scope) for side in (source.left, source.right)]
        if not isinstance(source.op, ast.Mult):
            return False
        start = len(made.slots)
        lists = [side for side in (source.left, source.right) if isinstance(side, (ast.List, ast.Tuple))]
        read = bool(lists) and False not in [self._fill_from(made, side, scope) for side in lists]
        for slot in made.slots[start:]:
            slot.repeat = True
        return read

    def _fill_comprehension(self, made: Made, source: ast.ListComp | ast.GeneratorExp, scope: Scope) -> bool:
        outside = self.step_inside()
        hidden = self.hide(source.generators, scope)
        read = self.append(made, source.elt, scope)
        self.restore(hidden, scope)
        self.where = outside
        return read

    def hide(self, generators: Sequence[ast.comprehension], scope: Scope) -> dict[str, list[Made] | None]:
        """Take the targets of a comprehension out of scope, or bind them to what its iterable holds."""
        hidden: dict[str, list[Made] | None] = {}
        for generator in generators:
            held = self.values(generator.iter, scope)
            for name in names_of(generator.target):
                hidden[name] = scope.made.pop(name, None)
                inside = [made for one in held for slot in one.slots for made in slot.made]
                if inside and isinstance(generator.target, ast.Name):
                    scope.made[name] = inside
        return hidden

    def restore(self, hidden: dict[str, list[Made] | None], scope: Scope) -> None:
        """Undo `hide`."""
        for name, made in hidden.items():
            if made is None:
                scope.made.pop(name, None)
            else:
                scope.made[name] = made

    def append(self, made: Made, node: ast.expr, scope: Scope, key: str | None = None) -> bool:
        """Add one entry to a container. False when what is added cannot be read."""
        if isinstance(node, ast.Starred):
            return self.fill_list(made, [node.value], scope)
        if isinstance(node, ast.Tuple) and len(node.elts) == 2 and not (made.kind == "list" and made.registers):
            name = pattern(node.elts[0], scope.strings)
            if name is not None:  # an entry of OrderedDict([("name", layer)])
                return self.append(made, node.elts[1], scope, name)
        found = self.values(node, scope)
        if not found:
            return isinstance(node, ast.Constant) and node.value is None
        either = len(found) > 1 or isinstance(node, (ast.IfExp, ast.BoolOp))
        elsewhere = self.where != made.where
        made.slots.append(Slot(found, key, either or (scope.conditional and elsewhere), elsewhere))
        return True

    def fill_dict(self, made: Made, node: ast.expr, scope: Scope) -> bool:
        """Add the entries of a dict, a list of pairs or another mapping. False when one of them cannot be read."""
        if isinstance(node, ast.Dict):
            read = True
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None:
                    read = self.fill_dict(made, value, scope) and read
                else:
                    read = self.append(made, value, scope, pattern(key, scope.strings) or HOLE) and read
            return read
        if isinstance(node, ast.DictComp):
            return self._fill_dict_comprehension(made, node, scope)
        if isinstance(node, (ast.List, ast.Tuple)):
            return False not in [self.append(made, element, scope) for element in node.elts]
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self._fill_comprehension(made, node, scope)
        held = self.values(node, scope)
        for one in held:
            made.slots += one.slots
        return bool(held)

    def _fill_dict_comprehension(self, made: Made, node: ast.DictComp, scope: Scope) -> bool:
        read = True
        hidden = self.hide(node.generators, scope)
        single = len(node.generators) == 1 and not node.generators[0].ifs
        rounds = literal_rounds(node.generators[0].target, node.generators[0].iter) if single else None
        outside = self.step_inside() if rounds is None else self.where
        for strings in rounds or [{}]:
            before = dict(scope.strings)
            scope.strings.update(strings)
            read = self.append(made, node.value, scope, pattern(node.key, scope.strings) or HOLE) and read
            scope.strings = before
        self.where = outside
        self.restore(hidden, scope)
        return read

    def _call(self, node: ast.Call, scope: Scope) -> list[Made]:
        func = node.func
        if isinstance(func, ast.Attribute):
            if func.attr in _SAME_METHODS:
                found = self.values(func.value, scope)
                if found:
                    return found
            if func.attr in _FACTORIES:
                return self._from_factory(func.value, node, scope)
            if isinstance(func.value, ast.Name) and func.value.id == scope.self_name:
                returned = self.call_method(func.attr, node, scope)
                if returned is not None:
                    return returned
        refs = self.types(func, scope)
        if refs:
            last = refs[0].target.rsplit(".", 1)[-1]
            if last in _SAME_FUNCTIONS:
                return self._same(node, scope)
            return [made for ref in refs if (made := self._instance(ref, node, scope)) is not None]
        return self._function(dotted(func), node, scope)

    def _from_factory(self, owner: ast.expr, node: ast.Call, scope: Scope) -> list[Made]:
        found: list[Made] = []
        for ref in self.types(owner, scope):
            if ref.local and self.index.known(ref.local) == "no":
                continue
            last = ref.target.rsplit(".", 1)[-1]
            if ref.local or torch_name(ref.target) or last.startswith("AutoModel") or looks_like_layer(ref.target):
                found.append(self._module(node, ref, sure=bool(ref.local), opaque=not ref.local))
        return found

    def _same(self, node: ast.Call, scope: Scope) -> list[Made]:
        """Functions that give back the module or the collection that they got."""
        if node.keywords and not node.args:  # dict(q=layer)
            made = self.collection(node, "dict")
            for word in node.keywords:
                self.append(made, word.value, scope, word.arg or HOLE)
            return [made] if made.slots else []
        if not node.args:
            return [self.collection(node, "dict" if dotted(node.func).endswith(("dict", "Dict")) else "list")]
        argument = node.args[1] if dotted(node.func).endswith("cast") and len(node.args) == 2 else node.args[0]
        if dotted(node.func).endswith(("dict", "Dict")):
            made = self.collection(node, "dict")
            self.fill_dict(made, argument, scope)
            return [made] if made.slots else []
        return self.values(argument, scope)

    def _function(self, name: str, node: ast.Call, scope: Scope) -> list[Made]:
        last = name.rsplit(".", 1)[-1]
        function = scope.functions.get(name) or self.index.functions.get(name)
        if function is not None and name not in scope.texts:
            return self.call_function(function, node, scope)
        if last in _SAME_FUNCTIONS:
            return self._same(node, scope)
        if last in WRAPPERS and node.args:
            held = self.values(node.args[0], scope)
            return [self._module(node, TypeRef(name, "", name), sure=False, opaque=True)] if held else []
        target = self.index.resolve(name)
        if last in _BUILDERS or target.startswith("torchvision.models."):
            return [self._module(node, TypeRef(name, "", name), sure=False, opaque=True)]
        return []

    def _module(self, node: ast.expr, ref: TypeRef, *, sure: bool, opaque: bool) -> Made:
        made = Made(node, "module", ref.written, sure=sure)
        made.local = ref.local
        made.opaque = opaque
        return made

    def declared(self, node: ast.expr, annotation: ast.expr, scope: Scope) -> list[Made]:
        """What an argument or attribute holds by its annotation, if that names a class of modules."""
        for part in alternatives(annotation):
            for ref in self.types(part, scope):
                name = torch_name(ref.target)
                if name in _PARAMETERS:
                    return [Made(node, "parameter", ref.written)]
                if name in _CONTAINERS or (name and name[0].isupper() and name != "Buffer"):
                    return [self._module(node, ref, sure=True, opaque=True)]
                if ref.local and self.index.known(ref.local) != "no":
                    return [self._module(node, ref, sure=self.index.known(ref.local) == "yes", opaque=False)]
        return []

    def _instance(self, ref: TypeRef, node: ast.Call, scope: Scope) -> Made | None:
        name = torch_name(ref.target)
        if ref.local:
            return self._local_instance(ref, node, scope)
        if name in _CONTAINERS:
            return self._container(name, ref, node, scope)
        if name in _PARAMETERS or name == "Buffer":
            return self._tensor("buffer" if name == "Buffer" else "parameter", ref, node, scope)
        if name:
            return self._builtin(name, ref, node, scope)
        if not looks_like_layer(ref.target):
            return None
        made = self._module(node, ref, sure=False, opaque=not ref.target.endswith(_STATELESS_NAMES))
        made.shape = _joined(self.arguments(node, (), scope, ref.keywords))
        return made

    def _local_instance(self, ref: TypeRef, node: ast.Call, scope: Scope) -> Made | None:
        known = self.index.known(ref.local)
        if known == "no":
            if any(torch_name(base.target) in _PARAMETERS for base in self.index.bases(ref.local)):
                return self._tensor("parameter", ref, node, scope)
            return None
        lineage = self.index.lineage(ref.local)
        signature: tuple[str, ...] = ()
        for place in lineage:
            if place.startswith("torch.nn.") and place[9:] in _CONTAINERS:
                return self._container(place[9:], ref._replace(local=""), node, scope)
            function = self.index.methods(place).get("__init__") if place in self.index.classes else None
            if function is not None:
                signature = tuple(argument.arg for argument in function.args.args[1:])
                break
        made = self._module(node, ref, sure=known == "yes" and ref.certain, opaque=False)
        made.shape = _joined(self.arguments(node, signature, scope, ref.keywords))
        return made

    def _container(self, name: str, ref: TypeRef, node: ast.Call, scope: Scope) -> Made:
        made = self.new(node, _CONTAINERS[name], ref.written)
        if made.kind == "sequential":
            first = node.args[0] if len(node.args) == 1 else None
            inner = self.values(first, scope) if isinstance(first, ast.Call) else []
            if first is not None and (
                isinstance(first, (ast.Dict, ast.DictComp))
                or any(one.kind == "dict" and not one.registers for one in inner)
            ):
                made.opaque = not self.fill_dict(made, first, scope)
            else:
                made.opaque = False in [self.append(made, argument, scope) for argument in node.args]
        elif node.args:
            fill = self.fill_dict if made.kind == "dict" else self._fill_from
            made.opaque = not fill(made, node.args[0], scope)
        if name.startswith("Parameter"):
            _make_parameters(made, node)
        return made

    def _tensor(self, kind: Kind, ref: TypeRef, node: ast.Call, scope: Scope) -> Made:
        made = Made(node, kind, ref.written)
        data = node.args[0] if node.args else next((word.value for word in node.keywords if word.arg == "data"), None)
        if data is not None:
            made.shape, made.sized = self.sizes.read(data, scope)
        if kind == "buffer":
            made.persistent = persistence(node, 1)
        return made

    def _builtin(self, name: str, ref: TypeRef, node: ast.Call, scope: Scope) -> Made | None:
        if not name[0].isupper():
            return None
        layer = torch_layers.LAYERS.get(name)
        given = self.arguments(node, layer.arguments if layer else (), scope, ref.keywords)
        found = torch_layers.tensors(name, given)
        made = self._module(node, ref, sure=True, opaque=found is None)
        made.tensors = found or ()
        made.sized = layer is not None and "**" not in given
        made.shape = torch_layers.size_text(name, given) if layer else _joined(given)
        return made

    def arguments(
        self, node: ast.Call, signature: Sequence[str], scope: Scope, preset: Sequence[ast.keyword] = ()
    ) -> dict[str, str]:
        """Names of arguments to their text: positional ones by the signature, or ``#0`` where it is not known."""
        given: dict[str, str] = {}
        for place, argument in enumerate(node.args):
            if isinstance(argument, ast.Starred):
                given["**"] = text(argument, scope.texts, scope.self_name)
                break
            name = signature[place] if place < len(signature) else f"#{place}"
            given[name] = text(argument, scope.texts, scope.self_name)
        for word in (*preset, *node.keywords):
            given[word.arg or "**"] = text(word.value, scope.texts, scope.self_name)
        return given


def _joined(given: dict[str, str]) -> str:
    return ", ".join(f"{name}={given[name]}" for name in sorted(given))


def _make_parameters(made: Made, node: ast.Call) -> None:
    """A ParameterList turns plain tensors into parameters, so an entry that makes no module is one, too."""
    if made.opaque and not made.slots and node.args:
        inner = Made(node, "parameter", "Parameter", sure=False)
        made.slots.append(Slot([inner], HOLE if made.kind == "dict" else None, False, True))
        made.opaque = False
