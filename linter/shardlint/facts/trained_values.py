"""Values through which a model learns: from which forward pass one comes, and whether anything but one call uses it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from shardlint.facts.callers import given_by_callers
from shardlint.facts.derivation import Derivation, derivation
from shardlint.facts.module import FUNCTIONS, Module
from shardlint.facts.names import bindings_at, resolve
from shardlint.facts.site import Expression, Site

_MODEL = re.compile(r"(^|_)(model|module|net|network|encoder|backbone|tower|head|proj|projection|projector|student)$")
_PASS = re.compile(r"^(forward|encode_\w+|get_\w+_features)$")
_NO_LEARNING = re.compile(r"teacher|ema|momentum|frozen|ref|target|no_?grad|infer|eval|valid|test|predict|generat")
_SAME = frozenset(("contiguous", "clone", "float", "half", "bfloat16", "to", "cuda", "view", "reshape", "flatten"))
_SAME_VALUE = frozenset(("torch.nn.functional.normalize", "torch.flatten", "torch.squeeze", "torch.unsqueeze"))
_FORM = frozenset(("shape", "size", "device", "dtype", "dim", "ndim", "numel", "new_empty", "new_zeros", "new_tensor"))
_FORM_CALLS = re.compile(r"^torch\.(zeros|ones|empty|rand|randn|full)_like$|^builtins\.(len|isinstance|type)$")
_LOSS_MAKERS = frozenset(("compute_loss", "training_step"))
_STEPS = 8


class Way:
    """The way that a value came in its function: through other names, casts and a normalisation.

    `start`: the expression at its other end. `names`: those of the value, each of which holds all of it.
    """

    def __init__(self, value: Expression) -> None:
        self.value = value
        self.module = value.module
        self.names: set[str] = set()
        self.start = value.ast
        for _ in range(_STEPS):
            before = self._before(self.start)
            if before is None:
                break
            self.start = before

    def _before(self, node: ast.expr) -> ast.expr | None:
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            return node.value if isinstance(node.value, (ast.Name, ast.Call)) else None
        if isinstance(node, ast.Name):
            self.names.add(node.id)
            found = bindings_at(self.module, node)
            bound = found[0][0] if found is not None and len(found[0]) == 1 and not found[1] else None
            return bound.value if bound is not None and bound.kind == "assign" and bound.exact else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
            return node.func.value
        if isinstance(node, ast.Call) and _SAME_VALUE.intersection(resolve(self.module, node.func).names):
            return node.args[0] if node.args else None
        return None

    @property
    def from_model(self) -> bool:
        """Whether it begins with the forward pass of a model that learns there, by the names of both."""
        if not isinstance(self.start, ast.Call) or not learns_at(self.module, self.start):
            return False
        text, called = self.module.source(self.start.func), self.start.func
        last = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        return not _NO_LEARNING.search(text) and bool(_MODEL.search(last) or _PASS.search(last))

    @property
    def text(self) -> str:
        """The call at its beginning as it is written; the expression there where it is none."""
        return self.module.source(self.start.func if isinstance(self.start, ast.Call) else self.start)

    @property
    def parameter(self) -> str:
        """The parameter of the function that it begins with; empty where it begins otherwise."""
        found = bindings_at(self.module, self.start) if isinstance(self.start, ast.Name) else None
        bound = found[0][0] if found is not None and len(found[0]) == 1 else None
        return bound.name if bound is not None and bound.kind == "param" else ""

    def leads_elsewhere(self, call: ast.Call) -> bool:
        """Whether its function uses the content of one of its names, except in a call and on the way to it."""
        owner = self.module.function(self.value.ast)
        named = [node for node in ast.walk(owner) if isinstance(node, ast.Name) and node.id in self.names]
        reads = [node for node in named if isinstance(node.ctx, ast.Load)]
        return any(not self._inside(node, call) and not _asks_for_form(self.module, node) for node in reads)

    def _inside(self, node: ast.Name, call: ast.Call) -> bool:
        """Whether a name stands in the call, or in a statement that gives the value another of its names."""
        statement = self.module.statement(node)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        return call in self.module.ancestors(node) or (bool(names) and self.names.issuperset(names))


class Lesson(NamedTuple):
    """What a model learns through one call alone. `place`: that call, or the one of a helper that makes it."""

    place: Site
    forward: str


def lesson_through(call: Site, given: Expression, filled: Expression | None, *, helpers: bool = True) -> Lesson | None:
    """What a model would learn from the result of a call, and from nothing else that is made of what the call is given.

    Looked for are features that a forward pass gives, that only the call uses, and from whose copy the function goes
    backward. Where they are a parameter that the function returns a copy of, all of its callers are looked at.

    Args:
        given: what the call is given.
        filled: what it fills; None where it returns the copy.
        helpers: whether a function that only makes the copy is followed to its callers.
    """
    way = Way(given)
    followed = helpers and way.parameter
    if not (way.from_model or followed) or not learns_at(call.module, call.ast) or way.leads_elsewhere(call.call):
        return None
    copied = derivation(call, filled)
    if way.from_model:
        return Lesson(call, way.text) if learned_from(copied) else None
    for caller, argument in given_by_callers(call, way.parameter) if copied.returned else ():
        features = Way(argument)
        if features.from_model and not features.leads_elsewhere(caller.call) and learned_from(derivation(caller)):
            return Lesson(caller, features.text)
    return None


def learns_at(module: Module, node: ast.AST) -> bool:
    """Whether gradients are made at a place, as far as its function says."""
    for at in module.ancestors(node):
        if isinstance(at, (ast.With, ast.AsyncWith)) and any(
            _turns_off(module, item.context_expr) for item in at.items
        ):
            return False
        if isinstance(at, FUNCTIONS):
            calls = [one.func for one in ast.walk(at) if isinstance(one, ast.Call)]
            stops = any(isinstance(func, ast.Attribute) and func.attr == "eval" for func in calls)
            marked = any(_turns_off(module, mark) for mark in at.decorator_list)
            return not stops and not marked and _NO_LEARNING.search(at.name) is None
    return True


def learned_from(value: Derivation) -> bool:
    """Whether a function computes from a value what it goes backward from, or what its caller surely does."""
    function = value.function.ast
    for call in value.function.every_call:
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "manual_backward"):
            given = [*call.args, *([] if call.args else [call.func.value])]
            if any(value.module.function(one) is function and value.holds(one) for one in given):
                return True
    if not isinstance(function, FUNCTIONS) or not value.returned:
        return False
    return function.name in _LOSS_MAKERS or (function.name == "forward" and _of_module(value.start))


def _of_module(site: Site) -> bool:
    """Whether a method is one of a class that derives from torch's `Module`, by the names of its bases."""
    owner = site.module.parent(site.function.ast)
    bases = owner.bases if isinstance(owner, ast.ClassDef) else []
    return any(name.endswith("Module") for base in bases for name in _last_names(site.module, base))


def _last_names(module: Module, node: ast.expr) -> Iterator[str]:
    yield from (name.rpartition(".")[2] for name in resolve(module, node).names)


def _turns_off(module: Module, node: ast.expr) -> bool:
    return re.search(r"no_grad|inference_mode|set_grad_enabled", module.source(node)) is not None


def _asks_for_form(module: Module, node: ast.Name) -> bool:
    around = module.parent(node)
    if isinstance(around, ast.Attribute):
        return around.attr in _FORM
    named = resolve(module, around.func).names if isinstance(around, ast.Call) else ()
    return any(_FORM_CALLS.search(name) for name in named)


__all__ = ["Lesson", "lesson_through"]
