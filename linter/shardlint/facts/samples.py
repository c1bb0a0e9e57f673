"""Samples on their way into a batch: the keys that a dataset gives, and those that a collator takes of each sample.

Everything is read off one file. An answer is given only where nothing else is possible: a key that is computed, or a
sample that is handed on as a whole, makes it None.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from shardlint.facts.module import Module, word_of

_BRANCHES = (ast.If, ast.IfExp, ast.Try)


class Keys:
    """Keys of samples.

    `sure`: the keys that every sample has, or that a collator cannot do without. `possible`: all that may occur.
    `open`: whether there may be others that are not known, as the columns that a dataset had when it was loaded.
    """

    __slots__ = ("open", "possible", "sure")

    def __init__(self, sure: Iterable[str], possible: Iterable[str], *, open: bool = False) -> None:
        self.sure = frozenset(sure)
        self.possible = frozenset(possible)
        self.open = open

    def __repr__(self) -> str:
        return f"Keys({sorted(self.sure)}, {sorted(self.possible)}{', ...' if self.open else ''})"

    def __or__(self, other: Keys) -> Keys:
        """The keys of both."""
        return Keys(self.sure | other.sure, self.possible | other.possible, open=self.open or other.open)


def sample_keys(module: Module, dataset: ast.ClassDef) -> Keys | None:
    """The keys of a dataset's samples: every `return` of its `__getitem__` gives a dict with literal keys."""
    getter = method(dataset, "__getitem__")
    return result_keys(module, getter) if getter is not None and method(dataset, "__getitems__") is None else None


def written_keys(function: ast.AST) -> frozenset[str]:
    """Every literal key under which a function, or what it defines, puts something into a dict."""
    found: list[ast.expr | None] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Dict):
            found += node.keys
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            found.append(node.slice)
        elif isinstance(node, ast.Call) and word_of(node.func) in (
            "dict",
            "update",
            "BatchFeature",
            "BatchEncoding",
        ):
            found += [ast.Constant(keyword.arg) for keyword in node.keywords]
    return _texts(*found)


def result_keys(module: Module, function: ast.FunctionDef) -> Keys | None:
    """The keys of what a function gives back: every `return` of it gives a dict with literal keys."""
    own = [node for node in ast.walk(function) if module.function(node) is function]
    returns = [node for node in own if isinstance(node, ast.Return)]
    results = [_returned(module, own, node.value, only=len(returns) == 1) for node in returns]
    known = [result for result in results if result is not None]
    if not known or len(known) < len(results):
        return None
    sure = frozenset[str].intersection(*(keys.sure for keys in known))
    possible = frozenset[str]().union(*(keys.possible for keys in known))
    return Keys(sure, possible, open=any(keys.open for keys in known))


def method(owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """The method that a class itself defines."""
    return next((node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == name), None)


def _returned(module: Module, own: list[ast.AST], result: ast.expr | None, *, only: bool) -> Keys | None:
    """The keys of one returned dict: written in place, or under a name that is only added to.

    What is added is sure to be there when the function's own body adds it and there is no other `return` before.
    """
    if not isinstance(result, ast.Name):
        return _written(result)
    written: ast.expr | None = None
    added: list[ast.expr] = []
    sure: list[ast.expr] = []
    for use in own:
        if not isinstance(use, ast.Name) or use.id != result.id:
            continue
        parent = module.parent(use)
        if isinstance(parent, (ast.Assign, ast.AnnAssign)) and written is None:
            written = parent.value
        elif isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store):
            added.append(parent.slice)
            if only and isinstance(module.parent(module.statement(use)), ast.FunctionDef):
                sure.append(parent.slice)
        elif not isinstance(parent, ast.Return) and not _read(parent, use):
            return None
    begun = _written(written)
    if written is None and _is_parameter(module, result):
        begun = Keys((), (), open=True)  # what it was handed, with more in it
    if begun is None or not all(_texts(key) for key in added):
        return None
    return begun | Keys(_texts(*sure), _texts(*added))


