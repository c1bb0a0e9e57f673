"""One file as the facts see it: its tree, its scopes with what they bind, its calls by name, its parents.

One walk over the tree fills all of it; everything else (names, order, values, guards) is computed on demand from here.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import TypeVar, cast

from shardlint.environment import Environment
from shardlint.facts.project_words import ProjectWords
from shardlint.finding import Span

Node = TypeVar("Node", bound=ast.AST)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
UNNAMED = "()"
"""Where `Module.calls` keeps calls of what a call returned: `partial(f, x)(y)`."""
SCOPES = (*FUNCTIONS, ast.ClassDef, ast.Lambda, *COMPREHENSIONS, ast.Module)


class Binding:
    """One place that gives a name a value.

    `kind` is one of import, def, class, param, assign, annotation, augmented, for, with, except, walrus, match, delete.
    `value` is the expression bound, `target` the dotted path of an import, `node` the statement or argument.
    `exact` is false when `value` is only where the name comes from (a loop's iterable, one side of an unpacking).
    `place` is where it happens in the order of its function: `node`, or the handler or `case` that binds.
    """

    __slots__ = ("exact", "kind", "name", "node", "place", "target", "value")

    def __init__(
        self,
        kind: str,
        name: str,
        node: ast.AST,
        value: ast.expr | None = None,
        target: str | None = None,
        exact: bool = True,
        place: ast.AST | None = None,
    ) -> None:
        self.kind = kind
        self.name = name
        self.node = node
        self.place = place or node
        self.value = value
        self.target = target
        self.exact = exact


class Scope:
    """A region with names of its own: the module, a function, a class, a lambda, a comprehension."""

    __slots__ = ("bindings", "globals", "node", "nonlocals", "parent", "stars")

    def __init__(self, node: ast.AST, parent: Scope | None) -> None:
        self.node = node
        self.parent = parent
        self.bindings: dict[str, list[Binding]] = {}
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.stars: list[str] = []

    def bind(self, binding: Binding) -> None:
        """Record that this scope, or the one that `global` or `nonlocal` names, binds a name."""
        self.home(binding.name).bindings.setdefault(binding.name, []).append(binding)

    def home(self, name: str) -> Scope:
        """The scope that an assignment to `name` made here writes to."""
        at = self
        if name in self.globals:
            while at.parent is not None:
                at = at.parent
        elif name in self.nonlocals and self.parent is not None:
            at = self.parent
            while at.parent is not None and (not at.is_function or name in at.nonlocals):
                at = at.parent
        return at

    @property
    def is_function(self) -> bool:
        """Whether the scope is a function or lambda body, whose names have an order."""
        return isinstance(self.node, (*FUNCTIONS, ast.Lambda))


class Module:
    """A parsed file. `path` is relative to the project root, `dotted` its import name (`train.save`).

    `left_out`: the lines of the functions whose bodies were not parsed.
    """

    def __init__(
        self,
        path: str,
        text: str,
        tree: ast.Module,
        *,
        dotted: str = "",
        is_package: bool = False,
        environment: Environment | None = None,
        project: Callable[[], ProjectWords] | None = None,
        modality: Mapping[str, Mapping[str, str]] | None = None,
        left_out: frozenset[int] = frozenset(),
    ) -> None:
        self.path = path
        self.left_out = left_out
        lone = ProjectWords([path], lambda _: text.encode("utf-8", "replace"))
        self.project = project or (lambda: lone)
        self.modality = modality or {}
        self.environment = environment or Environment({})
        self.text = text
        self.tree = tree
        self.dotted = dotted or dotted_name(path)
        self.is_package = is_package or path.endswith("__init__.py")
        self.parents: dict[ast.AST, ast.AST] = {}
        self.calls: dict[str, list[ast.Call]] = {}
        self.scopes: dict[ast.AST, Scope] = {}
        self.functions: list[FunctionNode] = []
        self.kept: list[ast.Assign | ast.AnnAssign] = []
        """Assignments to attributes: `self.model = ...`."""
        self.memo: dict[object, object] = {}
        # Answers of `names` and `matching`, each computed once on demand.
        self.bindings: dict[ast.AST, tuple[list[Binding], bool]] = {}
        self.definitions: dict[str, FunctionNode | ast.ClassDef] | None = None
        self.aliases: dict[str, set[str]] | None = None
        self.own_values: dict[ast.ClassDef, dict[str, list[ast.expr]]] | None = None
        self.self_values: dict[ast.ClassDef, dict[str, list[ast.expr]]] = {}
        _Walk(self).run()
        self._own_nodes = len(self.parents)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the file as the tokenizer counts them, without their ends."""
        return self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    @cached_property
    def _by_class(self) -> dict[type[ast.AST], list[ast.AST]]:
        """The nodes of the tree by their class. What queries add to `parents` later is not of the file."""
        table: defaultdict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        for node in islice(self.parents, self._own_nodes):
            table[node.__class__].append(node)
        return table

    def nodes(self, kind: type[Node]) -> list[Node]:
        """All nodes of one class, in no order. Many times as fast as `ast.walk`."""
        found = self._by_class.get(kind, [])
        return cast("list[Node]", found)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that directly holds `node`."""
        return self.parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around `node`, innermost first."""
        parents = self.parents
        at = parents.get(node)
        while at is not None:
            yield at
            at = parents.get(at)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds `node` (itself, when it is one)."""
        at: ast.AST | None = node
        while at is not None and not isinstance(at, ast.stmt):
            at = self.parents.get(at)
        return at if at is not None else self.tree.body[0]

    def function(self, node: ast.AST) -> FunctionNode | ast.Module:
        """The function whose body holds `node`; the module outside of any. Decorators and defaults lie outside."""
        child = node
        for at in self.ancestors(node):
            if isinstance(at, FUNCTIONS) and isinstance(child, ast.stmt):
                return at
            child = at
        return self.tree

    def scope(self, node: ast.AST) -> Scope:
        """The scope in which a name at `node` is looked up first."""
        child, before = node, None
        for at in self.ancestors(node):
            if isinstance(at, SCOPES) and _inside(at, child, before):
                return self.scopes[at]
            child, before = at, child
        return self.scopes[self.tree]

    def enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        """The class whose method holds `node`, if any."""
        for at in self.ancestors(node):
            if isinstance(at, ast.ClassDef):
                return at
        return None

    def qualified(self, node: FunctionNode | ast.ClassDef | ast.Module) -> str:
        """The name of a definition inside the file: `Trainer.save`; `` for the module itself."""
        if isinstance(node, ast.Module):
            return ""
        names = [node.name]
        names += [at.name for at in self.ancestors(node) if isinstance(at, (*FUNCTIONS, ast.ClassDef))]
        return ".".join(reversed(names))

    def imported_from(self, node: ast.ImportFrom) -> str:
        """The absolute dotted name of the package that `from ... import` takes names of; empty where there is none."""
        if not node.level:
            return node.module or ""
        parts = [part for part in self.dotted.split(".") if part]
        drop = node.level - 1 if self.is_package else node.level
        kept = parts[: len(parts) - drop] if drop <= len(parts) else []
        return ".".join([*kept, node.module] if node.module else kept)

    def span(self, node: ast.AST) -> Span:
        """The exact range of a node, columns in characters."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line, end_column = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
        return Span(line, self._characters(line, column) + 1, end_line, self._characters(end_line, end_column) + 1)

    def _characters(self, line: int, offset: int) -> int:
        """ast counts columns in UTF-8 bytes; people and editors count characters."""
        if not 0 < line <= len(self.lines):
            return offset
        text = self.lines[line - 1]
        if text.isascii():
            return offset
        return len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace"))

    def source(self, node: ast.AST) -> str:
        """The text of an expression as people would say it: on one line, comments dropped."""
        try:
            return ast.unparse(node)
        except RecursionError:
            # A sum of thousands of terms is too deep to be written back; its own text says the same.
            span = self.span(node)
            return " ".join(" ".join(self.lines[span.line - 1 : span.end_line]).split())


def word_of(node: ast.AST) -> str:
    """A name, the last part of a dotted one, or a text; empty for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def dotted_name(path: str) -> str:
    """The import name that a path would have with every folder a package: `a/b.py` is `a.b`."""
    stem = path[:-3] if path.endswith(".py") else path
    stem = "" if stem == "__init__" else stem.removesuffix("/__init__")
    return stem.replace("/", ".").strip(".")


def _inside(scope: ast.AST, child: ast.AST, before: ast.AST | None) -> bool:
    """Whether a node is in the scope that `scope` opens: decorators, defaults and a first iterable are not.

    `child` is the part of `scope` that holds the node, `before` the part of `child` that does.
    """
    if isinstance(scope, (*FUNCTIONS, ast.ClassDef)):
        return isinstance(child, ast.stmt)
    if isinstance(scope, ast.Lambda):
        return child is scope.body
    if isinstance(scope, COMPREHENSIONS):
        return child is not scope.generators[0] or before is not scope.generators[0].iter
    return True


def pairs(target: ast.Tuple | ast.List, value: ast.expr | None) -> list[tuple[ast.expr, ast.expr | None]]:
    """The parts of an unpacking with the expression that each gets, None where that cannot be told."""
    given = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
    if len(given) != len(target.elts) or any(isinstance(part, ast.Starred) for part in (*target.elts, *given)):
        return [(part, None) for part in target.elts]
    return list(zip(target.elts, given, strict=True))


def _place(call: ast.Call) -> tuple[int, int, int, int]:
    """The order of the text; of two calls that begin at one place, the outer one first."""
    return call.lineno, call.col_offset, -(call.end_lineno or 0), -(call.end_col_offset or 0)


_LEAVES = frozenset((ast.Constant, ast.Name, ast.Pass, ast.Break, ast.Continue))
"""Nodes that hold no other node that anybody asks for."""

_PLAIN_FIELDS = frozenset(
    ("ctx", "op", "ops", "id", "attr", "name", "names", "arg", "asname", "module", "level", "kind", "rest", "simple")
) | {"type_comment", "type_ignores", "conversion", "is_async", "kwd_attrs"}
"""Fields of plain values and of operators, whatever class has them."""

_HELD: dict[type[ast.AST], tuple[str, ...]] = {ast.MatchSingleton: ("",)}


def _held(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a class that hold nodes. `names` holds nodes in imports, and nobody asks for their parents."""
    held = _HELD[kind] = tuple(field for field in kind._fields if field not in _PLAIN_FIELDS) or ("",)
    return held


class _Walk:
    """The one pass over a tree. Handlers bind names; every node gets its parent; every call its entry."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.handlers: dict[type[ast.AST], Callable[[ast.AST, Scope], Scope]] = {
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.Lambda: self._lambda,
            ast.ListComp: self._inner,
            ast.SetComp: self._inner,
            ast.DictComp: self._inner,
            ast.GeneratorExp: self._inner,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.comprehension: self._comprehension,
            ast.withitem: self._with,
            ast.ExceptHandler: self._except,
            ast.NamedExpr: self._walrus,
            ast.Global: self._foreign,
            ast.Nonlocal: self._foreign,
            ast.Delete: self._delete,
            ast.MatchAs: self._match,
            ast.MatchStar: self._match,
            ast.MatchMapping: self._match,
            ast.Call: self._call,
        }
        alias = getattr(ast, "TypeAlias", None)
        if alias is not None:
            self.handlers[alias] = self._type_alias

    def run(self) -> None:
        module, parents = self.module, self.module.parents
        root = Scope(module.tree, None)
        module.scopes[module.tree] = root
        handlers = self.handlers
        leaves = _LEAVES
        stack: list[tuple[ast.AST, Scope]] = [(module.tree, root)]
        pop, push = stack.pop, stack.append
        while stack:
            node, outer = pop()
            kind = node.__class__
            handler = handlers.get(kind)
            scope = outer if handler is None else handler(node, outer)
            held = node.__dict__
            for field in _HELD.get(kind) or _held(kind):
                value = held.get(field)
                if value is None:
                    continue
                if value.__class__ is not list:
                    parents[value] = node
                    if value.__class__ not in leaves:
                        push((value, scope if scope is outer or _inside(node, value, None) else outer))
                    continue
                for item in reversed(value):
                    if item is not None:
                        parents[item] = node
                        if item.__class__ not in leaves:
                            push((item, scope if scope is outer or _inside(node, item, None) else outer))
        for calls in module.calls.values():
            if len(calls) > 1:
                calls.sort(key=_place)
        module.functions.sort(key=lambda function: function.lineno)
        # Its methods hold it, and it holds the module: a run without a garbage collector would keep every tree.
        handlers.clear()

    def _open(self, node: ast.AST, parent: Scope) -> Scope:
        inner = Scope(node, parent)
        self.module.scopes[node] = inner
        return inner

    def _function(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, FUNCTIONS)
        scope.bind(Binding("def", node.name, node))
        self.module.functions.append(node)
        inner = self._open(node, scope)
        self._parameters(node.args, inner)
        return inner

    def _lambda(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, ast.Lambda)
        inner = self._open(node, scope)
        self._parameters(node.args, inner)
        return inner

    def _parameters(self, args: ast.arguments, scope: Scope) -> None:
        for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
            if arg is not None:
                scope.bind(Binding("param", arg.arg, arg))

    def _class(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, ast.ClassDef)
        scope.bind(Binding("class", node.name, node))
        return self._open(node, scope)

    def _inner(self, node: ast.AST, scope: Scope) -> Scope:
        return self._open(node, scope)

    def _import(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, ast.Import)
        for alias in node.names:
            if alias.asname:
                scope.bind(Binding("import", alias.asname, node, target=alias.name))
            else:
                top = alias.name.partition(".")[0]
                scope.bind(Binding("import", top, node, target=top))
        return scope

    def _import_from(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, ast.ImportFrom)
        base = self.module.imported_from(node)
        for alias in node.names:
            if alias.name == "*":
                scope.stars.append(base)
            else:
                path = f"{base}.{alias.name}" if base else alias.name
                scope.bind(Binding("import", alias.asname or alias.name, node, target=path))
        return scope

    def _assign(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, ast.Assign)
        for target in node.targets:
            self._target(target, node, node.value, scope, "assign")
        if any(isinstance(target, (ast.Attribute, ast.Tuple, ast.List)) for target in node.targets):
            self.module.kept.append(node)
        return scope

    def _target(
        self, target: ast.expr, node: ast.AST, value: ast.expr | None, scope: Scope, kind: str, exact: bool = True
    ) -> None:
        if isinstance(target, ast.Name):
            scope.bind(Binding(kind, target.id, node, value, exact=exact))
        elif isinstance(target, ast.Starred):
            self._target(target.value, node, value, scope, kind, exact=False)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for inner, given in pairs(target, value):
                self._target(inner, node, given or value, scope, kind, exact and given is not None)

    def _annotated(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, ast.AnnAssign)
        if isinstance(node.target, ast.Name):
            scope.bind(Binding("annotation" if node.value is None else "assign", node.target.id, node, node.value))
        elif isinstance(node.target, ast.Attribute):
            self.module.kept.append(node)
        return scope

    def _augmented(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, ast.AugAssign)
        if isinstance(node.target, ast.Name):
            scope.bind(Binding("augmented", node.target.id, node, node.value, exact=False))
        return scope

    def _for(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, (ast.For, ast.AsyncFor))
        self._target(node.target, node, node.iter, scope, "for", exact=False)
        return scope

    def _comprehension(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, ast.comprehension)
        self._target(node.target, node, node.iter, scope, "for", exact=False)
        return scope

    def _with(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, ast.withitem)
        if node.optional_vars is not None:
            statement = self.module.parents[node]
            self._target(node.optional_vars, statement, node.context_expr, scope, "with")
        return scope

    def _except(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, ast.ExceptHandler)
        if node.name:
            scope.bind(Binding("except", node.name, node, node.type, exact=False))
        return scope

    def _walrus(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, ast.NamedExpr)
        home = scope
        while isinstance(home.node, COMPREHENSIONS) and home.parent is not None:
            home = home.parent
        home.bind(Binding("walrus", node.target.id, node, node.value))
        return scope

    def _foreign(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, (ast.Global, ast.Nonlocal))
        (scope.globals if isinstance(node, ast.Global) else scope.nonlocals).update(node.names)
        # The walk may have met an assignment of another branch first.
        for name in node.names:
            for binding in scope.bindings.pop(name, ()):
                scope.bind(binding)
        return scope

    def _delete(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, ast.Delete)
        for target in node.targets:
            if isinstance(target, ast.Name):
                scope.bind(Binding("delete", target.id, node))
        return scope

    def _match(self, node: ast.AST, scope: Scope) -> Scope:
        name = node.rest if isinstance(node, ast.MatchMapping) else getattr(node, "name", None)
        if isinstance(name, str):
            case = next((at for at in self.module.ancestors(node) if isinstance(at, ast.match_case)), None)
            scope.bind(Binding("match", name, node, exact=False, place=case))
        return scope

    def _type_alias(self, node: ast.AST, scope: Scope) -> Scope:
        name, value = getattr(node, "name", None), getattr(node, "value", None)
        if isinstance(name, ast.Name) and isinstance(value, ast.expr):
            scope.bind(Binding("assign", name.id, node, value))
        return scope

    def _call(self, node: ast.AST, scope: Scope) -> Scope:
        assert isinstance(node, ast.Call)
        func = node.func
        if isinstance(func, ast.Attribute):
            self.module.calls.setdefault(func.attr, []).append(node)
        elif isinstance(func, ast.Name):
            self.module.calls.setdefault(func.id, []).append(node)
        elif isinstance(func, ast.Call):
            self.module.calls.setdefault(UNNAMED, []).append(node)
        return scope
