"""Conditions whose answer comes from data that only this rank has: its files, its clock, a loss of its own batch.

Such a value is followed back through the names, arithmetic and conversions of one function. What only a name says is
no evidence: a parameter `loss`, `self.best` or a setting may be the same everywhere, a loss that the function has just
computed is not. The norm of the gradients is the same on all ranks, since gradients are averaged.

Whether ranks have agreed on the value is not decided here. A test carries the calls that it came through, and those
that were handed the value on the way, in which that may have happened: the program knows what they do.
"""

from __future__ import annotations

import ast
import re

from shardlint.facts.handed import handed
from shardlint.facts.local_words import (
    CHECKS,
    CLOCK,
    DATA,
    FILE_FUNCTIONS,
    FILES,
    PATH_METHODS,
)
from shardlint.facts.measures import computes, hands_out, is_measure
from shardlint.facts.module import FUNCTIONS, Binding, Module
from shardlint.facts.names import BY_NAME, CERTAIN, INFERRED, bindings_at, local_definition, lookup, resolve
from shardlint.facts.order import flow
from shardlint.facts.rank_tests import rank_test
from shardlint.facts.rank_values import single_return
from shardlint.facts.reduced import reduced_below
from shardlint.facts.values import made_from
from shardlint.finding import Span

_FILE_CALLS = frozenset(
    f"{package}.{name}" for package in ("os.path", "os", "glob", "posixpath") for name in FILE_FUNCTIONS
)
_CLOCK_CALLS = frozenset(
    [f"time.{name}{unit}" for name in ("time", "monotonic", "perf_counter") for unit in ("", "_ns")]
    + ["datetime.datetime.now", "timeit.default_timer"]
)
_MATHS = ("torch.", "math.", "numpy.")
_BUILTINS = ("bool", "int", "float", "any", "all", "max", "min", "len", "abs", "round", "sorted", "list", "sum")
_TENSORS = ("tensor", "as_tensor", "any", "all", "abs", "sum", "mean", "logical_not", "logical_or", "stack")
_SEEN_THROUGH = frozenset([*(f"builtins.{name}" for name in _BUILTINS), *(f"torch.{name}" for name in _TENSORS)])
_CONVERSION_WORDS = (
    "item float double half int long bool any all cpu cuda detach clone to mean sum max min numpy tolist abs"
)
_CONVERSIONS = frozenset(_CONVERSION_WORDS.split())
_COMPLAINTS = ("error", "critical", "fatal", "exception")
_DEPTH = 12


class LocalTest:
    """A condition that may differ between ranks. `calls`: where they may have agreed on it, as `ast` calls.

    `key` is shared by two writings only if both read the same value; `kind` is files, clock or data.
    """

    __slots__ = ("calls", "certainty", "key", "kind", "span", "text")

    def __init__(self, key: str, text: str, span: Span, kind: str, certainty: float, calls: list[ast.Call]) -> None:
        self.key = key
        self.text = text
        self.span = span
        self.kind = kind
        self.certainty = certainty
        self.calls = calls


def local_test(module: Module, node: ast.expr) -> LocalTest | None:
    """The test of local data that one condition is (`and`, `or` and `not` are taken apart by the caller), or None."""
    if isinstance(node, (ast.Constant, ast.Attribute)):
        return None
    search = _Search(module, node)
    kind = search.value(node)
    if not kind or not search.asked or _ends_with_an_error(module, node):
        return None
    text, span = module.source(node), module.span(node)
    key = f"{kind}: {text} @ {' '.join(map(str, search.origins)) or span.line}"
    return LocalTest(key, text, span, kind, search.certainty, search.calls)


def _ends_with_an_error(module: Module, node: ast.expr) -> bool:
    """Whether the branch under a condition logs an error and returns: a check of arguments, which fail on all ranks."""
    at: ast.AST | None = node
    while isinstance(at, ast.expr):
        at = module.parents.get(at)
    if not isinstance(at, ast.If) or not isinstance(at.body[-1], ast.Return):
        return False
    calls = [statement.value for statement in at.body if isinstance(statement, ast.Expr)]
    return any(
        isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _COMPLAINTS
        for call in calls
    )


