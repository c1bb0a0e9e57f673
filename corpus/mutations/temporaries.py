"""A collective that reduces a copy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from .package import Package
from .python_file import Function, PythonFile
from .rewrite import replaced
from .site import Injection, Site, in_place

_FILLING = frozenset(f"torch.distributed.{name}" for name in ("all_reduce", "broadcast", "all_gather_into_tensor"))


class CollectiveOnCopy:
    """Hands `x.clone()` to a collective that writes into `x`.

    A site is an `all_reduce`, `broadcast` or `all_gather_into_tensor` on a plain name that a later line of the same
    function reads, under no condition that names a rank or a source.
    """

    rule = "collective-on-temporary"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"torch\.distributed|import distributed", r"all_reduce|broadcast|all_gather_into"):
            for call in file.calls():
                function = file.function(call)
                filled = call.args[0] if call.args else None
                if function is None or not isinstance(filled, ast.Name) or file.dotted(call.func) not in _FILLING:
                    continue
                if _read_after(function, filled, call) and not _under_a_rank(file, call):
                    what = f"`{filled.id}` of `{file.source(call.func)}` is `{filled.id}.clone()`"
                    inject = partial(_injected, file, filled, call)
                    yield Site(package.name, file.path, call.lineno, what, file.copy(function), inject)


def _read_after(function: Function, filled: ast.Name, call: ast.Call) -> bool:
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == filled.id]
    return any(isinstance(one.ctx, ast.Load) and one.lineno > (call.end_lineno or 0) for one in names)


def _under_a_rank(file: PythonFile, call: ast.Call) -> bool:
    tests = [outer.test for outer in file.around(call) if isinstance(outer, (ast.If, ast.IfExp))]
    return any(word in file.source(test) for test in tests for word in ("rank", "src", "main", "master", "is_"))


def _injected(file: PythonFile, filled: ast.Name, call: ast.Call) -> Injection:
    return in_place(file, replaced(file.text, filled, f"{filled.id}.clone()"), call)
