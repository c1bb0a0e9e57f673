"""The future of a checkpoint that is saved in the background, dropped."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from .package import Package
from .python_file import PythonFile
from .rewrite import replaced
from .site import Injection, Site, in_place

_DCP = "torch.distributed.checkpoint"
_SAVES = frozenset((f"{_DCP}.async_save", f"{_DCP}.state_dict_saver.async_save"))


class FutureDropped:
    """Keeps the future of an `async_save` under a name that nothing reads.

    A site is an `async_save` whose result a function assigns; then the code waits for it, or hands it on.
    """

    rule = "async-save-future-dropped"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"distributed\.checkpoint", r"\basync_save\b"):
            for call in file.calls():
                kept = file.parents[call]
                function = file.function(call)
                if file.dotted(call.func) not in _SAVES or not isinstance(kept, ast.Assign) or function is None:
                    continue
                what = f"`{file.source(kept.targets[0])}` is `_unused`"
                inject = partial(_injected, file, kept, call)
                yield Site(package.name, file.path, call.lineno, what, file.copy(function), inject)


def _injected(file: PythonFile, kept: ast.Assign, call: ast.Call) -> Injection:
    return in_place(file, replaced(file.text, kept.targets[0], "_unused"), call)