class _Search:
    """The way back from a condition to where its value comes from."""

    def __init__(self, module: Module, test: ast.expr) -> None:
        self.module = module
        self.test = test
        self.certainty = CERTAIN
        self.asked = False
        """Whether anything is asked of the value: that a loss is not zero says nothing."""
        self.origins: list[int] = []
        self.calls: list[ast.Call] = []
        self._seen: set[int] = set()
        self._depth = 0

    def value(self, node: ast.AST | None) -> str:
        """The kind of local data that an expression comes from; empty when it is none, or not known to be."""
        if node is None or self._depth > _DEPTH:
            return ""
        self._depth += 1
        kind = self._value(node)
        self._depth -= 1
        return kind

    def _value(self, node: ast.AST) -> str:
        if isinstance(node, ast.Call):
            return self._called(node)
        if isinstance(node, ast.Name):
            return self._named(node)
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            return self._part(node)
        if isinstance(node, ast.Compare):
            if isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)) or _is_switch(node):
                return ""
            self.asked = True
            return self._any([node.left, *node.comparators])
        if isinstance(node, ast.BoolOp):
            return self._any(node.values)
        if isinstance(node, ast.BinOp):
            return self._any([node.left, node.right])
        if isinstance(node, ast.UnaryOp):
            return self.value(node.operand)
        if isinstance(node, ast.NamedExpr):
            return self.value(node.value)
        if isinstance(node, ast.IfExp):
            return "" if rank_test(self.module, node.test) else self._any([node.body, node.orelse])
        if isinstance(node, (ast.List, ast.Tuple)):
            return self._any(node.elts)
        return ""

    def _any(self, nodes: list[ast.expr]) -> str:
        kinds = [self.value(node) for node in nodes]
        return next((kind for kind in kinds if kind), "")

    def _called(self, node: ast.Call) -> str:
        func = node.func
        last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        called = resolve(self.module, func)
        names = set(called.names)
        if names & _FILE_CALLS:
            return self._source(FILES, called.certainty)
        if names & _CLOCK_CALLS:
            return self._source(CLOCK, called.certainty)
        receiver = func.value if isinstance(func, ast.Attribute) else None
        if receiver is not None and last in PATH_METHODS and not node.args:
            certainty = self._path(receiver)
            return self._source(FILES, certainty) if certainty else ""
        if last in CHECKS:
            known = any(name.startswith(_MATHS) for name in names)
            self.asked = True
            return self.value(node.args[0] if known and node.args else None if known else receiver)
        if names & _SEEN_THROUGH:
            return self._any(node.args)
        if receiver is not None and last in _CONVERSIONS and not names:
            return self.value(receiver)
        for name in called.names:
            local = local_definition(self.module, name)
            returned = single_return(local) if isinstance(local, FUNCTIONS) else None
            kind = self.value(returned) if returned is not None else ""
            if kind:
                self._less(INFERRED)
                self.calls.append(node)
                return kind
        return ""

    def _source(self, kind: str, certainty: float) -> str:
        self.asked = self.asked or kind == FILES
        self._less(certainty)
        return kind

    def _less(self, certainty: float) -> None:
        self.certainty = min(self.certainty, certainty)

    def _path(self, receiver: ast.expr) -> float:
        """How sure it is that a method is that of a path: 0 when the receiver is something else."""
        made = made_from(self.module, receiver)
        if made:
            return made.certainty if any(name.startswith("pathlib.") for name in made.names) else 0.0
        if isinstance(receiver, ast.BinOp) and isinstance(receiver.op, ast.Div):
            return INFERRED
        return INFERRED if re.search(r"(?i)path|file|dir|folder", self.module.source(receiver)) else BY_NAME

    def _part(self, node: ast.Attribute | ast.Subscript) -> str:
        """`outputs.loss`, `results["accuracy"]`: a measure in what a call of this function has returned."""
        owner, name = node.value, node.attr if isinstance(node, ast.Attribute) else _text(node.slice)
        if not is_measure(name):
            return ""
        if isinstance(owner, ast.Call):
            self._less(INFERRED)
            return DATA if self._produced(owner) else ""
        return DATA if isinstance(owner, ast.Name) and self._returned(owner) else ""

    def _named(self, node: ast.Name) -> str:
        found = bindings_at(self.module, node)
        if found is None:
            return ""
        bindings = _with_updated(self.module, node, found[0])
        kinds = [kind for binding in bindings if (kind := self._bound(node.id, binding)) != "constant"]
        if not kinds or not all(kinds):
            return DATA if reduced_below(self.module, self.test, node.id) else ""
        self._handed_on(node, found[0])
        return kinds[0]

    def _bound(self, name: str, binding: Binding) -> str:
        """What a name holds by one of its bindings: a kind, `constant`, or empty."""
        if binding.value is None or binding.kind not in ("assign", "walrus", "annotation", "augmented"):
            return ""
        if isinstance(binding.value, ast.Constant) or id(binding) in self._seen:
            return "constant"
        self._seen.add(id(binding))
        kind = self.value(binding.value) if binding.exact or binding.kind == "augmented" else ""
        if not kind and is_measure(name) and self._computed(binding.value):
            kind = DATA
            self._less(INFERRED)
        if not kind and binding.kind == "augmented":
            return "constant"
        self.origins.append(getattr(binding.node, "lineno", 0))
        return kind

    def _computed(self, node: ast.expr) -> bool:
        """Whether a measure is made here from what calls of this function return."""
        if isinstance(node, ast.BinOp):
            return self._computed(node.left) or self._computed(node.right)
        if not isinstance(node, ast.Call):
            return False
        if node.args and "builtins.sum" in resolve(self.module, node.func).names:
            return self._collected(node.args[0])
        return self._produced(node)

    def _collected(self, node: ast.expr) -> bool:
        """Whether a sum goes over the values that a call of this function has returned: `sum(losses.values())`."""
        if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
            node = node.generators[0].iter
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "values":
            node = node.func.value
        return isinstance(node, ast.Name) and self._returned(node)

    def _returned(self, node: ast.Name) -> bool:
        """Whether a name holds what calls of this function have computed."""
        found = bindings_at(self.module, node)
        calls = [binding.value for binding in found[0] if _is_call(binding)] if found is not None else []
        if found is None or len(calls) < len(found[0]):
            return False
        if not all(isinstance(call, ast.Call) and self._produced(call) for call in calls):
            return False
        self._handed_on(node, found[0])
        self._less(INFERRED)
        return True

    def _produced(self, call: ast.Call) -> bool:
        """Whether a call computes something of this rank; it is remembered unless it is a forward pass."""
        func = call.func
        last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        names = resolve(self.module, func).names
        if hands_out(last) or any(name.startswith("builtins.") for name in names):
            return False
        if isinstance(func, ast.Attribute) and last in _CONVERSIONS and not names:
            return self._computed(func.value)
        if names or not computes(last):
            self.calls.append(call)
        return True

    def _handed_on(self, node: ast.Name, bindings: list[Binding]) -> None:
        """Remember the calls that are given this value between where it is made and the test."""
        owner = self.module.function(node)
        order = flow(self.module, owner)
        made = [binding.node for binding in bindings if isinstance(binding.node, ast.stmt)]
        at = self.test if self.module.function(self.test) is owner else node
        for call in handed(self.module, owner).get(node.id, ()):
            if self.module.statement(call) not in made and order.between(call, at, made):
                self.calls.append(call)


def _is_call(binding: Binding) -> bool:
    return binding.kind in ("assign", "walrus") and isinstance(binding.value, ast.Call)


def _is_switch(node: ast.Compare) -> bool:
    """`loss > 0` and `metric == "accuracy"` ask whether there is such a part of the loss, and which metric is meant."""
    values = [bound.value for bound in node.comparators if isinstance(bound, ast.Constant)]
    positive = isinstance(node.ops[0], (ast.Gt, ast.GtE)) and values == [0] and not isinstance(node.left, ast.Call)
    return positive or any(isinstance(value, (str, bool)) for value in values)


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _with_updated(module: Module, node: ast.Name, bindings: list[Binding]) -> list[Binding]:
    """The bindings, with those whose value `loss += x` may have changed."""
    if all(binding.kind != "augmented" for binding in bindings):
        return bindings
    found = lookup(module, node.id, node)
    return found[1] if found is not None else bindings
