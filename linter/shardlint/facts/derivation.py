"""What a function computes from a value: where the value goes, statement by statement, within one function.

A value is followed through assignments, unpackings, containers and loops by the text of its place (`total`,
`self.total`). What only asks for its form (`x.shape`, `len(x)`, `x is None`) is not computed from it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shardlint.facts.key_pattern import dotted
from shardlint.facts.module import FUNCTIONS, Module, pairs
from shardlint.facts.names import bindings_at
from shardlint.facts.order import Place, flow
from shardlint.facts.site import Expression, Site

_FORM = frozenset(("shape", "device", "dtype", "ndim", "size", "numel", "dim", "element_size", "layout", "is_cuda"))
_FORM_CALLS = frozenset(("len", "isinstance", "hasattr", "type", "id", "callable"))
_SAME = frozenset(("data", "detach", "view", "view_as", "flatten", "reshape", "squeeze", "unsqueeze", "contiguous"))
"""What gives the same memory again, so that a call that writes into it writes into the value."""
_FILLS = frozenset(("append", "extend", "insert", "add", "update", "setdefault", "put", "appendleft"))
_NESTED = (*FUNCTIONS, ast.ClassDef, ast.Lambda)
_Paths = frozenset[str]


class Derivation:
    """Where a value and what is computed from it are in one function.

    Args:
        start: the call after which the value is wanted.
        value: where the value lies then; None: it is what the call returns.
        ends: calls that replace the value by another one, where they are given it.
    """

    def __init__(self, start: Site, value: Expression | None, ends: Sequence[Site] = ()) -> None:
        self.start = start
        self.module = start.module
        self.function = start.function
        self.voice = start.voice
        self._source = start.call if value is None else None
        self._ends = frozenset(end.call for end in ends)
        self._first: Place = start.statement
        self._seeds: _Paths = frozenset() if value is None else frozenset(_aliases(value))
        self._entering: dict[ast.AST, _Paths] = {}
        self._run()

    def holds(self, expression: Expression | ast.expr) -> bool:
        """Whether an expression of the function is computed from the value, where it stands."""
        node = expression.ast if isinstance(expression, Expression) else expression
        return self._tells(node, self._entering.get(self.module.statement(node), frozenset()))

    @property
    def tests(self) -> list[Expression]:
        """The conditions of `if` and `while` that are computed from the value, in order."""
        tests = [branch.test for branch in self.function.statements if isinstance(branch, (ast.If, ast.While))]
        return [Expression(self.module, test, self.voice) for test in tests if self.holds(test)]

    @property
    def returned(self) -> list[Expression]:
        """What the function returns of it."""
        given = [statement.value for statement in self.function.statements if isinstance(statement, ast.Return)]
        return [Expression(self.module, value, self.voice) for value in given if value and self.holds(value)]

    def _run(self) -> None:
        """Follow the value from statement to statement until nothing is new."""
        graph = flow(self.module, self.function.ast)
        waiting: list[tuple[Place, _Paths]] = [(self._first, frozenset())]
        while waiting:
            place, paths = waiting.pop()
            known = self._entering.get(place)
            if known is not None and paths <= known:
                continue
            self._entering[place] = paths | (known or frozenset())
            left = self._after(place, self._entering[place])
            waiting += [(following, left) for following in graph.after.get(place, ())]

    def _after(self, place: Place, paths: _Paths) -> _Paths:
        """The places of the value when a statement has run."""
        for target, value, kept in _bindings(self.module, place):
            text = _place_of(target)
            if text and self._tells(value, paths):
                paths |= {text}
            elif text and not kept:
                paths = _without(paths, [text])
        for call in _own(place):
            if call in self._ends:
                paths = _without(paths, list(_places_in(call)))
        return paths | self._seeds if place is self._first else paths

    def _tells(self, node: ast.AST, paths: _Paths) -> bool:
        """Whether an expression tells anything of a value that lies in some places."""
        if node is self._source:
            return True
        if isinstance(node, _NESTED) or _asks_for_form(node):
            return False
        if isinstance(node, (ast.Name, ast.Attribute)):
            text = dotted(node)
            if any(_within(text, path) for path in paths):
                return True
        return any(self._tells(child, paths) for child in ast.iter_child_nodes(node))


def derivation(start: Site, value: Expression | None = None, ends: Sequence[Site] = ()) -> Derivation:
    """What the function around a call computes from a value that the call made."""
    return Derivation(start, value, ends)


def _without(paths: _Paths, gone: Sequence[str]) -> _Paths:
    return frozenset(path for path in paths if not any(_within(path, text) for text in gone if text))


def _aliases(value: Expression) -> Iterator[str]:
    """The places of a value that a call writes into: its own, and the name that it is another name of."""
    node = value.ast
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
            node = node.func.value
        elif (isinstance(node, ast.Attribute) and node.attr in _SAME) or isinstance(node, ast.Subscript):
            node = node.value
        else:
            break
    if dotted(node):
        yield dotted(node)
        for other in Expression(value.module, node, value.voice).values:
            if isinstance(other.ast, (ast.Name, ast.Attribute)) and dotted(other.ast) and other.ast is not node:
                yield dotted(other.ast)


def _bindings(module: Module, place: Place) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """Target, value, and whether the target keeps what it had, of each place that a statement gives something."""
    if isinstance(place, ast.Assign):
        for target in place.targets:
            yield from _parts(target, place.value)
    elif isinstance(place, ast.AnnAssign) and place.value is not None:
        yield place.target, place.value, False
    elif isinstance(place, ast.AugAssign):
        yield place.target, place.value, True
    elif isinstance(place, (ast.For, ast.AsyncFor)):
        yield from _parts(place.target, place.iter)
    elif isinstance(place, (ast.With, ast.AsyncWith)):
        for item in place.items:
            if item.optional_vars is not None:
                yield from _parts(item.optional_vars, item.context_expr)
    for node in _own(place):
        if isinstance(node, ast.NamedExpr):
            yield node.target, node.value, False
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            filled = node.func.attr in _FILLS or node.func.attr.endswith("_")
            if filled and not _imported(module, node.func.value):
                for given in node.args:
                    yield node.func.value, given, True


def _parts(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for part, given in pairs(target, value):
            yield from _parts(part.value if isinstance(part, ast.Starred) else part, given or value)
    else:
        yield target, value, isinstance(target, ast.Subscript)


def _own(place: Place) -> Iterator[ast.AST]:
    """The nodes of a statement itself: of a compound one its header, and nothing of nested definitions."""
    waiting: list[ast.AST] = [place]
    while waiting:
        node = waiting.pop()
        yield node
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (*_NESTED, ast.stmt, ast.ExceptHandler, ast.match_case)):
                waiting.append(child)


def _imported(module: Module, node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    found = bindings_at(module, node) if isinstance(node, ast.Name) else None
    return found is not None and any(binding.kind == "import" for binding in found[0])


def _asks_for_form(node: ast.AST) -> bool:
    """Whether an expression asks of what kind a value is, not which: its shape, its type, whether it is None."""
    if isinstance(node, ast.Attribute):
        return node.attr in _FORM
    if isinstance(node, ast.Compare):
        return all(isinstance(operator, (ast.Is, ast.IsNot)) for operator in node.ops)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FORM_CALLS


def _place_of(target: ast.expr) -> str:
    """The text of the place that a target writes to, that of the container for a part of it."""
    while isinstance(target, (ast.Subscript, ast.Starred)):
        target = target.value
    return dotted(target)


def _places_in(node: ast.AST) -> Iterator[str]:
    """The places that an expression names: `self.total` of `f(self.total)`, not `self`."""
    if isinstance(node, ast.expr) and (text := dotted(node)):
        yield text
    else:
        for child in ast.iter_child_nodes(node):
            yield from _places_in(child)


def _within(text: str, outer: str) -> bool:
    """Whether a place is another one or lies in it."""
    return text == outer or text.startswith(outer + ".")


__all__ = ["Derivation", "derivation"]
