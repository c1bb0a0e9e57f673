"""The conditions of a pattern: what must, or must not, be around a place, before it, after it, or in a metavariable.

Each answers with the states in which it holds. What cannot be told makes the state doubtful: the place is not judged.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from shardlint.facts.module import FUNCTIONS, Module
from shardlint.facts.order import flow
from shardlint.knowledge.problem import CheckProblem
from shardlint.query import Needs
from shardlint.syntax.patterns.bindings import State
from shardlint.syntax.patterns.candidates import candidates
from shardlint.syntax.patterns.comparison import ASYNC, Comparison
from shardlint.syntax.patterns.guarding import holding, may_fail_to_import
from shardlint.syntax.patterns.needs import holds_texts, needs, says_something
from shardlint.syntax.patterns.plain import Where, items
from shardlint.syntax.patterns.snippet import Snippet, one_statement, read

States = Iterator[State]


class Condition:
    """One condition. `variables` are the metavariables that it may bind."""

    variables: frozenset[str] = frozenset()

    def holds(self, module: Module, node: ast.AST, state: State) -> States:
        """The states in which it holds for a match at `node`."""
        raise NotImplementedError

    def needs(self) -> Needs:
        """What a file holds in which it can hold."""
        return ("all",)

    def holds_texts(self, text: str) -> bool:  # noqa: ARG002 - for those that have texts
        """Whether a file has the texts that the condition needs."""
        return True

    def says_something(self) -> bool:
        """Whether it leaves out most places."""
        return False


class Unless(Condition):
    """A condition that holds where another one does not."""

    def __init__(self, condition: Condition) -> None:
        self.condition = condition

    def holds(self, module: Module, node: ast.AST, state: State) -> States:
        doubts: list[str] = []
        for found in self.condition.holds(module, node, state.afresh()):
            if not found.unsure:
                return
            doubts.append(found.unsure)
        yield state.doubted(doubts[0]) if doubts else state


class _OfSnippet(Condition):
    def __init__(self, snippet: Snippet, typed: frozenset[str]) -> None:
        self.snippet = snippet
        self.typed = typed
        self.variables = snippet.variables

    def needs(self) -> Needs:
        return needs(self.snippet)

    def holds_texts(self, text: str) -> bool:
        return holds_texts(self.snippet, text)

    def says_something(self) -> bool:
        return says_something(self.snippet)

    def at(self, module: Module, node: ast.AST, state: State) -> States:
        """The states in which the snippet matches at a node."""
        for found, _ in Comparison(module, self.snippet, typed=self.typed).at(node, state):
            yield found


class Is(_OfSnippet):
    """The snippet matches at the place itself."""

    def holds(self, module: Module, node: ast.AST, state: State) -> States:
        yield from self.at(module, node, state)


class Inside(_OfSnippet):
    """The place is in the body of a statement, or in an expression, that the snippet matches.

    What a nested function does is not done where the function stands, so only `def` and `class` are looked for outside
    of the function around the place.
    """

    def holds(self, module: Module, node: ast.AST, state: State) -> States:
        root = self.snippet.root
        definition = isinstance(root, (*FUNCTIONS, ast.ClassDef))
        kinds = ASYNC.get(root.__class__, (root.__class__,))
        named = self.snippet.expression is not None and not isinstance(root, ast.Call)
        child = node
        for at in module.ancestors(node):
            in_body = not isinstance(at, ast.stmt) or child in getattr(at, "body", (child,))
            if in_body and (isinstance(at, kinds) or (named and isinstance(at, ast.expr))):
                yield from self.at(module, at, state)
            body = at.body if isinstance(at, ast.Lambda) else None
            leaves = isinstance(at, (*FUNCTIONS, ast.ClassDef)) and isinstance(child, ast.stmt) and in_body
            if not definition and (leaves or (body is not None and child is body)):
                return
            child = at


class Ordered(_OfSnippet):
    """A match of the snippet in the same function surely ran before (`after`), or can run after the place."""

    def __init__(self, snippet: Snippet, typed: frozenset[str], *, after: bool) -> None:
        super().__init__(snippet, typed)
        self.after = after

    def holds(self, module: Module, node: ast.AST, state: State) -> States:
        owner = module.function(node)
        order = flow(module, owner)
        for other in self._in(module, owner):
            if other is node:
                continue
            for found in self.at(module, other, state):
                if not (order.dominates(other, node) if self.after else order.reaches(node, other)):
                    break
                yield found

    def _in(self, module: Module, owner: ast.AST) -> Sequence[ast.AST]:
        """The candidates in a function."""
        known = module.memo.get(("in function", self.snippet, owner))
        if known is None:
            known = [other for other in candidates(module, self.snippet) if module.function(other) is owner]
            module.memo["in function", self.snippet, owner] = known
        return cast("Sequence[ast.AST]", known)


class Guarded(_OfSnippet):
    """A condition that the snippet matches surely holds where the place runs."""

    def __init__(self, snippet: Snippet, typed: frozenset[str], *, loose: bool = False) -> None:
        super().__init__(snippet, typed)
        self.loose = loose
        root = snippet.root
        self.truth = not (isinstance(root, ast.UnaryOp) and isinstance(root.op, ast.Not))

    def needs(self) -> Needs:
        """No operator: the code may say the opposite and leave."""
        return needs(self.snippet, rare=False)

    def holds(self, module: Module, node: ast.AST, state: State) -> States:
        comparison = Comparison(module, self.snippet, typed=self.typed, loose=self.loose)
        root = self.snippet.root
        want = root.operand if isinstance(root, ast.UnaryOp) and not self.truth else root
        for clause in holding(module, node):
            states = [state]
            for test, truth in clause:
                states = (
                    [found for one in states for found in comparison.node(want, test, one)]
                    if truth is self.truth
                    else []
                )
            yield from states


class InTry(Condition):
    """An ImportError at the place is caught where it stands."""

    def holds(self, module: Module, node: ast.AST, state: State) -> States:
        if may_fail_to_import(module, node):
            yield state

    def needs(self) -> Needs:
        return ("any", ("text", "except"), ("text", "suppress"))


MOST = 20
"""Snippets of one condition."""


def read_conditions(plain: Mapping[str, object], where: Where, typed: frozenset[str]) -> list[Condition]:
    """The conditions of a mapping: those that may bind a metavariable first.

    Raises CheckProblem.
    """
    wanted: list[Condition] = []
    refused: list[Condition] = []
    for key in KEYS:
        if key in plain:
            for place, text in items(plain[key], (*where, key), "patterns", MOST):
                condition = _condition(key.removeprefix("not_"), text, place, typed)
                if key.startswith("not"):
                    refused.append(Unless(condition))
                else:
                    wanted.append(condition)
    return [*wanted, *refused]


KEYS = (
    "inside",
    "within_guard",
    "after",
    "before",
    "not",
    "not_inside",
    "not_within_guard",
    "not_after",
    "not_before",
)
"""The keys of a pattern that are conditions of this kind."""


def _condition(kind: str, text: object, where: Where, typed: frozenset[str]) -> Condition:
    if kind == "within_guard":
        return guard(text, where, typed)
    if kind == "not":
        return Is(read(text, where), typed)
    snippet = one_statement(text, where)
    if kind == "inside":
        return Inside(snippet, typed)
    return Ordered(snippet, typed, after=kind == "after")


def guard(text: object, where: Where, typed: frozenset[str] = frozenset(), *, loose: bool = False) -> Condition:
    """A guard: a condition as an expression, or the word `try`. Raises CheckProblem."""
    if text == "try":
        return InTry()
    snippet = one_statement(text, where)
    if snippet.expression is None:
        raise CheckProblem(where, "a guard is a condition, such as `is_available()`, or the word `try`")
    return Guarded(snippet, typed, loose=loose)
