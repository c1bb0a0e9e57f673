"""The template of a `dcp.load`, emptied."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from .package import Package
from .python_file import Function, PythonFile, argument, opaque
from .rewrite import replaced
from .site import Injection, Place, Site

_DCP = "torch.distributed.checkpoint"
_LOADS = frozenset((f"{_DCP}.load", f"{_DCP}.state_dict_loader.load", f"{_DCP}.load_state_dict"))


class EmptyTemplate:
    """Puts `{}` in the place of what a `dcp.load` fills.

    A site is a load without a planner of its own whose template is a call or a display that stands in the load itself
    or in the one assignment of its name in the same function, with nothing before the load that sets an entry of it
    or hands it on. With `{}` there the load reads nothing.
    """

    rule = "dcp-load-empty-template"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"distributed\.checkpoint"):
            for call in file.calls():
                function = file.function(call)
                if file.dotted(call.func) not in _LOADS or function is None or opaque(call):
                    continue
                template = argument(call, "state_dict", 0)
                if template is None or argument(call, "planner") is not None:
                    continue
                made = _made(function, template, call)
                if made is not None:
                    what = f"the template `{file.source(made)[:80]}` of `{file.source(call.func)}` is `{{}}`"
                    inject = partial(_injected, file, made, call)
                    yield Site(package.name, file.path, call.lineno, what, file.copy(function), inject)


def _made(function: Function, template: ast.expr, call: ast.Call) -> ast.expr | None:
    """The display or call that makes the template, if it is still as made when it is loaded into."""
    if isinstance(template, ast.Name):
        sets = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == template.id]
        before = [node for node in sets if node.lineno < call.lineno]
        assigned = [
            node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and any(target in before for target in node.targets)
        ]
        if len(before) != 1 or len(assigned) != 1:
            return None
        template = assigned[0]
    return template if isinstance(template, (ast.Call, ast.Dict)) and ast.unparse(template) != "{}" else None


def _injected(file: PythonFile, made: ast.expr, call: ast.Call) -> Injection:
    text = replaced(file.text, made, "{}")
    first = min(made.lineno, call.lineno)
    return Injection({file.path: text}, (Place(file.path, first, call.end_lineno or call.lineno),))
