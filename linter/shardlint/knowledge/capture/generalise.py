"""Code of one incident -> a pattern for all of its kind: names that only this code has become metavariables."""

from __future__ import annotations

import ast
import builtins
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BUILTINS = frozenset(dir(builtins))


def rest() -> ast.Constant:
    """`...`: whatever else stands there."""
    return ast.Constant(...)


class Generaliser:
    """Writes patterns for the code of snippets. The same expression gets the same metavariable in all of them."""

    def __init__(self, *trees: ast.Module) -> None:
        nodes = [node for tree in trees for node in ast.walk(tree)]
        self._imported = dict(_imported(nodes))
        self._bound = frozenset(_bound(nodes))
        self._defined = frozenset(node.name for node in nodes if isinstance(node, _DEFINITIONS))
        self._variables: dict[str, str] = {}

    def pattern(self, node: ast.AST, keep: Collection[ast.AST] = ()) -> str:
        """The pattern of a node. Literals and attributes in `keep` stay as they are written; so does a name that is all
        of `keep`."""
        marked: set[ast.AST] = set()
        copy: Any = _copied(node, keep, marked)
        return ast.unparse(ast.fix_missing_locations(_Writer(self, marked).visit(copy)))

    def condition(self, test: ast.expr) -> str:
        """The pattern of a condition. Where it has nothing that means the same in all code, its names are what it says,
        so they stay."""
        nodes = list(ast.walk(test))
        if any(isinstance(node, ast.Call) or self.fixed(node) for node in nodes):
            return self.pattern(test)
        dotted = [node for node in nodes if isinstance(node, ast.Attribute)]
        return self.pattern(test, dotted or [node for node in nodes if isinstance(node, ast.Name)])

    def whole(self, node: ast.AST) -> ast.AST:
        """An imported name under the one that every file can resolve: `dist.barrier` -> `torch.distributed.barrier`."""
        root = root_of(node)
        full = self._imported.get(root or "")
        return node if full is None or full == root else _rooted(node, full)

    def fixed(self, node: ast.AST) -> bool:
        """Whether a dotted name means the same in all code: it is imported, a builtin, or a class or function that this
        snippet does not bind."""
        root = root_of(node)
        if root is None:
            return False
        return root in self._imported or (root not in self._bound and (root in _BUILTINS or root[:1].isupper()))

    def is_variable(self, name: str) -> bool:
        """Whether the snippet itself gives a name its value, other than by defining a function or class."""
        return name in self._bound and name not in self._defined

    def variable(self, node: ast.AST, hint: str) -> ast.Name:
        """The metavariable for an expression."""
        text = ast.unparse(node)
        if text not in self._variables:
            words = _WORD.findall(hint.rpartition(".")[2])
            base = "_".join(words).upper() or "X"
            taken = set(self._variables.values())
            name, count = base, 2
            while name in taken:
                name, count = f"{base}{count}", count + 1
            self._variables[text] = name
        return ast.Name(f"${self._variables[text]}", ast.Load())


def root_of(node: ast.AST) -> str | None:
    """The first name of a dotted one."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _rooted(node: ast.AST, full: str) -> ast.expr:
    """A dotted name with another beginning."""
    if isinstance(node, ast.Attribute):
        return ast.Attribute(_rooted(node.value, full), node.attr, ast.Load())
    return ast.parse(full, mode="eval").body


def _copied(node: ast.AST, keep: Collection[ast.AST], marked: set[ast.AST]) -> ast.AST:
    """A deep copy; the copies of what lies in `keep` are added to `marked`."""
    fields: dict[str, object] = {}
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            fields[name] = [_copied(one, keep, marked) if isinstance(one, ast.AST) else one for one in _listed(value)]
        else:
            fields[name] = _copied(value, keep, marked) if isinstance(value, ast.AST) else value
    copy = ast.copy_location(type(node)(**fields), node)
    if node in keep:
        marked.add(copy)
    return copy


class _Writer(ast.NodeTransformer):
    """Puts metavariables in the place of names and literals."""

    def __init__(self, generaliser: Generaliser, keep: Collection[ast.AST]) -> None:
        self.general = generaliser
        self.keep = keep
        self.name_is_all = all(isinstance(node, (ast.Name, ast.expr_context)) for node in keep)

    def visit(self, node: ast.AST) -> Any:
        if node in self.keep and (isinstance(node, ast.Constant) or self.name_is_all):
            return node
        return super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """What is called stays: it is what the pattern is about."""
        node.func = self._called(node.func)
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        return node

    def _called(self, func: ast.expr) -> Any:
        if self.general.fixed(func):
            return self.general.whole(func)
        if isinstance(func, ast.Name) and not self.general.is_variable(func.id):
            return func
        if isinstance(func, ast.Attribute):
            return ast.Attribute(self.visit(func.value), func.attr, ast.Load())
        return self.visit(func)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if self.general.fixed(node):
            return self.general.whole(node)
        if root_of(node) is None or any(inner in self.keep for inner in ast.walk(node)):
            return ast.Attribute(self.visit(node.value), node.attr, node.ctx)
        return self.general.variable(node, node.attr)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """A text as an index is a name that somebody else reads."""
        index: Any = node.slice
        key = isinstance(index, ast.Constant) and isinstance(index.value, str)
        return ast.Subscript(self.visit(node.value), index if key else self.visit(index), node.ctx)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id.startswith("$"):
            return node
        if self.general.fixed(node):
            return self.general.whole(node)
        return self.general.variable(node, node.id)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if node.value is ... or node.value is None or isinstance(node.value, bool):
            return node
        return self.general.variable(node, "value" if isinstance(node.value, (int, float)) else "text")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        if any(inner in self.keep for inner in ast.walk(node)):
            return node
        return self.general.variable(node, "text")

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self.general.variable(node, "function")

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """A parameter's name stays: it is bound where the pattern says so."""
        return node


def _listed(value: Any) -> list[object]:
    return list(value)


def _imported(nodes: Iterable[ast.AST]) -> Iterable[tuple[str, str]]:
    """Each name that an import binds, and the dotted name that it stands for."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (first, first)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, alias.asname or alias.name) for alias in node.names)


def _bound(nodes: Iterable[ast.AST]) -> Iterable[str]:
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, _DEFINITIONS):
            yield node.name
