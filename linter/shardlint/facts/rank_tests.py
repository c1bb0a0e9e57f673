"""Which conditions differ between the processes of one job, and how: rank taint in its simple form.

Comparisons with -1 or None ask whether the job is distributed at all: every rank gives the same answer, so they are
no rank tests. `rank == step` inside a loop over all ranks gives each rank its turn, so it is none either.
"""

from __future__ import annotations

import ast
import re

from shardlint.facts.job_tests import in_a_job
from shardlint.facts.module import FUNCTIONS, Module
from shardlint.facts.names import (
    BY_NAME,
    INFERRED,
    bindings_at,
    local_definition,
    lookup,
    resolve,
    self_class,
    self_values,
)
from shardlint.facts.rank_values import RankValue, rank_value, single_return
from shardlint.facts.rank_vocabulary import KINDS
from shardlint.facts.values import MISSING, literal
from shardlint.finding import Span

_FLAGS = re.compile(
    r"(?:is|on)_?(?:main|master)(?:_?(?:process|rank|node|worker))?"
    r"|is_(?:local_|global_|world_)?(?:main_process|rank_?(?:0|zero)|process_zero|zero_rank)"
    r"|is_(?:local_|global_)?(?:last|first)_(?:process|rank)|is_global_zero|(?:main|master)_process"
)
_DECORATORS = re.compile(
    r"rank_?(?:zero|0)_only|(?:on_)?(?:local_)?main_process(?:_only)?|master_only|main_only|on_(?:local_)?main_process"
    r"|only_(?:on_)?rank_?(?:0|zero)"
)


def is_rank_flag(word: str) -> bool:
    """Whether an identifier, alone, asks if this is a certain process: `is_main_process`, `rank_zero_only`."""
    return _FLAGS.fullmatch(word) is not None or _DECORATORS.fullmatch(word) is not None


class RankTest:
    """A condition that differs between ranks. `key` is shared by a test and its negation, which `positive` tells apart.

    `kind` is global, local, node, group, member (of a list of ranks) or flag; `group` is the text of a group argument.
    """

    __slots__ = ("certainty", "group", "key", "kind", "positive", "span", "text")

    def __init__(
        self, key: str, positive: bool, text: str, span: Span, kind: str, certainty: float, group: str | None = None
    ) -> None:
        self.key = key
        self.positive = positive
        self.text = text
        self.span = span
        self.kind = kind
        self.certainty = certainty
        self.group = group


