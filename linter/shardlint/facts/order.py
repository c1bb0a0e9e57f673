"""Order inside one function: which statement can run after which, and which always runs before.

A node is a statement; a compound statement stands for its header (the test of an `if`, the iterable of a `for`).
`None` as a node is the entry. Expressions inside one statement are ordered by their place in the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from shardlint.facts.module import COMPREHENSIONS, FUNCTIONS, Binding, FunctionNode, Module

Place = ast.stmt | ast.ExceptHandler | ast.match_case
Node = Place | None


class Flow:
    """The statement graph of one function body (or of the module)."""

    def __init__(self, module: Module, owner: FunctionNode | ast.Module) -> None:
        self.module = module
        self.owner = owner
        self.after: dict[Node, list[Place]] = {None: []}
        self.before: dict[Place, list[Node]] = {}
        self.abrupt: dict[Place, set[Node]] = {}
        """The first statement of a `finally` -> where an exception or `return`, which goes on after it, enters from."""
        self.bound: dict[str, _Bound] = {}
        _Builder(self).run()

    def reaches(self, first: ast.AST, second: ast.AST) -> bool:
        """Whether `second` can run after `first` in the same call (round a loop counts)."""
        here, there = self.module.statement(first), self.module.statement(second)
        if here is there and _starts(first) < _starts(second):
            return True
        return there in self._from(here, None, there)

    def dominates(self, first: ast.AST, second: ast.AST) -> bool:
        """Whether `first` has always run when `second` runs, or when the definition that holds `second` does."""
        here, there = self.module.statement(first), self._own(second)
        if there is None or here not in self.before:
            return False
        if here is there:
            return _starts(first) < _starts(second) and (not self._optional(first) or self._together(first, second))
        return not self._optional(first) and there not in self._from(None, here, there)

    def between(self, first: ast.AST, second: ast.AST, avoid: Iterable[ast.AST]) -> bool:
        """Whether some way from `first` to `second` runs none of `avoid`."""
        here, there = self.module.statement(first), self.module.statement(second)
        barred: set[Place] = set()
        for node in avoid:
            if self._optional(node):
                continue
            at = self.module.statement(node)
            barred.add(at)
            if (
                at is here
                and _starts(first) < _starts(node)
                and not (here is there and _starts(second) < _starts(node))
            ):
                return False
            if at is there and _starts(node) > _starts(second):
                barred.discard(at)
        if here is there and _starts(first) < _starts(second):
            return True
        return there not in barred and there in self._walk(here, barred, there)

    def reaching(self, use: ast.Name, bindings: Sequence[Binding]) -> list[Binding]:
        """The bindings of a name that may hold at `use`, one of its reads; none when no way from one leads there.

        A way on which nothing binds the name ends in an error at run time, so it adds no value, unless the name is a
        parameter. A bare annotation binds nothing; it is returned only when nothing else is.

        Args:
            bindings: all bindings of the name in the scope of this function; the same list for each of its reads.
        """
        if use.id not in self.bound:
            self.bound[use.id] = _Bound(self, bindings)
        bound = self.bound[use.id]
        start = self.place(use)
        inside = _earlier_in_statement(bound.at.get(start, []), use)
        if inside:
            return inside
        found: dict[Binding, None] = {}
        seen: set[tuple[Node, Place]] = set()
        stack: list[tuple[Node, Place]] = [(at, start) for at in self._entries(start)]
        while stack:
            at, following = edge = stack.pop()
            if edge in seen:
                continue
            seen.add(edge)
            if at is None:
                found.update(dict.fromkeys(bound.parameters))
                continue
            here = _bound_on_the_way(bound.at.get(at, ()), at, following)
            found.update(dict.fromkeys(here))
            if not here:
                stack.extend((earlier, at) for earlier in self.before.get(at, ()))
        kept = [binding for binding in found if binding.kind != "delete"] or bound.annotations
        return [*kept, *bound.elsewhere] if kept else []

    def _entries(self, place: Place) -> list[Node]:
        """Where a place is entered from. The iterable of a `for` is read once, so not from inside of the loop."""
        before = self.before.get(place, [])
        if not isinstance(place, (ast.For, ast.AsyncFor)):
            return before
        return [at for at in before if at is None or place not in self.module.ancestors(at)]

    def place(self, node: ast.AST) -> Place:
        """The node of the graph that runs `node`: a handler and a `case` are places of their own."""
        if isinstance(node, (ast.ExceptHandler, ast.match_case)):
            return node
        return self.module.statement(node)

    def _own(self, node: ast.AST) -> ast.stmt | None:
        """The statement of this graph that holds `node`, from outside of nested definitions."""
        for at in (node, *self.module.ancestors(node)):
            if isinstance(at, ast.stmt) and at in self.before:
                return at
        return None

    def _optional(self, node: ast.AST) -> bool:
        """Whether `node` may be passed over when its statement runs: `a and f()`, `f() if a else b`, a lambda."""
        child = node
        for at in self.module.ancestors(node):
            if isinstance(child, ast.stmt):
                return False
            if isinstance(at, ast.IfExp) and child is not at.test:
                return True
            if isinstance(at, ast.BoolOp) and child is not at.values[0]:
                return True
            if isinstance(at, ast.Lambda) and child is at.body:
                return True
            if isinstance(at, COMPREHENSIONS) and child is not at.generators[0]:
                return True
            child = at
        return False

    def _together(self, first: ast.AST, second: ast.AST) -> bool:
        """Whether two expressions of one statement share the arm that may be passed over."""
        around = set(self.module.ancestors(second))
        for at in self.module.ancestors(first):
            if isinstance(at, (ast.IfExp, ast.BoolOp, ast.Lambda, *COMPREHENSIONS)):
                return at in around and isinstance(at, ast.BoolOp)
        return False

    def _from(self, start: Node, avoid: ast.stmt | None, end: Place) -> set[Place]:
        return self._walk(start, set() if avoid is None else {avoid}, end)

    def _walk(self, start: Node, barred: set[Place], end: Place) -> set[Place]:
        """The places that a way from `start` to `end` may run, without those that are barred."""
        finally_matters = self._in_finally(end)
        seen: set[Place] = set()
        stack: list[Node] = [start]
        while stack:
            source = stack.pop()
            for at in self.after.get(source, ()):
                if at in seen or at in barred:
                    continue
                if not finally_matters and source in self.abrupt.get(at, ()):
                    continue
                seen.add(at)
                stack.append(at)
        return seen

    def _in_finally(self, node: ast.AST) -> bool:
        child = node
        for at in self.module.ancestors(node):
            if child in getattr(at, "finalbody", ()):
                return True
            if at is self.owner:
                return False
            child = at
        return False


class _Bound:
    """The bindings of one name, by where they stand in a flow."""

    def __init__(self, flow: Flow, bindings: Sequence[Binding]) -> None:
        self.at: dict[ast.AST, list[Binding]] = {}
        self.parameters: list[Binding] = []
        self.annotations: list[Binding] = []
        self.elsewhere: list[Binding] = []
        """Made by another function (`global`, `nonlocal`), before or after any place of this one."""
        for binding in bindings:
            if binding.kind == "param":
                self.parameters.append(binding)
            elif flow.module.function(binding.node) is not flow.owner:
                self.elsewhere.append(binding)
            elif binding.kind == "annotation":
                self.annotations.append(binding)
            else:
                self.at.setdefault(flow.place(binding.place), []).append(binding)


def _bound_on_the_way(bindings: Sequence[Binding], at: Place, following: Place) -> Sequence[Binding]:
    """The bindings that a place makes before `following` runs: a loop binds its target on the way into its body."""
    if isinstance(at, (ast.For, ast.AsyncFor)) and following is not at.body[0]:
        return [binding for binding in bindings if binding.kind != "for"]
    return bindings


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
        """For each `try` around: the places that an exception may come from."""

    def run(self) -> None:
        self._block(self.flow.owner.body, [None])

    def _edge(self, source: Node, target: Place) -> None:
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
        if isinstance(statement, (ast.Return, ast.Raise)) or _exits(statement):
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
        if isinstance(statement, ast.ClassDef):
            return self._block(statement.body, [statement])
        if isinstance(statement, ast.Try) or statement.__class__.__name__ == "TryStar":
            return self._try(statement)
        if isinstance(statement, ast.Match):
            return self._match(statement)
        return [statement]

    def _match(self, match: ast.Match) -> list[Node]:
        ends: list[Node] = []
        for case in match.cases:
            self._edge(match, case)
            ends += self._block(case.body, [case])
        last = match.cases[-1]
        catches_all = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
        return ends if catches_all else [*ends, match]

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
        escaped: list[Node] = [attempt]
        self.handlers += [escaped, caught] if finalbody else [caught]
        ends = self._block(body, [attempt])
        self.handlers.pop()
        if orelse:
            ends = self._block(orelse, ends)
        for handler in handlers:
            for source in caught:
                self._edge(source, handler)
            ends = [*ends, *self._block(handler.body, [handler])]
        if finalbody:
            self.handlers.pop()
            early: list[Node] = [place for place in escaped if place not in ends]
            self.flow.abrupt[finalbody[0]] = set(early)
            ends = self._block(finalbody, [*ends, *early])
        return ends


_EXITS = frozenset(("sys.exit", "os._exit", "os.abort", "exit", "quit"))


def _exits(statement: ast.stmt) -> bool:
    """Whether a statement ends the process: a call of `sys.exit` and the like."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    func = statement.value.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        return f"{func.value.id}.{func.attr}" in _EXITS
    return isinstance(func, ast.Name) and func.id in _EXITS


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
