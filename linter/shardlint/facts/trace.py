"""What a function does that other ranks must do too, as a small tree of plain tuples that can be stored.

A trace is a tuple of steps:

    ("call", names, certainty, span, text, arguments)   names: dotted candidates; arguments, only for a call whose last
                                                        name a rule asked for: (place, text, whether literal, literal)
    ("unknown", span)                                   a call of something that no name is known for
    ("if", span, test, then, otherwise)                 test: a rank test as a tuple, or the text of any other condition
    ("loop", span, body)
    ("exit", kind)                                      return, raise, break or continue

`and`, `or`, `not` and conditional expressions become `if` steps, so that a rank test stands alone in its step.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from typing import Any

from shardlint.facts.module import COMPREHENSIONS, FUNCTIONS, FunctionNode, Module
from shardlint.facts.names import NOTHING, Resolved, bindings_at, resolve
from shardlint.facts.rank_tests import RankTest, decorator_test, rank_test
from shardlint.facts.values import literal, made_from
from shardlint.finding import Span

Step = tuple[Any, ...]
Trace = tuple[Step, ...]

_QUIET = frozenset(sys.stdlib_module_names) | {
    "torch",
    "numpy",
    "tqdm",
    "wandb",
    "transformers",
    "PIL",
    "yaml",
    "pandas",
}
"""Packages whose functions issue no collective unless a rule's table names them."""

_STOPS = {"sys.exit", "builtins.exit", "builtins.quit", "os._exit", "os.abort"}
_PLAIN = frozenset(
    "append extend items keys values get format join split strip startswith endswith lower upper replace copy pop add "
    "update sort index count encode decode setdefault info debug warning error exception critical write writelines "
    "flush close read readline size dim item tolist numel float double half int long bool cpu cuda detach clone view "
    "reshape permute contiguous mean sum max min isoformat total_seconds exists is_dir is_file mkdir add_scalar "
    "set_description set_postfix print rstrip lstrip insert remove clear discard union removeprefix removesuffix".split()
)
"""Methods of strings, containers, loggers, files and tensors: whatever the receiver, they wait for no other rank."""


def trace(module: Module, owner: FunctionNode | ast.Module, asked: frozenset[str]) -> Trace:
    """The trace of one function. `asked` holds the last names of the calls whose arguments a rule needs."""
    tracer = _Tracer(module, asked)
    body = tracer.block(owner.body)
    if isinstance(owner, FUNCTIONS):
        for decorator in reversed(owner.decorator_list):
            test = decorator_test(module, decorator)
            if test is not None:
                body = (("if", _span(test.span), _test(test), body, ()),)
    return body


def _span(span: Span) -> tuple[int, int, int, int]:
    return (span.line, span.column, span.end_line, span.end_column)


def _test(test: RankTest) -> tuple[Any, ...]:
    return (test.key, test.positive, test.text, _span(test.span), test.kind, test.group, test.certainty)


def callee(module: Module, call: ast.Call) -> Resolved:
    """The dotted names of what a call calls: functions by name, methods by the class of their receiver."""
    answer = resolve(module, call.func)
    if not answer and isinstance(call.func, ast.Attribute):
        answer = made_from(module, call.func.value).with_suffix(call.func.attr)
    return answer