def rank_test(module: Module, node: ast.AST, depth: int = 0) -> RankTest | None:
    """The rank test that one condition is (`and`, `or` and `not` are taken apart by the caller), or None."""
    if depth > 8:
        return None
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compared(module, node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = rank_test(module, node.operand, depth + 1)
        return _negated(inner) if inner is not None else None
    if isinstance(node, ast.NamedExpr):
        return rank_test(module, node.value, depth + 1)
    if isinstance(node, ast.IfExp):
        return _only([node.body, node.orelse], module, depth)
    if isinstance(node, ast.BoolOp):
        return _only(node.values, module, depth)
    if isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
        return _truth(module, node, depth)
    return None


def _only(parts: list[ast.expr], module: Module, depth: int) -> RankTest | None:
    """The one rank test beside constants and questions about the job: `not is_initialized() or get_rank() == 0`."""
    tests: list[RankTest] = []
    for part in parts:
        if isinstance(part, ast.Constant):
            continue
        test = rank_test(module, part, depth + 1)
        if test is not None:
            tests.append(test)
        elif in_a_job(module.source(part)) is None:
            return None
    return tests[0] if len(tests) == 1 else None


def _negated(test: RankTest) -> RankTest:
    return RankTest(test.key, not test.positive, test.text, test.span, test.kind, test.certainty, test.group)


def _truth(module: Module, node: ast.Name | ast.Attribute | ast.Call, depth: int) -> RankTest | None:
    text, span = module.source(node), module.span(node)
    if isinstance(node, ast.Call):
        called = resolve(module, node.func)
        if "builtins.bool" in called.names and node.args:
            return rank_test(module, node.args[0], depth + 1)
        for name in called.names:
            local = local_definition(module, name)
            returned = single_return(local) if isinstance(local, FUNCTIONS) else None
            inner = rank_test(module, returned, depth + 1) if returned is not None else None
            if inner is not None:
                certainty = min(inner.certainty, INFERRED)
                return RankTest(inner.key, inner.positive, text, span, inner.kind, certainty, inner.group)
        last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if _FLAGS.fullmatch(last):
            return _flag(last, text, span, node)
    elif isinstance(node, ast.Attribute):
        known = _kept_test(module, node, depth)
        if known is not None:
            return RankTest(known.key, known.positive, text, span, known.kind, known.certainty, known.group)
        if _FLAGS.fullmatch(node.attr):
            return _flag(node.attr, text, span, None)
    else:
        known = _assigned_test(module, node, depth)
        if known is not None:
            return RankTest(known.key, known.positive, text, span, known.kind, known.certainty, known.group)
        if _FLAGS.fullmatch(node.id) and lookup(module, node.id, node) is not None:
            return _flag(node.id, text, span, None, BY_NAME)
    value = rank_value(module, node)
    if value is not None and value.certainty > BY_NAME:
        return RankTest(f"{value.label} == 0", False, text, span, value.kind, value.certainty, value.group)
    return None


def _flag(name: str, text: str, span: Span, call: ast.Call | None, certainty: float = INFERRED) -> RankTest:
    kind = "local" if "local" in name else "flag"
    group = ast.unparse(call) if call is not None and (call.args or call.keywords) else None
    if group is not None:
        return RankTest(f"{group} is true", True, text, span, "group", certainty, group)
    return RankTest(_flag_key(name), True, text, span, kind, certainty)


def _flag_key(name: str) -> str:
    """Flags that mean the first process share the key of the comparison with 0, so that the two can be matched."""
    if "last" in name:
        return f"{name} is true"
    return f"{KINDS['local' if 'local' in name else 'global']} == 0"


def _kept_test(module: Module, node: ast.Attribute, depth: int) -> RankTest | None:
    """`self.main`, when every assignment of the class gives it the same rank test."""
    owner = self_class(module, node.value) if isinstance(node.value, ast.Name) else None
    if owner is None:
        return None
    values = [value for value in self_values(module, owner, node.attr) if not isinstance(value, ast.Constant)]
    tests = [rank_test(module, value, depth + 1) for value in values]
    known = [test for test in tests if test is not None]
    return known[0] if known and len(known) == len(tests) else None


def _assigned_test(module: Module, node: ast.Name, depth: int) -> RankTest | None:
    found = bindings_at(module, node)
    if found is None:
        return None
    tests: list[RankTest] = []
    for binding in found[0]:
        if binding.kind not in ("assign", "walrus") or not binding.exact or binding.value is None:
            return None
        if isinstance(binding.value, ast.Constant):
            continue
        if isinstance(binding.value, ast.Name) and binding.value.id == node.id:
            return None
        test = rank_test(module, binding.value, depth + 1)
        if test is None:
            return None
        tests.append(test)
    return tests[0] if len({(test.key, test.positive) for test in tests}) == 1 else None


def _compared(module: Module, node: ast.Compare) -> RankTest | None:
    left, right = node.left, node.comparators[0]
    value = rank_value(module, left)
    if value is not None:
        return _Comparison(module, node, value, right, swapped=False).test()
    value = rank_value(module, right)
    if value is not None:
        return _Comparison(module, node, value, left, swapped=True).test()
    return None


class _Comparison:
    """A comparison of a rank value with something else."""

    def __init__(self, module: Module, node: ast.Compare, value: RankValue, other: ast.expr, swapped: bool) -> None:
        self.module = module
        self.node = node
        self.op = node.ops[0]
        self.value = value
        self.other = other
        self.swapped = swapped
        number = literal(module, other)
        self.number = int(number) if isinstance(number, str) and number.isdecimal() else number

    def test(self) -> RankTest | None:
        if isinstance(self.op, (ast.Is, ast.IsNot)):
            return None
        if isinstance(self.op, (ast.In, ast.NotIn)):
            return None if self.swapped else self._member()
        if isinstance(self.op, (ast.Eq, ast.NotEq)):
            return self._equal()
        return self._ordered()

    def _make(self, key: str, positive: bool, kind: str | None = None) -> RankTest:
        text, span = self.module.source(self.node), self.module.span(self.node)
        value = self.value
        return RankTest(key, positive, text, span, kind or value.kind, value.certainty, value.group)

    def _weak(self) -> bool:
        return self.value.certainty <= BY_NAME

    def _equal(self) -> RankTest | None:
        positive = isinstance(self.op, ast.Eq)
        if isinstance(self.number, int) and not isinstance(self.number, bool):
            return self._make(f"{self.value.label} == {self.number}", positive) if self.number >= 0 else None
        if self.number is not MISSING or _takes_turns(self.module, self.other):
            return None
        if self._weak() and not isinstance(self.other, ast.Name):
            return None
        return self._make(f"{self.value.label} == {self.module.source(self.other)}", positive)

    def _member(self) -> RankTest | None:
        positive = isinstance(self.op, ast.In)
        if isinstance(self.other, (ast.List, ast.Tuple, ast.Set)):
            numbers = {literal(self.module, item) for item in self.other.elts}
            if numbers == {-1, 0}:
                return self._make(f"{self.value.label} == 0", positive)
            if numbers == {-1}:
                return None
        if self._weak():
            return None
        return self._make(f"{self.value.label} in {self.module.source(self.other)}", positive, "member")

    def _ordered(self) -> RankTest | None:
        """`rank > 0` is the opposite of `rank == 0`; `rank >= 0` and `rank < 0` ask whether there are ranks at all."""
        if isinstance(self.number, int):
            bound = self.number
            above = isinstance(self.op, (ast.Gt, ast.GtE)) != self.swapped
            strict = isinstance(self.op, (ast.Gt, ast.Lt))
            least = bound + 1 if above == strict else bound
            if least <= 0 or self._weak():
                return None
            if least == 1:
                return self._make(f"{self.value.label} == 0", not above)
            return self._make(f"{self.value.label} >= {least}", above)
        if self._weak() or self.number is not MISSING:
            return None
        below = isinstance(self.op, (ast.Lt, ast.LtE)) != self.swapped
        return self._make(f"{self.value.label} < {self.module.source(self.other)}", below, "member")


def _takes_turns(module: Module, other: ast.expr) -> bool:
    """Whether the other side is the variable of a loop: then every rank has its turn."""
    if not isinstance(other, ast.Name):
        return False
    found = bindings_at(module, other)
    return found is not None and any(binding.kind == "for" for binding in found[0])


def decorator_test(module: Module, node: ast.expr) -> RankTest | None:
    """The rank test that a decorator puts around a function: `@rank_zero_only`, `@accelerator.on_main_process`."""
    called = node.func if isinstance(node, ast.Call) else node
    last = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    if not _DECORATORS.fullmatch(last):
        return None
    kind = "local" if "local" in last else "flag"
    return RankTest(_flag_key(last), True, f"@{module.source(node)}", module.span(node), kind, INFERRED)
