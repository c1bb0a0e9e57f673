"""Checkpoints that are unpickled."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from .package import Package
from .python_file import PythonFile, argument, opaque
from .rewrite import with_argument
from .site import Injection, Site, in_place


class UnsafeLoad:
    """Sets `weights_only=False` in a `torch.load`.

    A site is a `torch.load` with `weights_only=True` or without the argument, of a file that the same code does not
    write with `torch.save` under the same expression, and of no buffer in memory.
    """

    rule = "unsafe-checkpoint-load"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"\btorch\b", r"\btorch\.load\(|import load\b"):
            for call in file.calls():
                given, source = argument(call, "weights_only"), argument(call, "f", 0)
                safe = given is None or (isinstance(given, ast.Constant) and given.value is True)
                if file.dotted(call.func) != "torch.load" or opaque(call) or not safe or source is None:
                    continue
                if re.search(r"(?i)buffer|bytesio|stream", file.source(source)) or _saved(file, source):
                    continue
                what = f"`{file.source(call)[:80]}` gets `weights_only=False`"
                copy = file.copy(file.function(call) or file.statement(call))
                yield Site(package.name, file.path, call.lineno, what, copy, partial(_injected, file, call))


def _saved(file: PythonFile, path: ast.expr) -> bool:
    saves = [call for call in file.calls() if file.dotted(call.func) == "torch.save"]
    written = [argument(call, "f", 1) for call in saves]
    return any(one is not None and file.source(one) == file.source(path) for one in written)


def _injected(file: PythonFile, call: ast.Call) -> Injection:
    return in_place(file, with_argument(file.text, call, "weights_only", "False"), call)