def _written(value: ast.expr | None) -> Keys | None:
    """The keys of a dict with literal keys, or of `dict(key=...)`. A key whose value is None counts as not there."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict" and not value.args:
        named = [word.arg for word in value.keywords if word.arg is not None]
        none = [
            word.arg for word in value.keywords if isinstance(word.value, ast.Constant) and word.value.value is None
        ]
        return Keys(set(named) - set(none), named) if len(named) == len(value.keywords) else None
    if not isinstance(value, ast.Dict) or not all(_texts(key) for key in value.keys):
        return None
    items = zip(value.keys, value.values, strict=True)
    present = [key for key, given in items if not (isinstance(given, ast.Constant) and given.value is None)]
    return Keys(_texts(*present), _texts(*value.keys))


def read_keys(module: Module, collate: ast.FunctionDef) -> Keys | None:
    """The keys that a function or method takes of each sample in its first argument; None if others may pass."""
    arguments = [*collate.args.posonlyargs, *collate.args.args]
    if isinstance(module.parent(collate), ast.ClassDef):
        arguments = arguments[1:]
    if not arguments or collate.decorator_list:
        return None
    nodes = list(ast.walk(collate))
    samples = _Samples(module, arguments[0].arg, nodes)
    # A key that the collator asks for (`"x" in sample`, `sample.get("x")`) is one that it can do without.
    optional = _texts(*(node.left for node in nodes if isinstance(node, ast.Compare)))
    possible: set[str] = set()
    needed: set[str] = set()
    for node in nodes:
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        if node.id == "super":
            return None
        taken = samples.taken(node)
        if taken is None:
            return None
        possible |= taken.possible
        needed |= taken.sure
        optional |= taken.possible - taken.sure
    return Keys(needed - optional, possible) if possible else None


class _Samples:
    """The names under which a function holds a batch, its samples, and views of their keys."""

    def __init__(self, module: Module, batch: str, nodes: list[ast.AST]) -> None:
        self._module, self._batch = module, batch
        self._loops = [node for node in nodes if isinstance(node, (ast.comprehension, ast.For))]
        self._names = {name for loop in self._loops if self._over_batch(loop) for name in self._targets(loop)}

    def taken(self, node: ast.Name) -> Keys | None:
        """The keys that one use of a name takes of a sample; None when it may take more."""
        if node.id == self._batch:
            return self._of_batch(node)
        if node.id not in self._names:
            return Keys((), ())
        loop = self._loop_of(node)
        if loop is None:
            return None
        return self._of_sample(node) if self._over_batch(loop) else Keys((), ())

    def _loop_of(self, node: ast.Name) -> ast.comprehension | ast.For | None:
        """The loop that gives a name its value here; None where it may be one of several."""
        for at in self._module.ancestors(node):
            for loop in [at] if isinstance(at, ast.For) else getattr(at, "generators", []):
                if node.id in self._targets(loop) and not _within(self._module, node, loop.iter):
                    return loop if isinstance(loop, (ast.comprehension, ast.For)) else None
        after = [loop for loop in self._loops if isinstance(loop, ast.For) and node.id in self._targets(loop)]
        return after[0] if len(after) == 1 else None

    def _over_batch(self, loop: ast.comprehension | ast.For) -> bool:
        return _is_name(_numbered(loop.iter), self._batch)

    def _targets(self, loop: ast.comprehension | ast.For) -> list[str]:
        target: ast.expr = loop.target
        if _numbered(loop.iter) is not loop.iter and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            target = target.elts[1]
        if isinstance(target, ast.Name):
            return [target.id]
        # Of `for image, text in batch` each name is a part of a sample, which has no keys that are known.
        return [one.id for one in ast.walk(target) if isinstance(one, ast.Name)] if self._over_batch(loop) else []

    def _of_batch(self, node: ast.Name) -> Keys | None:
        """None for `len(batch)` and loops, one for `batch[0]["x"]`."""
        parent = self._module.parent(node)
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
            if parent.func.id == "len":
                return Keys((), ())
            if _numbered(parent) is not parent:
                parent = self._module.parent(parent)
        if isinstance(parent, (ast.comprehension, ast.For)):
            single = isinstance(parent.target, ast.Name) or _numbered(parent.iter) is not parent.iter
            return Keys((), ()) if single else None
        if isinstance(parent, ast.Subscript) and not isinstance(parent.slice, ast.Slice):
            return self._of_sample(parent)
        return None

    def _of_sample(self, node: ast.expr) -> Keys | None:
        """What one use of a sample takes; a view of its keys takes none where the function only asks what is in it."""
        parent = self._module.parent(node)
        if isinstance(parent, ast.Attribute) and parent.attr == "keys":
            called = self._module.parent(parent)
            return Keys((), ()) if called is not None and self._only_asked(called) else None
        if isinstance(parent, ast.Call) and _is_name(parent.func, "isinstance"):
            return Keys((), ())
        return _taken_of_sample(self._module, node)

    def _only_asked(self, view: ast.AST) -> bool:
        """Whether `sample.keys()` is only asked for a literal key, in place or under a name."""
        parent = self._module.parent(view)
        if isinstance(parent, ast.Compare):
            return bool(_texts(parent.left))
        target = parent.targets[0] if isinstance(parent, ast.Assign) and len(parent.targets) == 1 else None
        if not isinstance(target, ast.Name):
            return False
        name = target.id
        uses = [one for one in ast.walk(self._module.function(view)) if _is_name(one, name)]
        loads = [one for one in uses if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
        asking = [self._module.parent(one) for one in loads]
        return all(isinstance(one, ast.Compare) and bool(_texts(one.left)) for one in asking)


def _numbered(value: ast.expr) -> ast.expr:
    """`batch` of `enumerate(batch)`; anything else as it is."""
    if isinstance(value, ast.Call) and _is_name(value.func, "enumerate") and len(value.args) == 1:
        return value.args[0]
    return value


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _within(module: Module, node: ast.AST, outer: ast.AST) -> bool:
    return node is outer or any(at is outer for at in module.ancestors(node))


def _taken_of_sample(module: Module, node: ast.expr) -> Keys | None:
    """The key that one use of a sample takes; sure outside of branches. None when it may take more."""
    parent = module.parent(node)
    if isinstance(parent, ast.Compare) and _texts(parent.left):
        return Keys((), ())
    if isinstance(parent, ast.Attribute) and parent.attr == "get":
        called = module.parent(parent)
        found = _texts(*called.args[:1]) if isinstance(called, ast.Call) else None
        return Keys((), found) if found else None
    if not isinstance(parent, ast.Subscript) or parent.value is not node:
        return None
    function, key = module.function(node), _texts(parent.slice) or _looped(module, parent.slice)
    if not key:
        return None
    branches = [at for at in module.ancestors(node) if isinstance(at, _BRANCHES) and module.function(at) is function]
    return Keys(key if isinstance(parent.ctx, ast.Load) and not branches else (), key)


def _read(parent: ast.AST | None, sample: ast.expr) -> bool:
    """Whether a use of a sample only reads one of its keys."""
    return isinstance(parent, ast.Subscript) and parent.value is sample and isinstance(parent.ctx, ast.Load)


def _looped(module: Module, key: ast.expr) -> frozenset[str]:
    """The texts that a name takes one by one: `for key in ("input_ids", "labels")`; none for anything else."""
    if not isinstance(key, ast.Name):
        return frozenset()
    for at in module.ancestors(key):
        loops = [at] if isinstance(at, ast.For) else getattr(at, "generators", [])
        for loop in loops:
            if isinstance(loop.target, ast.Name) and loop.target.id == key.id:
                items = loop.iter.elts if isinstance(loop.iter, (ast.Tuple, ast.List)) else []
                found = _texts(*items)
                return found if len(found) == len(items) else frozenset()
    return frozenset()


def _is_parameter(module: Module, node: ast.Name) -> bool:
    """Whether a name is a parameter of its function that is given no other value."""
    bindings = module.scope(node).bindings.get(node.id, [])
    return len(bindings) == 1 and bindings[0].kind == "param"


def _texts(*nodes: ast.expr | None) -> frozenset[str]:
    """The texts among some expressions."""
    return frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


__all__ = ["Keys", "method", "read_keys", "result_keys", "sample_keys", "written_keys"]