class _Tracer:
    def __init__(self, module: Module, asked: frozenset[str]) -> None:
        self.module = module
        self.asked = asked

    def block(self, body: Iterable[ast.stmt]) -> Trace:
        steps: list[Step] = []
        for statement in body:
            steps += self.statement(statement)
        return tuple(steps)

    def statement(self, statement: ast.stmt) -> list[Step]:
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            return []
        if isinstance(statement, ast.If):
            return self.branch(statement.test, self.block(statement.body), self.block(statement.orelse))
        if isinstance(statement, ast.While):
            body = (*self.expression(statement.test), *self.block(statement.body))
            return [*self.guarded_loop(statement, statement.test, body), *self.block(statement.orelse)]
        if isinstance(statement, (ast.For, ast.AsyncFor)):
            steps = self.expression(statement.iter)
            steps += self.loop(statement, statement.iter, self.block(statement.body))
            return [*steps, *self.block(statement.orelse)]
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            steps = [step for item in statement.items for step in self.expression(item.context_expr)]
            return [*steps, *self.block(statement.body)]
        if isinstance(statement, ast.Match):
            return self.match(statement)
        if isinstance(statement, ast.Try) or statement.__class__.__name__ == "TryStar":
            return self.attempt(statement)
        return self.simple(statement)

    def simple(self, statement: ast.stmt) -> list[Step]:
        steps: list[Step] = []
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.expr):
                steps += self.expression(child)
        if isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            steps.append(("exit", statement.__class__.__name__.lower()))
        elif any(step[0] == "call" and step[1] and step[1][0] in _STOPS for step in steps):
            steps.append(("exit", "raise"))
        return steps

    def attempt(self, statement: ast.stmt) -> list[Step]:
        steps = list(self.block(getattr(statement, "body", ())))
        for handler in getattr(statement, "handlers", ()):
            inside = self.block(handler.body)
            if inside:
                steps.append(("if", _span(self.module.span(handler)), "", inside, ()))
        steps += self.block(getattr(statement, "orelse", ()))
        return [*steps, *self.block(getattr(statement, "finalbody", ()))]

    def match(self, statement: ast.Match) -> list[Step]:
        steps = self.expression(statement.subject)
        for case in statement.cases:
            inside = self.block(case.body)
            if inside:
                steps.append(("if", _span(self.module.span(case.pattern)), "", inside, ()))
        return steps

    def loop(self, statement: ast.AST, source: ast.expr, body: Trace) -> list[Step]:
        """A loop over `range(rank)` runs a different number of times on each rank: a test on the rank itself."""
        if not body:
            return []
        step: Step = ("loop", _span(self.module.span(statement)), body)
        if isinstance(source, ast.Call) and "builtins.range" in resolve(self.module, source.func).names:
            for argument in source.args:
                test = rank_test(self.module, argument)
                if test is not None:
                    return [("if", step[1], _test(test), (step,), ())]
        return [step]

    def guarded_loop(self, statement: ast.While, test: ast.expr, body: Trace) -> list[Step]:
        found = rank_test(self.module, test)
        step: Step = ("loop", _span(self.module.span(statement)), body)
        if found is not None and body:
            return [("if", step[1], _test(found), (step,), ())]
        return [step] if body else []

    def branch(self, test: ast.expr, then: Trace, otherwise: Trace) -> list[Step]:
        """`if test: then else: otherwise`, with the condition taken apart."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.branch(test.operand, otherwise, then)
        if isinstance(test, ast.BoolOp):
            first, rest = test.values[0], test.values[1:]
            remaining = rest[0] if len(rest) == 1 else self._rest(test, rest)
            if isinstance(test.op, ast.And):
                return self.branch(first, tuple(self.branch(remaining, then, otherwise)), otherwise)
            return self.branch(first, then, tuple(self.branch(remaining, then, otherwise)))
        expanded = self._named(test)
        if expanded is not None:
            return self.branch(expanded, then, otherwise)
        steps = self.expression(test)
        if not then and not otherwise:
            return steps
        found = rank_test(self.module, test)
        condition = _test(found) if found else self.module.source(test)
        steps.append(("if", _span(self.module.span(test)), condition, then, otherwise))
        return steps

    def _rest(self, test: ast.BoolOp, values: list[ast.expr]) -> ast.BoolOp:
        rest = ast.copy_location(ast.BoolOp(test.op, values), values[0])
        self.module.parents[rest] = self.module.parents[test]
        return rest

    def _named(self, test: ast.expr) -> ast.BoolOp | None:
        """The compound condition that a name was given just before: `save = rank == 0 and step % n == 0`."""
        if not isinstance(test, ast.Name):
            return None
        found = bindings_at(self.module, test)
        if found is None or len(found[0]) != 1 or found[0][0].kind != "assign" or not found[0][0].exact:
            return None
        value = found[0][0].value
        if isinstance(value, ast.BoolOp) and any(rank_test(self.module, part) for part in value.values):
            return value
        return None

    def expression(self, node: ast.expr) -> list[Step]:
        """The calls of an expression in the order in which they run."""
        if isinstance(node, (ast.Constant, ast.Name, ast.Lambda)):
            return []
        if isinstance(node, ast.BoolOp):
            *first, last = node.values
            inner: list[Step] = self.expression(last)
            for value in reversed(first):
                then, otherwise = (tuple(inner), ()) if isinstance(node.op, ast.And) else ((), tuple(inner))
                inner = self.branch(value, then, otherwise)
            return inner
        if isinstance(node, ast.IfExp):
            return self.branch(node.test, tuple(self.expression(node.body)), tuple(self.expression(node.orelse)))
        if isinstance(node, COMPREHENSIONS):
            return self.comprehension(node)
        steps: list[Step] = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                steps += self.expression(child)
            elif isinstance(child, ast.keyword):
                steps += self.expression(child.value)
        if isinstance(node, ast.Call):
            steps += self.call(node)
        return steps

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> list[Step]:
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        inside = [step for element in elements for step in self.expression(element)]
        for generator in node.generators:
            for condition in generator.ifs:
                inside = self.branch(condition, tuple(inside), ())
        steps = [step for generator in node.generators for step in self.expression(generator.iter)]
        return [*steps, ("loop", _span(self.module.span(node)), tuple(inside))] if inside else steps

    def call(self, node: ast.Call) -> list[Step]:
        last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        wanted = last in self.asked
        if last in _PLAIN and not wanted:
            return []
        found = callee(self.module, node)
        names = found.names
        stops = names[:1] and names[0] in _STOPS
        if names and not wanted and not stops and all(name.partition(".")[0] in _QUIET for name in names):
            return []
        if names and all(name.startswith("builtins.") for name in names) and not stops:
            return []
        span = _span(self.module.span(node))
        if not names and not wanted:
            return [("unknown", span)]
        arguments = self.arguments(node) if wanted else ()
        if wanted and not names:
            names = (f"*.{last}",) if isinstance(node.func, ast.Attribute) else ()
            found = NOTHING
        return [("call", names, found.certainty, span, self.module.source(node.func), arguments)]

    def arguments(self, node: ast.Call) -> tuple[tuple[int | str, str, bool, object], ...]:
        given: list[tuple[int | str, ast.expr]] = list(enumerate(node.args))
        given += [(keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg]
        stored: list[tuple[int | str, str, bool, object]] = []
        for place, value in given:
            constant = literal(self.module, value)
            known = isinstance(constant, (bool, int, str, type(None)))
            stored.append((place, self.module.source(value), known, constant if known else None))
        return tuple(stored)
