"""Whether code matches a snippet: both are compared node by node, and each way to bind the metavariables is tried."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

from shardlint.facts.matching import with_bases
from shardlint.facts.module import FUNCTIONS, Module
from shardlint.facts.names import INFERRED, local_definition, resolve
from shardlint.facts.values import literal
from shardlint.syntax.patterns.bindings import State
from shardlint.syntax.patterns.meaning import certainty, last_words, member
from shardlint.syntax.patterns.parts import Entry, Imported, Parameter, entries, imported, parameters
from shardlint.syntax.patterns.snippet import Snippet, many, one, variable

Item = TypeVar("Item")
States = Iterator[State]

ASYNC: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.FunctionDef: FUNCTIONS,
    ast.For: (ast.For, ast.AsyncFor),
    ast.With: (ast.With, ast.AsyncWith),
    ast.Assign: (ast.Assign, ast.AnnAssign),
    ast.Import: (ast.Import, ast.ImportFrom),
    ast.ImportFrom: (ast.Import, ast.ImportFrom),
}
"""The nodes that a node of a snippet stands for, where those of its own class are not all."""

_OPTIONAL = frozenset(("orelse", "finalbody", "returns", "optional_vars", "cause", "msg"))
"""Parts that code may have and a snippet need not mention."""

_LEFT_OUT = frozenset(("ctx", "type_comment", "type_params", "kind", "simple"))
"""Fields that say nothing about what the code does."""


class Comparison:
    """Compares places of one file with one snippet.

    `typed` are metavariables whose class is asked for: a method of one is as certain as the class. With `loose`, a bare
    name is also anything whose last part it is.
    """

    def __init__(
        self, module: Module, snippet: Snippet, *, typed: frozenset[str] = frozenset(), loose: bool = False
    ) -> None:
        self.module = module
        self.snippet = snippet
        self.names = snippet.names
        self.typed = typed
        self.loose = loose

    def at(self, node: ast.AST, state: State) -> Iterator[tuple[State, ast.AST]]:
        """Each way in which the snippet matches at a node, with the last node of the match.

        Several statements match those that follow the node in its block.

        Raises Exhausted.
        """
        if self.snippet.expression is not None or len(self.snippet.body) == 1:
            for found in self.node(self.snippet.root, node, state):
                yield found, node
            return
        parent = self.module.parent(node)
        for name in ("body", "orelse", "finalbody"):
            block: list[ast.AST] = getattr(parent, name, None) or []
            if block.__class__ is list and node in block:
                for found, end in self._run(self.snippet.body, block, block.index(node), state, self.node, whole=False):
                    yield found, block[end - 1]

    def node(self, want: ast.AST, have: ast.AST, state: State) -> States:
        """Each state in which one node of the snippet is one node of the code."""
        state.fuel.spend()
        name = one(want) or many(want)
        if name is not None:
            if not isinstance(have, (ast.Starred, ast.keyword)):
                yield from _only(state.bind(name, have))
            return
        text = self.names.get(want)
        if text is not None:
            sure = self._certainty(have, text)
            if sure:
                yield state.lowered(sure)
            return
        if not isinstance(have, ASYNC.get(want.__class__, want.__class__)) and want.__class__ not in _FREE:
            return
        compare = self._special.get(want.__class__)
        yield from self._fields(want, have, state) if compare is None else compare(self, want, have, state)

    def _certainty(self, have: ast.AST, text: str) -> float:
        parent = self.module.parent(have)
        called = isinstance(parent, ast.Call) and parent.func is have
        sure = certainty(self.module, have, text, called=called)
        if not sure and self.loose and "." not in text and text in last_words(self.module, have):
            return INFERRED
        return sure

    def _fields(self, want: ast.AST, have: ast.AST, state: State, fields: Sequence[str] | None = None) -> States:
        """Each state in which the fields of two nodes are the same, one after the other."""
        left = [field for field in want._fields if field not in _LEFT_OUT] if fields is None else fields
        if not left:
            yield state
            return
        field, *rest = left
        for found in self._value(field, getattr(want, field, None), getattr(have, field, None), state):
            yield from self._fields(want, have, found, rest)

    def _value(self, field: str, want: Any, have: Any, state: State) -> States:
        if want.__class__ is list:
            if want and not have and field in ("orelse", "finalbody"):
                return  # `else: ...` asks for an `else`
            if want or field not in _OPTIONAL:
                compare = self._identifier if want and isinstance(want[0], str) else self.node
                yield from self._items(want, have, state, compare)
            else:
                yield state
        elif isinstance(want, ast.AST):
            if isinstance(have, ast.AST):
                yield from self.node(want, have, state)
        elif isinstance(want, str) and isinstance(have, str):
            yield from self._identifier(want, have, state)
        elif want == have or (want is None and field in _OPTIONAL):
            yield state

    def _identifier(self, want: str | None, have: str | None, state: State) -> States:
        name = variable(want)
        if name is not None and have is not None:
            yield from _only(state.bind(name, have))
        elif want == have:
            yield state

    def _items(
        self, want: Sequence[Item], have: Sequence[Item], state: State, compare: Callable[[Item, Item, State], States]
    ) -> States:
        """Each state in which all of `have`, in order, are what the snippet lists; `...` stands for any number."""
        for found, _ in self._run(want, have, 0, state, compare, whole=True):
            yield found

    def _run(
        self,
        want: Sequence[Item],
        have: Sequence[Item],
        at: int,
        state: State,
        compare: Callable[[Item, Item, State], States],
        *,
        whole: bool,
        extra: tuple[ast.AST, ...] = (),
    ) -> Iterator[tuple[State, int]]:
        """Each state in which `want` is what stands from `at` on, and where that ends; `whole`: only at the end.

        `extra` goes into the binding of the last `$...X`.
        """
        state.fuel.spend()
        if not want:
            if not whole or at == len(have):
                yield state, at
            return
        first, rest = want[0], want[1:]
        name = _any_number(first)
        if name is None:
            if at < len(have):
                for found in compare(first, have[at], state):
                    yield from self._run(rest, have, at + 1, found, compare, whole=whole, extra=extra)
            return
        fixed = sum(_any_number(item) is None for item in rest)
        last = fixed == len(rest)
        shortest = len(have) - fixed if whole and last else at
        longest = len(have) - fixed
        for end in range(max(shortest, at), longest + 1):
            taken = (*_nodes(have[at:end]), *(extra if last else ()))
            bound = state.bind(name, taken)
            if bound is not None:
                yield from self._run(rest, have, end, bound, compare, whole=whole, extra=extra)

    def _each(
        self, want: Sequence[Item], have: Sequence[Item], state: State, compare: Callable[[Item, Item, State], States]
    ) -> Iterator[tuple[State, tuple[Item, ...]]]:
        """Each state in which everything wanted is there, in any order, and what is there besides."""
        wanted = [item for item in want if _any_number(item) is None]
        if not wanted:
            yield state, tuple(have)
            return
        first, *rest = wanted
        for place, item in enumerate(have):
            for found in compare(first, item, state):
                yield from self._each(rest, [*have[:place], *have[place + 1 :]], found, compare)

    def _call(self, want: ast.Call, have: ast.Call, state: State) -> States:
        for found in self.node(want.func, have.func, state):
            yield from self._arguments(want, have, found)

    def _arguments(self, want: ast.Call, have: ast.Call, state: State) -> States:
        """Positional arguments in order, keywords in any; others only where the snippet has `...`."""
        opened = [name for item in (*want.args, *want.keywords) if (name := many(item)) is not None]
        named: list[ast.keyword] = []
        doubted = False
        given = {keyword.arg for keyword in have.keywords}
        for keyword in want.keywords:
            if many(keyword) is not None:
                continue
            if None in given and keyword.arg is not None and keyword.arg not in given and not variable(keyword.arg):
                doubted, state = True, state.doubted("what `**` passes is not known")
            else:
                named.append(keyword)
        for found, left in self._each(named, have.keywords, state, self._keyword):
            if not opened and any(item.arg is not None or not doubted for item in left):
                continue
            in_keywords = [item for item in want.keywords if many(item) is not None]
            if in_keywords:
                bound = found.bind(many(in_keywords[-1]) or "", left)
                yield from self._positional(want, have, bound, ()) if bound is not None else ()
            else:
                yield from self._positional(want, have, found, left)

    def _positional(self, want: ast.Call, have: ast.Call, state: State, extra: tuple[ast.AST, ...]) -> States:
        matched = False
        for found, _ in self._run(want.args, have.args, 0, state, self.node, whole=True, extra=extra):
            matched = True
            yield found
        star = next((place for place, item in enumerate(have.args) if isinstance(item, ast.Starred)), None)
        if matched or star is None or any(isinstance(item, ast.Starred) and many(item) is None for item in want.args):
            return
        before = want.args[:star]
        if all(many(item) is None for item in before):
            if len(before) == star:
                for found in self._items(before, have.args[:star], state, self.node):
                    yield found.doubted("how many arguments `*` passes is not known")
        else:
            yield state.doubted("how many arguments `*` passes is not known")

    def _keyword(self, want: ast.keyword, have: ast.keyword, state: State) -> States:
        if (want.arg is None) == (have.arg is None):
            for found in self._identifier(want.arg, have.arg, state):
                yield from self.node(want.value, have.value, found)

    def _attribute(self, want: ast.Attribute, have: ast.AST, state: State) -> States:
        """An attribute of something that has no fixed name, or a member of a package that may be any."""
        name, package = variable(want.attr), self.names.get(want.value)
        if name is not None and package is not None:
            parent = self.module.parent(have)
            found = member(self.module, have, package, called=isinstance(parent, ast.Call) and parent.func is have)
            if found is not None:
                yield from _only(state.lowered(found[1]).bind(name, found[0]))
            return
        if not isinstance(have, ast.Attribute):
            return
        owner = one(want.value)
        state = state if owner in self.typed else state.lowered(INFERRED)
        for bound in self._identifier(want.attr, have.attr, state):
            yield from self.node(want.value, have.value, bound)

    def _constant(self, want: ast.Constant, have: ast.AST, state: State) -> States:
        """The same value, also through a name that holds only it; the text "..." is any text."""
        value = literal(self.module, have)
        if want.value == "...":
            if isinstance(value, str) or isinstance(have, ast.JoinedStr):
                yield state
        elif value.__class__ is want.value.__class__ and value == want.value:
            yield state

    def _unary(self, want: ast.UnaryOp, have: ast.AST, state: State) -> States:
        """A negative number is a constant, too."""
        if isinstance(want.op, ast.USub) and isinstance(want.operand, ast.Constant):
            value = literal(self.module, have)
            number = want.operand.value
            if isinstance(number, (int, float)) and value.__class__ is number.__class__ and value == -number:
                yield state
        elif isinstance(have, ast.UnaryOp):
            yield from self._fields(want, have, state)

    def _dict(self, want: ast.Dict, have: ast.Dict, state: State) -> States:
        """Items in any order; others only where the snippet has `**...`."""
        for found, left in self._each(entries(want), entries(have), state, self._entry):
            if any(many(entry.value) is not None for entry in entries(want)) or not left:
                yield found

    def _entry(self, want: Entry, have: Entry, state: State) -> States:
        if (want.key is None) == (have.key is None):
            yield from self._optional([(want.key, have.key), (want.value, have.value)], state)

    def _expression_statement(self, want: ast.Expr, have: ast.Expr, state: State) -> States:
        """A call that is a statement may be awaited."""
        value = have.value
        if isinstance(value, ast.Await) and not isinstance(want.value, ast.Await):
            value = value.value
        yield from self.node(want.value, value, state)

    def _assign(self, want: ast.Assign, have: ast.Assign | ast.AnnAssign, state: State) -> States:
        """One of the targets, annotated or not."""
        if have.value is None:
            return
        targets = have.targets if isinstance(have, ast.Assign) else [have.target]
        for found, left in self._each(want.targets, targets, state, self.node):
            if len(want.targets) == 1 or not left:
                yield from self.node(want.value, have.value, found)

    def _import(self, want: ast.Import | ast.ImportFrom, have: ast.Import | ast.ImportFrom, state: State) -> States:
        for found, _ in self._each(imported(self.module, want), imported(self.module, have), state, self._imported):
            yield found

    def _imported(self, want: Imported, have: Imported, state: State) -> States:
        """The same module or member under whatever name, unless the snippet gives one."""
        if want.name is None:
            if have.base is not None:
                yield from self._path(want.base or "", have.base, state)
            return
        if want.base is not None and (variable(want.base) or variable(want.name)):
            pairs: list[tuple[str, str | None]] = [(want.base, have.base), (want.name, have.name)]
        else:
            pairs = [(want.path, have.path)]
        if want.alias is not None:
            pairs.append((want.alias, have.alias))
        yield from self._texts(pairs, state)

    def _texts(self, pairs: Sequence[tuple[str, str | None]], state: State) -> States:
        if not pairs:
            yield state
            return
        (want, have), *rest = pairs
        if have is not None:
            for found in self._path(want, have, state):
                yield from self._texts(rest, found)

    def _path(self, want: str, have: str, state: State) -> States:
        """A dotted path, in which a metavariable stands for one part, or for the whole where it is alone."""
        wanted = want.split(".")
        given = have.split(".") if len(wanted) > 1 else [have]
        if len(wanted) == len(given):
            yield from self._items(wanted, given, state, self._identifier)

    def _function(self, want: ast.FunctionDef, have: ast.FunctionDef, state: State) -> States:
        for found in self._identifier(want.name, have.name, state):
            for marked, _ in self._each(want.decorator_list, have.decorator_list, found, self.node):
                for taking in self._parameters(want.args, have.args, marked):
                    yield from self._fields(want, have, taking, ("returns", "body"))

    def _parameters(self, want: ast.arguments, have: ast.arguments, state: State) -> States:
        yield from self._items(parameters(want), parameters(have), state, self._parameter)

    def _parameter(self, want: Parameter, have: Parameter, state: State) -> States:
        """Annotation and default are compared where the snippet has them."""
        if want.kind != have.kind:
            return
        for found in self._identifier(want.node.arg, have.node.arg, state):
            pairs = [(want.node.annotation, have.node.annotation), (want.default, have.default)]
            yield from self._optional(pairs, found)

    def _optional(self, pairs: Sequence[tuple[ast.AST | None, ast.AST | None]], state: State) -> States:
        if not pairs:
            yield state
            return
        (want, have), *rest = pairs
        if want is None:
            yield from self._optional(rest, state)
        elif have is not None:
            for found in self.node(want, have, state):
                yield from self._optional(rest, found)

    def _lambda(self, want: ast.Lambda, have: ast.Lambda, state: State) -> States:
        for found in self._parameters(want.args, have.args, state):
            yield from self.node(want.body, have.body, found)

    def _class(self, want: ast.ClassDef, have: ast.ClassDef, state: State) -> States:
        """Bases in any order, those of bases in the same file included."""
        for found in self._identifier(want.name, have.name, state):
            for marked, _ in self._each(want.decorator_list, have.decorator_list, found, self.node):
                for based, _ in self._each(want.bases, self._bases(have), marked, self.node):
                    for given, _ in self._each(want.keywords, have.keywords, based, self._keyword):
                        yield from self._items(want.body, have.body, given, self.node)

    def _bases(self, node: ast.ClassDef) -> list[ast.expr]:
        found = [*node.bases]
        for name in with_bases(self.module, [name for base in node.bases for name in resolve(self.module, base).names]):
            local = local_definition(self.module, name)
            if isinstance(local, ast.ClassDef) and local is not node:
                found += [base for base in local.bases if base not in found]
        return found

    def _with(self, want: ast.With, have: ast.With, state: State) -> States:
        """The items of the snippet must be there; others may be."""
        for found, _ in self._each(want.items, have.items, state, self._fields):
            yield from self._items(want.body, have.body, found, self.node)

    def _try(self, want: ast.Try, have: ast.Try, state: State) -> States:
        for found, _ in self._each(want.handlers, have.handlers, state, self.node):
            yield from self._fields(want, have, found, ("body", "orelse", "finalbody"))

    def _handler(self, want: ast.ExceptHandler, have: ast.ExceptHandler, state: State) -> States:
        """One of the types that it catches; a bare `except` is only itself."""
        if (want.type is None) != (have.type is None):
            return
        types = have.type.elts if isinstance(have.type, ast.Tuple) and not isinstance(want.type, ast.Tuple) else []
        for place in [*types, have.type]:
            for found in self._optional([(want.type, place)], state):
                for named in self._identifier(want.name, have.name, found) if want.name else (found,):
                    yield from self._items(want.body, have.body, named, self.node)

    _special: ClassVar[dict[type[ast.AST], Callable[[Comparison, Any, Any, State], States]]] = {
        ast.Call: _call,
        ast.Attribute: _attribute,
        ast.Constant: _constant,
        ast.UnaryOp: _unary,
        ast.Dict: _dict,
        ast.Expr: _expression_statement,
        ast.Assign: _assign,
        ast.Import: _import,
        ast.ImportFrom: _import,
        ast.FunctionDef: _function,
        ast.AsyncFunctionDef: _function,
        ast.Lambda: _lambda,
        ast.ClassDef: _class,
        ast.With: _with,
        ast.AsyncWith: _with,
        ast.Try: _try,
        ast.ExceptHandler: _handler,
    }


_FREE = frozenset((ast.Attribute, ast.Constant, ast.UnaryOp))
"""What may match a node of another class: a name that stands for a member, or for a value."""


def _only(state: State | None) -> tuple[State, ...]:
    return () if state is None else (state,)


def _any_number(item: object) -> str | None:
    if isinstance(item, Parameter):
        return many(item.node)
    if isinstance(item, Entry) and item.key is None:
        return many(item.value)
    return many(item) if isinstance(item, ast.AST) else None


def _nodes(items: Sequence[object]) -> tuple[ast.AST, ...]:
    found = [item.node if isinstance(item, Parameter) else item for item in items]
    return tuple(item for item in found if isinstance(item, ast.AST))
