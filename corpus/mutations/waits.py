"""A collective that is made to run in the background, without anything that waits for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from .package import Package
from .python_file import Function, PythonFile, argument, opaque
from .rewrite import with_argument
from .site import Injection, Site, in_place

_DISTRIBUTED = ("torch.distributed", "deepspeed.comm")
_FILLED = {
    "all_reduce": "tensor",
    "broadcast": "tensor",
    "all_gather": "tensor_list",
    "all_gather_into_tensor": "output_tensor",
    "reduce_scatter_tensor": "output",
    "all_to_all_single": "output",
}


class NotWaited:
    """Writes `async_op=True` into a collective that stands alone in its statement.

    A site fills a name or attribute that the same function names again after it, with no `synchronize` or barrier in
    the function, which would hide the defect.
    """

    rule = "async-collective-not-waited"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python("|".join(rf"\.{name}\(" for name in _FILLED), "distributed|deepspeed"):
            for call in file.calls():
                owner, _, name = file.dotted(call.func).rpartition(".")
                function, statement = file.function(call), file.statement(call)
                if owner not in _DISTRIBUTED or name not in _FILLED or function is None:
                    continue
                if not isinstance(statement, ast.Expr) or statement.value is not call or opaque(call):
                    continue
                filled = argument(call, _FILLED[name], 0)
                hidden = re.search("synchronize|barrier|coalesc", file.source(function))
                if hidden or argument(call, "async_op") is not None or not _named_after(file, function, call, filled):
                    continue
                what = f"`{file.source(call)[:60]}` runs in the background"
                inject = partial(_injected, file, call)
                yield Site(package.name, file.path, call.lineno, what, file.copy(function), inject)


def _named_after(file: PythonFile, function: Function, call: ast.Call, filled: ast.expr | None) -> bool:
    if not isinstance(filled, (ast.Name, ast.Attribute)):
        return False
    named = [node for node in ast.walk(function) if isinstance(node, (ast.Name, ast.Attribute))]
    text, end = file.source(filled), call.end_lineno or call.lineno
    return any(isinstance(node.ctx, ast.Load) and node.lineno > end and file.source(node) == text for node in named)


def _injected(file: PythonFile, call: ast.Call) -> Injection:
    return in_place(file, with_argument(file.text, call, "async_op", "True"), call)
