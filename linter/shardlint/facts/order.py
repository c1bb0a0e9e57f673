"""Order inside one function: which statement can run after which, and which always runs before.

A node is a statement; a compound statement stands for its header (the test of an `if`, the iterable of a `for`).
`None` as a node is the entry. Expressions inside one statement are ordered by their place in the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from shardlint.facts.module import FUNCTIONS, Binding, FunctionNode, Module

Node = ast.stmt | None


class Flow:
    """The statement graph of one function body (or of the module)."""

    def __init__(self, module: Module, owner: FunctionNode | ast.Module) -> None:
        self.module = module
        self.owner = owner
        self.after: dict[Node, list[ast.stmt]] = {None: []}
        self.before: dict[ast.stmt, list[Node]] = {}
        _Builder(self).run()

    def reaches(self, first: ast.AST, second: ast.AST) -> bool:
        """Whether `second` can run after `first` in the same call (round a loop counts)."""
        here, there = self.module.statement(first), self.module.statement(second)
        if here is there and _starts(first) < _starts(second):
            return True
        return there in self._from(here, avoid=None)

    def dominates(self, first: ast.AST, second: ast.AST) -> bool:
        """Whether `first` has always run when `second` runs."""
        here, there = self.module.statement(first), self.module.statement(second)
        if here is there:
            return _starts(first) < _starts(second)
        return there not in self._from(None, avoid=here)

    def between(self, first: ast.AST, second: ast.AST, avoid: Iterable[ast.AST]) -> bool:
        """Whether some way from `first` to `second` runs none of `avoid`."""
        barred = {self.module.statement(node) for node in avoid}
        here, there = self.module.statement(first), self.module.statement(second)
        seen: set[ast.stmt] = set()
        stack: list[ast.stmt] = list(self.after.get(here, ()))
        while stack:
            at = stack.pop()
            if at is there:
                return True
            if at in seen or at in barred:
                continue
            seen.add(at)
            stack.extend(self.after.get(at, ()))
        return False

    def reaching(self, name: str, use: ast.AST, bindings: Sequence[Binding]) -> tuple[list[Binding], bool]:
        """The bindings of `name` that may hold at `use`; the flag says whether the entry value may too."""
        by_statement: dict[ast.stmt, list[Binding]] = {}
        parameters = [binding for binding in bindings if binding.kind == "param"]
        for binding in bindings:
            if binding.kind != "param":
                by_statement.setdefault(self.module.statement(binding.node), []).append(binding)
        start = self.module.statement(use)
        found = _earlier_in_statement(by_statement.get(start, []), use)
        if found:
            return found, False
        seen: set[Node] = set()
        stack: list[Node] = list(self.before.get(start, ()))
        entry = False
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            if at is None:
                entry = True
                continue
            here = by_statement.get(at)
            if here:
                found.extend(binding for binding in here if binding not in found)
                if not all(binding.kind in ("for", "with", "except", "augmented") for binding in here):
                    continue
                if any(binding.kind in ("with", "augmented") for binding in here):
                    continue
            stack.extend(self.before.get(at, ()))
        if entry and parameters:
            return [*parameters, *found], False
        return found, entry

    def _from(self, start: Node, avoid: ast.stmt | None) -> set[ast.stmt]:
        seen: set[ast.stmt] = set()
        stack = list(self.after.get(start, ()))
        while stack:
            at = stack.pop()
            if at in seen or at is avoid:
                continue
            seen.add(at)
            stack.extend(self.after.get(at, ()))
        return seen


def _starts(node: ast.AST) -> tuple[int, int]:
    """Arguments are evaluated before the call around them, so a call is placed at its end."""
    if isinstance(node, ast.Call):
        return (node.end_lineno or 0, node.end_col_offset or 0)
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))


def _earlier_in_statement(bindings: Iterable[Binding], use: ast.AST) -> list[Binding]:
    """A walrus binds before what follows it in the same statement."""
    return [b for b in bindings if b.kind == "walrus" and _starts(b.node) <= _starts(use) and b.node is not use]


class _Builder:
    """Builds the edges of a Flow. A frontier is the set of nodes whose next statement is the one to come."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.loops: list[tuple[list[Node], ast.stmt]] = []
        self.handlers: list[list[Node]] = []

    def run(self) -> None:
        self._block(self.flow.owner.body, [None])

    def _edge(self, source: Node, target: ast.stmt) -> None:
        self.flow.after.setdefault(source, []).append(target)
        self.flow.before.setdefault(target, []).append(source)

    def _block(self, body: Sequence[ast.stmt], frontier: list[Node]) -> list[Node]:
        for statement in body:
            for source in frontier:
                self._edge(source, statement)
            for caught in self.handlers:
                caught.append(statement)
            frontier = self._leave(statement)
        return frontier

    def _leave(self, statement: ast.stmt) -> list[Node]:
        if isinstance(statement, (ast.Return, ast.Raise)):
            return []
        if isinstance(statement, ast.Continue):
            if self.loops:
                self._edge(statement, self.loops[-1][1])
            return []
        if isinstance(statement, ast.Break):
            if self.loops:
                self.loops[-1][0].append(statement)
            return []
        if isinstance(statement, ast.If):
            then = self._block(statement.body, [statement])
            other = self._block(statement.orelse, [statement]) if statement.orelse else [statement]
            return [*then, *other]
        if isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(statement)
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            return self._block(statement.body, [statement])
        if isinstance(statement, ast.Try) or statement.__class__.__name__ == "TryStar":
            return self._try(statement)
        if isinstance(statement, ast.Match):
            ends: list[Node] = [statement]
            for case in statement.cases:
                ends += self._block(case.body, [statement])
            return ends
        return [statement]

    def _loop(self, loop: ast.For | ast.AsyncFor | ast.While) -> list[Node]:
        breaks: list[Node] = []
        self.loops.append((breaks, loop))
        for source in self._block(loop.body, [loop]):
            self._edge(source, loop)
        self.loops.pop()
        endless = isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)
        ends: list[Node] = [] if endless else [loop]
        if loop.orelse:
            ends = self._block(loop.orelse, ends)
        return [*ends, *breaks]

    def _try(self, attempt: ast.stmt) -> list[Node]:
        assert isinstance(attempt, ast.Try) or attempt.__class__.__name__ == "TryStar"
        body: list[ast.stmt] = getattr(attempt, "body", [])
        handlers: list[ast.ExceptHandler] = getattr(attempt, "handlers", [])
        orelse: list[ast.stmt] = getattr(attempt, "orelse", [])
        finalbody: list[ast.stmt] = getattr(attempt, "finalbody", [])
        caught: list[Node] = [attempt]
        self.handlers.append(caught)
        ends = self._block(body, [attempt])
        self.handlers.pop()
        if orelse:
            ends = self._block(orelse, ends)
        for handler in handlers:
            ends = [*ends, *self._block(handler.body, list(caught))]
        if finalbody:
            ends = self._block(finalbody, [*ends, *(caught if not handlers else [])])
        return ends


def flow(module: Module, owner: FunctionNode | ast.Module) -> Flow:
    """The statement graph of a function, built once for each module."""
    known = module.memo.get(("flow", owner))
    if isinstance(known, Flow):
        return known
    built = Flow(module, owner)
    module.memo["flow", owner] = built
    return built


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of a body in order, those of nested blocks too, those of nested definitions not."""
    for statement in body:
        yield statement
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            continue
        for name in ("body", "orelse", "handlers", "finalbody", "cases"):
            for inner in getattr(statement, name, ()):
                if isinstance(inner, ast.stmt):
                    yield from statements([inner])
                else:
                    yield from statements(getattr(inner, "body", ()))
